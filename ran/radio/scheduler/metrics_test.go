package scheduler_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plumbline-upf/plumbline/ran/radio/scheduler"
)

func TestPrint(t *testing.T) {
	s := scheduler.Stats{
		UEs: 1, Slots: 2, Preambles: 3, Requests: 4, Unknown: 5, Stale: 6, Malformed: 7,
		Downlink: scheduler.Direction{Packets: 10, Refused: 11, Blocks: 12, Again: 13, Octets: 1_400_000, Good: 15, Bad: 16, Absent: 17, Lost: 18, GivenUp: 19},
		Uplink:   scheduler.Direction{Packets: 20, Missing: 21, Blocks: 22, Again: 23, Octets: 2_400_000, Good: 25, Bad: 26, Absent: 27, Lost: 28, GivenUp: 29},
	}
	var b strings.Builder
	if err := s.Print(&b); err != nil {
		t.Fatal(err)
	}
	const want = `            packets  blocks  again  good  bad  absent  lost  given up   MB
  downlink       10      12     13    15   16      17    18        19  1.4
    uplink       20      22     23    25   26      27    28        29  2.4
2 slots, 1 UEs, 3 preambles, 4 scheduling requests, 11 packets refused, 21 missing; indications: 6 stale, 5 of unknown UEs; 7 transport blocks malformed
`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestMetrics: each metric is there once for what it counts.
func TestMetrics(t *testing.T) {
	c := config("DDDSU", 1)
	a, err := newAir(c, 4, 1, &core{received: make([][]uint32, 1)})
	if err != nil {
		t.Fatal(err)
	}
	attach(t, a)
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(a.mac); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	value := map[string]float64{}
	for _, f := range families {
		got[f.GetName()] = len(f.GetMetric())
		value[f.GetName()] = f.GetMetric()[0].GetCounter().GetValue() + f.GetMetric()[0].GetGauge().GetValue()
	}
	for name, want := range map[string]int{"radio_mac_ues": 1, "radio_mac_blocks_total": 2, "radio_mac_transmissions_total": 8} {
		if got[name] != want {
			t.Errorf("%d of %s, want %d", got[name], name, want)
		}
	}
	if value["radio_mac_ues"] != 1 || value["radio_mac_preambles_total"] != 1 || value["radio_mac_slots_total"] != float64(a.mac.Stats().Slots) {
		t.Errorf("got %v", value)
	}
}
