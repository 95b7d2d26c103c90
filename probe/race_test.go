package probe

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/probe/hook"
)

// stream is packets that pass a program one after the other.
type stream struct {
	program *ebpf.Program
	frame   []byte
	packets int
}

// atOnce has each stream pass on a CPU of its own, all at the same time.
func atOnce(t *testing.T, streams ...stream) {
	t.Helper()
	if runtime.NumCPU() < 2 {
		t.Skip("one CPU only: nothing happens at once")
	}
	var ready atomic.Int32
	var done sync.WaitGroup
	for i, s := range streams {
		done.Go(func() {
			runtime.LockOSThread() // the thread ends with the goroutine
			var cpu unix.CPUSet
			cpu.Set(i % runtime.NumCPU())
			_ = unix.SchedSetaffinity(0, &cpu) // where it may be elsewhere, it is
			err := quietly(func() error {
				for ready.Add(1); int(ready.Load()) < len(streams); {
					runtime.Gosched()
				}
				_, _, err := s.program.Benchmark(s.frame, s.packets, nil)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
}

// race is the programs of both ends of uplink, for packets with numbers and for one that
// is always the same.
type race struct {
	*rig
	packet                   []byte
	in, out, sameIn, sameOut stream
}

func newRace(t *testing.T, c Config) *race {
	// Whose packets are not known are the UPF's all the same.
	c.UPFs = []UPF{{Name: "a", UEs: []netip.Prefix{netip.PrefixFrom(ueAddr, 32)}}}
	r := newRig(t, c)
	user := udp(ueAddr, hostAddr, numbered(0, 60))
	n3, n6 := onN3(In, gpdu(7, 9, user)), frame(user)
	r.load(n3In, hook.Device{})
	r.load(n6Out, hook.Device{})
	return &race{
		rig: r, packet: user,
		in:      stream{mustCount(t, r.programs[n3In], len(n3)-60), n3, 0},
		out:     stream{mustCount(t, r.programs[n6Out], len(n6)-60), n6, 0},
		sameIn:  stream{r.programs[n3In], n3, 0},
		sameOut: stream{r.programs[n6Out], n6, 0},
	}
}

func mustCount(t *testing.T, next *ebpf.Program, offset int) *ebpf.Program {
	t.Helper()
	p, err := counting(next, offset)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p.Program
}

// from returns a stream of so many packets, of numbers after the first.
func (s stream) from(first uint32, packets int) stream {
	f := slices.Clone(s.frame)
	binary.LittleEndian.PutUint32(f[len(f)-60:], first)
	return stream{s.program, f, packets}
}

// TestRaceAlike has the same packets come in on two CPUs at the same time, and leave so:
// none is taken for another one.
func TestRaceAlike(t *testing.T) {
	r := newRace(t, Config{})
	const rounds, packets = 100, 1000
	for i := range uint32(rounds) {
		in, out := r.in.from(i*packets, packets), r.out.from(i*packets, packets)
		atOnce(t, in, in)
		atOnce(t, out, out)
	}
	if a := r.wantAlike(t, 2*rounds*packets); a.Evicted > a.In/2 {
		t.Errorf("got %d of %d evicted", a.Evicted, a.In)
	}
}

// TestRaceOne has two CPUs put the same packet over and over.
func TestRaceOne(t *testing.T) {
	r := newRace(t, Config{})
	const packets = 20_000
	atOnce(t, r.sameIn.times(packets), r.sameIn.times(packets))
	atOnce(t, r.sameOut.times(packets), r.sameOut.times(packets))
	r.wantAlike(t, 2*packets)
}

func (s stream) times(packets int) stream { s.packets = packets; return s }

// wantAlike checks what is certain of packets that came in while their like was in flight, all
// of which have left. A CPU that is taken away from a program while it owns a way keeps the
// other one off, which gives its packet up in the end: that is evicted, and its like alone.
func (r *race) wantAlike(t *testing.T, packets uint64) Account {
	t.Helper()
	s := r.snapshot()
	a, out := s.account("", Uplink), s.at(n6Out)
	if a.In != packets || a.Matched > a.Evicted || a.InFlight+a.Lost != 0 || s.Held != 0 {
		t.Errorf("got %+v, %d in the table, want %d in, none matched but whose like was evicted, none in flight or lost", a, s.Held, packets)
	}
	if out.Packets != packets || a.Matched+out.AmbiguousOut+out.Unmatched != packets || out.Unmatched > a.Evicted {
		t.Errorf("got %+v with %d matched, want %d out, none unmatched but who was evicted", out, a.Matched, packets)
	}
	return a
}

// TestRaceInOut has packets leave on one CPU while they come in on another one, or before:
// each is claimed once or not at all. One that is kept off what it may claim, as in
// [race.wantAlike], is ambiguous at the exit.
func TestRaceInOut(t *testing.T) {
	r := newRace(t, Config{InFlight: 1 << 20, Timeout: time.Minute})
	const rounds, packets = 50, 2000
	for i := range uint32(rounds) {
		atOnce(t, r.in.from(i*packets, packets), r.out.from(i*packets, packets))
	}
	s := r.snapshot()
	a, out := s.account("", Uplink), s.at(n6Out)
	t.Logf("%d matched, %d too early", a.Matched, out.Unmatched)
	if a.In != rounds*packets || out.Packets != rounds*packets || a.Matched+out.Unmatched+out.AmbiguousOut != out.Packets || a.Matched+a.InFlight+a.Evicted != a.In || a.Ambiguous != 0 {
		t.Errorf("got %+v and %d out, %d unmatched, want %d in, matched, in flight or evicted, and out", a, out.Packets, out.Unmatched, rounds*packets)
	}
}

// TestRaceMix has one packet come in and leave at once on two CPUs, in any order.
func TestRaceMix(t *testing.T) {
	r := newRace(t, Config{Timeout: time.Minute})
	const packets = 100_000
	atOnce(t, r.sameIn.times(packets), r.sameOut.times(packets))
	s := r.snapshot()
	a, out := s.account("", Uplink), s.at(n6Out)
	t.Logf("%+v; out: %d unmatched, %d ambiguous", a, out.Unmatched, out.AmbiguousOut)
	if a.In != packets || out.Packets != packets || a.InFlight > 1 || a.Lost != 0 || a.Matched+out.AmbiguousOut+out.Unmatched != packets {
		t.Errorf("got %+v and %d out", a, out.Packets)
	}
}

// TestRaceFull has two CPUs fill a table that is much too small, and empty it, while it
// is looked through: no packet is counted twice or forgotten.
func TestRaceFull(t *testing.T) {
	r := newRace(t, Config{InFlight: 64, Timeout: time.Millisecond})
	const rounds, packets = 20, 5000
	for i := range uint32(rounds) {
		atOnce(t, r.in.from(2*i*packets, packets), r.in.from((2*i+1)*packets, packets))
		atOnce(t, r.in.from(1<<30+i*packets, packets), r.out.from(1<<30+i*packets, packets))
	}
	time.Sleep(10 * time.Millisecond)
	s := r.snapshot() // which balances
	a, out := s.account("", Uplink), s.at(n6Out)
	t.Logf("%+v; out: %d unmatched", a, out.Unmatched)
	if a.In != 3*rounds*packets || a.InFlight != 0 || s.Held != 0 || a.Ambiguous != 0 || out.Packets != rounds*packets || a.Matched+out.Unmatched+out.AmbiguousOut != out.Packets {
		t.Errorf("got %+v, %d out, %d unmatched, %d held", a, out.Packets, out.Unmatched, s.Held)
	}
}
