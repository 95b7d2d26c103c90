package transport

import "time"

// waiting says how long datagrams were in the socket before they were read. Kernel and
// reader have the same clock for that, but one that may be set meanwhile: nothing has
// waited since before the last time that the socket was read empty.
type waiting struct {
	last    time.Time // the socket was read last
	emptied time.Time // nothing that came before it is left
}

// of is how long a datagram that arrived at a time, ns since 1970, has waited; 0: unknown.
func (w *waiting) of(arrived int64, at time.Time) time.Duration {
	if arrived == 0 {
		return 0
	}
	return min(max(time.Duration(at.UnixNano()-arrived), 0), at.Sub(w.emptied))
}

// taken records that the socket has been read. Datagrams after it was empty arrived after the
// previous read.
func (w *waiting) taken(at time.Time, empty bool) {
	if empty {
		w.emptied = w.last
	}
	w.last = at
}
