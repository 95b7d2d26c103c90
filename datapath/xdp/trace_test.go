package xdp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
)

var everything = datapath.TraceFilter{All: true, Sample: 1, Rate: datapath.MaxTraceRate, Snap: datapath.MaxTraceSnap}

func startTrace(t *testing.T, n *network, f datapath.TraceFilter) datapath.Trace {
	t.Helper()
	x, err := n.upf.Trace(f)
	check(t, err)
	t.Cleanup(x.Close)
	return x
}

func nextPacket(t *testing.T, x datapath.Trace) *datapath.TracePacket {
	t.Helper()
	select {
	case p := <-x.Packets():
		return p
	case <-time.After(10 * time.Second):
		t.Fatalf("no packet; counts %+v", x.Counts())
		return nil
	}
}

// noPacket: what was sent before a packet that is seen has been seen, too.
func noPacket(t *testing.T, x datapath.Trace) {
	t.Helper()
	select {
	case p := <-x.Packets():
		t.Errorf("got %+v, want nothing more", p)
	default:
	}
}

// tracedOn are the hooks on which packets are traced.
var tracedOn = map[string]func(xdp.Config) xdp.Config{
	"native": nil, "generic": func(c xdp.Config) xdp.Config { c.Mode = xdp.Generic; return c }, "tc": onTC,
}

// onHooks runs a test on XDP and on TC.
func onHooks(t *testing.T, name string, test func(t *testing.T, n *network)) {
	t.Helper()
	for _, hook := range []string{"native", "tc"} {
		t.Run(hook, func(t *testing.T) { test(t, openNetworkOn(t, name+"-"+hook, xdp.Native, tracedOn[hook])) })
	}
}

// TestTraceFrames: both frames of a packet that is forwarded, whole, each at its
// device, and which rule it met.
func TestTraceFrames(t *testing.T) {
	for name, on := range tracedOn {
		t.Run(name, func(t *testing.T) {
			n := openNetworkOn(t, "trace-"+name, xdp.Native, on)
			n.install(t, n.N3.Peer.Address.Addr())
			n.uplink(t, payload(100)) // resolves the neighbours
			n.downlink(t, payload(100))
			x := startTrace(t, n, datapath.TraceFilter{
				TraceTargets: datapath.TraceTargets{UEs: []netip.Addr{n.ue}}, Sample: 1, Rate: 1000, Snap: datapath.MaxTraceSnap})
			before := time.Now()
			n.uplink(t, payload(1000))
			p := nextPacket(t, x)
			for p.Reason == datapath.PassUnresolved || p.Slow {
				n.uplink(t, payload(1000))
				p = nextPacket(t, x)
			}
			user := n.datagram(payload(1000))
			gpdu := gtpu.AppendGPDU(nil, ulTEID, gtpu.PDUTypeUplink, 9, len(user))
			if p.Reason != datapath.ReasonNone || p.TEID != ulTEID || p.Key != (datapath.Key{TEID: ulTEID, Local: n.N3.UPF.Address.Addr()}) ||
				p.At.Before(before.Add(-time.Second)) || p.At.After(time.Now().Add(time.Second)) || p.Took <= 0 || p.CPU < 0 {
				t.Errorf("uplink: %+v", p)
			}
			checkFrame(t, "arrived", p.Arrived, n.N3.UPF.Device, 14+20+8+len(gpdu)+len(user), append(gpdu, user...))
			user[8]-- // the TTL, and the checksum by the difference
			user[10]++
			checkFrame(t, "left", p.Left, n.N6.UPF.Device, 14+len(user), user)

			n.downlink(t, payload(10))
			p = nextPacket(t, x)
			for p.Slow || p.Reason != datapath.ReasonNone {
				n.downlink(t, payload(10))
				p = nextPacket(t, x)
			}
			if p.TEID != 0 || p.Key != (datapath.Key{IPv4: number(n.ue)}) || p.Arrived.Device != n.N6.UPF.Device ||
				p.Left.Device != n.N3.UPF.Device || p.Left.Octets != p.Arrived.Octets+20+8+16 || len(p.Left.Data) != p.Left.Octets {
				t.Errorf("downlink: %+v", p)
			}
		})
	}
}

// checkFrame: all octets of the frame are there, and it ends with tail.
func checkFrame(t *testing.T, what string, f datapath.TraceFrame, device string, octets int, tail []byte) {
	t.Helper()
	if f.Device != device || f.Octets != octets || len(f.Data) != octets || f.IP {
		t.Errorf("%s: %s, %d of %d octets, IP %t; want %s, %d", what, f.Device, len(f.Data), f.Octets, f.IP, device, octets)
	}
	if !bytes.HasSuffix(f.Data, tail) {
		t.Errorf("%s: got %x, want at its end %x", what, f.Data, tail)
	}
}

// TestTraceSelects: which packets each of several traces sees.
func TestTraceSelects(t *testing.T) { onHooks(t, "trace-sel", traceSelects) }

func traceSelects(t *testing.T, n *network) {
	n.install(t, n.N3.Peer.Address.Addr())
	n.uplink(t, payload(10))
	targets := func(s datapath.TraceTargets, reasons ...datapath.Reason) datapath.TraceFilter {
		return datapath.TraceFilter{TraceTargets: s, Reasons: reasons, Sample: 1, Rate: 1000, Snap: 64}
	}
	teid := startTrace(t, n, targets(datapath.TraceTargets{TEIDs: []uint32{ulTEID}}))
	another := startTrace(t, n, targets(datapath.TraceTargets{UEs: []netip.Addr{netip.MustParseAddr("10.64.0.9")}}))
	drops := startTrace(t, n, targets(datapath.TraceTargets{}, datapath.DropNoPDR))
	all := startTrace(t, n, everything)
	if _, err := n.upf.Trace(everything); !errors.Is(err, datapath.ErrTraces) {
		t.Errorf("one more: got %v, want ErrTraces", err)
	}
	n.send(t, ulTEID+1, n.datagram(payload(3)))
	n.uplink(t, payload(10))

	if p := nextPacket(t, teid); p.TEID != ulTEID || len(p.Arrived.Data) != 64 || p.Arrived.Octets <= 64 {
		t.Errorf("by TEID: %+v", p)
	}
	noPacket(t, teid)
	if p := nextPacket(t, drops); p.Reason != datapath.DropNoPDR || p.TEID != ulTEID+1 || !p.Slow {
		t.Errorf("by reason: %+v", p) // the slow path drops and answers the first ones
	}
	noPacket(t, another)
	p := nextPacket(t, all) // of the program, or of the slow path: they come by two rings
	if p.Reason != datapath.PassAnswer && !(p.Slow && p.Reason == datapath.DropNoPDR) || p.TEID != ulTEID+1 || p.Left.Octets != 0 {
		t.Errorf("all: %+v", p)
	}
	check(t, another.Retarget(datapath.TraceTargets{UEs: []netip.Addr{n.ue}}))
	n.uplink(t, payload(10))
	if p := nextPacket(t, another); p.TEID != ulTEID {
		t.Errorf("retargeted: %+v", p)
	}
	all.Close()
	all.Close()
	for range all.Packets() { // ends
	}
	if err := all.Retarget(datapath.TraceTargets{}); !errors.Is(err, datapath.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// send sends a G-PDU from the gNB.
func (n *network) send(t *testing.T, teid uint32, user []byte) {
	t.Helper()
	message := append(gtpu.AppendGPDU(nil, teid, gtpu.PDUTypeUplink, 9, len(user)), user...)
	_, err := n.gnb.WriteToUDPAddrPort(message, netip.AddrPortFrom(n.N3.UPF.Address.Addr(), gtpu.Port))
	check(t, err)
}

// TestTraceBounds: sample and rate hold, and what is not shown is counted.
func TestTraceBounds(t *testing.T) { onHooks(t, "trace-rate", traceBounds) }

func traceBounds(t *testing.T, n *network) {
	n.install(t, n.N3.Peer.Address.Addr())
	n.uplink(t, payload(10))
	filter := datapath.TraceFilter{TraceTargets: datapath.TraceTargets{TEIDs: []uint32{ulTEID}}, Sample: 1, Rate: 1, Snap: 1}
	slow := startTrace(t, n, filter)
	filter.Sample, filter.Rate = 1<<30, 1000
	rare := startTrace(t, n, filter)
	const packets = 20
	for range packets {
		n.uplink(t, payload(10))
	}
	// One at once; the burst is shorter than the time between two.
	if c := slow.Counts(); c.Wanted != packets || c.Limited < packets-5 || c.Lost != 0 {
		t.Errorf("one a second: %+v", c)
	}
	if p := nextPacket(t, slow); len(p.Arrived.Data) != 1 || p.Arrived.Octets < 60 {
		t.Errorf("snap: %+v", p)
	}
	if c := rare.Counts(); c.Wanted != packets || c.Limited != 0 {
		t.Errorf("one in 2^30: %+v", c)
	}
	noPacket(t, rare)
	for _, bad := range []datapath.TraceFilter{
		{}, {Sample: 1, Rate: 1}, {Sample: 1, Rate: 1, Snap: datapath.MaxTraceSnap + 1}, {Sample: 1, Rate: datapath.MaxTraceRate + 1, Snap: 1},
		{Sample: 1, Rate: 1, Snap: 1, TraceTargets: datapath.TraceTargets{TEIDs: make([]uint32, datapath.MaxTraceKeys+1)}},
		{Sample: 1, Rate: 1, Snap: 1, TraceTargets: datapath.TraceTargets{UEs: []netip.Addr{{}}}},
	} {
		if x, err := n.upf.Trace(bad); err == nil {
			t.Errorf("%+v: no error", bad)
			x.Close()
		}
	}
}

// TestTraceSlowPath: what the slow path does is seen with what came.
func TestTraceSlowPath(t *testing.T) { onHooks(t, "trace-slow", traceSlowPath) }

func traceSlowPath(t *testing.T, n *network) {
	n.install(t, n.N3.Peer.Address.Addr())
	n.uplink(t, payload(10))
	x := startTrace(t, n, everything)
	// Longer than N3 takes, and not to be cut: dropped, and its sender is told.
	_, err := n.dn.WriteToUDPAddrPort(payload(1472), netip.AddrPortFrom(n.ue, uePort))
	check(t, err)
	slow := nextPacket(t, x)
	for ; !slow.Slow; slow = nextPacket(t, x) {
		if slow.Reason != datapath.PassTooBig && slow.Reason != datapath.PassUnresolved {
			t.Errorf("program: %+v", slow)
		}
	}
	if slow.Reason != datapath.DropMTU || !slow.Arrived.IP || slow.Arrived.Octets != 1500 || slow.Left.Octets != 0 ||
		slow.Arrived.Device != n.N6.UPF.Device || slow.Key != (datapath.Key{IPv4: number(n.ue)}) {
		t.Errorf("slow path: %+v", slow)
	}
	if told := nextPacket(t, x); !told.Answer || told.Left.Device != n.N6.UPF.Device || told.Left.Octets == 0 {
		t.Errorf("its sender is told: %+v", told)
	}
	n.echo(t)
	for p := nextPacket(t, x); ; p = nextPacket(t, x) {
		if p.Answer {
			if p.Left.Octets == 0 || p.Arrived.Octets == 0 {
				t.Errorf("answer: %+v", p)
			}
			break
		}
	}
}

// TestTraceList: which PDR of several with the same key a packet has met, and none
// if it has met none.
func TestTraceList(t *testing.T) { onHooks(t, "trace-list", traceList) }

func traceList(t *testing.T, n *network) {
	s := n.session(n.N3.Peer.Address.Addr())
	all := s.Rules[0]
	all.PdrId, all.Precedence, s.Rules[1].Precedence = 300, 30, 20
	closed := proto.CloneOf(all)
	closed.PdrId, closed.Precedence = 7, 10
	closed.Detect.Filters = []*api.Filter{{RemotePorts: []*api.PortRange{{First: dnPort + 1, Last: dnPort + 1}}}}
	closed.Forward = &api.Forward{Action: api.Action_DROP}
	all.Detect.Filters = []*api.Filter{{Protocol: new(uint32(17))}}
	s.Rules = []*api.Rule{closed, s.Rules[1], all}
	check(t, n.upf.Apply(context.Background(), &api.Change{Seid: 1, Session: s}))
	n.uplink(t, payload(10)) // resolves the neighbour
	x := startTrace(t, n, everything)
	packet := func(change int, to byte) []byte {
		user := n.datagram(payload(10))
		user[change] += to
		if change < 20 {
			binary.BigEndian.PutUint16(user[10:], 0)
			binary.BigEndian.PutUint16(user[10:], sum(user[:20]))
		}
		return user
	}
	for _, c := range []struct {
		name   string
		user   []byte
		pdr    uint32
		reason datapath.Reason
	}{
		{"last", packet(0, 0), 300, datapath.ReasonNone},
		{"first", packet(23, 1), 7, datapath.DropFAR},
		{"none", packet(9, 1), 0, datapath.DropSDFFilter},
	} {
		n.send(t, ulTEID, c.user)
		if p := nextPacket(t, x); p.PDRID != c.pdr || p.Reason != c.reason || p.Key != (datapath.Key{TEID: ulTEID, Local: n.N3.UPF.Address.Addr()}) || p.Slow {
			t.Errorf("%s: got PDR %d, %v: %+v; want PDR %d, %v", c.name, p.PDRID, p.Reason, p, c.pdr, c.reason)
		}
	}
}

// TestTraceSplit: a packet whose checksum the helper pair finishes is seen before, when
// no rule has been looked for, and after, each time as come on the device of N6.
func TestTraceSplit(t *testing.T) {
	n := layOffloaded(t)
	n.on = onTC
	n.start(t, "", datapath.Endpoint{Name: "n3", Device: n.N3.UPF.Device, Address: n.N3.UPF.Address.Addr()})
	n.gnb = listen(t, n.GNB, netip.AddrPortFrom(n.N3.Peer.Address.Addr(), gtpu.Port))
	n.dn = listen(t, n.DN, netip.AddrPortFrom(n.N6.Peer.Address.Addr(), dnPort))
	n.install(t, n.N3.Peer.Address.Addr())
	n.downlink(t, payload(10)) // resolves the neighbours
	x := startTrace(t, n, everything)
	n.downlink(t, payload(10)) // of a socket: its checksum is left to the device
	p := nextPacket(t, x)
	if p.Reason != datapath.PassSplit || p.Arrived.Device != n.N6.UPF.Device || p.Left.Octets != 0 {
		t.Errorf("before: %+v", p)
	}
	for p = nextPacket(t, x); p.Reason != datapath.ReasonNone; p = nextPacket(t, x) {
		if p.Reason != datapath.PassSplit { // the neighbour was not there yet
			n.downlink(t, payload(10))
		}
	}
	if p.Arrived.Device != n.N6.UPF.Device || p.Key != (datapath.Key{IPv4: number(n.ue)}) {
		t.Errorf("after: %+v", p)
	}
}
