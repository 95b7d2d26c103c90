package meter

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

const window = 32 * uint64(len(meterWindow{}.Blocks))

// order is what the meter counts of the order of frames.
type order struct{ Received, Duplicated, Reordered, Stale uint64 }

func orderOf(s Stream) order { return order{s.Received, s.Duplicated, s.Reordered, s.Stale} }

// feed gives a loaded meter one frame for each sequence number.
func feed(t *testing.T, m *Meter, bed *topology.Topology, sequences []uint64) {
	t.Helper()
	frame := frameFor(t, bed, generator.Uplink, generator.Stamp{Run: testRun}, sessions(1, false)[0], 64)
	for _, sequence := range sequences {
		binary.LittleEndian.PutUint64(frame[14+28+8:], sequence)
		if _, _, err := m.objects.Meter.Test(frame); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *Meter) stream(t *testing.T) Stream {
	t.Helper()
	s, err := m.Read()
	if err != nil {
		t.Fatal(err)
	}
	return s.Streams[0]
}

func TestWindow(t *testing.T) {
	bed, err := topology.New(topology.Config{Name: "plt-window"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bed.Close() })
	m := loadOnly(t, bed, generator.Uplink, false)
	for _, tc := range []struct {
		name string
		in   []uint64
		want order
	}{
		{"in order", []uint64{0, 1, 2, 3}, order{Received: 4}},
		{"begins late", []uint64{1 << 40, 1<<40 + 1}, order{Received: 2}},
		{"loss", []uint64{0, 1, 5}, order{Received: 3}},
		{"duplicate", []uint64{0, 1, 1, 2}, order{Received: 3, Duplicated: 1}},
		{"first one twice", []uint64{0, 0}, order{Received: 1, Duplicated: 1}},
		{"three times", []uint64{7, 8, 7, 7}, order{Received: 2, Duplicated: 2}},
		{"swap", []uint64{0, 2, 1, 3}, order{Received: 4, Reordered: 1}},
		{"two late", []uint64{0, 3, 1, 2, 4}, order{Received: 5, Reordered: 2}},
		{"late by the whole window", []uint64{0, window, 130}, order{Received: 3, Reordered: 1}},
		{"later than the window", []uint64{0, window, 1}, order{Received: 2, Stale: 1}},
		{"the window comes round", []uint64{5, window + 5, 2*window + 5, 2*window + 5}, order{Received: 3, Duplicated: 1}},
		{"jump over many rounds", []uint64{5, 1<<32 + 5, 1<<32 + 6}, order{Received: 3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 2 { // what Reset leaves behind would count the second time
				feed(t, m, bed, tc.in)
				if diff := gocmp.Diff(tc.want, orderOf(m.stream(t))); diff != "" {
					t.Errorf("sequence numbers %v (-want +got):\n%s", tc.in, diff)
				}
				if err := m.Reset(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestManyCPUs: words of the window are exchanged where several CPUs may write them: of socket
// buffers each CPU has a backlog of its own, whatever queues the device has.
func TestManyCPUs(t *testing.T) {
	for _, tc := range []struct {
		queues  int
		packets bool
		want    uint8
	}{{1, false, 0}, {2, false, 1}, {1, true, 1}} {
		m := &Meter{config: Config{Port: topology.Port{Queues: tc.queues}, Packets: tc.packets, Streams: 1}}
		if err := m.load(); err != nil {
			t.Fatal(err)
		}
		var got uint8
		if err := errors.Join(m.objects.ManyCpus.Get(&got), m.Close()); err != nil || got != tc.want {
			t.Errorf("%d queues, socket buffers %t: got %d, %v, want %d", tc.queues, tc.packets, got, err, tc.want)
		}
	}
}

// TestShortWindow: of a short stamp the upper half of the number is what makes it near the
// highest one so far.
func TestShortWindow(t *testing.T) {
	bed, err := topology.New(topology.Config{Name: "plt-short-window"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bed.Close() })
	m := loadOnly(t, bed, generator.Uplink, false)
	for _, tc := range []struct {
		name string
		from uint64
		in   []uint64
		want order
	}{
		{"in order", 0, []uint64{0, 1, 2}, order{Received: 3}},
		{"loss, swap, duplicate", 0, []uint64{0, 5, 4, 5, 9}, order{Received: 4, Reordered: 1, Duplicated: 1}},
		{"over 32 bits", 1<<32 - 2, []uint64{1<<32 - 2, 1 << 32, 1<<32 - 1, 1<<32 + 1}, order{Received: 4, Reordered: 1}},
		{"of before", 3 << 32, []uint64{3<<32 - 1, 3<<32 + 2}, order{Received: 1}},
		{"in the middle of 32 bits", 5<<32 + 1<<31, []uint64{5<<32 + 1<<31, 5<<32 + 1<<31 + 1}, order{Received: 2}},
		{"before the first of all", 0, []uint64{1<<32 - 7}, order{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := m.ResetFrom(tc.from); err != nil {
				t.Fatal(err)
			}
			for _, sequence := range tc.in {
				stamp := generator.Stamp{Run: testRun, Sequence: sequence}
				frame := frameFor(t, bed, generator.Uplink, stamp, sessions(1, false)[0], 18)
				if _, _, err := m.objects.Meter.Test(frame); err != nil {
					t.Fatal(err)
				}
			}
			if diff := gocmp.Diff(tc.want, orderOf(m.stream(t))); diff != "" {
				t.Errorf("sequence numbers %v (-want +got):\n%s", tc.in, diff)
			}
		})
	}
}

// TestResetFrom wants frames of before not to count when they arrive late.
func TestResetFrom(t *testing.T) {
	bed, err := topology.New(topology.Config{Name: "plt-reset"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bed.Close() })
	m := loadOnly(t, bed, generator.Uplink, false)
	feed(t, m, bed, []uint64{0, 1, 2})
	if err := m.ResetFrom(6, 0, 0); err == nil {
		t.Error("sequence numbers of three streams were taken: there are two")
	}
	if err := m.ResetFrom(6); err != nil {
		t.Fatal(err)
	}
	feed(t, m, bed, []uint64{3, 5, 6, 4, 8, 7, 0})
	if diff := gocmp.Diff(order{Received: 3, Reordered: 1}, orderOf(m.stream(t))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWindowAgainstSet compares the window with a set of all numbers that came,
// on a shuffled, thinned and doubled sequence that stays inside the window.
func TestWindowAgainstSet(t *testing.T) {
	bed, err := topology.New(topology.Config{Name: "plt-set"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bed.Close() })
	random := rand.New(rand.NewPCG(1, 2))
	var in []uint64
	at := map[uint64]float64{} // when a number comes, at most 3000 places late
	for n := uint64(100); n < 20_000; n++ {
		for range []int{0, 1, 1, 1, 1, 2}[random.IntN(6)] {
			in = append(in, n)
			at[n] = float64(n) + 3000*random.Float64()
		}
	}
	slices.SortStableFunc(in, func(a, b uint64) int { return cmp.Compare(at[a], at[b]) })
	var want order
	seen, highest := map[uint64]bool{}, uint64(0)
	for _, n := range in {
		switch {
		case seen[n]:
			want.Duplicated++
		case n < highest:
			want.Reordered++
			want.Received++
		default:
			want.Received++
		}
		seen[n], highest = true, max(highest, n)
	}
	for _, many := range []bool{false, true} {
		queues := map[bool]int{false: 1, true: 2}[many]
		bed.N6.Peer.Queues = queues // with two, the program exchanges words atomically
		m := loadOnly(t, bed, generator.Uplink, false)
		feed(t, m, bed, in)
		if diff := gocmp.Diff(want, orderOf(m.stream(t))); diff != "" {
			t.Errorf("%d queues (-want +got):\n%s", queues, diff)
		}
	}
}

// TestLatency compares the histogram with what HdrHistogram itself makes of the
// same latencies. The frame says when it was sent, the meter when it came.
func TestLatency(t *testing.T) {
	bed, err := topology.New(topology.Config{Name: "plt-latency"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bed.Close() })
	m := loadOnly(t, bed, generator.Uplink, false)
	frame := frameFor(t, bed, generator.Uplink, generator.Stamp{Run: testRun}, sessions(1, false)[0], 64)
	sequence := uint64(0)
	for _, ago := range []time.Duration{-time.Second, 0, time.Microsecond, time.Millisecond, time.Second, 20 * time.Second, 100 * time.Second} {
		if err := m.Reset(); err != nil {
			t.Fatal(err)
		}
		before := monotonic(t)
		if before < int64(ago) {
			continue // the machine has not been up for so long
		}
		binary.LittleEndian.PutUint64(frame[14+28+8:], sequence)
		binary.LittleEndian.PutUint64(frame[14+28+16:], uint64(before-int64(ago)))
		binary.LittleEndian.PutUint64(frame[14+28+24:], uint64(before))
		sequence++
		if _, _, err := m.objects.Meter.Test(frame); err != nil {
			t.Fatal(err)
		}
		took := time.Duration(monotonic(t) - before)
		s := m.stream(t)
		bounds := func(name string, h *hdrhistogram.Histogram, least, most time.Duration) {
			low, high := recorded(t, least), recorded(t, most)
			if got := h.Max(); h.TotalCount() != 1 || got < low || got > high {
				t.Errorf("%v ago, %s: got %d of %d ns, want 1 of %d to %d ns", ago, name, h.TotalCount(), got, low, high)
			}
		}
		bounds("intended", s.FromIntended, ago, ago+took)
		bounds("sent", s.FromSent, 0, took)
	}
}

// recorded is d as a histogram has it.
func recorded(t *testing.T, d time.Duration) int64 {
	t.Helper()
	h := hdrhistogram.New(lowestNs, highestNs, significantFigures)
	if err := h.RecordValue(min(max(int64(d), 0), highestNs)); err != nil {
		t.Fatal(err)
	}
	return h.Max()
}
