package stopwatch

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// TestPrint: the figures stand in the tables, and tables of nothing are not there.
func TestPrint(t *testing.T) {
	var b strings.Builder
	s := filled().Snapshot("pnf phy 1")
	s.At = s.Started.Add(2 * time.Second)
	if err := s.Print(&b); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	lines := map[string]bool{}
	for line := range strings.Lines(got) {
		lines[strings.Join(strings.Fields(line), " ")] = true
	}
	for _, want := range []string{
		"pnf phy 1: 2s, 2 slots, 5 left out; the clock was late by 25.0 µs (p50), 3000 (p99), 3000 (max)",
		"to the PNF: 2 messages, 1 lost, 0 twice, 0 out of order",
		"requests on time late early twice invalid unpaired late by clock by waiting lead µs: min p1 p50 max",
		"DL_TTI.request 1 1 0 0 0 1 1 0 -20.0 -20.0 -20.0 1000",
		"TX_DATA.request 0 1 0 0 1 0 0 1 1.00 1.00 1.00 1.00",
		"others 0 0 1 0 0 0 0 0 9000 9000 9000 9000",
		"under way to messages µs: mean p50 p99 max jitter waited µs: p50 p99 max",
		"DL_TTI.request PNF 2 40.0 30.0 50.0 50.0 1.25 3.00 5.00 5.00",
		"SLOT.indication VNF 1 40.0 40.0 40.0 40.0 0.00 0.00 0.00 0.00",
		"phy slot 1 7.00 7.00 7.00 7.00",
		"OpenAirInterface, 2024 there, µs here: times µs: mean p50 p99 max",
		"DL_TTI.request 2105 1 1.00 1.00 1.00 1.00",
		"PUCCH 2424 1 1000 1000 1000 1000",
	} {
		if !lines[want] {
			t.Errorf("no line %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "ULSCH") {
		t.Errorf("a span that was not measured in\n%s", got)
	}
	b.Reset()
	if err := New().Snapshot("idle").Print(&b); err != nil || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

// collected are snapshots that a registry takes.
type collected []*Snapshot

func (collected) Describe(chan<- *prometheus.Desc)      {}
func (c collected) Collect(ch chan<- prometheus.Metric) { Collect(ch, c) }

// TestMetrics: a page that Prometheus takes, with any name.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	other := New()
	other.Request(nfapi.MsgULTTIRequest, OnTime, time.Microsecond)
	registry.MustRegister(collected{filled().Snapshot("pnf"), other.Snapshot("\xff\"")})
	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if page.Code != http.StatusOK {
		t.Fatalf("got %d: %s", page.Code, page.Body)
	}
	for _, want := range []string{
		`nfapi_requests_total{message="DL_TTI.request",name="pnf",verdict="late"} 1`,
		`nfapi_requests_total{message="TX_DATA.request",name="pnf",verdict="late_by_waiting"} 1`,
		`nfapi_waited_seconds_sum{message="DL_TTI.request",name="pnf"} 8e-06`,
		`nfapi_lead_seconds_bucket{message="DL_TTI.request",name="pnf",le="0"} 1`,
		`nfapi_lead_seconds_bucket{message="DL_TTI.request",name="pnf",le="0.002"} 2`,
		`nfapi_lead_seconds_sum{message="DL_TTI.request",name="pnf"} 0.00098`,
		`nfapi_delay_seconds_count{direction="to_pnf",message="DL_TTI.request",name="pnf"} 2`,
		`nfapi_jitter_seconds{direction="to_pnf",message="DL_TTI.request",name="pnf"} 1.25e-06`,
		`nfapi_step_seconds_count{message="slot",name="pnf",step="phy"} 1`,
		`nfapi_part_handled_seconds_count{name="pnf",part="PUCCH"} 1`,
		`nfapi_lost_messages{direction="to_pnf",name="pnf"} 1`,
		`nfapi_skipped_slots_total{name="pnf"} 5`,
		`nfapi_clock_late_seconds_count{name="pnf"} 2`,
		`nfapi_lead_seconds_count{message="UL_TTI.request",name="\\xff\\\""} 1`,
	} {
		if !strings.Contains(page.Body.String(), want+"\n") {
			t.Errorf("no line %s in\n%s", want, page.Body)
		}
	}
}
