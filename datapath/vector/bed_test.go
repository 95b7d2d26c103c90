package vector

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// bed is an engine with devices that are not there.
type bed struct {
	*Engine
	worker    *Worker
	now       uint64
	mtu       int
	oneDevice bool // N3 and N6 are the same
	tight     bool // no room in front of GTP-U messages
	several   bool // of what a frame becomes some may leave, and some be dropped at own F-TEIDs
	traced    datapath.Trace
	sent      [][]byte // what left beside the packets that came
}

func openBed(t testing.TB, change ...func(b *bed, c *Config)) *bed {
	t.Helper()
	b, hosts := &bed{now: 1e9, mtu: conformance.MTU}, &Hosts{}
	hosts.Set(conformance.HostAddresses)
	cfg := Config{
		Name: "vector", Endpoints: conformance.Endpoints, N6: conformance.DataNetworks, MaxSessions: conformance.MaxSessions,
		Links: b, Hosts: hosts, Advertise: &conformance.Advertise, Secret: conformance.Secret, ChoosePort: func(int) int { return 0 },
		Now: func() uint64 { return b.now }, Send: b.own,
	}
	for _, f := range change {
		f(b, &cfg)
	}
	b.Engine = New(cfg)
	b.worker = b.NewWorker()
	if b.traces.On() {
		t.Fatal("traces before anybody asked for one")
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// MTU implements [Links].
func (b *bed) MTU(*stages.Rule, netip.Addr) int { return b.mtu }

// Router implements [Links].
func (b *bed) Router(v6 bool) netip.Addr {
	if v6 {
		return conformance.N6Address6
	}
	return conformance.N6Address
}

// Least implements [Links].
func (b *bed) Least() int { return b.mtu }

// MTUs implements [Links].
func (b *bed) MTUs(int) (n6, tunnel int) { return b.mtu, b.mtu }

// own takes what leaves of its own accord.
func (b *bed) own(out []*Packet) {
	for _, p := range out {
		b.sent = append(b.sent, wire(p))
	}
}

// wire is a packet as it is on the wire, from its IP header on.
func wire(p *Packet) []byte {
	if p.Outer != nil && p.Start < Headroom { // an I/O that has no room takes some
		q := packetOf(p.Octets())
		p.Buf, p.Start, p.End = q.Buf, q.Start, q.End
	}
	if p.Outer != nil && !p.PutOuter() {
		panic(fmt.Sprintf("no room in front of %x", p.Octets()))
	}
	return bytes.Clone(p.Octets())
}

// packetOf returns a packet in a buffer as an I/O has it.
func packetOf(octets []byte) *Packet {
	p := &Packet{Buf: make([]byte, Headroom+len(octets)), Start: Headroom, End: Headroom + len(octets)}
	copy(p.Buf[Headroom:], octets)
	return p
}

// Frame implements [conformance.Datapath].
func (b *bed) Frame(t testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	t.Helper()
	before := b.drops(t)
	got := b.frame(t, port, frame)
	if after := b.drops(t); !b.several && got.Reason == datapath.ReasonNone && !bytes.Equal(before, after) {
		t.Errorf("sent, and counted as dropped: %s, before %s", after, before)
	}
	return got
}

func (b *bed) drops(t testing.TB) []byte {
	t.Helper()
	all := b.counted(true)
	for _, r := range []datapath.Reason{datapath.DropBufferAge, datapath.DropBufferEnd, datapath.DropCopy} {
		delete(all, r.String())
	}
	return fmt.Append(nil, all)
}

func (b *bed) frame(t testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	p, reason := b.arrive(port, frame)
	if reason != datapath.ReasonNone {
		b.worker.Refuse(reason)
		return conformance.Outcome{Reason: reason}
	}
	if b.traced == nil {
		return b.vector(p)
	}
	message := bytes.Clone(p.Octets())
	got := b.vector(p)
	b.checkTraced(t, message, got)
	return got
}

// arrive returns what an I/O makes of a frame, or why it is none of the engine's.
func (b *bed) arrive(port conformance.Port, frame []byte) (*Packet, datapath.Reason) {
	if port == conformance.N3 || b.oneDevice && port != conformance.N6LAN {
		if p, reason := b.fromN3(frame); !b.oneDevice || reason != datapath.PassHost {
			return p, reason
		}
	}
	network := 1 + max(0, int(port-conformance.N6))
	if port != conformance.N6LAN {
		if len(frame) < inet.LenEthernet {
			return nil, datapath.PassHost
		}
		other := map[uint16]byte{0x0800: 6, 0x86dd: 4}[binary.BigEndian.Uint16(frame[12:])]
		frame = frame[inet.LenEthernet:]
		if other == 0 || len(frame) > 0 && frame[0]>>4 == other {
			return nil, datapath.PassHost
		}
	}
	p := packetOf(frame)
	p.Network = network
	return p, datapath.ReasonNone
}

func (b *bed) fromN3(frame []byte) (*Packet, datapath.Reason) {
	if len(frame) < inet.LenEthernet {
		return nil, datapath.PassHost
	}
	version := map[uint16]byte{0x0800: 4, 0x86dd: 6}[binary.BigEndian.Uint16(frame[12:])]
	p := packetOf(frame[inet.LenEthernet:])
	if p.Start == p.End || p.Octets()[0]>>4 != version {
		return nil, datapath.PassHost
	}
	if reason := b.TakeOuter(p); reason != datapath.ReasonNone {
		return nil, reason
	}
	if b.tight {
		p.Buf = p.Buf[p.Start:p.End:p.End]
		p.Start, p.End = 0, len(p.Buf)
	}
	return p, datapath.ReasonNone
}

// vector treats one packet.
func (b *bed) vector(p *Packet) conformance.Outcome {
	first, got := true, conformance.Outcome{}
	b.stages.N6.Expire(b.cfg.Now()) // as the model does, and no more
	b.worker.Run([]*Packet{p}, func(out []*Packet) {
		for _, o := range out {
			if first && p.Reason == datapath.ReasonNone {
				got.Packet = wire(o)
			} else {
				b.sent = append(b.sent, wire(o))
			}
			first = false
		}
	})
	got.Reason = p.Reason
	b.findErrored()
	return got
}

// Apply implements [conformance.Datapath]: what a change releases may come to an F-TEID
// that no rule has.
func (b *bed) Apply(ctx context.Context, c *api.Change) error {
	err := b.Engine.Apply(ctx, c)
	b.findErrored()
	return err
}

// Sent implements [conformance.Datapath].
func (b *bed) Sent(testing.TB) [][]byte {
	sent := b.sent
	b.sent = nil
	return sent
}

// Pass implements [conformance.Shared]: each session comes to its turn in so many.
func (b *bed) Pass(d time.Duration) {
	b.now += uint64(d)
	for range 16 {
		b.tend()
	}
}

// EventWait implements [random.Datapath].
func (b *bed) EventWait() time.Duration { return 0 }

// Remains implements [conformance.Shared].
func (b *bed) Remains() (all []string) {
	left := func(what string, n int) {
		if n != 0 {
			all = append(all, fmt.Sprintf("%d %s", n, what))
		}
	}
	left("sessions", b.sessions.Len())
	o := b.Buffered()
	left("buffered packets, and sessions that have some", o.Packets+o.Sessions)
	left("peers", len(b.peers.rules)+len(b.peers.addrs))
	for name, t := range map[string]*table{"TEIDs": &b.tables.teids, "IPv4": &b.tables.v4, "IPv6": &b.tables.v6} {
		left(name+" beside their home", len(t.guests))
		for _, used := range t.used {
			left("records of "+name, int(used))
		}
	}
	left("framed routes", len(b.tables.routes))
	for _, u := range b.TableUse() {
		left("of "+u.Name, u.Used)
	}
	return all
}

var _ conformance.Shared = (*bed)(nil)

func TestConformance(t *testing.T) {
	for name, c := range map[string]struct{ oneDevice, tight, traced bool }{
		"two devices": {}, "one device": {oneDevice: true}, "no room in front": {tight: true}, "traced": {traced: true},
	} {
		t.Run(name, func(t *testing.T) {
			conformance.Run(t, conformance.Kind{OneDevice: c.oneDevice}, func(t *testing.T) conformance.Datapath {
				b := openBed(t, func(b *bed, _ *Config) { b.oneDevice, b.tight = c.oneDevice, c.tight })
				if c.traced {
					b.traced = b.startTrace(t, everything)
				}
				return b
			})
		})
	}
}
