package upf

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/plumbline-upf/plumbline/datapath"
)

// scrape returns the values on the metrics page: by name, then by labels.
func scrape(t *testing.T, client *http.Client, addr string) map[string]map[string]float64 {
	t.Helper()
	resp, err := client.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	page := map[string]map[string]float64{}
	for name, f := range families {
		page[name] = map[string]float64{}
		for _, m := range f.GetMetric() {
			labels := ""
			for _, l := range m.GetLabel() {
				labels += l.GetName() + "=" + l.GetValue() + " "
			}
			page[name][labels] = m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return page
}

func TestMetrics(t *testing.T) {
	s, _, _ := startUPF(t, loopbackConfig(t))
	for n := range uint8(3) {
		establish(t, s, n+1)
	}
	page := scrape(t, http.DefaultClient, s.MetricsAddr().String())
	drops := map[string]float64{}
	for _, r := range datapath.Reasons() {
		if r.IsDrop() {
			drops["reason="+r.String()+" "] = 0
		}
	}
	for name, want := range map[string]map[string]float64{
		"upf_sessions":           {"": 3},
		"upf_sessions_max":       {"": 65536},
		"upf_datapath_info":      {"datapath=model ": 1},
		"upf_drops_total":        drops,
		"upf_buffer_sessions":    {"": 0},
		"upf_buffer_packets_max": {"": 1048576},
		"upf_buffer_bytes_max":   {"": 67108864},
	} {
		if diff := cmp.Diff(want, page[name]); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
	for _, name := range []string{"upf_build_info", "go_goroutines", "process_resident_memory_bytes"} {
		if len(page[name]) != 1 {
			t.Errorf("%s: got %v, want one value", name, page[name])
		}
	}
}
