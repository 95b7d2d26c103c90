package vector

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// The first session of the benchmarks; the others follow by one.
const (
	benchTEID    = 0x01000001
	benchAddress = 10<<24 | 1
)

// benchLocal is the address at which their tunnels end.
var benchLocal = netip.MustParseAddr("10.3.0.1")

// limited is what the sessions of a benchmark have beside one PDR each way.
type limited struct {
	name     string
	mbr, urr bool
}

// benchSession is session i of a benchmark.
func benchSession(i uint32, l limited) *api.Session {
	ue, gnb := &api.UEAddress{Ipv4: benchAddress + i}, conformance.GNBAddress.As4()
	s := &api.Session{Seid: uint64(i) + 1, Qers: []*api.QER{{Id: 1, Qfi: 9}}, Rules: []*api.Rule{
		{
			PdrId: 1, FarId: 1, QerIds: []uint32{1}, OuterHeaderRemoval: true,
			Detect:  &api.Detect{SourceInterface: api.Interface_ACCESS, FTeid: &api.FTEID{Teid: benchTEID + i, Ipv4: 0x0a030001}, UeAddress: ue},
			Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE},
		},
		{
			PdrId: 2, FarId: 2, QerIds: []uint32{1},
			Detect: &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: ue},
			Forward: &api.Forward{
				Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS,
				OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 0x100 + i, Ipv4: binary.BigEndian.Uint32(gnb[:])},
			},
		},
	}}
	if l.mbr {
		s.Qers[0].UplinkMbrBps, s.Qers[0].DownlinkMbrBps = datapath.MaxMBR, datapath.MaxMBR
	}
	if l.urr {
		s.Urrs = []*api.URR{{Id: 1, Threshold: &api.Volume{Total: 1 << 60}}}
		s.Rules[0].UrrIds, s.Rules[1].UrrIds = []uint32{1}, []uint32{1}
	}
	return s
}

// openBench is an engine with sessions, and the clock of the kernel.
func openBench(t testing.TB, sessions int, l limited) *bed {
	t.Helper()
	b := openBed(t, func(b *bed, c *Config) {
		c.MaxSessions, c.Now, c.Send = max(sessions, 1), nil, nil
		c.N6.Networks = conformance.DataNetworks.Networks[:1]
		c.N6.Policies = nil
	})
	for i := range sessions {
		s := benchSession(uint32(i), l)
		if err := b.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// stream is packets of sessions that arrive again and again.
type stream struct {
	packets    []*Packet
	start, end int
	network    int
	keyAt      []int // where the UE address stands, and uplink the TEID
	order      []uint32
	sent       int
}

// newStream returns vectors of an octet string for random sessions.
func newStream(octets []byte, uplink bool, sessions int) *stream {
	s := &stream{start: Headroom, end: Headroom + len(octets), network: 1, keyAt: []int{Headroom + 16}}
	if uplink {
		s.network, s.keyAt = 0, []int{Headroom + 16 + 12, Headroom + 4}
	}
	for range MaxVector {
		s.packets = append(s.packets, packetOf(octets))
	}
	for range 1 << 16 {
		s.order = append(s.order, uint32(rand.IntN(sessions)))
	}
	return s
}

// next makes the packets those that arrive, the next ones of the order.
func (s *stream) next(at int) []*Packet {
	for i, p := range s.packets {
		session := s.order[(at+i)%len(s.order)]
		p.Start, p.End, p.Network, p.To = s.start, s.end, s.network, benchLocal
		ttl := s.keyAt[0] - 16 + 8
		if s.network == 0 {
			ttl = s.keyAt[0] - 12 + 8
		}
		p.Buf[ttl] = 64
		binary.BigEndian.PutUint32(p.Buf[s.keyAt[0]:], benchAddress+session)
		if s.network == 0 {
			binary.BigEndian.PutUint32(p.Buf[s.keyAt[1]:], benchTEID+session)
			p.Buf[s.start] = 0x34
		}
	}
	return s.packets
}

func (s *stream) take(out []*Packet) { s.sent += len(out) }

// userPacket is that of a benchmark's frame, or the message around it.
func userPackets() (uplink, downlink []byte) {
	up, down := conformance.BenchFrames()
	return up[14+20+8:], down[14:]
}

// BenchmarkRun is what a packet costs, in ns, in vectors of 256: 64 octets of UDP
// payload, QFI 9. What the packets of a vector are made of again is not counted.
func BenchmarkRun(b *testing.B) {
	up, down := userPackets()
	for _, sessions := range []int{1, 100_000} {
		for _, l := range []limited{{name: "plain"}, {name: "mbr+urr", mbr: true, urr: true}} {
			bed := openBench(b, sessions, l)
			for _, dir := range []string{"uplink", "downlink"} {
				b.Run(fmt.Sprintf("%s/sessions=%d/%s", dir, sessions, l.name), func(b *testing.B) {
					octets := down
					if dir == "uplink" {
						octets = up
					}
					benchmark(b, bed, newStream(octets, dir == "uplink", sessions))
				})
			}
		}
	}
}

// threadTime is how long this thread has worked, in ns.
func threadTime(t testing.TB) uint64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return uint64(ts.Nano())
}

func benchmark(b *testing.B, bed *bed, s *stream) {
	w := bed.NewWorker()
	take := s.take
	b.ReportAllocs()
	runtime.LockOSThread() // whose time is read: others may work on this machine
	defer runtime.UnlockOSThread()
	var took uint64
	for at := 0; at < b.N; at += MaxVector {
		in := s.next(at)
		begin := threadTime(b)
		w.Run(in, take)
		took += threadTime(b) - begin
	}
	b.ReportMetric(float64(took)/float64((b.N+MaxVector-1)/MaxVector*MaxVector), "ns/op")
	if w.slow > 0 {
		b.Fatalf("%d packets went through the model, %d left", w.slow, s.sent)
	}
}

// BenchmarkMemory is what a session takes of the heap, with one PDR each way, QFI,
// MBR and URR.
func BenchmarkMemory(b *testing.B) {
	const sessions = 100_000
	before := heapInUse()
	bed := openBench(b, sessions, limited{mbr: true, urr: true})
	b.ReportMetric((float64(heapInUse())-float64(before))/sessions, "octets/session")
	runtime.KeepAlive(bed)
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
