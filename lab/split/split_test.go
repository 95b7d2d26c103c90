package split

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/apps"
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

func TestParseMallocs(t *testing.T) {
	const text = "# HELP go_memstats_mallocs_total x\ngo_memstats_mallocs_total_other 1\ngo_memstats_mallocs_total 1.234e+06\n"
	if got, err := parseMallocs(strings.NewReader(text)); got != 1.234e6 || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := parseMallocs(strings.NewReader("")); err == nil {
		t.Error("no metric is no error")
	}
}

func TestNewPing(t *testing.T) {
	p := apps.Pinged{Sent: 102, Received: 100, Min: 1, Mean: 50, Max: 100}
	for i := 100; i > 0; i-- {
		p.RTTs = append(p.RTTs, time.Duration(i))
	}
	if got := newPing(p); got.P50NS != 50 || got.P99NS != 99 || len(got.RTTsNS) != 100 || got.Sent-got.Received != 2 {
		t.Errorf("p50 %d, p99 %d of 1 to 100, %d lost", got.P50NS, got.P99NS, got.Sent-got.Received)
	}
	if got := newPing(apps.Pinged{Sent: 3}); got.P50NS != 0 || got.Received != 0 {
		t.Errorf("without an answer: %+v", got)
	}
}

// TestCases: all of them can be run, and no two have the same title.
func TestCases(t *testing.T) {
	for name, cases := range map[string][]Case{"short": Short(), "full": Full(time.Minute)} {
		c := Config{Cases: cases, Pings: 1, Interval: time.Millisecond, Stream: time.Second}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		seen := map[string]bool{}
		for i := range cases {
			one := &cases[i]
			if seen[one.Title()] {
				t.Errorf("%s: two cases %q", name, one.Title())
			}
			seen[one.Title()] = true
			if o, err := newOutcome(one); err != nil || o.Bound.DownlinkBPS <= 0 || o.Bound.UplinkBPS <= 0 {
				t.Errorf("%s: bound %+v, %v", one.Title(), o.Bound, err)
			}
		}
	}
}

// TestFloor: those of the model for both radios, less the 0.2 ms of a PHY.
func TestFloor(t *testing.T) {
	for i, want := range map[int]float64{0: 17.5, 2: 5.05} {
		o, err := newOutcome(&Short()[i])
		if err != nil || o.Floor == nil || math.Abs(float64(o.Floor.MeanNS)/1e6-want) > 0.06 {
			t.Errorf("case %d: %+v, %v; want a mean of %v ms", i, o.Floor, err, want)
		}
	}
}

func TestValidate(t *testing.T) {
	good := func() Config {
		return Config{Cases: Short(), Pings: 1, Interval: time.Millisecond, Stream: time.Second}
	}
	for want, spoil := range map[string]func(*Config){
		"no cases":        func(c *Config) { c.Cases = nil },
		"0 pings":         func(c *Config) { c.Pings = 0 },
		"interval of 0s":  func(c *Config) { c.Interval = 0 },
		"streams of 1ms":  func(c *Config) { c.Stream = time.Millisecond },
		"slot_ahead 0":    func(c *Config) { c.Cases[0].SlotAhead = 0 },
		"loss 1":          func(c *Config) { c.Cases[0].Loss = 1 },
		"nothing to lose": func(c *Config) { c.Cases[1].Loss = 0.1 },
		"0 ues":           func(c *Config) { c.Cases[0].Radio.UEs = nil },
		"k2: 0":           func(c *Config) { c.Cases[0].Radio.K2 = 0 },
		"no name":         func(c *Config) { c.Cases[0].Name = "" },
	} {
		c := good()
		spoil(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// sample is a result with all that there may be.
func sample(t *testing.T) *Result {
	t.Helper()
	finished := time.Date(2026, 3, 2, 10, 1, 0, 0, time.UTC)
	r := &Result{Schema: Schema, Started: finished.Add(-time.Minute), Finished: &finished}
	for _, c := range Full(time.Minute) {
		o, err := newOutcome(&c)
		if err != nil {
			t.Fatal(err)
		}
		o.Ping = &Ping{Sent: 10, Received: 9, MinNS: 15e6, MeanNS: 18e6, MaxNS: 21e6, P50NS: 18e6, P99NS: 21e6, RTTsNS: []int64{15e6, 18e6, 21e6}}
		o.DownlinkTCP, o.UplinkTCP = &TCP{BPS: 99e6}, &TCP{BPS: 30e6, Retransmits: 1}
		o.DownlinkUDP, o.UplinkUDP = &UDP{BPS: 100e6, IPBPS: 102e6, Packets: 951, Wanted: 1000}, &UDP{BPS: 31e6, IPBPS: 31.6e6, Packets: 949, Wanted: 1000}
		watch := stopwatch.New()
		for range 2 {
			watch.Request(nfapi.MsgDLTTIRequest, stopwatch.OnTime, 2500*time.Microsecond)
		}
		watch.Request(nfapi.MsgDLTTIRequest, stopwatch.Late, -100*time.Microsecond)
		watch.Tick(20*time.Microsecond, 0)
		names := nameSplit[:]
		if c.OnePiece {
			names = []string{nameOnePiece}
		}
		for _, name := range names {
			half := 0.5
			o.Processes = append(o.Processes, Process{Name: name, CPUNS: 60e3, WallNS: 1e9, Watch: watch.Snapshot(name), Mallocs: &half})
		}
		r.Outcomes = append(r.Outcomes, *o)
	}
	return r
}

// TestTable: figures are beside what they belong to.
func TestTable(t *testing.T) {
	r := sample(t)
	r.Outcomes[3].Failed = "the UE had no answer"
	var b bytes.Buffer
	if err := Table(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"OAI's settings, split", "best settings, in one", "17.3", "100-200", "85-117", "10-20",
		"uplink: it had too little", "sent 949 of 1000 datagrams", "0.001", "10 %", "99.0", "31.6", "-100", "the pnf allocated 0.500 objects", "Failed: best settings, in one: the UE had no answer", publishedSource,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "datagrams of the downlink") {
		t.Errorf("951 of 1000 datagrams are too few in\n%s", b.String())
	}
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, "OAI's settings, in one") && strings.Contains(line, "-100") {
			t.Errorf("a gNB in one process has requests under way: %s", line)
		}
	}
}

// TestHTML: the page has all titles, and loads nothing.
func TestHTML(t *testing.T) {
	var b bytes.Buffer
	if err := WriteHTML(&b, sample(t)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Round trip, OAI&#39;s settings", "Downlink", "requests that came late", "of 30"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q on the page", want)
		}
	}
	for _, bad := range []string{"src=", "http://", "https://", "NaN"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("%q is on the page", bad)
		}
	}
}

// TestJSON: what was written is read back the same.
func TestJSON(t *testing.T) {
	r := sample(t)
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	var back Result
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := Write(&again, &back); err != nil || again.String() != b.String() {
		t.Errorf("read and written again it is another one: %v", err)
	}
	empty := &Result{Schema: Schema}
	for _, write := range []func() error{func() error { return Table(&b, empty) }, func() error { return WriteHTML(&b, empty) }} {
		if err := write(); err != nil {
			t.Errorf("without outcomes: %v", err)
		}
	}
}
