package upf

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// Addresses of the link between the two UPFs, in octets for go-pfcp's strings.
const (
	relayN9  = "10.9.0.1"
	anchorN9 = "10.9.0.2"
)

// TestChain drives a 4G and a 5G path through the same two processes at once:
//
//	UE ─ TUN ─ gNB/eNB ─ N3/S1-U ─ I-UPF, SGW-U ─ N9/S5-U ─ PSA-UPF, PGW-U ─ N6/SGi ─ server
//
// What makes it one or the other is what the CP function says: with a QFI there
// is a PDU Session Container in every tunnel, without one in none.
func TestChain(t *testing.T) {
	c := newChain(t)
	ues := []gnb.UE{
		c.connect(t, "5G", "10.64.0.5", 9),
		c.connect(t, "4G", "10.64.0.4", 0),
	}
	c.startGNB(t, ues)
	for i, ue := range ues {
		t.Run(fmt.Sprintf("QFI %d", ue.QFI), func(t *testing.T) {
			for _, octets := range []string{"0", "1000", "1372"} { // less 28, 1400: what N3 takes without fragments
				pingOnce(t, ue.Namespace, "10.6.0.2", octets)
			}
			pingOnce(t, c.anchor.DN.Name, ue.Addresses[0].String(), "1372")
			c.checkUsage(t, i)
		})
	}
}

// chain is two UPFs, one behind the other, each with an SMF that is not ours.
type chain struct {
	relay, anchor *bed
	sessions      []chained
}

// chained is a PDU session, or a PDN connection, through both.
type chained struct{ relay, anchor established }

func newChain(t *testing.T) *chain {
	t.Helper()
	c := &chain{relay: newBed(t), anchor: newNamedBed(t, "plt-upf-anchor")}
	joinNamespaces(t, c.relay, c.anchor)
	c.relay.config.GTPU = []GTPU{{
		Name: "n9", Device: "n9", Address: netip.MustParseAddr(relayN9), Interface: InterfaceCore,
	}}
	c.anchor.config.N3.Device, c.anchor.config.N3.Address = "n9", netip.MustParseAddr(anchorN9)
	for _, b := range []*bed{c.relay, c.anchor} {
		b.start(t)
		b.smf = newSMF(t, b.Topology)
		b.smf.associate(t)
	}
	return c
}

// joinNamespaces lays N9 between two UPFs, which is gone with their namespaces.
func joinNamespaces(t *testing.T, relay, anchor *bed) {
	t.Helper()
	far, err := netns.GetFromName(anchor.UPF.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	up := func(address string) error {
		link, err := netlink.LinkByName("n9")
		if err != nil {
			return err
		}
		addr, err := netlink.ParseAddr(address + "/24")
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(link, addr); err != nil {
			return err
		}
		return netlink.LinkSetUp(link)
	}
	err = relay.UPF.Do(func() error {
		err := netlink.LinkAdd(&netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: "n9", MTU: 1500}, PeerName: "n9", PeerNamespace: netlink.NsFd(far),
		})
		if err != nil {
			return err
		}
		return up(relayN9)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := anchor.UPF.Do(func() error { return up(anchorN9) }); err != nil {
		t.Fatal(err)
	}
}

// connect establishes a path for a UE; QFI 0: 4G. The anchor comes first, as
// the far ends of tunnels have to be known.
func (c *chain) connect(t *testing.T, name, ue string, qfi uint8) gnb.UE {
	t.Helper()
	gnbTEID := uint32(0x2000 + len(c.sessions))
	var s chained
	var created []established
	created = c.anchor.smf.chainSession(t, ue, qfi, []*ie.IE{
		pdr(1, accessTunnel(ue), true, 1, qfi), far(1, ie.DstInterfaceCore, 0, ""),
		pdr(2, coreAddress(ue), false, 2, qfi), ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(1)),
	})
	s.anchor = created[0]
	created = c.relay.smf.chainSession(t, ue, qfi, []*ie.IE{
		pdr(1, accessTunnel(ue), true, 1, qfi), far(1, ie.DstInterfaceCore, uint32(s.anchor.teid), anchorN9),
		pdr(2, ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewFTEID(0x05, 0, nil, nil, 0)), true, 2, qfi),
		far(2, ie.DstInterfaceAccess, gnbTEID, c.relay.Config.N3GNB.Addr().String()),
	})
	s.relay = created[0]
	if got, want := created[1].n3.String(), relayN9; got != want {
		t.Errorf("F-TEID at Core: got one at %s, want %s", got, want)
	}
	r := ask[*message.SessionModificationResponse](t, c.anchor.smf, message.NewSessionModificationRequest(0, 0,
		uint64(s.anchor.seid), c.anchor.smf.next(), 0,
		ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(2),
			ie.NewUpdateForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceAccess),
				ie.NewOuterHeaderCreation(0x0100, uint32(created[1].teid), relayN9, "", 0, 0, 0)))))
	accepted(t, r.Cause)
	c.sessions = append(c.sessions, s)
	return gnb.UE{
		Name: "ue" + name, Namespace: namespace(t, "ue"+name), Addresses: []netip.Addr{netip.MustParseAddr(ue)},
		UplinkTEID: uint32(s.relay.teid), DownlinkTEID: gnbTEID, QFI: qfi,
	}
}

// chainSession establishes a session of these rules and returns an F-TEID for
// each Created PDR.
func (s *smf) chainSession(t *testing.T, ue string, qfi uint8, rules []*ie.IE) []established {
	t.Helper()
	ies := append([]*ie.IE{
		ie.NewNodeID(s.addr.String(), "", ""),
		ie.NewFSEID(uint64(netip.MustParseAddr(ue).As4()[3]), s.addr.AsSlice(), nil),
	}, rules...)
	if qfi != 0 {
		ies = append(ies, ie.NewCreateQER(ie.NewQERID(1), ie.NewGateStatus(ie.GateStatusOpen, ie.GateStatusOpen), ie.NewQFI(qfi)))
	}
	r := ask[*message.SessionEstablishmentResponse](t, s, message.NewSessionEstablishmentRequest(0, 0, 0, s.next(), 0, ies...))
	accepted(t, r.Cause)
	seid, err := r.UPFSEID.FSEID()
	if err != nil {
		t.Fatal(err)
	}
	var list []established
	for _, c := range r.CreatedPDR {
		f, err := c.FTEID()
		if err != nil {
			t.Fatal(err)
		}
		at, _ := netip.AddrFromSlice(f.IPv4Address.To4())
		list = append(list, established{SEID(seid.SEID), TEID(f.TEID), at})
	}
	return list
}

func accessTunnel(ue string) *ie.IE {
	return ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceAccess), ie.NewFTEID(0x05, 0, nil, nil, 0),
		ie.NewUEIPAddress(2, ue, "", 0, 0))
}

func coreAddress(ue string) *ie.IE {
	return ie.NewPDI(ie.NewSourceInterface(ie.SrcInterfaceCore), ie.NewUEIPAddress(6, ue, "", 0, 0))
}

// pdr is a PDR that takes an outer header off, if tunnel, and names the FAR, and
// QER 1 if there is a QFI.
func pdr(id uint16, pdi *ie.IE, tunnel bool, farID uint32, qfi uint8) *ie.IE {
	ies := []*ie.IE{ie.NewPDRID(id), ie.NewPrecedence(100), pdi, ie.NewFARID(farID)}
	if tunnel {
		ies = append(ies, ie.NewOuterHeaderRemoval(0, 0))
	}
	if qfi != 0 {
		ies = append(ies, ie.NewQERID(1))
	}
	return ie.NewCreatePDR(ies...)
}

// far is a FAR that forwards, into a tunnel if there is a TEID.
func far(id uint32, to uint8, teid uint32, peer string) *ie.IE {
	parameters := []*ie.IE{ie.NewDestinationInterface(to)}
	if teid != 0 {
		parameters = append(parameters, ie.NewOuterHeaderCreation(0x0100, teid, peer, "", 0, 0, 0))
	}
	return ie.NewCreateFAR(ie.NewFARID(id), ie.NewApplyAction(2), ie.NewForwardingParameters(parameters...))
}

// namespace makes a network namespace, and returns its name.
func namespace(t *testing.T, suffix string) string {
	t.Helper()
	name := fmt.Sprintf("plt-chain-%d-%s", os.Getpid(), suffix)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := netns.Get()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	made, err := netns.NewNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	made.Close()
	t.Cleanup(func() { _ = netns.DeleteNamed(name) })
	if err := netns.Set(own); err != nil {
		t.Fatal(err) // the thread stays locked to this goroutine, which ends
	}
	return name
}

// startGNB runs a gNB with these UEs until the end of the test.
func (c *chain) startGNB(t *testing.T, ues []gnb.UE) {
	t.Helper()
	g, err := gnb.New(gnb.Config{
		N3:  gnb.N3{Address: c.relay.Config.N3GNB.Addr(), UPF: c.relay.Config.N3UPF.Addr(), Namespace: c.relay.GNB.Name},
		UEs: ues,
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- g.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

var answered = regexp.MustCompile(`[1-9]\d* packets transmitted, [1-9]\d* received`)

// pingOnce sends echo requests until one is answered, with whole fragments
// forbidden: ping compares what comes back.
func pingOnce(t *testing.T, namespace, to, octets string) {
	t.Helper()
	out, err := exec.Command("nsenter", "--net=/run/netns/"+namespace,
		"ping", "-n", "-i", "0.1", "-c", "1", "-w", "20", "-M", "do", "-s", octets, to).CombinedOutput()
	if err != nil || !answered.Match(out) {
		t.Errorf("ping of %s octets from %s to %s: %v\n%s", octets, namespace, to, err, out)
	}
}

// checkUsage: both UPFs counted the same packets, each PDR in its direction.
func (c *chain) checkUsage(t *testing.T, i int) {
	t.Helper()
	s := c.sessions[i]
	var usage [2][]Usage
	for j, at := range []struct {
		b    *bed
		seid SEID
	}{{c.relay, s.relay.seid}, {c.anchor, s.anchor.seid}} {
		got, err := at.b.api.Session(t.Context(), at.seid)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range got.Rules.PDRs {
			if p.Usage.Packets < 4 || p.Usage.DroppedPackets != 0 {
				t.Errorf("UPF %d, PDR %d: counted %+v, want the four pings and none dropped", j, p.ID, p.Usage)
			}
			usage[j] = append(usage[j], p.Usage)
		}
	}
	if len(usage[0]) != len(usage[1]) || usage[0][0] != usage[1][0] || usage[0][1] != usage[1][1] {
		t.Errorf("I-UPF counted %+v, PSA-UPF %+v, want the same", usage[0], usage[1])
	}
}
