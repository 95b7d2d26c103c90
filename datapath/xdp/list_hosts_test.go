package xdp

import (
	"context"
	"encoding/binary"
	"net/netip"
	"testing"

	"plumbline/api"
	"plumbline/datapath"
	"plumbline/datapath/conformance"
	"plumbline/datapath/model"
	"plumbline/gtpu"
)

// TestListHosts: the programs never take a filter with a host for one without. A
// TCP packet that it might match goes to the slow path, which knows names; what it
// cannot match, or an earlier PDR matches, they do themselves.
func TestListHosts(t *testing.T) {
	b := openBed(t, conformance.MaxSessions)
	s := &api.Session{Seid: 1}
	for i, r := range []struct {
		action api.Action
		filter *api.Filter
	}{
		{api.Action_FORW, &api.Filter{RemotePorts: []*api.PortRange{{First: 22, Last: 22}}}},
		{api.Action_DROP, &api.Filter{Host: "video.test"}},
		{api.Action_FORW, nil},
	} {
		rule := &api.Rule{
			PdrId: uint32(i) + 1, FarId: uint32(i) + 1, Precedence: uint32(i), OuterHeaderRemoval: true,
			Detect:  &api.Detect{FTeid: &api.FTEID{Teid: 1, Ipv4: 0x0a030001}, UeAddress: &api.UEAddress{Ipv4: 0x0a2d0001}},
			Forward: &api.Forward{Action: r.action, DestinationInterface: api.Interface_CORE},
		}
		if r.filter != nil {
			rule.Detect.Filters = []*api.Filter{r.filter}
		}
		s.Rules = append(s.Rules, rule)
	}
	if err := b.Apply(context.Background(), &api.Change{Seid: 1, Session: s}); err != nil {
		t.Fatal(err)
	}
	if b.teids.slots[1].Ctl&ruleList == 0 {
		t.Fatal("the programs have no list")
	}
	request := "GET / HTTP/1.1\r\nHost: video.test\r\n\r\n"
	for _, c := range []struct {
		name     string
		protocol byte
		port     uint16
		data     string
		slow     bool
		reason   datapath.Reason
	}{
		{"no TCP", 17, 80, request, false, datapath.ReasonNone},
		{"no name yet", 6, 80, "", true, datapath.ReasonNone},
		{"of an earlier PDR", 6, 22, request, false, datapath.ReasonNone},
		{"shows the name", 6, 80, request, true, datapath.DropFAR},
		{"its next packet", 6, 80, "body", true, datapath.DropFAR},
		{"another flow", 6, 81, "body", true, datapath.ReasonNone},
	} {
		before := b.slowFrames
		got := b.Frame(t, conformance.N3, hostFrame(c.protocol, c.port, c.data))
		if slow := b.slowFrames != before; slow != c.slow || got.Reason != c.reason {
			t.Errorf("%s: got slow %t, %v; want %t, %v", c.name, slow, got.Reason, c.slow, c.reason)
		}
	}
}

// hostFrame is a packet of the UE to a port, in a frame from the gNB. With TCP it
// is an ACK with data.
func hostFrame(protocol byte, port uint16, data string) []byte {
	upper := binary.BigEndian.AppendUint16([]byte{0x13, 0x88}, port)
	rest := []byte{0, 0, 3, 232, 0, 0, 0, 0, 5 << 4, 0x10, 0xff, 0xff, 0, 0, 0, 0}
	if protocol == 17 {
		rest = []byte{0, byte(8 + len(data)), 0, 0}
	}
	upper = append(append(upper, rest...), data...)
	user := []byte{0x45, 0, 0, byte(20 + len(upper)), 0, 0, 0, 0, 64, protocol, 0, 0, 10, 45, 0, 1, 203, 0, 113, 9}
	user = append(user, upper...)
	message := append(gtpu.AppendGPDU(nil, 1, gtpu.PDUTypeUplink, 9, len(user)), user...)
	out := model.Datagram{From: gnbPort, To: netip.AddrPortFrom(conformance.N3Address, gtpu.Port), Payload: message}
	return append(binary.BigEndian.AppendUint16(make([]byte, 12), etherIPv4), out.Packet()...)
}
