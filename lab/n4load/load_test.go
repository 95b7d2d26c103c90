package n4load

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// populate dials clients in one or more groups and fills a population of them.
func populate(t *testing.T, r *responder, c Config, sessions, held, groups, clients int) *Population {
	t.Helper()
	c.Remote, c.Local = r.start(t), netip.MustParseAddrPort("127.0.0.1:0")
	var list []*Group
	for range groups {
		configs := make([]Config, clients)
		for i := range configs {
			configs[i] = c
		}
		g, err := DialGroup(Options{Spin: 50 * time.Microsecond}, configs...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = g.Close() })
		list = append(list, g)
	}
	p := NewPopulation(&template, sessions, 16, list...)
	report, err := p.Fill(deadline(t), held, nil)
	if err != nil || report.Accepted != held || p.Held() != held {
		t.Fatalf("%v, %v, filled by %d; want %d held", err, p, report.Accepted, held)
	}
	return p
}

// consistent says that each request became something.
func consistent(t *testing.T, r *Report) {
	t.Helper()
	if r.Sent != r.Accepted+r.RefusedTotal()+r.Lost+r.Malformed || r.Intended != r.Sent+r.Unsent {
		t.Errorf("%d intended, %d unsent, %d sent, %d accepted, %v refused, %d lost, %d malformed", r.Intended, r.Unsent, r.Sent,
			r.Accepted, r.Refused, r.Lost, r.Malformed)
	}
	if int(r.Latency.TotalCount()) != r.Accepted+r.RefusedTotal()+r.Malformed || int(r.SendDelay.TotalCount()) != r.Sent {
		t.Errorf("%d latencies, %d send delays of %d sent", r.Latency.TotalCount(), r.SendDelay.TotalCount(), r.Sent)
	}
}

// TestMix holds a population while some sessions come and go, with one client
// and with several in several threads, in open and closed loops.
func TestMix(t *testing.T) {
	for _, tc := range []struct {
		name            string
		groups, clients int
		load            Load
	}{
		{"open", 1, 1, Load{Rate: 2000}},
		{"poisson", 1, 3, Load{Rate: 2000, Arrival: Poisson}},
		{"burst", 2, 2, Load{Rate: 2000, Arrival: Burst, Burst: 40}},
		{"closed", 2, 1, Load{Window: 16}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newResponder(t)
			p := populate(t, r, Config{Window: 1000}, 400, 200, tc.groups, tc.clients)
			load := tc.load
			load.Shares, load.WarmUp, load.Duration = [Operations]float64{1, 2, 1}, 100*time.Millisecond, 300*time.Millisecond
			report, err := p.Run(deadline(t), load, nil)
			if err != nil {
				t.Fatal(err)
			}
			for op, o := range report.Operations {
				consistent(t, o)
				// On a busy machine too many may be in flight, but what is sent is done.
				if want := report.Total.Intended * (1 + op%2) / 4; o.Intended < want*8/10 || o.Intended > want*12/10 || o.Accepted != o.Sent || o.Sent == 0 {
					t.Errorf("%s: %d intended, %d sent, %d accepted, want about %d", OperationNames[op], o.Intended, o.Sent, o.Accepted, want)
				}
			}
			if want := 600; tc.load.Rate > 0 && (report.Total.Intended < want*9/10 || report.Total.Intended > want*11/10 && tc.load.Arrival != Poisson) {
				t.Errorf("%d intended, want %d", report.Total.Intended, want)
			}
			if d := report.Total.Duration; d != load.Duration {
				t.Errorf("measured %v, want %v", d, load.Duration)
			}
			if n := r.held(); n != p.Held() {
				t.Errorf("%d sessions at the UP function, %v", n, p)
			}
			if _, err := p.Drain(deadline(t), nil); err != nil || p.Held() != 0 || r.held() != 0 {
				t.Errorf("drained: %v, %v, %d at the UP function", err, p, r.held())
			}
		})
	}
}

// TestIntendedTime stops the UP function for a while. In an open loop all
// requests that should have been sent meanwhile have waited, and their response
// times say so; from the time when they were answered they would not.
func TestIntendedTime(t *testing.T) {
	const stop, rate = 300 * time.Millisecond, 1000
	r := newResponder(t)
	p := populate(t, r, Config{}, 50, 50, 1, 1)
	r.stop(100, stop)
	report, err := p.Run(deadline(t), Load{Rate: rate, Shares: [Operations]float64{0, 1, 0}, Duration: time.Second}, nil)
	if err != nil {
		t.Fatal(err)
	}
	consistent(t, report.Total)
	// 300 requests fall into the stop, of which 200 wait for 100 ms or more,
	// however busy this machine is. Only 50 sessions can be in flight.
	waited := report.Total.Unsent
	for _, b := range report.Total.Latency.Distribution() {
		if b.From >= (stop / 3).Nanoseconds() {
			waited += int(b.Count)
		}
	}
	if waited < 150 {
		t.Errorf("%d requests waited or were not sent, want 200", waited)
	}
	if report.Total.Unsent < 100 {
		t.Errorf("%d unsent with all sessions in flight, want 250", report.Total.Unsent)
	}
}

// TestInFlight: what exceeds the limit is counted, not sent.
func TestInFlight(t *testing.T) {
	r := newResponder(t)
	p := populate(t, r, Config{Window: 20, T1: 100 * time.Millisecond, N1: 1}, 100, 100, 1, 1)
	r.mu.Lock()
	r.loss = 1
	r.mu.Unlock()
	report, err := p.Run(deadline(t), Load{Rate: 2000, Shares: [Operations]float64{0, 1, 0}, Duration: 90 * time.Millisecond}, nil)
	if err != nil {
		t.Fatal(err)
	}
	consistent(t, report.Total)
	if o := report.Total; o.Sent != 20 || o.Lost != 20 || o.Unsent < 100 || o.Accepted != 0 {
		t.Errorf("%d sent, %d lost, %d unsent, %d accepted; want 20, 20, 160, 0", o.Sent, o.Lost, o.Unsent, o.Accepted)
	}
}

// TestSilentClosedLoop: where nothing is answered any more, requests are given up and others
// take their place, until the end of the load.
func TestSilentClosedLoop(t *testing.T) {
	for _, window := range []int{1, 4} {
		r := newResponder(t)
		p := populate(t, r, Config{T1: 10 * time.Millisecond, N1: 2}, 100, 50, 1, 1)
		r.mu.Lock()
		r.loss = 1
		r.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		report, err := p.Run(ctx, Load{Window: window, Shares: [Operations]float64{1, 8, 1}, Duration: 200 * time.Millisecond}, nil)
		cancel()
		if err != nil {
			t.Fatalf("window %d: %v", window, err)
		}
		consistent(t, report.Total)
		if o := report.Total; o.Lost <= 2*window || o.Accepted != 0 {
			t.Errorf("window %d: %d sent, %d lost, %d accepted; want more than %d lost, none accepted", window, o.Sent, o.Lost, o.Accepted, 2*window)
		}
	}
}

// TestUnexpected: responses with another sequence number than that of a request are counted,
// and do not answer it.
func TestUnexpected(t *testing.T) {
	r := newResponder(t)
	p := populate(t, r, Config{T1: time.Second, N1: 1}, 20, 20, 1, 1)
	r.mu.Lock()
	r.sequence = func(n uint32) uint32 {
		if n%4 == 0 {
			return (n + 1<<20) & maxSequence
		}
		return n
	}
	r.mu.Unlock()
	report, err := p.Run(deadline(t), Load{Rate: 200, Shares: [Operations]float64{0, 1, 0}, Duration: 200 * time.Millisecond}, nil)
	if err != nil {
		t.Fatal(err)
	}
	consistent(t, report.Total)
	o := report.Total
	if o.Unexpected == 0 || o.Unexpected != o.Lost || o.Accepted != o.Sent-o.Lost || o.Lost < o.Sent/4-1 || o.Lost > o.Sent/4+1 {
		t.Errorf("%d sent, %d unexpected, %d lost, %d accepted; want a quarter unexpected, and as many lost", o.Sent, o.Unexpected, o.Lost, o.Accepted)
	}
}

// TestLate: a response to what was given up is late; nothing is counted twice.
func TestLate(t *testing.T) {
	r := newResponder(t)
	p := populate(t, r, Config{T1: 20 * time.Millisecond, N1: 2}, 20, 20, 1, 1)
	r.stop(1, 100*time.Millisecond)
	report, err := p.Run(deadline(t), Load{Rate: 200, Shares: [Operations]float64{0, 1, 0}, Duration: 300 * time.Millisecond}, nil)
	if err != nil {
		t.Fatal(err)
	}
	consistent(t, report.Total)
	if o := report.Total; o.Lost < 5 || o.Late < o.Lost || o.Repeated < o.Lost {
		t.Errorf("%d lost, %d late, %d repeated, %d accepted", o.Lost, o.Late, o.Repeated, o.Accepted)
	}
}

// TestRefusalsCount: a load goes on after a refusal and counts its Cause.
func TestRefusalsCount(t *testing.T) {
	r := newResponder(t)
	p := populate(t, r, Config{}, 20, 10, 1, 1)
	r.mu.Lock()
	clear(r.sessions)
	r.mu.Unlock()
	report, err := p.Run(deadline(t), Load{Window: 4, Shares: [Operations]float64{0, 0, 1}, Duration: time.Second}, nil)
	if err != nil {
		t.Fatal(err)
	}
	consistent(t, report.Total)
	if n := report.Total.Refused[pfcp.CauseSessionContextNotFound]; n != 10 || p.Held() != 0 {
		t.Errorf("%d refused, %v; want 10, none held", n, p)
	}
}

// TestShape: all uplink PDRs have one F-TEID, and rules refer to what there is.
func TestShape(t *testing.T) {
	for _, pdrs := range []int{2, 6} {
		shape := template
		shape.PDRs, shape.URR = pdrs, true
		m := shape.establishment(pfcp.NodeID{Addr: template.GNB}, template.GNB)
		s := shape.Sessions(0, 1)[0]
		s.fill(&m)
		var got pfcp.SessionEstablishmentRequest
		if err := got.Decode(m.AppendBody(nil)); err != nil {
			t.Fatal(err)
		}
		if len(got.CreatePDRs) != pdrs || len(got.CreateFARs) != 2 || len(got.CreateQERs) != 1 || len(got.CreateURRs) != 1 {
			t.Fatalf("%d PDRs, %d FARs, %d QERs, %d URRs", len(got.CreatePDRs), len(got.CreateFARs), len(got.CreateQERs), len(got.CreateURRs))
		}
		for i, p := range got.CreatePDRs {
			uplink := i%2 == 0
			want := fmt.Sprintf("id %d, uplink %v, filters %d, precedence %d, shared %v", i+1, uplink, min(i/2, 1), 100-i/2, uplink && pdrs > 2)
			text := fmt.Sprintf("id %d, uplink %v, filters %d, precedence %d, shared %v", p.PDRID, p.PDI.FTEID.Value.CH, len(p.PDI.SDFFilters),
				p.Precedence, p.PDI.FTEID.Value.CHID.Present)
			if text != want || len(p.URRIDs) != 1 || len(p.QERIDs) != 1 {
				t.Errorf("got %s, %v, %v\nwant %s", text, p.URRIDs, p.QERIDs, want)
			}
		}
	}
}

// TestNarrow wants all sessions established and deleted by clients that may have fewer
// requests in flight than the population.
func TestNarrow(t *testing.T) {
	p := populate(t, newResponder(t), Config{Window: 3}, 200, 150, 1, 2)
	if got := p.Held(); got != 150 {
		t.Errorf("%d sessions held, want 150", got)
	}
	if _, err := p.Drain(deadline(t), nil); err != nil || p.Held() != 0 {
		t.Errorf("%d sessions held after Drain, %v", p.Held(), err)
	}
}
