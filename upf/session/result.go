package session

// Result is what became of a request. Its memory is used again by the next
// request that it is given to, so a caller keeps one for as long as it answers
// requests one after the other.
type Result struct {
	// Session is as the datapath holds it now; after a deletion, as it was.
	Session *Session
	// Reports are of URRs that were asked for or removed.
	Reports []UsageReport
	// Replaced are the SEIDs of sessions that this one replaced.
	Replaced []uint64
	// Lost are those of them of which there is usage that nobody has reported.
	Lost []Lost
	// Again: the session was deleted before this process was started, and this is
	// what that request was to be answered.
	Again bool

	old, next, between Session
	change             Change
	usage              Usage
	limits             []Limits // before and after a look
	writer             writer
	in                 reader
	texts              texts

	before, after, taken []resource
	chosen               []choice
	left                 []EndMarker // tunnels that a FAR has left and whose end is to be told
}

// Lost is a session that its CP function no longer knows, with the last reports of it.
type Lost struct {
	SEID    uint64
	CP      FSEID
	Reports []UsageReport
}

// begin makes r that of a request about s.
func (r *Result) begin(s *Session) {
	s.reset()
	r.Session, r.Reports, r.Replaced, r.Lost, r.Again = s, r.Reports[:0], r.Replaced[:0], nil, false
	r.before, r.after, r.taken, r.chosen = r.before[:0], r.after[:0], r.taken[:0], r.chosen[:0]
	r.change, r.left = Change{EndMarkers: r.change.EndMarkers[:0]}, r.left[:0]
}

// reader returns a reader for a record.
func (r *Result) reader() *reader {
	r.in.texts = &r.texts
	return &r.in
}
