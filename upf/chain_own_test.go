package upf

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// TestChainOfOne is TestChain with one process that is both UPFs:
//
//	UE ─ TUN ─ gNB/eNB ─ N3/S1-U ─ I-UPF, SGW-U ─┐
//	                 server ─ N6/SGi ─ PSA-UPF, PGW-U ─┘ N9/S5-U at addresses of its own
func TestChainOfOne(t *testing.T) {
	for _, datapath := range []string{"xdp", "tc", "afxdp", "tun", "p4"} {
		t.Run(datapath, func(t *testing.T) {
			c := newChainOfOne(t, datapath)
			ues := []gnb.UE{c.connectOwn(t, "5G", "10.64.0.5", 9), c.connectOwn(t, "4G", "10.64.0.4", 0)}
			c.startGNB(t, ues)
			for i, ue := range ues {
				for _, octets := range []string{"0", "1000", "1372"} {
					pingOnce(t, ue.Namespace, "10.6.0.2", octets)
				}
				pingOnce(t, c.anchor.DN.Name, ue.Addresses[0].String(), "1372")
				c.checkUsage(t, i)
			}
			c.checkPeers(t)
		})
	}
}

// newChainOfOne starts a UPF with two endpoints on N3's device.
func newChainOfOne(t *testing.T, datapath string) *chain {
	t.Helper()
	b := newBed(t)
	err := b.UPF.Do(func() error {
		link, err := netlink.LinkByName(b.N3.UPF.Device)
		if err != nil {
			return err
		}
		addr, err := netlink.ParseAddr(relayN9 + "/32")
		if err != nil {
			return err
		}
		return netlink.AddrAdd(link, addr)
	})
	if err != nil {
		t.Fatal(err)
	}
	b.config.Datapath = datapath
	b.config.GTPU = []GTPU{{
		Name: "n9", Device: b.config.N3.Device, Address: netip.MustParseAddr(relayN9), Interface: InterfaceCore,
	}}
	b.start(t)
	b.smf = newSMF(t, b.Topology)
	b.smf.associate(t)
	return &chain{relay: b, anchor: b}
}

// connectOwn establishes two sessions for a UE, each of which sends to an F-TEID of the
// other.
func (c *chain) connectOwn(t *testing.T, name, ue string, qfi uint8) gnb.UE {
	t.Helper()
	gnbTEID, smf := uint32(0x2000+len(c.sessions)), c.relay.smf
	anchor := smf.chainSession(t, ue, qfi, []*ie.IE{
		pdr(1, accessTunnel(ue), true, 1, qfi), far(1, ie.DstInterfaceCore, 0, ""),
		pdr(2, coreAddress(ue), false, 2, qfi), ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(1)),
	})
	from := func(source uint8) *ie.IE {
		return ie.NewPDI(ie.NewSourceInterface(source), ie.NewFTEID(0x05, 0, nil, nil, 0))
	}
	relay := smf.chainSession(t, ue, qfi, []*ie.IE{
		pdr(1, from(ie.SrcInterfaceAccess), true, 1, qfi), far(1, ie.DstInterfaceCore, uint32(anchor[0].teid), anchor[0].n3.String()),
		pdr(2, from(ie.SrcInterfaceCore), true, 2, qfi), far(2, ie.DstInterfaceAccess, gnbTEID, c.relay.Config.N3GNB.Addr().String()),
	})
	if got := relay[1].n3.String(); got != relayN9 {
		t.Errorf("F-TEID at Core: got one at %s, want %s", got, relayN9)
	}
	r := ask[*message.SessionModificationResponse](t, smf, message.NewSessionModificationRequest(0, 0,
		uint64(anchor[0].seid), smf.next(), 0,
		ie.NewUpdateFAR(ie.NewFARID(2), ie.NewApplyAction(2),
			ie.NewUpdateForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceAccess),
				ie.NewOuterHeaderCreation(0x0100, uint32(relay[1].teid), relayN9, "", 0, 0, 0)))))
	accepted(t, r.Cause)
	c.sessions = append(c.sessions, chained{relay[0], anchor[0]})
	return gnb.UE{
		Name: "ue" + name, Namespace: namespace(t, fmt.Sprintf("own-%s-%s", c.relay.config.Datapath, name)), Addresses: []netip.Addr{netip.MustParseAddr(ue)},
		UplinkTEID: uint32(relay[0].teid), DownlinkTEID: gnbTEID, QFI: qfi,
	}
}

// checkPeers: no neighbour on the link is asked for a MAC address of the UPF's own addresses.
func (c *chain) checkPeers(t *testing.T) {
	t.Helper()
	err := c.relay.UPF.Do(func() error {
		all, err := netlink.NeighList(0, netlink.FAMILY_V4)
		for _, n := range all {
			if n.IP.String() == relayN9 || n.IP.String() == c.relay.config.N3.Address.String() {
				t.Errorf("a neighbour that is the UPF itself: %v", n)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
