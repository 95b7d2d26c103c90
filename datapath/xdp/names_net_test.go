package xdp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// namedSession has an application in front of the rules of [network.session]: what
// is to and from *.video.test, by PDRs 3 and 4, counted by URR 3. All else counts in
// URR 1. Downlink packets of the application have a TEID of their own.
func (n *network) namedSession(peer netip.Addr, teid uint32) *api.Session {
	s := n.session(peer)
	s.Urrs = []*api.URR{{Id: 1}, {Id: 3}}
	var app []*api.Rule
	for i, r := range s.Rules {
		r.Precedence, r.FarId, r.UrrIds = 2, uint32(i)+1, []uint32{1}
		a := &api.Rule{
			PdrId: uint32(i) + 3, FarId: uint32(i) + 3, Precedence: 1, OuterHeaderRemoval: r.OuterHeaderRemoval, QerIds: r.QerIds, UrrIds: []uint32{3},
			Detect: &api.Detect{
				SourceInterface: r.Detect.SourceInterface, FTeid: r.Detect.FTeid, UeAddress: r.Detect.UeAddress,
				Filters: []*api.Filter{{Host: "*.video.test"}},
			},
			Forward: &api.Forward{Action: r.Forward.Action, DestinationInterface: r.Forward.DestinationInterface},
		}
		if o := r.Forward.OuterHeaderCreation; o != nil {
			a.Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Teid: teid, Ipv4: o.Ipv4}
		}
		app = append(app, a)
	}
	s.Rules = append(app, s.Rules...)
	return s
}

const appTEID = 0x33

func (n *network) startNamed(t *testing.T, teid uint32) {
	t.Helper()
	n.start(t, xdp.Native, datapath.Endpoint{Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr()})
	check(t, n.upf.Apply(context.Background(), &api.Change{Seid: 1, Session: n.namedSession(n.N3.Peer.Address.Addr(), teid)}))
}

// The packets of a flow in TestNamesInOrder: a connection begins, asks for
// something of the application, then, behind data, for something else; then another
// connection begins, and so on.
const (
	namedFlows  = 8
	namedRound  = 60 // packets
	namedRounds = 50
)

// namedSegment is packet i of a flow in TestNamesInOrder, and the TEID that it gets.
// Its number stands at its end; what is no request is the body of the one before.
func namedSegment(flow, i int, from, to netip.Addr) (segment []byte, teid uint32) {
	const number, body = 4, 4 + 4
	const half = namedRound / 2
	request := func(host string, packets int) string {
		return fmt.Sprintf("POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n", host, number+packets*body)
	}
	first, second := request("a.video.test", half-2), request("b.test", half-1)
	at := i % namedRound
	flags, data, teid := byte(0x10), "body", uint32(dlTEID)
	seq := i / namedRound * 10_000 // of this connection
	switch {
	case at == 0:
		flags, data = 0x02, ""
	case at == 1:
		data, teid = first, appTEID
		seq++ // what came with the SYN was not taken
	case at < half:
		teid = appTEID
		seq += 1 + len(first) + number + (at-2)*body
	case at == half:
		data = second
		seq += 1 + len(first) + number + (half-2)*body
	default:
		seq += 1 + len(first) + number + (half-2)*body + len(second) + number + (at-half-1)*body
	}
	port := 80 + uint16(flow+i/namedRound*namedFlows)
	b := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, port), uePort)
	b = binary.BigEndian.AppendUint32(b, uint32(seq))
	b = append(b, 0, 0, 0, 0, 5<<4, flags, 0xff, 0xff, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(append(b, data...), uint32(i))
	header := append(append([]byte{0x45, 19: 0}[:12], from.AsSlice()...), to.AsSlice()...)
	binary.BigEndian.PutUint16(b[16:], stages.UpperChecksum(append(header, b...), 6, len(header)))
	return b, teid
}

// TestNamesInOrder: while flows begin, and change their names, their packets take
// one way or the other, and none of a flow overtakes another. Each is classified by
// the name that was shown before it, and few of them are the slow path's.
func TestNamesInOrder(t *testing.T) {
	n := layNetwork(t, "xdp-names")
	n.startNamed(t, appTEID)
	n.gnb = listen(t, n.GNB, netip.AddrPortFrom(n.N3.Peer.Address.Addr(), gtpu.Port))
	n.downlinkAny(t)
	wide(t, n.gnb)
	var out *net.IPConn
	check(t, n.DN.Do(func() (err error) {
		out, err = net.DialIP("ip4:tcp", nil, &net.IPAddr{IP: n.ue.AsSlice()})
		return err
	}))
	defer out.Close()
	before, err := n.upf.Passes()
	check(t, err)
	const each = namedRound * namedRounds
	sent := make(chan error, 1)
	go func() { sent <- sendNamed(out, each, n.N6.Peer.Address.Addr(), n.ue) }()
	check(t, n.gnb.SetReadDeadline(time.Now().Add(30*time.Second)))
	got, wrong, reordered := receiveNamed(t, n.gnb, namedFlows*each)
	check(t, <-sent)
	passes, err := n.upf.Passes()
	check(t, err)
	drops, err := n.upf.Drops()
	check(t, err)
	asked := passes["name"] - before["name"]
	t.Logf("%d packets, %d of them by way of the slow path; dropped: %v", got, asked, positive(drops))
	if reordered != 0 {
		t.Errorf("%d of %d packets behind later ones of their flow", reordered, got)
	}
	if drops["slow_full"] == 0 && (wrong != 0 || got != namedFlows*each) { // else a name may be lost
		t.Errorf("%d of %d packets came, %d of them by the wrong tunnel", got, namedFlows*each, wrong)
	}
	if least := uint64(3 * namedFlows * namedRounds); asked < least || asked > uint64(got)/2 {
		t.Errorf("the slow path had %d of %d packets, want %d at least, and half at most", asked, got, least)
	}
}

// sendNamed sends so many packets of each flow, in turn.
func sendNamed(out *net.IPConn, each int, from, to netip.Addr) error {
	for i := range each {
		for flow := range namedFlows {
			segment, _ := namedSegment(flow, i, from, to)
			if _, err := out.Write(segment); err != nil {
				return fmt.Errorf("packet %d of flow %d: %w", i, flow, err)
			}
		}
		time.Sleep(300 * time.Microsecond)
	}
	return nil
}

// receiveNamed takes so many packets at most, until none comes for a while.
func receiveNamed(t *testing.T, conn *net.UDPConn, want int) (got, wrong, reordered int) {
	t.Helper()
	buf := make([]byte, 2048)
	next := [namedFlows]int{}
	for got < want {
		size, err := conn.Read(buf)
		if err != nil {
			return got, wrong, reordered
		}
		check(t, conn.SetReadDeadline(time.Now().Add(2*time.Second)))
		h, err := gtpu.Parse(buf[:size])
		check(t, err)
		segment := buf[len(h)+20 : size]
		flow, i := (int(binary.BigEndian.Uint16(segment))-80)%namedFlows, int(binary.BigEndian.Uint32(segment[len(segment)-4:]))
		if _, teid := namedSegment(flow, i, netip.IPv4Unspecified(), netip.IPv4Unspecified()); teid != h.TEID() {
			wrong++
		}
		if i < next[flow] {
			reordered++
		}
		next[flow] = max(next[flow], i+1)
		got++
	}
	return got, wrong, reordered
}

// TestNamesOfPrograms: what curl fetches from a server by TLS and by HTTP is counted
// by the URR of the application that its host is of, and the programs forward it.
func TestNamesOfPrograms(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatalf("curl is needed: %v", err)
	}
	n := layNetwork(t, "xdp-curl")
	n.startNamed(t, dlTEID)
	n.startUE(t)
	const size = 4 << 20
	tls, plain := n.serve(t, size, true), n.serve(t, size, false)
	for _, c := range []struct {
		name, url string
		to        netip.AddrPort
		urr       uint32
	}{
		{"TLS, of the application", "https://a.video.test", tls, 3},
		{"TLS, of another", "https://video.test", tls, 1},
		{"HTTP, of the application", "http://b.video.test", plain, 3},
		{"HTTP, of another", "http://b.test", plain, 1},
	} {
		before, asked := n.volumes(t)
		n.fetch(t, curl, c.url, c.to, size)
		after, now := n.volumes(t)
		other := 4 - c.urr
		t.Logf("%s: URR %d counted %d octets, URR %d %d; %d packets by way of the slow path",
			c.name, c.urr, after[c.urr]-before[c.urr], other, after[other]-before[other], now-asked)
		// What comes before the name counts for none: a handshake of three packets,
		// and what is sent again of it.
		if got, rest := after[c.urr]-before[c.urr], after[other]-before[other]; got < size || rest > 2000 {
			t.Errorf("%s: URR %d counted %d octets, URR %d %d; want %d at least, and 2000 at most", c.name, c.urr, got, other, rest, size)
		}
		if now-asked > 200 { // of some 3000
			t.Errorf("%s: %d packets by way of the slow path", c.name, now-asked)
		}
	}
}

// volumes returns the octets that each URR has counted, and how many packets went
// to the slow path for their names.
func (n *network) volumes(t *testing.T) (octets map[uint32]uint64, asked uint64) {
	t.Helper()
	u, err := n.upf.Usage(1)
	check(t, err)
	octets = map[uint32]uint64{}
	for _, v := range u.GetUrrs() {
		octets[v.GetUrrId()] = v.GetUplinkOctets() + v.GetDownlinkOctets()
	}
	passes, err := n.upf.Passes()
	check(t, err)
	return octets, passes["name"]
}

// startUE makes a gNB with the UE as a TUN device in its namespace.
func (n *network) startUE(t *testing.T) {
	t.Helper()
	n.startUEOf(t, false)
}

// startUEOf is startUE with a gNB that takes and sends super-packets, if super.
func (n *network) startUEOf(t *testing.T, super bool) {
	t.Helper()
	g, err := gnb.New(gnb.Config{
		N3: gnb.N3{Address: n.N3.Peer.Address.Addr(), UPF: n.N3.UPF.Address.Addr(), Namespace: n.GNB.Path(), SuperPackets: super},
		UEs: []gnb.UE{{
			Name: "ue", Namespace: n.GNB.Path(), Addresses: []netip.Addr{n.ue}, UplinkTEID: ulTEID, DownlinkTEID: dlTEID, QFI: 9,
			Routes: []netip.Prefix{netip.PrefixFrom(n.N6.Peer.Address.Addr(), 32)},
		}},
	}, slog.New(slog.DiscardHandler))
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- g.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		check(t, <-over)
	})
}

// serve answers all requests in the data network with so many octets.
func (n *network) serve(t *testing.T, size int, tls bool) netip.AddrPort {
	t.Helper()
	body := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
	check(t, s.Listener.Close())
	check(t, n.DN.Do(func() (err error) {
		s.Listener, err = net.Listen("tcp", netip.AddrPortFrom(n.N6.Peer.Address.Addr(), 0).String())
		return err
	}))
	if tls {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.Listener.Addr().(*net.TCPAddr).AddrPort()
}

// fetch lets curl fetch a URL, whose host is at an address, in the namespace of the
// UE.
func (n *network) fetch(t *testing.T, curl, url string, at netip.AddrPort, size int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, curl, "-sS", "-k", "--noproxy", "*", "--connect-to", "::"+at.String(), fmt.Sprintf("%s:%d/", url, at.Port()))
	cmd.Stdout, cmd.Stderr = &out, &complaint
	check(t, run(n.GNB, cmd))
	if out.Len() != size {
		t.Fatalf("curl got %d octets, want %d: %s", out.Len(), size, complaint.String())
	}
}

// run starts a program in a namespace and waits for its end.
func run(ns *topology.Namespace, cmd *exec.Cmd) error {
	if err := ns.Do(cmd.Start); err != nil {
		return err
	}
	return cmd.Wait()
}
