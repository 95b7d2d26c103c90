package n4

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/upf/session"
)

// queueBed is a queue of reports, and the time.
type queueBed struct {
	*reports
	t   *testing.T
	q   *reportQueue
	now time.Time
}

func newQueueBed(t *testing.T) *queueBed {
	return &queueBed{reports: &reports{t1: 3 * time.Second, n1: 3}, t: t, now: time.Unix(1000, 0)}
}

// events adds one of a kind to each of the sessions.
func (b *queueBed) events(kind session.EventKind, from, to uint64) {
	for seid := from; seid < to; seid++ {
		b.q = b.add(session.Notice{Event: session.Event{Kind: kind, SEID: seid, RuleID: 1}, Owner: 1})
	}
}

// takeAll takes what may be sent now.
func (b *queueBed) takeAll() (list []reportJob) {
	for {
		job, _, ok := b.take(b.q, b.now, 0)
		if !ok {
			return list
		}
		list = append(list, job)
	}
}

func (b *queueBed) outcome(list []reportJob, o outcome) {
	for i := range list {
		b.done(b.q, &list[i], o, b.now)
	}
}

// TestReportQueue: of many sessions with something to report, no more than
// maxReportsInFlight are reported at once, and each once; when the path is down nothing
// is sent, and when it is up again there is one request at a time, and more with each
// answer.
func TestReportQueue(t *testing.T) {
	const n = 3 * maxReportsInFlight / 2
	b := newQueueBed(t)
	b.events(session.UserPlaneInactivity, 0, n)
	b.events(session.UserPlaneInactivity, 0, n)
	first := b.takeAll()
	if waiting, _ := b.waiting(); len(first) != maxReportsInFlight || first[0].seid != 0 || waiting != n {
		t.Fatalf("%d in flight, %d wait; want %d and %d", len(first), waiting, maxReportsInFlight, n)
	}
	for i := range first {
		if held, _ := b.done(b.q, &first[i], reportDown, b.now); held != (i == 0) {
			t.Errorf("report %d lost: held is news %v", i, held)
		}
	}
	b.now = b.now.Add(time.Hour)
	if list := b.takeAll(); list != nil {
		t.Errorf("%d are sent while the path is down", len(list))
	}
	b.release(b.q)
	for _, want := range []int{1, 2, 4, 8, 16, 32, 33, 0} {
		list := b.takeAll()
		if len(list) != want {
			t.Errorf("%d in flight, want %d", len(list), want)
		}
		for _, job := range list {
			if !job.old {
				t.Errorf("session %d: not looked at whether it is so still", job.seid)
			}
		}
		b.outcome(list, reportDone)
	}
	if waiting, _ := b.waiting(); waiting != 0 || len(b.queues) != 0 {
		t.Errorf("%d wait in %d queues, want none", waiting, len(b.queues))
	}
}

// TestReportBackoff: a report that is not answered rests for N1 times T1, then twice
// as long, up to five minutes, and alone; further packets bring one that pages back
// to the shortest rest. An answer ends all that, and what does not last is given up after
// the eighth try.
func TestReportBackoff(t *testing.T) {
	for _, tc := range []struct {
		name string
		kind session.EventKind
		news bool
		want []time.Duration
	}{
		{"a page", session.DownlinkData, false, []time.Duration{9, 18, 36, 72, 144, 288, 300, 300, 300}},
		{"inactivity", session.UserPlaneInactivity, false, []time.Duration{9, 18, 36, 72, 144, 288, 300, 300, 300}},
		{"a tunnel in error", session.ErrorIndication, false, []time.Duration{9, 18, 36, 72, 144, 288, 300}},
		{"what became of packets", session.DownlinkDiscarded, false, []time.Duration{9, 18, 36, 72, 144, 288, 300}},
		{"packets come", session.DownlinkData, true, []time.Duration{9, 9, 9, 9}},
		{"usage", session.UsageEvent, true, []time.Duration{9, 18, 36, 72, 144, 288, 300, 300, 300}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newQueueBed(t)
			b.events(tc.kind, 7, 8)
			for i, want := range tc.want {
				list := b.takeAll()
				if len(list) != 1 || list[0].seid != 7 || tc.kind == session.DownlinkData && len(list[0].downlink) != 1 {
					t.Fatalf("try %d: %+v", i, list)
				}
				b.events(session.UserPlaneInactivity, 8, 9)
				b.outcome(list, reportLost)
				if other := b.takeAll(); len(other) != 1 || other[0].seid != 8 {
					t.Fatalf("try %d: another session's report waits: %+v", i, other)
				} else {
					b.outcome(other, reportDone)
				}
				if tc.news {
					b.events(tc.kind, 7, 8)
				}
				b.now = b.now.Add(want*time.Second - 1)
				if list := b.takeAll(); list != nil {
					t.Fatalf("try %d: again before %v s", i, want)
				}
				if b.q.wakeAt.After(b.now.Add(1)) {
					t.Fatalf("try %d: looked at again in %v", i, b.q.wakeAt.Sub(b.now))
				}
				b.now = b.now.Add(1)
				b.sleep(b.q, b.now)
			}
			if last := b.takeAll(); len(tc.want) == maxEventTries-1 {
				if _, gone := b.done(b.q, &last[0], reportLost, b.now); !gone || len(b.queues) != 0 {
					t.Error("not given up")
				}
			} else {
				b.outcome(last, reportDone)
			}
			b.events(tc.kind, 7, 8)
			if list := b.takeAll(); len(list) != 1 || list[0].tries != 0 {
				t.Errorf("after an answer: %+v", list)
			}
		})
	}
}

// TestReportWindow: requests that are not answered within the patience, a quarter of
// T1, do not keep others from being sent; and however many sessions are never
// answered, those that page get through.
func TestReportWindow(t *testing.T) {
	b := newQueueBed(t)
	b.events(session.UsageEvent, 0, 1000) // dead
	lost := b.takeAll()
	if len(lost) != maxReportsInFlight {
		t.Fatalf("%d in flight, want %d", len(lost), maxReportsInFlight)
	}
	b.events(session.DownlinkData, 5000, 5001)
	if list := b.takeAll(); list != nil {
		t.Fatal("more than the window")
	}
	for range 20 {
		b.now = b.now.Add(b.patience())
		list := b.takeAll()
		if page := list[:min(1, len(list))]; len(page) == 0 || page[0].seid < 5000 {
			t.Fatalf("no page among %d reports after another %v, %d late", len(list), b.patience(), b.q.late)
		}
		b.outcome(list[:1], reportDone)
		lost = append(lost, list[1:]...)
		b.events(session.DownlinkData, 5000, 5001)
		if b.q.late > maxReportsLate || b.q.inFlight > maxReportsInFlight {
			t.Fatalf("%d late, %d in flight", b.q.late, b.q.inFlight)
		}
	}
	if n := len(lost); n < maxReportsLate/2 || n > maxReportsLate/2+2*maxReportsInFlight {
		t.Errorf("%d reports of usage in flight", n)
	}
	b.outcome(lost, reportLost)
	b.now = b.now.Add(10 * time.Second)
	again, fresh := 0, 0
	for _, job := range b.takeAll() {
		if job.tries > 0 {
			again++
		} else {
			fresh++
		}
	}
	if again != maxReportsAgain || again+fresh != maxReportsInFlight {
		t.Errorf("%d of those given up, %d others in flight; want %d and %d", again, fresh, maxReportsAgain, maxReportsInFlight-maxReportsAgain)
	}
}

// TestReportOrder: what pages comes before all else, and usage last.
func TestReportOrder(t *testing.T) {
	b := newQueueBed(t)
	for i, kind := range []session.EventKind{session.UsageEvent, session.UserPlaneInactivity, session.ErrorIndication, session.DownlinkData} {
		b.events(kind, 1, 2)
		b.events(kind, uint64(10+i), uint64(11+i))
	}
	var got []reportKind
	for _, job := range b.takeAll() {
		got = append(got, job.kind)
	}
	want := []reportKind{reportDownlink, reportDownlink, reportError, reportError, reportInactive, reportInactive, reportUsage, reportUsage}
	if string(kinds(got)) != string(kinds(want)) {
		t.Errorf("order %v, want %v", got, want)
	}
	if waiting, _ := b.waiting(); waiting != 5 {
		t.Errorf("%d sessions wait, want 5", waiting)
	}
}

func kinds(list []reportKind) (out []byte) {
	for _, k := range list {
		out = append(out, byte(k))
	}
	return out
}

// TestReportWindowUnsent: after a path failure the window grows with what is answered,
// and not with what turns out to need no request.
func TestReportWindowUnsent(t *testing.T) {
	b := newQueueBed(t)
	b.events(session.DownlinkData, 0, 200)
	b.outcome(b.takeAll(), reportDown)
	b.release(b.q)
	for i, step := range []struct {
		o    outcome
		want int // how many are in flight then
	}{{reportNone, 1}, {reportNone, 1}, {reportDone, 2}, {reportNone, 2}, {reportRefused, 4}} {
		list := b.takeAll()
		b.outcome(list, step.o)
		list = b.takeAll()
		if len(list) != step.want {
			t.Errorf("step %d: %d in flight, want %d", i, len(list), step.want)
		}
		b.outcome(list, reportNone)
	}
}

// TestReportPagesBesideDeadUsage: while so much usage is not answered that no more is
// sent, a page that was refused in its form is sent again at once, and one that rested
// when it is due, also beside usage that is tried again.
func TestReportPagesBesideDeadUsage(t *testing.T) {
	b := newQueueBed(t)
	page := func(when string, tries int) reportJob {
		t.Helper()
		list := b.takeAll()
		if len(list) != 1 || list[0].seid != 5000 || len(list[0].downlink) != 1 || list[0].tries != tries {
			t.Fatalf("%s: %d reports, %+v; want the page, given up %d times", when, len(list), list[:min(1, len(list))], tries)
		}
		return list[0]
	}
	b.events(session.UsageEvent, 0, 40)
	b.outcome(b.takeAll(), reportLost)
	b.now = b.now.Add(b.backoff(1))
	if n := len(b.takeAll()); n != maxReportsAgain {
		t.Fatalf("%d in flight that were given up before, want %d", n, maxReportsAgain)
	}
	b.events(session.UsageEvent, 100, 1000)
	for range 3 {
		b.now = b.now.Add(b.patience())
		b.takeAll()
	}
	b.now = b.now.Add(b.patience())
	b.events(session.DownlinkData, 5000, 5001)
	first := page("new", 0)
	b.outcome([]reportJob{first}, reportRefused)
	second := page("refused", 0)
	b.outcome([]reportJob{second}, reportLost)
	b.now = b.now.Add(b.backoff(1))
	page("rested", 1)
	if b.q.late < maxReportsLate/2 {
		t.Errorf("%d late: the test does not test", b.q.late)
	}
}
