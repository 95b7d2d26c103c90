package rematch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recording makes a text of trace_pipe, in order of time.
type recording struct {
	lines []struct {
		ns   uint64
		text string
	}
}

func (r *recording) line(ns uint64, format string, values ...any) {
	r.lines = append(r.lines, struct {
		ns   uint64
		text string
	}{ns, fmt.Sprintf("<idle>-0 [001] ..s2. %d.%06d: bpf_trace_printk: ", ns/1e9, ns/1000%1e6) + fmt.Sprintf(format, values...)})
}

// entry is a frame of a user packet of some octets that comes to the UPF.
func (r *recording) entry(ns uint64, slice string, octets int) {
	r.line(ns, "upf_m1 %s ts=%d len=%d teid=1", slice, ns, octets+58)
}

func (r *recording) exit(ns uint64, slice string, octets int) {
	r.line(ns, "upf_m3 %s ts=%d len=%d teid=0", slice, ns, octets)
}

// packet stays in the UPF for a time.
func (r *recording) packet(ns, delay uint64, slice string, octets int) {
	r.entry(ns, slice, octets)
	r.exit(ns+delay, slice, octets)
}

func (r *recording) text() string {
	lines := slices.Clone(r.lines)
	slices.SortStableFunc(lines, func(a, b struct {
		ns   uint64
		text string
	}) int {
		return int(int64(a.ns - b.ns))
	})
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

func mustRead(t *testing.T, text string, o Options) *Report {
	t.Helper()
	r, err := Read(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBursts is the fault of the study: packets come 25 µs apart in bursts of twenty and
// each stays for 105 µs, but the nearest entry says 5 µs.
func TestBursts(t *testing.T) {
	var rec recording
	for burst := range uint64(50) {
		for i := range uint64(20) {
			rec.packet(1e9+burst*20e6+i*25e3, 105e3, "eMBB", 1400)
		}
	}
	r := mustRead(t, rec.text(), Options{})
	if r.Format != Text || r.Overhead != 58 || r.Events != 2000 || len(r.Slices) != 1 {
		t.Fatalf("got %+v", r)
	}
	s := r.Slices[0]
	if s.Nearest.P50NS != 5023 || s.Nearest.Pairs != 1000 || s.Nearest.Chosen == 0 || s.Nearest.Overtaken == 0 {
		t.Errorf("nearest: got %+v, want P50 of 5 µs", s.Nearest)
	}
	if s.OldestFirst.P50NS != 105471 || s.OldestFirst.MaxNS != 105471 || s.OldestFirst.Overtaken != 0 {
		t.Errorf("oldest first: got %+v, want 105 µs for all", s.OldestFirst)
	}
	if s.Bounds.P50.From >= 105e3 || s.Bounds.P50.To < 105e3 || s.Bounds.P50.From > 5e3 {
		t.Errorf("bounds of P50: got %+v, want both 5 and 105 µs within", s.Bounds.P50)
	}
	if s.Candidates.One != 0 || s.Candidates.Several != 1000 || s.Candidates.Most != 20 {
		t.Errorf("candidates: got %+v, want several for all, at most 20", s.Candidates)
	}
}

// TestSparse: packets that are alone in the UPF, none lost, are known whatever the
// window is.
func TestSparse(t *testing.T) {
	var rec recording
	for i := range uint64(1000) {
		rec.packet(1e9+i*2e6, 60e3+i, "eMBB", 1400)
	}
	s := mustRead(t, rec.text(), Options{}).Slices[0]
	if s.Candidates.One != 1000 || s.Candidates.Several != 0 || s.Candidates.Share() != 0 {
		t.Errorf("candidates: got %+v, want one for each of 1000", s.Candidates)
	}
	if s.Only.P50NS != s.Nearest.P50NS || s.Only.Pairs != 1000 || s.Nearest.Chosen != 0 || s.Nearest.Overtaken != 0 {
		t.Errorf("got only %+v, nearest %+v: want the same", s.Only, s.Nearest)
	}
	if s.Bounds.Pairs != 1000 {
		t.Errorf("got %+v", s.Bounds)
	}
}

// TestLengths: packets of different lengths overtake each other for the nearest entry;
// lengths prove its pairs wrong and know the right ones.
func TestLengths(t *testing.T) {
	var rec recording
	for i := range uint64(500) {
		at := 1e9 + i*20e6
		for k := range uint64(4) {
			rec.packet(at+k*10e3, 100e3, "URLLC", 100+int(k)*40)
		}
	}
	s := mustRead(t, rec.text(), Options{}).Slices[0]
	if s.Nearest.Pairs != 2000 || s.Nearest.WrongLength != 2000 {
		t.Errorf("nearest: got %+v, want every pair of a burst of four to be wrong", s.Nearest)
	}
	if s.Only.Pairs != 2000 || s.Only.MaxNS != 100351 || s.Only.WrongLength != 0 {
		t.Errorf("only: got %+v, want all, 100 µs", s.Only)
	}
	without := mustRead(t, rec.text(), Options{Overhead: -1})
	if s := without.Slices[0]; without.Overhead != 0 || s.Nearest.WrongLength != 0 || s.Only.Pairs != 0 {
		t.Errorf("without lengths: got %+v", s)
	}
}

// TestRows: of a CSV the pairs are known too, right ones or not.
func TestRows(t *testing.T) {
	const text = `ts_rx_ns,ts_tx_ns,delay_us,pkt_len,netif_rx,slice
1000000,1105000,105.000,1458,eMBB,eMBB
1025000,1130000,105.000,1458,eMBB,eMBB
1050000,1155000,99.000,1458,eMBB,eMBB
# matched=3
50000000,50100000.0,100.000,1458,eMBB,eMBB
60000000,90000000,30000.000,1458,eMBB,eMBB

nonsense
`
	r := mustRead(t, text, Options{})
	if r.Format != CSV || r.Events != 10 || r.Ignored != 2 || r.Lines != 9 {
		t.Fatalf("got %+v", r)
	}
	s := r.Slices[0]
	if s.Written.Pairs != 5 || s.Written.Overtaken != 0 || s.Written.MaxNS < 30e6 || s.TooLong != 1 || s.Disagree != 1 {
		t.Errorf("got written %+v, %d too long, %d disagree", s.Written, s.TooLong, s.Disagree)
	}
	if s.Nearest.Pairs != 4 || s.Nearest.Differing != 2 || s.OldestFirst.Differing != 0 || s.Only.Differing != 0 || s.Only.Pairs != 1 {
		t.Errorf("got nearest %+v, oldest first %+v, only %+v", s.Nearest, s.OldestFirst, s.Only)
	}
	columns := "slice,delay_us,pkt_len,ts_rx_ns,ts_tx_ns,netif_rx\nmMTC,1.0,98,1000,2000,eth0\n" // the order of the schema
	if s := mustRead(t, columns, Options{}).Slices[0]; s.Name != "mMTC" || s.Written.Pairs != 1 || s.Written.MaxNS < 1000 {
		t.Errorf("columns in another order: got %+v", s)
	}
}

// TestTroubles: what real files hold beside events in order.
func TestTroubles(t *testing.T) {
	var rec recording
	rec.packet(1e9, 1e5, "a", 100)
	rec.line(1.1e9, "upf_m1 a ts=%d len=%d teid=0", uint64(1.1e9), 72) // echo
	rec.exit(1.2e9, "a", 100)                                          // a stranger
	rec.packet(1.3e9, 1e5, "a", 100)
	text := rec.text() + "CPU:1 [LOST 117 EVENTS]\n" + strings.Repeat("x", 1<<17) + "\n" +
		"upf_m1 b\x1b[2J ts=1 len=2 teid=1\n" +
		"upf_m1 a ts=1299000000 len=158 teid=1\n" + // a little late: another CPU wrote it
		"upf_m1 a ts=2000 len=158 teid=1\nupf_m3 a ts=5000 len=100 teid=0" // another recording
	r := mustRead(t, text, Options{})
	if r.LostEvents != 117 || r.Ignored != 2 || r.Events != 9 || len(r.Slices) != 1 {
		t.Fatalf("got %+v", r)
	}
	got := r.Slices[0]
	if got.Entries != 4 || got.Exits != 4 || got.Signalling != 1 || got.Strangers != 1 || got.Late != 0 {
		t.Errorf("got %+v", got)
	}
	if want := (Candidates{One: 2, Several: 1, Most: 2, Sum: 4}); got.Candidates != want {
		t.Errorf("candidates: got %+v, want %+v", got.Candidates, want)
	}
	if !strings.Contains(strings.Join(r.Unknown, "\n"), "no room for 117 events") {
		t.Errorf("got %q", r.Unknown)
	}
}

// TestLate: an event that is further back than the window is not put in order.
func TestLate(t *testing.T) {
	var rec recording
	rec.packet(1e9, 1e5, "a", 100)
	rec.packet(1.5e9, 1e5, "a", 100)
	rec.packet(1.9e9, 1e5, "a", 100)
	r := mustRead(t, rec.text()+"upf_m3 a ts=1200000000 len=100 teid=0\n", Options{})
	if s := r.Slices[0]; s.Late != 1 || s.Exits != 3 || s.Strangers != 0 {
		t.Errorf("got %+v", s)
	}
}

func TestReadErrors(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		o          Options
		want       error
	}{
		{"empty", "", Options{}, ErrNoEvents},
		{"another file", "hello\nworld\n", Options{}, ErrNoEvents},
		{"heading alone", "ts_rx_ns,ts_tx_ns\n", Options{}, ErrNoEvents},
		{"negative window", "", Options{Window: -1}, ErrWindow},
		{"window too long", "", Options{Window: time.Minute}, ErrWindow},
	} {
		if _, err := Read(strings.NewReader(tc.text), tc.o); !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
		}
	}
	f, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Read(f, Options{}); err == nil {
		t.Error("a directory was read")
	}
}

// TestBounded: a file cannot make the reader keep more than it has room for.
func TestBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("upf_m1 s0 ts=1 len=158 teid=1\nupf_m3 s0 ts=2 len=100 teid=0\n")
	for i := range 3 * maxSlices {
		fmt.Fprintf(&b, "upf_m1 s%d ts=5 len=158 teid=1\n", i)
	}
	for i := range 3 * maxWaiting {
		fmt.Fprintf(&b, "upf_m1 s0 ts=%d len=%d teid=1\n", 10+i%7, 158+i%(2*maxParts))
		fmt.Fprintf(&b, "upf_m1 s1 ts=%d len=158 teid=1\n", 10+i)
	}
	j := newJudge(Options{Window: DefaultWindow, Overhead: 58})
	if err := j.read(newLines(strings.NewReader(b.String()))); err != nil {
		t.Fatal(err)
	}
	r := j.finish()
	if len(r.Slices) != maxSlices || r.Ignored != 2*maxSlices {
		t.Errorf("got %d slices, %d lines ignored", len(r.Slices), r.Ignored)
	}
	if limit := maxParts + maxSlices; j.parts > limit {
		t.Errorf("got %d parts, want no more than %d", j.parts, limit)
	}
	for _, s := range j.listed {
		if cap(s.order.heap) > 2*maxWaiting || len(s.nearest.pending) > studyBuffer {
			t.Errorf("%s: room for %d events, %d entries of the study", s.slice.Name, cap(s.order.heap), len(s.nearest.pending))
		}
		for key, p := range s.parts {
			if len(p.entries) > maxWaiting {
				t.Errorf("%s %d: %d entries", s.slice.Name, key, len(p.entries))
			}
		}
	}
	if s := r.Slices[1]; s.Forgotten == 0 || s.Entries != 3*maxWaiting+1 {
		t.Errorf("got %+v", s)
	}
}

func TestParseText(t *testing.T) {
	for _, tc := range []struct {
		line  string
		slice string
		want  event
		ok    bool
	}{
		{"  <idle>-0 [003] ..s2. 12.5: bpf_trace_printk: upf_m1 eMBB ts=7 len=8 teid=9", "eMBB", event{ns: 7, length: 8}, true},
		{"upf_m3 mMTC ts=7 len=8 teid=0", "mMTC", event{ns: 7, length: 8, exit: true}, true},
		{"upf_m1 x ts=7 len=8 teid=0", "x", event{ns: 7, length: 8, signalling: true}, true},
		{"upf_m1 x ts=7 len=8", "x", event{ns: 7, length: 8}, true},
		{"upf_m2 x ts=7 len=8", "", event{}, false},
		{"upf_m1 x ts=7 len=", "", event{}, false},
		{"upf_m1 x ts= len=8", "", event{}, false},
		{"upf_m1 x ts=99999999999999999999 len=8", "", event{}, false},
		{"upf_m1 x y ts=7 len=8", "", event{}, false},
		{"upf_m1 x ts=7 len=9999999999", "", event{}, false},
		{"upf_m1", "", event{}, false},
		{"upf_m1 ", "", event{}, false},
	} {
		slice, e, ok := parseText([]byte(tc.line))
		if ok != tc.ok || (ok && (string(slice) != tc.slice || e != tc.want)) {
			t.Errorf("%q: got %q %+v %v, want %q %+v %v", tc.line, slice, e, ok, tc.slice, tc.want, tc.ok)
		}
	}
}

func TestParseRow(t *testing.T) {
	c := parseHeader([]byte("ts_rx_ns,ts_tx_ns,delay_us,pkt_len,netif_rx,slice"))
	for _, tc := range []struct {
		line string
		want row
		ok   bool
	}{
		{"1000,3500,2.5,98,a,b", row{slice: []byte("b"), entered: 1000, left: 3500, length: 98}, true},
		{"1000.0,3500.000,2.500,98.0,a,b", row{slice: []byte("b"), entered: 1000, left: 3500, length: 98}, true},
		{"1000,3500,9,98,a,b", row{slice: []byte("b"), entered: 1000, left: 3500, length: 98, contradict: true}, true},
		{"1000,3500,nan,98,a,b", row{slice: []byte("b"), entered: 1000, left: 3500, length: 98}, true},
		{"1000,3500", row{slice: []byte("-"), entered: 1000, left: 3500}, true},
		{"3500,1000,2.5,98,a,b", row{}, false},
		{"1000.5,3500,2.5,98,a,b", row{}, false},
		{"1000", row{}, false},
		{"-1,3500,2.5,98,a,b", row{}, false},
		{",,,,,", row{}, false},
	} {
		got, ok := c.parse([]byte(tc.line))
		if ok != tc.ok || (ok && !cmp.Equal(got, tc.want, cmp.AllowUnexported(row{}))) {
			t.Errorf("%q: got %+v %v, want %+v %v", tc.line, got, ok, tc.want, tc.ok)
		}
	}
}

// TestOverhead: the overhead is learnt where packets differ in length and are paired
// with the wrong ones.
func TestOverhead(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := &series{}
	var events []sliced
	for i := range uint64(2000) {
		length := []uint32{52, 52, 64, 110, 1400}[rng.IntN(5)]
		at := i * 20e3
		events = append(events, sliced{s, event{ns: at, length: length + 54}}, sliced{s, event{ns: at + 60e3 + rng.Uint64N(60e3), length: length, exit: true}})
	}
	slices.SortFunc(events, func(a, b sliced) int { return int(int64(a.ns - b.ns)) })
	if got := overhead(events, uint64(DefaultWindow)); got != 54 {
		t.Errorf("got %d, want 54", got)
	}
	for i := range events {
		events[i].length = 60 + rng.Uint32N(1400)
	}
	if got := overhead(events, uint64(DefaultWindow)); got != 0 {
		t.Errorf("of random lengths: got %d, want none", got)
	}
	if got := overhead(nil, uint64(DefaultWindow)); got != 0 {
		t.Errorf("of nothing: got %d, want none", got)
	}
}
