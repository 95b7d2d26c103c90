package phy

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plumbline-upf/plumbline/ran/radio/dci"
)

// TestMetrics: what happened is in the text and in the metrics.
func TestMetrics(t *testing.T) {
	b := newAttachedBed(t, testRadio(), Config{})
	b.assign(1, dci.Downlink{PRBs: 10, MCS: 5}, b.block(1, dci.Downlink{PRBs: 10, MCS: 5}, "octets"))
	b.runToSlot(8)
	b.pusch(0, wholeUplink) // was not granted
	b.run()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(b.phy)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"radio_phy_pusch_total absent": 1, "radio_phy_pusch_total good": 0,
		"radio_phy_ue_bytes_total downlink 1": 6, "radio_phy_ue_bytes_total downlink 0": 0,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	var text strings.Builder
	s := b.phy.Stats()
	if err := s.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"1   downlink        1       1      0       0            0.0", "0 CRC failures, 1 not sent as asked"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("no %q in\n%s", part, text.String())
		}
	}
}
