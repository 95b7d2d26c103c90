package n4

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/upf/session"
)

// TestReportRate takes the reports of a storm out of a queue: what is taken in any
// second is never above the rate and the burst, none is lost, and none waits longer
// than the rate makes it.
func TestReportRate(t *testing.T) {
	const sessions, perSecond = 1000, 200
	r := reports{t1: 3 * time.Second, n1: 3}
	var q *reportQueue
	for i := range sessions {
		q = r.add(session.Notice{Owner: 1, Event: session.Event{SEID: uint64(i + 1), Kind: session.DownlinkData}})
	}
	start := time.Unix(0, 0)
	now := start
	taken := []time.Duration{}
	for len(taken) < sessions {
		job, rouse, ok := r.take(q, now, perSecond)
		switch wait := q.wakeAt.Sub(now); {
		case ok:
			if want := uint64(len(taken) + 1); job.seid != want || len(job.downlink) != 1 {
				t.Fatalf("got session %d with %+v, want %d", job.seid, job.downlink, want)
			}
			taken = append(taken, now.Sub(start))
			r.done(q, &job, reportDone, now)
		case !rouse || wait <= 0 || wait > time.Second/perSecond:
			t.Fatalf("%d taken, then a wait of %v", len(taken), wait)
		default:
			if _, again, ok := r.take(q, now.Add(wait/2), perSecond); ok || again {
				t.Fatal("a queue that rests goes on, or is looked at twice")
			}
			now = now.Add(wait)
			if left := r.sleep(q, now); left != 0 {
				t.Fatalf("%v are left when the time has come", left)
			}
		}
	}
	const burst = int(reportBurst*perSecond/time.Second) + 1
	for i, at := range taken {
		if n := i + perSecond + burst; n < len(taken) && taken[n]-at < time.Second {
			t.Fatalf("%d requests within %v", perSecond+burst+1, taken[n]-at)
		}
	}
	want := time.Second * (sessions - 1) / perSecond
	if last := taken[sessions-1]; last > want || last < want-reportBurst-time.Second/perSecond {
		t.Errorf("the last one was taken after %v, want %v less a burst", last, want)
	}
}
