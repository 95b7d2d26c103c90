package datapath

import "time"

// Restart is what a datapath knows of the time after its start, in which sessions of
// before are set up again. A G-PDU with a TEID that is not known then may be that of
// such a session: an Error Indication would make the peer release its bearer before
// the CP function can restore it.
//
// Source: TS 23.527 V18, 4.3.2; TS 29.281 V18.1.0, 7.3.1.
type Restart struct {
	// Quiet is until when no Error Indication is sent. Zero: none is held back once the
	// sessions that this process knows of are there.
	Quiet   time.Time
	settled bool
}

// Settle notes that all sessions that this process knows of are there: see
// [Driver.Settle].
func (r *Restart) Settle() { r.settled = true }

// MayAnswer reports whether the sender of a G-PDU that was refused for that reason may
// be told so.
func (r *Restart) MayAnswer(reason Reason) bool {
	return r.settled && (reason != DropNoPDR || r.Quiet.IsZero() || !time.Now().Before(r.Quiet))
}
