package stages

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// lan is a UPF with an Ethernet data network, as number 2, and a clock.
type lan struct {
	*UPF
	now  uint64
	sent [][]byte
}

func newLAN() *lan {
	l := &lan{}
	l.UPF = New(Config{
		Endpoints: []datapath.Endpoint{{Name: "n3", Address: netip.MustParseAddr("10.3.0.1")}},
		N6: datapath.N6{Networks: []datapath.DataNetwork{
			{Name: "internet", NetworkInstances: []string{"internet"}}, {Name: "lan", NetworkInstances: []string{"lan"}, Ethernet: true},
		}},
		MaxSessions: 8, Now: func() uint64 { return l.now }, Send: func(p []byte) { l.sent = append(l.sent, p) },
	})
	return l
}

// etherSession is a session with F-TEID seid, and the gNB's TEID 0x100 more. The
// changes may make another one of it.
func etherSession(seid uint32, changes ...func(up, down *api.Rule)) *api.Session {
	up := &api.Rule{
		PdrId: 1, OuterHeaderRemoval: true, UrrIds: []uint32{1},
		Detect:  &api.Detect{FTeid: &api.FTEID{Teid: seid, Ipv4: 0x0a030001}, NetworkInstance: "access"},
		Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE, NetworkInstance: "lan"},
	}
	down := &api.Rule{
		PdrId: 2, QerIds: []uint32{1}, UrrIds: []uint32{1},
		Detect: &api.Detect{SourceInterface: api.Interface_CORE, EthernetSession: true, NetworkInstance: "lan"},
		Forward: &api.Forward{
			Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS,
			OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 0x100 + seid, Ipv4: 0x0a030002},
		},
	}
	for _, change := range changes {
		change(up, down)
	}
	return &api.Session{
		Seid: uint64(seid), PduType: api.PDUType_ETHERNET, Rules: []*api.Rule{up, down},
		Qers: []*api.QER{{Id: 1, Qfi: 9}}, Urrs: []*api.URR{{Id: 1, MacAddresses: true}},
	}
}

func (l *lan) install(t *testing.T, s *api.Session) {
	t.Helper()
	if err := l.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
		t.Fatal(err)
	}
}

// up sends a frame through the tunnel.
func (l *lan) up(teid uint32, frame []byte) Frame {
	d := Datagram{
		From: netip.MustParseAddrPort("10.3.0.2:2152"), To: netip.MustParseAddrPort("10.3.0.1:2152"),
		Payload: append(gtpu.AppendGPDU(nil, teid, gtpu.PDUTypeUplink, 9, len(frame)), frame...),
	}
	return l.FromN3(append(append(make([]byte, 12), 8, 0), d.Packet()...))
}

// ether makes a frame; tags are TPID << 16 | TCI.
func ether(to, from byte, ethertype uint16, payload string, tags ...uint32) []byte {
	b := []byte{2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from}
	if to == 0xff {
		copy(b, bytes.Repeat([]byte{0xff}, 6))
	}
	for _, t := range tags {
		b = binary.BigEndian.AppendUint32(b, t)
	}
	return append(binary.BigEndian.AppendUint16(b, ethertype), payload...)
}

// carried returns the frame in a G-PDU that leaves.
func carried(t *testing.T, f Frame, teid uint32) []byte {
	t.Helper()
	if f.Reason != datapath.ReasonNone || !f.Tunnel {
		t.Fatalf("got %v, want a G-PDU", f.Reason)
	}
	h, err := gtpu.Parse(f.Packet[28:])
	if err != nil || h.TEID() != teid {
		t.Fatalf("got TEID %#x, %v; want %#x", h.TEID(), err, teid)
	}
	return f.Packet[28+len(h):]
}

// TestBridge: frames go up as they are, their sources are learnt, and what comes
// back goes to the session behind which its destination is.
func TestBridge(t *testing.T) {
	l := newLAN()
	l.install(t, etherSession(1))
	l.install(t, etherSession(2))

	frame := ether(9, 1, 0x88b5, "any octets")
	if got := l.up(1, frame); got.Reason != datapath.ReasonNone || got.Tunnel || !bytes.Equal(got.Packet, frame) {
		t.Errorf("uplink: got %+v", got)
	}
	back := ether(1, 9, 0x88b5, "back")
	outs := l.FromEthernet(2, back)
	if len(outs) != 1 || !bytes.Equal(carried(t, outs[0], 0x101), back) {
		t.Errorf("downlink: got %+v", outs)
	}
	group := ether(0xff, 9, 0x0806, "who has")
	outs = l.FromEthernet(2, group)
	if len(outs) != 2 || !bytes.Equal(carried(t, outs[0], 0x101), group) || !bytes.Equal(carried(t, outs[1], 0x102), group) {
		t.Errorf("group: got %+v", outs)
	}
	for name, test := range map[string]struct {
		got  []Frame
		want datapath.Reason
	}{
		"address that nobody has":            {l.FromEthernet(2, ether(2, 9, 0x88b5, "x")), datapath.DropNoMAC},
		"another data network":               {l.FromEthernet(1, back), datapath.DropNoMAC},
		"group on another data network":      {l.FromEthernet(1, group), datapath.DropNoMAC},
		"short from the network":             {l.FromEthernet(2, frame[:13]), datapath.DropEthernetShort},
		"short from the UE":                  {[]Frame{l.up(1, frame[:13])}, datapath.DropEthernetShort},
		"source of another session":          {[]Frame{l.up(2, frame)}, datapath.DropMAC},
		"group as source":                    {[]Frame{l.up(2, ether(9, 0xff, 0x88b5, "")[6:])}, datapath.DropEthernetShort},
		"tag without an Ethertype behind it": {[]Frame{l.up(1, ether(9, 1, 0x8100, "ab"))}, datapath.DropEthernetShort},
	} {
		if len(test.got) != 1 || test.got[0].Reason != test.want {
			t.Errorf("%s: got %+v, want %v", name, test.got, test.want)
		}
	}
	u, err := l.Usage(1)
	if err != nil {
		t.Fatal(err)
	}
	if urr := u.GetUrrs()[0]; urr.GetUplinkOctets() != uint64(len(frame)) || urr.GetDownlinkOctets() != uint64(len(back)+len(group)) {
		t.Errorf("usage: got %v", urr)
	}
}

// TestLearning: MAC addresses are told, aged, bounded, and gone with the session.
func TestLearning(t *testing.T) {
	l := newLAN()
	l.install(t, etherSession(1))
	for i := range stationsPerSession + 1 {
		want := datapath.ReasonNone
		if i == stationsPerSession {
			want = datapath.DropMAC
		}
		if got := l.up(1, ether(0x99, byte(i), 0x88b5, "")); got.Reason != want {
			t.Fatalf("address %d: got %v, want %v", i, got.Reason, want)
		}
	}
	e, err := l.Next(t.Context())
	if err != nil || e.GetKind() != api.EventKind_MAC_ADDRESSES || e.GetSeid() != 1 || e.GetRuleId() != 1 || len(e.GetMacsDetected()) != stationsPerSession {
		t.Errorf("event: got %v, %v", e, err)
	}
	l.now += uint64(stationAge) - 1
	l.up(1, ether(0x99, 7, 0x88b5, ""))
	l.now++
	l.stages.Age()
	e, err = l.Next(t.Context())
	if err != nil || len(e.GetMacsRemoved()) != stationsPerSession-1 || len(e.GetMacsDetected()) != 0 {
		t.Errorf("event of ageing: got %d removed, %v", len(e.GetMacsRemoved()), err)
	}
	if outs := l.FromEthernet(2, ether(7, 9, 0x88b5, "")); len(outs) != 1 || outs[0].Reason != datapath.ReasonNone {
		t.Errorf("the one that was seen: got %+v", outs)
	}
	if err := l.Apply(t.Context(), &api.Change{Seid: 1}); err != nil {
		t.Fatal(err)
	}
	if outs := l.FromEthernet(2, ether(7, 9, 0x88b5, "")); outs[0].Reason != datapath.DropNoMAC {
		t.Errorf("after the session: got %+v", outs)
	}
	if b := l.stages.Bridge; len(b.stations) != len(b.outside) || len(b.sessions)+len(b.ofUEs) != 0 {
		t.Errorf("the bridge remembers things of a session that is gone: %d stations", len(b.ofUEs))
	}
}

// TestEthernetFilters: each thing that a filter compares.
func TestEthernetFilters(t *testing.T) {
	ip := string([]byte{0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 2, 0, 8, 0, 0})
	vid := func(v uint32) *api.VLANTag { return &api.VLANTag{Vid: &v} }
	pcp := uint32(5)
	udp := uint32(17)
	six := func(last byte) []byte { return []byte{2, 0, 0, 0, 0, last} }
	plain := ether(9, 1, 0x88b5, "x")
	for _, test := range []struct {
		name  string
		f     *api.EthernetFilter
		frame []byte
		want  bool
	}{
		{"nothing", &api.EthernetFilter{}, plain, true},
		{"Ethertype", &api.EthernetFilter{Ethertype: 0x88b5}, plain, true},
		{"other Ethertype", &api.EthernetFilter{Ethertype: 0x0800}, plain, false},
		{"Ethertype behind tags", &api.EthernetFilter{Ethertype: 0x88b5}, ether(9, 1, 0x88b5, "x", 0x88a80001, 0x81000002), true},
		{"source", &api.EthernetFilter{Macs: []*api.MACs{{Source: six(1)}}}, plain, true},
		{"other source", &api.EthernetFilter{Macs: []*api.MACs{{Source: six(2)}}}, plain, false},
		{"one of two destinations", &api.EthernetFilter{Macs: []*api.MACs{{Destination: six(8)}, {Destination: six(9)}}}, plain, true},
		{"range", &api.EthernetFilter{Macs: []*api.MACs{{Destination: six(8), DestinationUpper: six(9)}}}, plain, true},
		{"below the range", &api.EthernetFilter{Macs: []*api.MACs{{Destination: six(10), DestinationUpper: six(11)}}}, plain, false},
		{"above the range", &api.EthernetFilter{Macs: []*api.MACs{{Destination: six(1), DestinationUpper: six(8)}}}, plain, false},
		{"C-TAG", &api.EthernetFilter{CTag: vid(7)}, ether(9, 1, 0x88b5, "x", 0x8100a007), true},
		{"other C-TAG", &api.EthernetFilter{CTag: vid(8)}, ether(9, 1, 0x88b5, "x", 0x8100a007), false},
		{"no C-TAG", &api.EthernetFilter{CTag: vid(7)}, plain, false},
		{"S-TAG is no C-TAG", &api.EthernetFilter{CTag: vid(7)}, ether(9, 1, 0x88b5, "x", 0x88a80007), false},
		{"S-TAG and C-TAG", &api.EthernetFilter{STag: vid(3), CTag: &api.VLANTag{Pcp: &pcp}}, ether(9, 1, 0x88b5, "x", 0x88a80003, 0x8100a007), true},
		{"SDF", &api.EthernetFilter{Filters: []*api.Filter{{Protocol: &udp}}}, ether(9, 1, 0x0800, ip), true},
		{"SDF of no IP packet", &api.EthernetFilter{Filters: []*api.Filter{{Protocol: &udp}}}, plain, false},
		{"SDF of a broken IP packet", &api.EthernetFilter{Filters: []*api.Filter{{Protocol: &udp}}}, ether(9, 1, 0x0800, ip[:27]), false},
		{"SDF behind a tag, padded", &api.EthernetFilter{Filters: []*api.Filter{{Protocol: &udp}}}, ether(9, 1, 0x0800, ip+"padding", 0x81000002), true},
	} {
		l := newLAN()
		l.install(t, etherSession(1, func(up, _ *api.Rule) { up.Detect.EthernetFilters = []*api.EthernetFilter{test.f} }))
		want := datapath.ReasonNone
		if !test.want {
			want = datapath.DropSDFFilter
		}
		if got := l.up(1, test.frame); got.Reason != want {
			t.Errorf("%s: got %v, want %v", test.name, got.Reason, want)
		}
	}
}

// TestTags: Outer Header Creation and Removal of C-TAG and S-TAG.
func TestTags(t *testing.T) {
	sTag, cTag := uint32(3), uint32(0xa007)
	l := newLAN()
	l.install(t, etherSession(1, func(up, down *api.Rule) {
		up.Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Encapsulation: api.Encapsulation_TAG, STag: &sTag, CTag: &cTag}
		down.Unwrap = api.Unwrap_UNWRAP_S_TAG_C_TAG
	}))
	want := ether(9, 1, 0x88b5, "x", 0x88a80003, 0x8100a007)
	if got := l.up(1, ether(9, 1, 0x88b5, "x")); !bytes.Equal(got.Packet, want) {
		t.Errorf("uplink (-want +got):\n%s", cmp.Diff(want, got.Packet))
	}
	outs := l.FromEthernet(2, ether(1, 9, 0x88b5, "y", 0x88a80003, 0x8100a007))
	if got := carried(t, outs[0], 0x101); !bytes.Equal(got, ether(1, 9, 0x88b5, "y")) {
		t.Errorf("downlink: got %x", got)
	}
}

// TestEthernetBuffer: frames wait and leave in their order, as packets do.
func TestEthernetBuffer(t *testing.T) {
	l := newLAN()
	idle := etherSession(1, func(_, down *api.Rule) { down.Forward = &api.Forward{Action: api.Action_BUFF, Notify: true} })
	l.install(t, idle)
	l.up(1, ether(9, 1, 0x88b5, ""))
	for i := range 3 {
		l.now += uint64(time.Millisecond)
		if outs := l.FromEthernet(2, ether(1, 9, 0x88b5, string(rune('a'+i)))); outs[0].Reason != datapath.PassBuffer {
			t.Fatalf("got %+v", outs)
		}
	}
	l.install(t, etherSession(1))
	if len(l.sent) != 3 {
		t.Fatalf("%d frames left, want 3", len(l.sent))
	}
	for i, p := range l.sent {
		if got := carried(t, Frame{Packet: p, Tunnel: true}, 0x101); !bytes.Equal(got, ether(1, 9, 0x88b5, string(rune('a'+i)))) {
			t.Errorf("frame %d: got %x", i, got)
		}
	}
}

// TestEthernetNetworks: frames go to data networks for frames, packets to others.
func TestEthernetNetworks(t *testing.T) {
	l := newLAN()
	s := etherSession(1, func(up, _ *api.Rule) { up.FarId, up.Forward.NetworkInstance = 7, "internet" })
	var rule *datapath.RuleError
	err := l.Apply(t.Context(), &api.Change{Seid: 1, Session: s})
	if !errors.As(err, &rule) || rule.Type != api.RuleType_FAR_RULE || rule.ID != 7 {
		t.Errorf("frames to the data network of packets: got %v", err)
	}
	s = etherSession(1)
	s.PduType, s.Rules, s.Urrs = api.PDUType_IP, s.Rules[:1], []*api.URR{{Id: 1}}
	if err := l.Apply(t.Context(), &api.Change{Seid: 1, Session: s}); !errors.As(err, &rule) {
		t.Errorf("packets to the data network of frames: got %v", err)
	}
}

// FuzzEthernet: any octets are a frame or none, and tagging keeps its length.
func FuzzEthernet(f *testing.F) {
	f.Add(ether(9, 1, 0x88b5, "x"))
	f.Add(ether(9, 1, 0x0800, "x", 0x88a80003, 0x8100a007))
	f.Add(ether(9, 1, 0x8100, "ab"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, reason := parseEthernet(b)
		if reason != datapath.ReasonNone {
			return
		}
		if len(b) < inet.LenEthernet+4*e.tags || e.tags > 2 || len(e.inner) > len(b)-inet.LenEthernet {
			t.Fatalf("%x: got %+v", b, e)
		}
		if got := (&Ethernet{Pull: 2, Push: []uint32{1, 2, 3}}).tag(b); len(got) != len(b)-4*e.tags+12 {
			t.Errorf("%x: %d octets with other tags", b, len(got))
		}
	})
}
