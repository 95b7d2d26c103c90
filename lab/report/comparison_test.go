package report

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/internal/stats"
)

// sampleComparison has a path that loses nothing, one that must be searched, and one
// that is missing, for two payloads and numbers of sessions. Its figures are made up.
func sampleComparison() *Comparison {
	s := sample()
	c := &Comparison{
		Schema: ComparisonSchema, Started: s.Started, Host: s.Host,
		Setup: ComparisonSetup{
			Arrangement: "the sender has one CPU, the UPF another", Payloads: []string{"1400", PayloadIMIX}, Sessions: []int{1, 100_000},
			Access: "uniform", LoadsPercent: []int{0, 50}, IdlePPS: 1000, LossGoalRatio: 0.001, DurationNS: 1e9, SearchNS: 5e8, TCPNS: 5e9,
			Repeats: 3, Realtime: true,
		},
		Paths: []Path{
			{Name: PathBed, Offloads: "off"},
			{Name: "xdp", Mode: "native", Offloads: "off", Configuration: "datapath: xdp\n", Memory: []PathMemory{
				{Sessions: 1, ResidentOctets: 40 << 20, MapOctets: 57 << 20, InstallPerSec: 900},
				{Sessions: 100_000, ResidentOctets: 143 << 20, MapOctets: 96 << 20, InstallPerSec: 31_000},
			}},
			{Name: "tun", Offloads: "on", Configuration: "datapath: tun\n", Memory: []PathMemory{{Sessions: 1, ResidentOctets: 70 << 20}}},
			{Name: "tap", Offloads: "on", Missing: "dut: the UPF ended with exit status 3; the end of its log:\nplumb: no /dev/net/tun"},
		},
	}
	for _, cell := range []Cell{{"1400", 1, Uplink}, {"1400", 1, Downlink}, {PayloadIMIX, 1, Uplink}, {"1400", 100_000, Uplink}} {
		c.Trials = append(c.Trials, sampleTrials(cell)...)
	}
	for repeat := 1; repeat <= 3; repeat++ {
		for i, path := range []string{"xdp", "tun"} {
			c.TCP = append(c.TCP, TCPTrial{
				Path: path, Direction: Uplink, Repeat: repeat, BPS: float64(i+1) * float64(repeat) * 1e9, Retransmits: repeat, CPU: CPU{BusyPercent: 150},
			})
		}
	}
	return c
}

func sampleTrials(cell Cell) []PathTrial {
	var trials []PathTrial
	add := func(path string, kind Kind, repeat, load int, intended, pps, loss float64) {
		offered := pps / (1 - loss)
		t := PathTrial{Payload: cell.Payload, LoadPercent: load, Trial: Trial{
			DUT: "plumbline", Datapath: path, Direction: cell.Direction, Sessions: cell.Sessions, Access: "uniform", FrameOctets: 1486, Kind: kind,
			Repeat: repeat, DurationNS: 1e9, IntendedPPS: intended, OfferedPPS: offered, ReceivedPPS: pps, LossRatio: loss,
			ReceivedBPS: pps * 8 * 1442, OfferedBPS: offered * 8 * 1486, OfferedFrames: uint64(offered), ReceivedFrames: uint64(pps),
			CPU: CPU{DUTPercent: 50, SoftirqPercent: 60, SystemPercent: 40, BusyPercent: 180},
		}}
		if path == PathBed {
			t.CPU.DUTPercent, t.CPU.BusyPercent = 0, 101
		}
		if kind == Paced {
			t.LatencyNS = Latency{Min: 900, P50: 1500, P90: 1900, P99: 12_000, P999: 40_000, Max: 90_000}
		}
		if loss > 0 {
			t.Drops = map[string]uint64{"overload": 7}
		}
		trials = append(trials, t)
	}
	for repeat := 1; repeat <= 3; repeat++ {
		add(PathBed, Saturated, repeat, 0, 0, 2.5e6+float64(repeat)*1e5, 0)
		add("xdp", Saturated, repeat, 0, 0, 2.4e6, 0)
		add("tun", Saturated, repeat, 0, 0, 5e5, 0.6)
		add("tun", Search, repeat, 0, 2e5, 2e5, 0)
		add("tun", Search, repeat, 0, 4e5, 3.9e5, 0.025)
		add("tun", Search, repeat, 0, 3e5, 2.999e5+float64(repeat), 0.0003)
	}
	for _, load := range []int{0, 50} {
		for _, path := range []string{PathBed, "xdp", "tun"} {
			add(path, Paced, 1, load, 1000, 1000, 0)
		}
	}
	return trials
}

// bare is a comparison in which nothing but the bed could be measured.
func bare() *Comparison {
	c := sampleComparison()
	c.Paths, c.TCP, c.TCPMissing = c.Paths[:1], nil, "not asked for"
	c.Paths = append(c.Paths, Path{Name: "tc", Missing: "unsupported operation"})
	c.Trials = slices.DeleteFunc(c.Trials, func(t PathTrial) bool { return t.Datapath != PathBed })
	return c
}

func TestComparisonGolden(t *testing.T) {
	results := map[string]*Comparison{"comparison": sampleComparison(), "comparison_bare": bare()}
	writers := map[string]func(io.Writer, *Comparison) error{
		"txt": ComparisonTable, "json": WriteComparison, "html": ComparisonHTML, "svg": ComparisonSVG,
	}
	for name, c := range results {
		for ext, write := range writers {
			t.Run(name+"."+ext, func(t *testing.T) {
				var got bytes.Buffer
				if err := write(&got, c); err != nil {
					t.Fatal(err)
				}
				compareGolden(t, filepath.Join("testdata", name+"."+ext), got.String())
			})
		}
	}
}

// TestComparisonFigures wants throughput from the fastest trial within the goal, and
// shares and CPU time of that.
func TestComparisonFigures(t *testing.T) {
	c := sampleComparison()
	cell := Cell{"1400", 1, Uplink}
	type figures struct {
		Saturated, Throughput, Share, CPU float64
	}
	for _, tc := range []struct {
		path string
		want figures
	}{
		{"xdp", figures{2.4e6, 2.4e6, 2.4 / 2.7, 0.5e9 / 2.4e6}},
		{"tun", figures{5e5, 299_902, 299_902 / 2.7e6, 0.5e9 / 299_902}},
	} {
		row := c.Row(cell, tc.path)
		_, pps := row.ThroughputPPS()
		process, _, _ := row.CPUNS()
		got := figures{row.SaturatedPPS(), pps, stats.Median(row.Shares()), process}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.path, diff)
		}
	}
	for i := range c.Trials {
		c.Trials[i].LossRatio = 0.5
	}
	row := c.Row(cell, "tun")
	if all, median := row.ThroughputPPS(); median != 0 || len(all) != 3 {
		t.Errorf("no rate within the goal: got %v, want none", all)
	}
	if _, _, ok := row.CPUNS(); ok {
		t.Error("no rate within the goal: CPU time of what?")
	}
	if row := c.Row(cell, "tap"); row != nil {
		t.Errorf("a missing path: got %+v, want no row", row)
	}
}

func TestComparisonIsDisturbed(t *testing.T) {
	for busy, want := range map[float64]bool{101: false, 180: true} {
		c := sampleComparison()
		for i := range c.Trials {
			c.Trials[i].CPU.BusyPercent = busy
		}
		var b bytes.Buffer
		if err := ComparisonTable(&b, c); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "beware"); got != want {
			t.Errorf("busy %v %%: warned: got %v, want %v", busy, got, want)
		}
	}
}

func TestComparisonTableFits(t *testing.T) {
	c := sampleComparison()
	c.Setup.Arrangement = strings.Repeat("many words that go on ", 20)
	var b bytes.Buffer
	if err := ComparisonTable(&b, c); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > TableColumns {
			t.Errorf("%d columns, want %d at most: %s", n, TableColumns, line)
		}
	}
}

func TestComparisonEscapesAndLoadsNothing(t *testing.T) {
	c := sampleComparison()
	c.Paths[1].Configuration = `</pre><script>alert("configuration")</script>`
	c.Paths[3].Missing = "<img src=x onerror=alert(1)>"
	c.Host.CommandLine = `<b>`
	for name, write := range map[string]func(io.Writer, *Comparison) error{"page": ComparisonHTML, "plot": ComparisonSVG} {
		var b bytes.Buffer
		if err := write(&b, c); err != nil {
			t.Fatal(err)
		}
		out := strings.ReplaceAll(b.String(), "http://www.w3.org/2000/svg", "") // a name, not loaded
		for _, bad := range []string{"<script", "<img", "<b>", "http://", "https://", "url(", "@import", "ZgotmplZ"} {
			if strings.Contains(out, bad) {
				t.Errorf("%s contains %q", name, bad)
			}
		}
	}
}

func TestReadComparisonRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		break_ func(*Comparison)
	}{
		{"schema", func(c *Comparison) { c.Schema = Schema }},
		{"no bed", func(c *Comparison) { c.Paths = c.Paths[1:] }},
		{"path without name", func(c *Comparison) { c.Paths[1].Name = "" }},
		{"escape sequence", func(c *Comparison) { c.Paths[3].Missing = "\x1b[2J" }},
		{"trial of no path", func(c *Comparison) { c.Trials[1].Datapath = "dpdk" }},
		{"payload that was not asked for", func(c *Comparison) { c.Trials[1].Payload = "65" }},
		{"sessions that were not asked for", func(c *Comparison) { c.Trials[1].Sessions = 2 }},
		{"direction", func(c *Comparison) { c.Trials[1].Direction = "sideways" }},
		{"kind", func(c *Comparison) { c.Trials[1].Kind = Throughput }},
		{"nothing received", func(c *Comparison) { c.Trials[1].ReceivedPPS = 0 }},
		{"load", func(c *Comparison) { c.Trials[1].LoadPercent = 101 }},
		{"load that was asked for", func(c *Comparison) { c.Setup.LoadsPercent[0] = -1 }},
		{"loss goal", func(c *Comparison) { c.Setup.LossGoalRatio = 1.1 }},
		{"no repeats", func(c *Comparison) { c.Setup.Repeats = 0 }},
		{"memory", func(c *Comparison) { c.Paths[1].Memory[0].Sessions = 0 }},
		{"TCP of no path", func(c *Comparison) { c.TCP[0].Path = "dpdk" }},
		{"TCP rate", func(c *Comparison) { c.TCP[0].BPS = -1 }},
		{"TCP direction", func(c *Comparison) { c.TCP[0].Direction = "" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := sampleComparison()
			tc.break_(c)
			if err := WriteComparison(io.Discard, c); !errors.Is(err, ErrInvalid) {
				t.Errorf("got %v, want %v", err, ErrInvalid)
			}
		})
	}
}

// FuzzReadComparison: what is accepted is read back the same after it was written,
// and can be shown.
func FuzzReadComparison(f *testing.F) {
	small := sampleComparison()
	small.Trials, small.TCP = small.Trials[:8], small.TCP[:1]
	for _, c := range []*Comparison{small, bare()} {
		var b bytes.Buffer
		if err := WriteComparison(&b, c); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := readComparison(bytes.NewReader(in))
		if err != nil {
			return
		}
		var out, table bytes.Buffer
		if err := WriteComparison(&out, c); err != nil {
			t.Fatalf("write of what was read: %v", err)
		}
		again, err := readComparison(&out)
		if err != nil {
			t.Fatalf("read of what was written: %v", err)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
		if err := errors.Join(ComparisonTable(&table, c), ComparisonHTML(io.Discard, c), ComparisonSVG(io.Discard, c)); err != nil {
			t.Error(err)
		}
		if strings.ContainsFunc(table.String(), func(r rune) bool { return r < ' ' && r != '\n' }) {
			t.Errorf("control character in %q", table.String())
		}
	})
}
