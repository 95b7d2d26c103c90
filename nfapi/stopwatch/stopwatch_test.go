package stopwatch

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/quick"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// TestBuckets: buckets lie side by side, and each value is in its own.
func TestBuckets(t *testing.T) {
	end := int64(0)
	for i := range numBuckets {
		low, high := boundsOf(i)
		if low != end || high <= low {
			t.Fatalf("bucket %d is from %d to %d, the one before ends at %d", i, low, high, end)
		}
		if a, b := bucketOf(uint64(low)), bucketOf(uint64(high-1)); a != i || b != i {
			t.Fatalf("bucket %d has %d and %d, which are in %d and %d", i, low, high-1, a, b)
		}
		if low > 0 && float64(high-low) > 1+float64(low)/(1<<fractionBits) {
			t.Fatalf("bucket %d from %d is %d wide", i, low, high-low)
		}
		end = high
	}
	if end != 1<<magnitudeBits || bucketOf(math.MaxUint64) != numBuckets-1 {
		t.Errorf("buckets end at %d", end)
	}
}

// TestQuantiles: those of a distribution are those of the sorted values, as exact as a
// bucket is wide, signs as they come.
func TestQuantiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		values := make([]time.Duration, 1+random.IntN(3000))
		for i := range values {
			values[i] = time.Duration(math.Exp(random.Float64()*20)) * time.Duration(1-2*random.IntN(2))
		}
		d := distributionOf(values...)
		slices.Sort(values)
		sum := time.Duration(0)
		for _, v := range values {
			sum += v
		}
		for _, q := range []float64{0, 0.001, 0.01, 0.3, 0.5, 0.9, 0.99, 0.999, 1} {
			want := values[max(0, int(math.Ceil(q*float64(len(values))))-1)]
			if got := d.Quantile(q); math.Abs(float64(got-want)) > math.Abs(float64(want))/(1<<fractionBits)+1 {
				t.Errorf("quantile %v of %d values: got %d, want %d", q, len(values), got, want)
			}
		}
		if d.Total() != uint64(len(values)) || time.Duration(d.Sum) != sum {
			t.Errorf("got %d values of %d in all, want %d of %d", d.Count, d.Sum, len(values), sum)
		}
	}
}

// TestBelow: what is late is below 0.
func TestBelow(t *testing.T) {
	d := distributionOf(-5, -1, 0, 0, 1, 200*time.Microsecond)
	for limit, want := range map[time.Duration]uint64{0: 2, 1: 4, time.Millisecond: 6, -time.Second: 0} {
		if got := d.Below(limit); got != want {
			t.Errorf("got %d below %v, want %d", got, limit, want)
		}
	}
	if (*Distribution)(nil).Below(1) != 0 || (*Distribution)(nil).Quantile(0.5) != 0 {
		t.Error("no values have some")
	}
}

// TestMergeSince: merging is as recording all in one, and Since undoes it.
func TestMergeSince(t *testing.T) {
	durations := func(values []int64) []time.Duration {
		var list []time.Duration
		for _, v := range values {
			list = append(list, time.Duration(v%int64(time.Minute)))
		}
		return list
	}
	same := func(a, b []int64) bool {
		x, y := distributionOf(durations(a)...), distributionOf(durations(b)...)
		both := distributionOf(durations(append(slices.Clone(a), b...))...)
		if diff := cmp.Diff(both, x.Merge(y)); diff != "" {
			t.Error(diff)
			return false
		}
		back := both.since(x)
		if y == nil || x == nil {
			return cmp.Equal(back, y) || x == nil
		}
		return cmp.Equal(back.Buckets, y.Buckets) && back.Count == y.Count && back.Sum == y.Sum
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

// TestJitter: that of RFC 3550, against its formula in floating point.
func TestJitter(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	w := New()
	jitter, last := 0.0, 0.0
	for i := range 5000 {
		at := 1e5 + random.NormFloat64()*2e4
		w.Delay(ToPNF, nfapi.MsgTXDataRequest, time.Duration(at))
		if i > 0 {
			jitter += (math.Abs(math.Trunc(at)-math.Trunc(last)) - jitter) / 16
		}
		last = at
	}
	got := w.Snapshot("").Message(nfapi.MsgTXDataRequest).ToPNF.JitterNS
	if math.Abs(float64(got)-jitter) > 2 {
		t.Errorf("got %d, want %.1f", got, jitter)
	}
	// The first message after a restart is compared with none.
	w.Restart()
	w.Delay(ToPNF, nfapi.MsgTXDataRequest, time.Hour)
	if again := w.Snapshot("").Message(nfapi.MsgTXDataRequest).ToPNF.JitterNS; again != got {
		t.Errorf("got %d after a restart, want %d", again, got)
	}
}

func TestTransit(t *testing.T) {
	for _, test := range []struct {
		sent, received uint32
		want           time.Duration
	}{
		{0, 0, 0}, {1, 8, 7 * time.Microsecond}, {8, 1, -7 * time.Microsecond},
		{10_239_999, 1, 2 * time.Microsecond}, {1, 10_239_999, -2 * time.Microsecond},
		{0, 5_119_999, 5_119_999 * time.Microsecond}, {0, 5_120_000, -5_120_000 * time.Microsecond},
		{math.MaxUint32, 0, -4_407_295 * time.Microsecond}, // what no peer should send stays within half a cycle
	} {
		if got := Transit(test.sent, test.received); got != test.want {
			t.Errorf("from %d to %d: got %v, want %v", test.sent, test.received, got, test.want)
		}
	}
}

// TestSequences: what gaps, repetitions and overtaking count as.
func TestSequences(t *testing.T) {
	for name, test := range map[string]struct {
		numbers []uint8
		want    Sequences
	}{
		"in order":         {[]uint8{254, 255, 0, 1}, Sequences{Received: 4}},
		"gap":              {[]uint8{254, 1}, Sequences{Received: 2, Lost: 2}},
		"duplicate":        {[]uint8{5, 5, 6, 5}, Sequences{Received: 4, Duplicate: 2}},
		"overtaken":        {[]uint8{5, 7, 6, 8}, Sequences{Received: 4, Reordered: 1}},
		"overtaken twice":  {[]uint8{5, 8, 7, 6, 7, 9}, Sequences{Received: 6, Reordered: 2, Duplicate: 1}},
		"before the first": {[]uint8{5, 4, 6}, Sequences{Received: 3, Reordered: 1}},
		"a long gap":       {[]uint8{0, 100, 99, 37}, Sequences{Received: 4, Lost: 97, Reordered: 2}},
		"begins anew":      {[]uint8{100, 0, 1}, Sequences{Received: 3}},
	} {
		w := New()
		for _, n := range test.numbers {
			w.Sequence(ToVNF, 1, n)
		}
		if got := w.Snapshot("").ToVNF; got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
	w := New()
	for phy := range uint16(1000) {
		w.Sequence(ToPNF, phy, 1)
		w.Sequence(ToPNF, phy, 3)
	}
	if got, want := w.Snapshot("").ToPNF, (Sequences{Received: 2 * maxSequences, Lost: maxSequences}); got != want {
		t.Errorf("of a thousand PHYs: got %+v, want %+v", got, want)
	}
}

// TestSequencesLossy: the count of lost messages is exact under random loss,
// duplication and overtaking, up to what the last ones leave open.
func TestSequencesLossy(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var s sequences
	var want Sequences
	numbers := []int{}
	for n := range 20000 {
		if n == 0 || n == 19999 || random.Float64() > 0.05 {
			numbers = append(numbers, n)
		} else {
			want.Lost++
		}
	}
	newest := -1
	for i := 0; i < len(numbers); i++ {
		if i+1 < len(numbers)-1 && random.Float64() < 0.05 {
			numbers[i], numbers[i+1] = numbers[i+1], numbers[i]
		}
		for repeat := range 1 + random.IntN(8)/7 {
			s.add(1, uint8(numbers[i]))
			want.Received++
			switch {
			case repeat > 0:
				want.Duplicate++
			case numbers[i] < newest:
				want.Reordered++
			}
			newest = max(newest, numbers[i])
		}
	}
	if got := s.figures(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// filled is a watch with something of everything.
func filled() *Watch {
	w := New()
	w.Request(nfapi.MsgDLTTIRequest, OnTime, time.Millisecond)
	w.Request(nfapi.MsgDLTTIRequest, Late, -20*time.Microsecond)
	w.Request(nfapi.MsgDLTTIRequest, Unpaired, 0)
	w.Request(nfapi.MsgDLTTIRequest, LateByClock, 0)
	w.Request(nfapi.MsgTXDataRequest, Late, time.Microsecond)
	w.Request(nfapi.MsgTXDataRequest, LateByWaiting, 0)
	w.Waited(nfapi.MsgDLTTIRequest, 3*time.Microsecond)
	w.Waited(nfapi.MsgDLTTIRequest, 5*time.Microsecond)
	w.Request(nfapi.MsgTXDataRequest, Invalid, 0)
	w.Request(nfapi.MsgVendorFirst, Early, 9*time.Millisecond)
	w.Delay(ToPNF, nfapi.MsgDLTTIRequest, 30*time.Microsecond)
	w.Delay(ToPNF, nfapi.MsgDLTTIRequest, 50*time.Microsecond)
	w.Delay(ToVNF, nfapi.MsgSlotIndication, 40*time.Microsecond)
	w.Sequence(ToPNF, 1, 0)
	w.Sequence(ToPNF, 1, 2)
	for s := range numSteps {
		w.Execution(s, nfapi.MsgDLTTIRequest, time.Duration(s))
	}
	w.Execution(StepPHY, OfSlot, 7*time.Microsecond)
	w.Handled(&nfapi.ULTTIRequest{PDUs: []nfapi.ULTTIPDU{{Type: 0}, {Type: 2}, {Type: 2}, {Type: 9}}}, time.Millisecond)
	w.Handled(&nfapi.DLTTIRequest{PDUs: []nfapi.DLTTIPDU{{Type: 1}, {Type: 3}}}, time.Microsecond)
	w.Handled(&nfapi.ULDCIRequest{PDUs: make([]nfapi.ULDCIPDU, 1)}, time.Microsecond)
	w.Handled(&nfapi.CRCIndication{}, time.Microsecond)
	w.Tick(25*time.Microsecond, 0)
	w.Tick(3*time.Millisecond, 5)
	return w
}

// TestSnapshot: each figure stands where it belongs.
func TestSnapshot(t *testing.T) {
	s := filled().Snapshot("pnf")
	if got, want := s.Message(nfapi.MsgDLTTIRequest).Counts, (Counts{OnTime: 1, Late: 1, Unpaired: 1, LateByClock: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := s.Message(nfapi.MsgTXDataRequest).Counts, (Counts{Late: 1, Invalid: 1, LateByWaiting: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if w := s.Message(nfapi.MsgDLTTIRequest).Waited; w.Count != 2 || w.Mean() != 4*time.Microsecond {
		t.Errorf("waited: got %+v", w)
	}
	var names []string
	for _, m := range s.Messages {
		names = append(names, m.Name)
	}
	want := []string{"DL_TTI.request", "UL_TTI.request", "SLOT.indication", "UL_DCI.request", "TX_DATA.request", "CRC.indication", "others", "slot"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	names = nil
	for _, p := range s.Parts {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"PDSCH", "SSB", "PRACH", "PUCCH", "DCI of UL_DCI"}, names); diff != "" {
		t.Error(diff)
	}
	dl := s.Message(nfapi.MsgDLTTIRequest)
	if dl.Lead.Count != 2 || dl.Lead.Below(0) != 1 || dl.ToPNF.Delay.Mean() != 40*time.Microsecond || dl.ToVNF != nil || dl.ToPNF.JitterNS != 1250 {
		t.Errorf("got %+v", dl)
	}
	if s.Clock.Slots != 2 || s.Clock.Skipped != 5 || s.Clock.Late.Quantile(1) != 3*time.Millisecond || s.ToPNF.Lost != 1 {
		t.Errorf("got %+v, %+v", s.Clock, s.ToPNF)
	}
	if got := s.Message(nfapi.MsgSRSIndication); got.Name != "SRS.indication" || got.Lead.Total() != 0 {
		t.Errorf("got %+v of what did not come", got)
	}
}

// TestNil: a nil watch records nothing, and says so.
func TestNil(t *testing.T) {
	var w *Watch
	w.Request(nfapi.MsgDLTTIRequest, OnTime, 0)
	w.Delay(ToPNF, nfapi.MsgDLTTIRequest, 0)
	w.Sequence(ToPNF, 1, 0)
	w.Execution(StepPack, OfSlot, 0)
	w.Handled(&nfapi.CRCIndication{}, 0)
	w.Tick(0, 0)
	w.Restart()
	if s := w.Snapshot("none"); len(s.Messages) != 0 || s.Name != "none" {
		t.Errorf("got %+v", s)
	}
}

// TestConcurrent: nothing is lost between goroutines.
func TestConcurrent(t *testing.T) {
	const each, goroutines = 10000, 4
	w := New()
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for i := range each {
				w.Request(nfapi.MsgULTTIRequest, OnTime, time.Duration(i-each/2))
				w.Delay(ToPNF, nfapi.MsgULTTIRequest, time.Duration(i))
				w.Tick(time.Duration(i), 1)
			}
		})
	}
	all.Wait()
	m := w.Snapshot("").Message(nfapi.MsgULTTIRequest)
	if m.Counts.OnTime != each*goroutines || m.Lead.Count != each*goroutines || m.Lead.Below(0) != each/2*goroutines || m.Lead.Min != -each/2 || m.Lead.Max != each/2-1 {
		t.Errorf("got %+v, %+v", m.Counts, m.Lead)
	}
	if m.ToPNF.Delay.Sum != goroutines*each*(each-1)/2 {
		t.Errorf("got a sum of %d", m.ToPNF.Delay.Sum)
	}
}

// TestAllocations: once there was a value of each kind, recording takes no memory.
func TestAllocations(t *testing.T) {
	w := filled()
	m := &nfapi.ULTTIRequest{PDUs: []nfapi.ULTTIPDU{{Type: 0}, {Type: 2}}}
	if n := testing.AllocsPerRun(1000, func() {
		w.Request(nfapi.MsgDLTTIRequest, OnTime, -time.Millisecond)
		w.Delay(ToPNF, nfapi.MsgDLTTIRequest, time.Microsecond)
		w.Waited(nfapi.MsgDLTTIRequest, time.Microsecond)
		w.Sequence(ToPNF, 1, 7)
		w.Execution(StepPack, nfapi.MsgDLTTIRequest, 5)
		w.Handled(m, time.Millisecond)
		w.Tick(10, 0)
	}); n != 0 {
		t.Errorf("got %v allocations", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	for name, record := range map[string]func(*Watch, time.Duration){
		"Request":   func(w *Watch, v time.Duration) { w.Request(nfapi.MsgDLTTIRequest, OnTime, v) },
		"Delay":     func(w *Watch, v time.Duration) { w.Delay(ToPNF, nfapi.MsgDLTTIRequest, v) },
		"Execution": func(w *Watch, v time.Duration) { w.Execution(StepPack, nfapi.MsgDLTTIRequest, v) },
		"Sequence":  func(w *Watch, v time.Duration) { w.Sequence(ToPNF, 1, uint8(v)) },
		"Tick":      func(w *Watch, v time.Duration) { w.Tick(v, 0) },
	} {
		b.Run(name, func(b *testing.B) {
			w := New()
			b.ReportAllocs()
			for i := range b.N {
				record(w, time.Duration(i&0xfffff))
			}
		})
	}
}

// distributionOf counts values as a [Watch] does.
func distributionOf(values ...time.Duration) *Distribution {
	var t Times
	for _, v := range values {
		t.Record(v)
	}
	return t.Distribution()
}
