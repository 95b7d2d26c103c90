package xdp

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// hostSession has three PDRs uplink and two downlink: what goes to and comes from
// port 22 is forwarded, then what *.video.test is dropped, the rest forwarded.
func hostSession() *api.Session {
	s := &api.Session{Seid: 1}
	add := func(source api.Interface, action api.Action, f *api.Filter) {
		r := &api.Rule{
			PdrId: uint32(len(s.Rules)) + 1, Precedence: uint32(len(s.Rules)), OuterHeaderRemoval: source == api.Interface_ACCESS,
			Detect:  &api.Detect{SourceInterface: source, UeAddress: &api.UEAddress{Ipv4: 0x0a2d0001}},
			Forward: &api.Forward{Action: action, DestinationInterface: api.Interface_CORE},
		}
		if source == api.Interface_ACCESS {
			r.Detect.FTeid = &api.FTEID{Teid: 1, Ipv4: 0x0a030001}
		} else {
			r.Forward = toGNBOf(action)
		}
		if f != nil {
			r.Detect.Filters = []*api.Filter{f}
		}
		r.FarId = r.PdrId
		s.Rules = append(s.Rules, r)
	}
	for _, from := range []api.Interface{api.Interface_ACCESS, api.Interface_CORE} {
		add(from, api.Action_FORW, &api.Filter{RemotePorts: []*api.PortRange{{First: 22, Last: 22}}})
		add(from, api.Action_DROP, &api.Filter{Host: "*.video.test"})
		add(from, api.Action_FORW, nil)
	}
	return s
}

func toGNBOf(action api.Action) *api.Forward {
	peer := conformance.GNBAddress.As4()
	return &api.Forward{
		Action: action, DestinationInterface: api.Interface_ACCESS,
		OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 0x101, Ipv4: binary.BigEndian.Uint32(peer[:])},
	}
}

// TestListHosts: packets of a flow take the slow path until it has learnt what the
// flow is called, and when one may change that; all others are the programs', and
// are treated alike.
func TestListHosts(t *testing.T) {
	c := newClock(t)
	b := openConfig(t, Config{MaxSessions: conformance.MaxSessions, now: c.read, edit: c.edit}, bedPorts())
	apply(t, b, hostSession())
	if b.teids.slots[1].Ctl&ruleList == 0 {
		t.Fatal("the programs have no list")
	}
	const request, other = "GET / HTTP/1.1\r\nHost: a.video.test\r\n\r\n", "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n"
	const syn, ack, rst = 0x02, 0x10, 0x14
	forwarded, dropped := datapath.ReasonNone, datapath.DropFAR
	const (
		post = "POST / HTTP/1.1\r\nHost: a.video.test\r\nContent-Length: 30\r\n\r\n"
		two  = "GET / HTTP/1.1\r\nHost: a.video.test\r\nHost: b.test\r\n\r\n"
	)
	next := map[conformance.Port]uint32{}
	video, none := conformance.QUICInitial("12345678", "a.video.test"), conformance.QUICInitial("87654321", "b.test")
	for _, step := range []struct {
		name   string
		after  time.Duration
		port   conformance.Port
		in     hostPacket
		seq    int // -1: where the last one of this side ended
		slow   bool
		reason datapath.Reason
	}{
		{"no TCP", 0, conformance.N3, hostPacket{protocol: 17, port: 80, flags: 0, data: request}, -1, false, forwarded},
		{"of an earlier PDR", 0, conformance.N3, hostPacket{protocol: 6, port: 22, flags: ack, data: request}, -1, false, forwarded},
		{"SYN", 0, conformance.N3, hostPacket{protocol: 6, port: 80, flags: syn, data: ""}, 999, true, forwarded},
		{"its answer, the same flow", 0, conformance.N6, hostPacket{protocol: 6, port: 80, flags: syn | ack, data: ""}, -1, false, forwarded},
		{"no name yet", 0, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: ""}, 1000, false, forwarded},
		{"shows the name", 0, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: request}, 1000, true, dropped},
		{"its next packet", 0, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: ""}, -1, false, dropped},
		{"the request again", 0, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: request}, 1000, false, dropped},
		{"from the other side", 0, conformance.N6, hostPacket{protocol: 6, port: 80, flags: ack, data: "HTTP/1.1 200"}, -1, false, dropped},
		{"what would be a request, from the other side", 0, conformance.N6, hostPacket{protocol: 6, port: 80, flags: ack, data: other}, -1, false, dropped},
		{"the first octet of another name", 0, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: other[:1]}, -1, true, forwarded},
		{"from the other side, while it is not known", 0, conformance.N6, hostPacket{protocol: 6, port: 80, flags: ack, data: ""}, -1, true, forwarded},
		{"the rest of it", 0, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: other[1:]}, -1, true, forwarded},
		{"the other side knows it", 0, conformance.N6, hostPacket{protocol: 6, port: 80, flags: ack, data: ""}, -1, false, forwarded},
		{"its next packet", 0, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: ""}, -1, false, forwarded},
		{"the first name, with a body", 0, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: post}, -1, true, dropped},
		{"the body", 0, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: other[:20]}, -1, false, dropped},
		{"the rest of it, and a request", 0, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: "0123456789" + other}, -1, true, forwarded},
		{"used once in a while", 50 * time.Second, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: ""}, -1, false, forwarded},
		{"used once in a while", 50 * time.Second, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: ""}, -1, false, forwarded},
		{"silent for a while", 61 * time.Second, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: ""}, -1, true, forwarded},
		{"and not", 0, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: ""}, -1, false, forwarded},
		{"the first name again", 0, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: request}, -1, true, dropped},
		{"silent for two hours", 2 * time.Hour, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: ""}, -1, true, dropped},
		{"silent for too long", 3 * time.Hour, conformance.N3, hostPacket{protocol: 6, port: 80, flags: ack, data: "body"}, -1, true, forwarded},
		{"an unknown name, in two packets", 0, conformance.N3, hostPacket{protocol: 6, port: 81, flags: ack, data: request[:30]}, 1000, true, forwarded},
		{"while it is not known", 0, conformance.N6, hostPacket{protocol: 6, port: 81, flags: ack, data: ""}, -1, true, forwarded},
		{"its end", 0, conformance.N3, hostPacket{protocol: 6, port: 81, flags: ack, data: request[30:]}, -1, true, dropped},
		{"is known", 0, conformance.N6, hostPacket{protocol: 6, port: 81, flags: ack, data: ""}, -1, false, dropped},
		{"two Hosts", 0, conformance.N3, hostPacket{protocol: 6, port: 81, flags: ack, data: two}, -1, true, forwarded},
		{"has no name any more", 0, conformance.N3, hostPacket{protocol: 6, port: 81, flags: ack, data: request}, -1, false, forwarded},
		{"RST", 0, conformance.N6, hostPacket{protocol: 6, port: 81, flags: rst, data: ""}, -1, true, forwarded},
		{"behind it", 0, conformance.N6, hostPacket{protocol: 6, port: 81, flags: ack, data: ""}, -1, true, forwarded},
		{"and again", 0, conformance.N6, hostPacket{protocol: 6, port: 81, flags: ack, data: ""}, -1, false, forwarded},
		{"a wrong checksum", 0, conformance.N3, hostPacket{protocol: 6, port: 82, flags: ack, data: request, wrongSum: true}, 1000, true, forwarded},
		{"and a right one", 0, conformance.N3, hostPacket{protocol: 6, port: 82, flags: ack, data: other}, 1000, true, forwarded},
		{"UDP", 0, conformance.N3, hostPacket{protocol: 17, port: 83, data: "\x40 and so on"}, -1, false, forwarded},
		{"QUIC", 0, conformance.N3, hostPacket{protocol: 17, port: 83, data: video}, -1, true, dropped},
		{"its next packet", 0, conformance.N3, hostPacket{protocol: 17, port: 83, data: "\x40 and so on"}, -1, false, dropped},
		{"its answer", 0, conformance.N6, hostPacket{protocol: 17, port: 83, data: "\x40 and so on"}, -1, false, dropped},
		{"what would be an Initial, from the other side", 0, conformance.N6, hostPacket{protocol: 17, port: 83, data: none}, -1, false, dropped},
		{"silent for a while", 61 * time.Second, conformance.N3, hostPacket{protocol: 17, port: 83, data: "\x40 and so on"}, -1, true, dropped},
		{"TCP of the same ports", 0, conformance.N6, hostPacket{protocol: 6, port: 83, flags: ack, data: "body"}, -1, true, forwarded},
		{"another name", 0, conformance.N3, hostPacket{protocol: 17, port: 83, data: none}, -1, true, forwarded},
		{"the first one again", 0, conformance.N3, hostPacket{protocol: 17, port: 83, data: video}, -1, false, forwarded},
		{"QUIC with a wrong checksum", 0, conformance.N3, hostPacket{protocol: 17, port: 84, data: video, wrongSum: true}, -1, true, forwarded},
	} {
		c.Pass(step.after)
		before := b.slowFrames
		if step.seq >= 0 {
			next[step.port] = uint32(step.seq)
		}
		step.in.seq = next[step.port]
		next[step.port] += uint32(len(step.in.data))
		got := b.Frame(t, step.port, step.in.frame(step.port))
		if slow := b.slowFrames != before; slow != step.slow || got.Reason != step.reason {
			t.Errorf("%s: got slow %t, %v; want %t, %v", step.name, slow, got.Reason, step.slow, step.reason)
		}
	}
	if err := b.Apply(t.Context(), &api.Change{Seid: 1}); err != nil {
		t.Fatal(err)
	}
	b.checkNames(t, 0)
}

// TestHostsOfHostile: a UE that opens flow upon flow takes none of what another's
// are known by, and no more room than its own.
func TestHostsOfHostile(t *testing.T) {
	b := openBed(t, conformance.MaxSessions)
	apply(t, b, hostSession())
	quiet := hostSession()
	quiet.Seid = 2
	for _, r := range quiet.Rules {
		r.Detect.UeAddress = &api.UEAddress{Ipv4: 0x0a2d0002}
		if r.Detect.FTeid != nil {
			r.Detect.FTeid.Teid = 2
		}
	}
	apply(t, b, quiet)
	const ack, request = 0x10, "GET / HTTP/1.1\r\nHost: a.video.test\r\n\r\n"
	own := func(data string) (datapath.Reason, bool) {
		frame := hostPacket{protocol: inet.ProtoTCP, port: 80, flags: ack, data: data}.frame(conformance.N6)
		user := frame[inet.LenEthernet:]
		user[19], user[10], user[11], user[36], user[37] = 2, 0, 0, 0, 0
		binary.BigEndian.PutUint16(user[10:], checksum.Of(user[:20]))
		binary.BigEndian.PutUint16(user[36:], stages.UpperChecksum(user, inet.ProtoTCP, 20))
		before := b.slowFrames
		got := b.Frame(t, conformance.N6, frame)
		return got.Reason, b.slowFrames != before
	}
	own(request)
	for port := range uint16(1500) {
		b.Frame(t, conformance.N3, hostPacket{protocol: inet.ProtoTCP, port: 1000 + port, flags: ack, data: request}.frame(conformance.N3))
	}
	b.checkNames(t, 1024+1)
	if reason, slow := own("body"); reason != datapath.DropFAR || slow {
		t.Errorf("the other UE's flow: %v, slow %t; want %v, false", reason, slow, datapath.DropFAR)
	}
}

// checkNames states how many flows the programs know, and that none waits.
func (b *bed) checkNames(t testing.TB, want int) {
	t.Helper()
	var k upfNamedKey
	var v upfNamed
	n, all := 0, b.objs.Names.Iterate()
	for all.Next(&k, &v) {
		n++
	}
	if all.Err() != nil || n != want {
		t.Errorf("the programs know %d flows, want %d: %v", n, want, all.Err())
	}
	for i := range b.waits.slots {
		if n := b.waits.slots[i].Packets; n != 0 {
			t.Errorf("%d packets wait at %d", n, i)
		}
	}
}

// hostPacket is a packet between the UE, port 5000, and a port.
type hostPacket struct {
	protocol byte
	port     uint16
	flags    byte // of TCP
	data     string
	seq      uint32
	offset   byte // Data Offset is so many words more than it should be
	wrongSum bool
}

// frame is that as it arrives.
func (p hostPacket) frame(port conformance.Port) []byte {
	local := uint16(5000)
	remote, ue := [4]byte{203, 0, 113, 9}, [4]byte{10, 45, 0, 1}
	source, destination, from, to := remote, ue, p.port, local
	if port == conformance.N3 {
		source, destination, from, to = ue, remote, local, p.port
	}
	upper := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, from), to)
	if p.protocol == inet.ProtoUDP {
		upper = append(binary.BigEndian.AppendUint16(upper, uint16(8+len(p.data))), 0, 0)
		if p.wrongSum {
			upper[7] = 1
		}
	} else {
		upper = append(binary.BigEndian.AppendUint32(upper, p.seq), 0, 0, 0, 0, (5+p.offset)<<4, p.flags, 0xff, 0xff, 0, 0, 0, 0)
	}
	upper = append(upper, p.data...)
	user := append([]byte{0x45, 0, byte((20 + len(upper)) >> 8), byte(20 + len(upper)), 0, 0, 0, 0, 64, p.protocol, 0, 0}, source[:]...)
	user = append(append(user, destination[:]...), upper...)
	binary.BigEndian.PutUint16(user[10:], checksum.Of(user[:20]))
	if p.protocol == inet.ProtoTCP && !p.wrongSum {
		binary.BigEndian.PutUint16(user[20+16:], stages.UpperChecksum(user, inet.ProtoTCP, 20))
	}
	if port != conformance.N3 {
		return append(binary.BigEndian.AppendUint16(make([]byte, 12), inet.EtherIPv4), user...)
	}
	message := append(gtpu.AppendGPDU(nil, 1, gtpu.PDUTypeUplink, 9, len(user)), user...)
	out := stages.Datagram{From: gnbPort, To: netip.AddrPortFrom(conformance.N3Address, gtpu.Port), Payload: message}
	return append(binary.BigEndian.AppendUint16(make([]byte, 12), inet.EtherIPv4), out.Packet()...)
}
