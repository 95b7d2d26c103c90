package n4

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/mmsg"
	"github.com/plumbline-upf/plumbline/pfcp"
)

const (
	// batchSize is how many datagrams are read or written at once.
	batchSize = 64
	// maxBundled is how many messages of one datagram are worked on.
	maxBundled = 64
)

// worker answers messages. All that it needs to answer one it has of its own,
// and uses again.
type worker struct {
	e    *Endpoint
	out  *mmsg.Sender // nil: answers stay in buf
	hand *handOff     // who does the work; nil: this worker
	now  time.Time    // when the batch was read
	src  netip.AddrPort
	at   *peer // who speaks from the datagram's source; nil: nobody associated

	buf     []byte   // answers, one after the other
	answers []answer // where they stand
	stored  bool     // one of them says what the store has to hold
	late    bool     // the request is answered later, by somebody else
	again   bool     // the request may be one whose answer waits here already
	origin  origin   // of the answer to the message that is being worked on,
	key     requestKey

	converter
	establishmentRequest  pfcp.SessionEstablishmentRequest
	modificationRequest   pfcp.SessionModificationRequest
	deletionRequest       pfcp.SessionDeletionRequest
	establishmentResponse pfcp.SessionEstablishmentResponse
	modificationResponse  pfcp.SessionModificationResponse
	deletionResponse      pfcp.SessionDeletionResponse
}

// answer is a response that waits to be sent.
type answer struct {
	to         netip.AddrPort
	start, end int // in worker.buf
	request    pfcp.MessageType
	origin     origin
	key        requestKey // of the request, unless the origin is none
}

// origin is where an answer comes from.
type origin byte

const (
	originNone    origin = iota // nothing was done
	originRequest               // what was asked for was done, or refused
	originCache                 // it was answered before
)

// newWorker returns a worker that sends from s; nil: from nowhere.
func newWorker(e *Endpoint, s *socket) *worker {
	w := &worker{e: e}
	if s != nil {
		w.out = mmsg.NewSender(s.raw, batchSize)
	}
	return w
}

// begin makes room for the answers to a batch that was read at that time.
func (w *worker) begin(now time.Time) {
	w.buf, w.answers, w.stored, w.now = w.buf[:0], w.answers[:0], false, now
}

// finish sends the answers to a batch. If the store does not hold what they
// say, they are withdrawn before. It returns how long the batch took, or 0 if there was nothing to answer.
func (w *worker) finish() (took time.Duration) {
	if len(w.answers) == 0 {
		return 0
	}
	if w.stored && (w.e.storeDown.Load() || w.e.flush(w.e.run) != nil) {
		if w.e.run.Err() != nil {
			return 0
		}
		w.withdraw()
	}
	for rest := w.answers; len(rest) > 0; {
		n := min(len(rest), batchSize)
		w.send(rest[:n])
		rest = rest[n:]
	}
	c := &w.e.counters
	took = time.Since(w.now)
	for _, a := range w.answers {
		c.Latency[a.request].observe(took, 1)
		c.Sent[w.buf[a.start+1]].Add(1)
	}
	return took
}

// send sends answers, no more than batchSize.
func (w *worker) send(list []answer) {
	w.out.Reset()
	for _, a := range list {
		w.out.AddTo(a.to, w.buf[a.start:a.end])
	}
	for range list {
		if _, err := w.out.Flush(); err == nil || w.e.run.Err() != nil {
			return
		}
		w.e.counters.SendErrors.Add(1) // it is asked for again
		w.out.Skip()
	}
}

// handle works on one datagram: the message in it, or several if it is a bundle
// of a peer. It is all that a datagram can do.
// Source: TS 29.244 V18.6.0, 6.5 and 7.2.1A (bundles).
func (w *worker) handle(src netip.AddrPort, datagram []byte, now time.Time) {
	w.now, w.src = now, src
	if !w.e.allowed(src.Addr()) {
		w.e.counters.drop(DropNotAllowed)
		w.e.log.event(kindStranger, slog.LevelWarn, "n4: datagram of a stranger", "from", src)
		return
	}
	w.at = w.e.peers.at(src.Addr())
	for n := 0; ; n++ {
		rest := w.message(src, datagram, n)
		if len(rest) == 0 {
			return
		}
		// Each message of a bundle has an answer, so a stranger could have many
		// datagrams sent for one of his.
		if w.at == nil || n+1 == maxBundled {
			w.e.counters.drop(DropBundled)
			return
		}
		datagram = rest
	}
}

// message works on the first message in a datagram, which is the nth, and
// returns the rest.
func (w *worker) message(src netip.AddrPort, datagram []byte, n int) (rest []byte) {
	c := &w.e.counters
	h, body, rest, err := pfcp.Parse(datagram)
	if errors.Is(err, pfcp.ErrShort) {
		c.drop(DropShort)
		return nil
	}
	c.Received[h.Type].Add(1)
	// Answers to our own requests are as many as those.
	if (err != nil || h.Type.IsRequest()) && !w.e.within(w.at, w.now) {
		c.drop(DropRate)
		return nil
	}
	before := len(w.buf)
	w.again = false
	w.origin = originNone
	switch {
	case err != nil:
		w.unparsable(src, h, err)
	case h.Type == pfcp.MsgHeartbeatRequest:
		w.again = true
		w.heartbeat(h, body)
	case !h.Type.IsRequest():
		w.e.response(src, h, body)
	default:
		w.request(src, h, datagram[:len(datagram)-len(rest)], body)
	}
	w.answered(src, h.Type, before)
	return rest
}

// answered notes that what is in buf from there on is to be sent, if there is
// anything.
func (w *worker) answered(to netip.AddrPort, request pfcp.MessageType, from int) {
	if len(w.buf) == from || w.out == nil {
		return
	}
	if w.again && w.waits(to, w.buf[from:]) {
		w.buf = w.buf[:from]
		w.e.counters.drop(DropInProgress)
		return
	}
	w.answers = append(w.answers, answer{to, from, len(w.buf), request, w.origin, w.key})
}

// waits reports whether the same answer is to be sent to there with this batch.
// What a peer repeated while this process stood still is read at once. Of two
// answers with one sequence number within a moment, free5GC's SMF (pfcp v1.1.2)
// hands the second one to a transaction that has ended, waits there, and reads
// nothing more.
func (w *worker) waits(to netip.AddrPort, response []byte) bool {
	return slices.ContainsFunc(w.answers, func(a answer) bool {
		return a.to == to && bytes.Equal(w.buf[a.start:a.end], response)
	})
}

// unparsable answers a message whose header is wrong, unless it is a response:
// that answer might be answered again, and so on for ever. Of another version
// it is known only that its type 11 is what we would answer.
func (w *worker) unparsable(src netip.AddrPort, h pfcp.Header, err error) {
	version := errors.Is(err, pfcp.ErrVersion)
	switch {
	case h.Type == pfcp.MsgVersionNotSupportedResponse, !version && !h.Type.IsRequest():
		w.e.counters.drop(DropMalformed)
	case version:
		w.buf = pfcp.AppendVersionNotSupported(w.buf, h.Sequence)
	default:
		w.refuse(src, header(h, 0), &pfcp.Error{Cause: pfcp.CauseInvalidLength, In: h.Type.String(), Err: err})
	}
}

// request answers a request, from the cache if it has been answered before.
func (w *worker) request(src netip.AddrPort, h pfcp.Header, message, body []byte) {
	key := w.e.cache.key(src, message)
	var found bool
	if w.buf, found = w.e.cache.find(w.buf, key, w.now); found {
		w.e.counters.Duplicates.Add(1)
		w.again = true
		w.stored = true // what it says may not have been flushed then
		w.origin, w.key = originCache, key
		return
	}
	if w.hand != nil {
		w.hand.give(src, h, message, key, w.now)
		return
	}
	if !h.Type.IsSession() && !w.e.cache.start(key) {
		w.e.counters.drop(DropInProgress)
		return
	}
	w.execute(src, h, body, key)
}

// execute does what a request asks for that has not been answered yet.
func (w *worker) execute(src netip.AddrPort, h pfcp.Header, body []byte, key requestKey) {
	before := len(w.buf)
	w.stored, w.late = true, false
	w.origin, w.key = originRequest, key
	switch {
	case !h.Type.IsSession():
		w.node(nodeRequest{src, h, body, key})
	case h.Type == pfcp.MsgSessionEstablishmentRequest && w.e.load.throttle(h):
		w.refuse(src, header(h, 0), errCongestion)
	default:
		w.session(src, h, body)
	}
	// Nothing is kept for strangers, so that they cannot make the cache grow.
	switch {
	case len(w.buf) > before && (w.at != nil || w.e.peers.knows(src.Addr())):
		w.e.cache.put(key, w.buf[before:], w.now)
	case !w.late:
		w.e.cache.end(key)
	}
}

// reply appends a response to the request with header h.
func (w *worker) reply(h pfcp.Header, seid uint64, m pfcp.Message, cause pfcp.Cause) {
	if w.at != nil && h.Type.IsSession() {
		w.tellLoad(m)
	}
	w.buf = w.e.append(w.buf, h, seid, m, cause)
}

// append appends a response to the request with header h, of the same message
// priority, and counts its Cause, if it has one.
func (e *Endpoint) append(b []byte, h pfcp.Header, seid uint64, m pfcp.Message, cause pfcp.Cause) []byte {
	out, err := pfcp.Append(b, pfcp.Header{SEID: seid, Sequence: h.Sequence, MP: h.MP, Priority: h.Priority}, m)
	if err != nil {
		e.counters.drop(DropTooLong)
		return b
	}
	if cause != 0 {
		e.counters.Causes[cause].Add(1)
	}
	return out
}
