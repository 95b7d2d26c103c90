package kernels

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/internal/stats"
	"github.com/plumbline-upf/plumbline/lab/report"
)

// counted returns r.Instructions, made if there are none.
func (r *Result) counted() *Instructions {
	if r.Instructions == nil {
		r.Instructions = &Instructions{Date: time.Now().UTC().Format(time.DateOnly), Commit: commit()}
	}
	return r.Instructions
}

// A line of `go test -bench`: the case without the number of sessions, which is 1.
var benchmark = regexp.MustCompile(`^Benchmark(?:Program|Enforce)/sessions=1/(\S+)\s+\d+\s+([\d.]+) ns/op$`)

// What the cases are called in the table.
var cases = map[string]string{
	"uplink/access=same": "uplink", "downlink/access=same": "downlink",
	"none": "no QER, no URR", "mbr": "MBR", "urr": "URR", "mbr+urr": "MBR and URR",
}

func countedPrograms(t *testing.T, text string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for line := range strings.Lines(text) {
		m := benchmark.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		n, err := strconv.ParseFloat(m[2], 64)
		if name := cases[m[1]]; err != nil || name == "" {
			t.Errorf("%s: not known", m[0])
		} else {
			counts[name] = int(math.Round(n))
		}
	}
	if len(counts) != len(cases) {
		t.Errorf("%d cases counted, want %d: %s", len(counts), len(cases), endOf(text))
	}
	return counts
}

func countedFrames(t *testing.T, text string) map[string]Frames {
	t.Helper()
	counts := map[string]Frames{}
	results := json.NewDecoder(strings.NewReader(text))
	for {
		var l report.Lab
		err := results.Decode(&l)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("result of bench: %v", err)
		}
		costs, shares, bed := map[string][]float64{}, map[string][]float64{}, map[int]float64{}
		for _, turn := range l.Turns { // the bed's turn is the first of each repeat
			received, cost := turn.Figure(report.FigureReceived), turn.Figure(report.FigureAdded)
			if received == nil {
				continue // latency
			}
			if turn.System == report.SystemBed || turn.System == report.SystemBedTC {
				bed[turn.Cell] = received.Value
				continue
			}
			name := strings.TrimPrefix(turn.System, "plumbline ") + " " + string(l.Plan.Cells[turn.Cell].Direction)
			if cost == nil || turn.Failed != "" || turn.Trials[0].Misdelivered > 0 {
				t.Fatalf("%s: cost known %v, %q, %d frames misdelivered", name, cost != nil, turn.Failed, turn.Trials[0].Misdelivered)
			}
			costs[name], shares[name] = append(costs[name], cost.Value), append(shares[name], received.Value/bed[turn.Cell])
		}
		for name := range costs {
			counts[name] = Frames{Cost: int(math.Round(stats.Median(costs[name]))), Share: math.Round(stats.Median(shares[name])*1000) / 1000}
		}
	}
	for _, name := range frameColumns {
		if counts[name].Cost == 0 {
			t.Errorf("%s: nothing counted", name)
		}
	}
	return counts
}

// TestMoreThan: two percent more is too much on the same release, a tenth on another.
func TestMoreThan(t *testing.T) {
	before := &Instructions{Programs: map[string]int{"uplink": 1000, "MBR": 500}}
	for _, c := range []struct {
		now  map[string]int
		same bool
		want []string
	}{
		{map[string]int{"uplink": 1020, "MBR": 400}, true, nil},
		{map[string]int{"uplink": 1021, "new": 9}, true, []string{"uplink: 1021 instructions a packet, was 1000"}},
		{map[string]int{"uplink": 1100}, false, nil},
		{map[string]int{"uplink": 1101}, false, []string{"uplink: 1101 instructions a packet, was 1000"}},
	} {
		if got := (&Instructions{Programs: c.now}).MoreThan(before, c.same); !slices.Equal(got, c.want) {
			t.Errorf("%v, the same release %v: got %q, want %q", c.now, c.same, got, c.want)
		}
	}
}
