package export

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/plumbline-upf/plumbline/probe"
)

// scraped is a page of metrics.
func scraped(t *testing.T, m *Metrics, accept string) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", accept)
	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.HTTPErrorOnError}).ServeHTTP(page, request)
	if page.Code != http.StatusOK {
		t.Fatalf("got %d: %s", page.Code, page.Body)
	}
	return page.Body.String()
}

func measured() *Metrics {
	s := snapshot(1, delays(900, 1500, 3_000_000))
	s.Series[0].Account = probe.Account{In: 10, Matched: 3, Lost: 4, InFlight: 1, Ambiguous: 2, Octets: 300}
	s.Points = []probe.PointCount{
		{Point: probe.Point{Device: "n3", Way: probe.In, Side: probe.N3}, Packets: 12, Unparsed: 2},
		{Point: probe.Point{Device: "n6", Hook: probe.Egress, Way: probe.Out, Side: probe.N6}, Packets: 6, Unmatched: 1, AmbiguousOut: 2},
	}
	m := &Metrics{}
	n4 := &N4{Messages: []N4Messages{{UPF: "a", Asked: "CP", Message: "Heartbeat Request", Requests: 2, Answered: 2,
		Causes: map[string]uint64{"none": 2}, Delays: delays(50_000, 60_000)}}, Points: []N4Point{{UPF: "a", Fragments: 2}, {UPF: "a", Fragments: 1, Lost: 5}}}
	m.Set(snapshot(0, delays()), s, []string{"a"}, n4, Samples{Written: 5, Lost: 1})
	return m
}

func TestMetrics(t *testing.T) {
	page := scraped(t, measured(), "text/plain")
	for _, want := range []string{
		`probe_in_packets_total{direction="uplink",slice="embb",upf="a"} 10`,
		`probe_packets_total{direction="uplink",fate="matched",slice="embb",upf="a"} 3`,
		`probe_packets_total{direction="uplink",fate="lost",slice="embb",upf="a"} 4`,
		`probe_packets_total{direction="uplink",fate="ambiguous",slice="embb",upf="a"} 2`,
		`probe_in_flight_packets{direction="uplink",slice="embb",upf="a"} 1`,
		`probe_delay_seconds_bucket{direction="uplink",slice="embb",upf="a",le="1e-06"} 1`,
		`probe_delay_seconds_bucket{direction="uplink",slice="embb",upf="a",le="2e-06"} 2`,
		`probe_delay_seconds_bucket{direction="uplink",slice="embb",upf="a",le="10"} 3`,
		`probe_delay_seconds_count{direction="uplink",slice="embb",upf="a"} 3`,
		`probe_point_packets_total{device="n6",hook="egress",namespace="",result="matched",side="N6",upf="a",way="out"} 3`,
		`probe_n4_transactions_total{asked="CP",message="Heartbeat Request",result="answered",upf="a"} 2`,
		`probe_n4_delay_seconds_count{asked="CP",message="Heartbeat Request",upf="a"} 2`,
		`probe_n4_lost_datagrams_total 5`,
		`probe_n4_fragmented_datagrams_total 3`,
		`probe_samples_lost_total 1`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("no line %s in\n%s", want, page)
		}
	}
	if open := scraped(t, measured(), "application/openmetrics-text;version=1.0.0"); !strings.HasSuffix(open, "# EOF\n") {
		t.Errorf("got %.200s, want OpenMetrics", open)
	}
}

// TestMetricsOfAnyName: names are octets that others have chosen.
func TestMetricsOfAnyName(t *testing.T) {
	s := snapshot(1, delays(900))
	s.Series[0].Slice = "\xff"
	for _, device := range []string{"\xff", "\xfe", "\x1b[2J"} {
		s.Points = append(s.Points, probe.PointCount{Point: probe.Point{Device: device, Way: probe.In, Side: probe.N3}, Packets: 1})
	}
	m := &Metrics{}
	m.Set(s, s, []string{"a"}, nil, Samples{})
	page := scraped(t, m, "text/plain")
	for _, want := range []string{`slice="\"\\xff\""`, `device="\"\\xff\""`, `device="\"\\xfe\""`, `device="\"\\x1b[2J\""`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
}

// TestNativeHistogram: classic and native buckets are of the same delays.
func TestNativeHistogram(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(measured())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "probe_delay_seconds" {
			continue
		}
		h := f.GetMetric()[0].GetHistogram()
		buckets := len(h.GetPositiveDelta())
		if h.GetSampleCount() != 3 || buckets != 3 || len(h.GetBucket()) != 22 {
			t.Errorf("got %d samples, %d native, %d classic buckets, want 3, 3, 22", h.GetSampleCount(), buckets, len(h.GetBucket()))
		}
		return
	}
	t.Error("no histogram")
}

// TestNativeBucket: a value is above the end of the bucket before its own, and not above
// the end of that.
func TestNativeBucket(t *testing.T) {
	for _, v := range []float64{1e-9, 1e-6, 3.3e-5, 1, 2, 60} {
		i := nativeBucket(v)
		end := func(i int) float64 { return math.Exp2(float64(i) / (1 << nativeSchema)) }
		if v > end(i)*(1+1e-12) || v <= end(i-1)*(1-1e-12) {
			t.Errorf("%v is in bucket %d, from %v to %v", v, i, end(i-1), end(i))
		}
	}
}
