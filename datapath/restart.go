package datapath

import (
	"sync/atomic"
	"time"
)

// Restart is what a datapath knows of times in which sessions that were lost are set up
// again: after its start, and after a CP function has begun anew that counts on them. A
// G-PDU with a TEID that is not known then may be that of such a session: an Error
// Indication would make the peer release its bearer before the CP function can restore
// it.
//
// Source: TS 23.527 V18, 4.3.2; TS 29.281 V18.1.0, 7.3.1.
type Restart struct {
	// Quiet says when no Error Indication is sent. Nil: none is held back once the
	// sessions that this process knows of are there.
	Quiet   *Quiet
	settled bool
}

// Settle notes that all sessions that this process knows of are there: see
// [Driver.Settle].
func (r *Restart) Settle() { r.settled = true }

// MayAnswer reports whether the sender of a G-PDU that was refused for that reason may
// be told so.
func (r *Restart) MayAnswer(reason Reason) bool {
	return r.settled && (reason != DropNoPDR || r.Quiet.over())
}

// Quiet is a time in which no Error Indication is sent, and which may become longer. Its
// zero value is over.
type Quiet struct {
	end atomic.Int64 // ns since 1970
}

// Until has it last until t, if it does not last longer anyway.
func (q *Quiet) Until(t time.Time) {
	for ns := t.UnixNano(); ; {
		end := q.end.Load()
		if ns <= end || q.end.CompareAndSwap(end, ns) {
			return
		}
	}
}

// over reports whether Error Indications may be sent; nil is over.
func (q *Quiet) over() bool {
	if q == nil {
		return true
	}
	end := q.end.Load()
	return end == 0 || time.Now().UnixNano() >= end
}
