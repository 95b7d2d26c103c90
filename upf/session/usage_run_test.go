package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// runBed is a manager that runs in a bubble, with a store and a source that note
// what happens, in order.
type runBed struct {
	m      *Manager
	dp     *fakeDatapath
	events chan Event
	start  time.Time

	mu    sync.Mutex
	notes []string
	fail  atomic.Bool // the store does not flush
}

func (b *runBed) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notes = append(b.notes, fmt.Sprintf("%v ", time.Since(b.start).Round(time.Second))+fmt.Sprintf(format, args...))
}

func (b *runBed) Save(_ byte, _ uint64, _ []byte) { b.note("save") }
func (b *runBed) Drop(_ byte, _ uint64)           { b.note("drop") }

func (b *runBed) Flush(context.Context) error {
	if b.fail.Load() {
		b.note("not flushed")
		return errFake
	}
	b.note("flush")
	return nil
}

var errSource = errors.New("fake source: closed")

// Next returns an error when the channel is closed.
func (b *runBed) Next(ctx context.Context) (Event, error) {
	select {
	case e, ok := <-b.events:
		if !ok {
			return e, errSource
		}
		return e, nil
	case <-ctx.Done():
		return Event{}, ctx.Err()
	}
}

func (b *runBed) tell(n Notice) {
	text := fmt.Sprintf("tell %d to %d", n.Kind, n.Owner)
	var w Waiting
	if n.Kind == UsageEvent && b.m.Waiting(context.Background(), n.SEID, &w) == nil {
		text += ": " + reportText(w.Reports)
		b.m.Acknowledge(n.SEID, w.Reports)
	}
	b.note("%s", text)
}

// counted sets what the datapath has counted.
func (b *runBed) counted(c Counts) {
	b.dp.mu.Lock()
	defer b.dp.mu.Unlock()
	b.dp.usage = Usage{Packets: c.packets(), URRs: []URRCounts{{URRID: 1, Counts: c}}}
}

// take returns what has happened since it was called last.
func (b *runBed) take() string {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	s := strings.Join(b.notes, "\n")
	b.notes = nil
	return s
}

// inRunBed calls f while a manager runs, with a session that has such a URR.
func inRunBed(t *testing.T, u URR, inactivity uint32, f func(b *runBed, seid uint64)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &runBed{events: make(chan Event), start: time.Now()}
		b.m, b.dp = newManagerOf(t, Config{
			MaxSessions: 64, Endpoints: []Endpoint{{Name: "n3", IPv4: n3}}, Store: b,
		})
		e, r := establishment(IPv4{10, 45, 0, 1}), new(Result)
		u.ID, e.InactivityTimer = 1, inactivity
		e.CreateURRs, e.CreatePDRs[0].URRIDs = []URR{u}, []uint32{1}
		if err := b.m.Establish(t.Context(), e, r); err != nil {
			t.Fatal(err)
		}
		b.take()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.m.Run(ctx, b, b.tell) }()
		f(b, r.Session.SEID)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) && !errors.Is(err, errSource) {
			t.Errorf("Run: %v", err)
		}
	})
}

// TestRunPeriod: a periodic report is saved, then flushed, then told; while the
// store fails nobody is told.
func TestRunPeriod(t *testing.T) {
	u := URR{Method: MeasureVolume, Triggers: ReportPERIO, MeasurementPeriod: 10}
	inRunBed(t, u, 0, func(b *runBed, _ uint64) {
		b.counted(octets(500, 300))
		time.Sleep(10*time.Second + time.Millisecond)
		if got, want := b.take(), "10s save\n10s flush\n10s save\n10s tell 1 to 1: #0 PERIO 500/300 10s"; got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		b.fail.Store(true)
		time.Sleep(13 * time.Second)
		if got := b.take(); strings.Contains(got, "tell") || !strings.Contains(got, "20s save\n20s not flushed") {
			t.Errorf("while the store fails:\n%s", got)
		}
		b.fail.Store(false)
		time.Sleep(3 * time.Second)
		if got, want := b.take(), "tell 1 to 1: #1 PERIO 0/0 10s"; !strings.HasSuffix(got, want) {
			t.Errorf("when it works again\n%s\nwant at the end %s", got, want)
		}
	})
}

// TestRunEvents: what the datapath tells is looked at, or handed on.
func TestRunEvents(t *testing.T) {
	u := URR{Method: MeasureVolume, Triggers: ReportVOLTH | ReportSTART, VolumeThreshold: total(1000)}
	inRunBed(t, u, 0, func(b *runBed, seid uint64) {
		for _, step := range []struct {
			counted Counts
			event   Event
			want    string
		}{
			{Counts{}, Event{Kind: StartOfTraffic, SEID: seid, RuleID: 1}, "0s save\n0s flush\n0s save\n0s tell 1 to 1: #0 START"},
			{octets(1000, 0), Event{Kind: UsageEvent, SEID: seid, RuleID: 1}, "0s save\n0s flush\n0s save\n0s tell 1 to 1: #1 VOLTH 1000/0 0s"},
			{octets(1000, 0), Event{Kind: UsageEvent, SEID: seid, RuleID: 1}, ""}, // told twice
			{octets(1000, 0), Event{Kind: DownlinkData, SEID: seid, RuleID: 1}, "0s tell 3 to 1"},
			{octets(1000, 0), Event{Kind: PathDown}, "0s tell 5 to 0"},
			{octets(1000, 0), Event{Kind: DownlinkData, SEID: seid + 1<<30, RuleID: 1}, ""}, // of no session
			{octets(1000, 0), Event{Kind: UsageEvent, SEID: seid + 1, RuleID: 1}, ""},
		} {
			b.counted(step.counted)
			b.events <- step.event
			if got := b.take(); got != step.want {
				t.Errorf("event %+v\n got %q\nwant %q", step.event, got, step.want)
			}
		}
		s := b.dp.sessions[seid].URR(1).Limits()
		if s.StartOfTraffic || s.Threshold.Total != 2000 {
			t.Errorf("the datapath has %+v, want a threshold of 2000 and no start of traffic", s)
		}
		close(b.events)
	})
}

// TestRunInactivity: the User Plane Inactivity Timer is told within a quarter of
// its time, and once.
func TestRunInactivity(t *testing.T) {
	inRunBed(t, URR{Method: MeasureVolume}, 40, func(b *runBed, _ uint64) {
		b.counted(octets(100, 0))
		time.Sleep(200 * time.Second)
		var told []string
		for _, line := range strings.Split(b.take(), "\n") {
			if strings.Contains(line, "tell") {
				told = append(told, line)
			}
		}
		if want := []string{"41s tell 7 to 1"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// BenchmarkLook makes a report, tells it and has it acknowledged.
func BenchmarkLook(b *testing.B) {
	now := time.Now()
	m, err := NewManager(Config{
		MaxSessions: 16, Endpoints: []Endpoint{{IPv4: n3}}, Now: func() time.Time { return now },
	}, nowhere{})
	if err != nil {
		b.Fatal(err)
	}
	e, r := usual(), new(Result)
	e.CreateURRs[0].Triggers |= ReportPERIO
	e.CreateURRs[0].MeasurementPeriod = 1
	setUE(e, 1)
	if err := m.Establish(b.Context(), e, r); err != nil {
		b.Fatal(err)
	}
	m.usages.tell = func(n Notice) {
		var w Waiting
		if err := m.Waiting(context.Background(), n.SEID, &w); err != nil || len(w.Reports) != 1 {
			b.Fatal(err, w.Reports)
		}
		m.Acknowledge(n.SEID, w.Reports)
	}
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		m.look(context.Background(), hint{seid: r.Session.SEID})
		if err := m.settle(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// TestRunDeleted: the record of a deleted session stays in the store as long as
// the request may come again.
func TestRunDeleted(t *testing.T) {
	u := URR{Method: MeasureVolume}
	inRunBed(t, u, 0, func(b *runBed, seid uint64) {
		if err := b.m.Delete(t.Context(), seid, 1, new(Result)); err != nil {
			t.Fatal(err)
		}
		b.events <- Event{Kind: UsageEvent, SEID: seid} // one that is late
		if got, want := b.take(), "0s save\n0s flush"; got != want {
			t.Errorf("deletion: %q, want %q", got, want)
		}
		if n := len(b.dp.sessions); n != 0 {
			t.Errorf("%d sessions in the datapath, want none", n)
		}
		time.Sleep(60 * time.Second)
		if got, want := b.take(), "20s drop"; got != want {
			t.Errorf("later: %q, want %q", got, want)
		}
	})
}

// smallDatapath has room for one session.
type smallDatapath struct{ *fakeDatapath }

func (d smallDatapath) Install(ctx context.Context, c *Change) error {
	d.mu.Lock()
	full := len(d.sessions) == 1 && d.sessions[c.Session.SEID] == nil
	d.mu.Unlock()
	if full {
		return &Error{Cause: CauseNoResources, Err: ErrFull}
	}
	return d.fakeDatapath.Install(ctx, c)
}

// TestRoomOfDeleted: what waits to be taken out of a full datapath makes room for
// a new session, when the store holds it.
func TestRoomOfDeleted(t *testing.T) {
	b := &runBed{start: time.Now()}
	dp := smallDatapath{&fakeDatapath{sessions: make(map[uint64]*Session)}}
	m, err := NewManager(Config{MaxSessions: 64, Endpoints: []Endpoint{{Name: "n3", IPv4: n3}}, Store: b}, dp)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		e, r := usual(), new(Result)
		setUE(e, 1)
		if err := m.Establish(t.Context(), e, r); err != nil {
			t.Fatalf("session %d: %v", i, err)
		}
		setUE(e, 2)
		if err := m.Establish(t.Context(), e, new(Result)); !isFull(err) {
			t.Errorf("a second session: %v, want %v", err, ErrFull)
		}
		seid := r.Session.SEID
		if err := m.Delete(t.Context(), seid, 1, r); err != nil {
			t.Fatal(err)
		}
		if len(dp.sessions) != 1 {
			t.Errorf("%d sessions in the datapath before the store holds the deletion, want 1", len(dp.sessions))
		}
	}
	if len(b.notes) == 0 {
		t.Error("nothing was saved")
	}
}
