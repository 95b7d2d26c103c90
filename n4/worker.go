package n4

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/ipv4"

	"plumbline/pfcp"
)

// Sizes of a worker's batches.
const (
	batchSize = 64
	// maxDatagram is one octet more than any PFCP message over IPv4 has, so
	// that one that is too long is seen.
	maxDatagram = 65508
	// maxFailures is how often a read may fail before the worker gives up.
	maxFailures = 100
)

// worker serves one socket. All that it needs to answer a request it has of
// its own, and uses again.
type worker struct {
	e    *Endpoint
	conn *ipv4.PacketConn

	in, out []ipv4.Message
	types   []pfcp.MessageType // of the requests that out answers

	buf []byte // responses, one after the other
	converter
	establishmentRequest  pfcp.SessionEstablishmentRequest
	modificationRequest   pfcp.SessionModificationRequest
	deletionRequest       pfcp.SessionDeletionRequest
	establishmentResponse pfcp.SessionEstablishmentResponse
	modificationResponse  pfcp.SessionModificationResponse
	deletionResponse      pfcp.SessionDeletionResponse
}

func newWorker(e *Endpoint, conn *ipv4.PacketConn) *worker {
	w := &worker{e: e, conn: conn, in: make([]ipv4.Message, batchSize), out: make([]ipv4.Message, 0, batchSize)}
	memory := make([]byte, batchSize*maxDatagram) // the kernel gives pages as they are used
	for i := range w.in {
		w.in[i].Buffers = [][]byte{memory[i*maxDatagram : (i+1)*maxDatagram]}
	}
	return w
}

// serve answers datagrams until the socket is closed.
func (w *worker) serve() error {
	failures := 0 // one after the other
	for {
		n, err := w.conn.ReadBatch(w.in, 0)
		if err != nil {
			if w.e.run.Err() != nil {
				return ErrClosed
			}
			// Want of memory passes; what stays is reported.
			if failures++; failures > maxFailures || errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("n4: read: %w", err)
			}
			continue
		}
		failures = 0
		start := time.Now()
		w.answer(w.in[:n], start)
		w.write(start)
	}
}

// answer works on a batch and leaves the responses in out.
func (w *worker) answer(batch []ipv4.Message, now time.Time) {
	w.out, w.types, w.buf = w.out[:0], w.types[:0], w.buf[:0]
	for i := range batch {
		m := &batch[i]
		src := m.Addr.(*net.UDPAddr).AddrPort()
		src = netip.AddrPortFrom(src.Addr().Unmap(), src.Port())
		if m.N == maxDatagram {
			w.e.counters.drop(DropTruncated)
			continue
		}
		before := len(w.buf)
		w.handle(src, m.Buffers[0][:m.N], now)
		if len(w.buf) == before {
			continue
		}
		response := w.buf[before:len(w.buf):len(w.buf)]
		o := next(&w.out)
		o.Buffers, o.Addr = append(o.Buffers[:0], response), m.Addr
		w.types = append(w.types, pfcp.MessageType(m.Buffers[0][1]))
	}
}

// write sends the responses, and records how long they took.
func (w *worker) write(start time.Time) {
	for out := w.out; len(out) > 0; {
		n, err := w.conn.WriteBatch(out, 0)
		if err != nil {
			w.e.counters.SendErrors.Add(1)
		}
		out = out[max(n, 1):] // one that cannot be sent is asked for again
	}
	took := time.Since(start)
	for i, t := range w.types {
		w.e.counters.Latency[t].observe(took, 1)
		w.e.counters.Sent[w.out[i].Buffers[0][1]].Add(1)
	}
}

// handle works on one datagram and appends the response, if there is one, to
// buf. It is all that a datagram can do.
func (w *worker) handle(src netip.AddrPort, datagram []byte, now time.Time) {
	c := &w.e.counters
	if !w.e.allowed(src.Addr()) {
		c.drop(DropNotAllowed)
		w.e.log.event(kindStranger, slog.LevelWarn, "n4: datagram of a stranger", "from", src)
		return
	}
	h, body, rest, err := pfcp.Parse(datagram)
	if errors.Is(err, pfcp.ErrShort) {
		c.drop(DropShort)
		return
	}
	c.Received[h.Type].Add(1)
	switch {
	case err != nil:
		w.unparsable(src, h, err)
		return
	case len(rest) > 0:
		c.drop(DropBundled)
	}
	switch {
	case h.Type == pfcp.MsgHeartbeatRequest:
		w.heartbeat(h, body)
	case !h.Type.IsRequest():
		w.e.response(src, h, body)
	default:
		w.once(src, h, datagram[:len(datagram)-len(rest)], body, now)
	}
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

// once answers a request, from the cache if it has been answered before.
func (w *worker) once(src netip.AddrPort, h pfcp.Header, message, body []byte, now time.Time) {
	before := len(w.buf)
	key := w.e.cache.key(src, message)
	var found bool
	if w.buf, found = w.e.cache.find(w.buf, key); found {
		w.e.counters.Duplicates.Add(1)
		return
	}
	known := w.e.peers.knows(src.Addr())
	if h.Type.IsSession() {
		w.session(src, h, body)
	} else {
		w.node(src, h, body, key, now)
	}
	// Nothing is kept for strangers, so that they cannot make the cache grow.
	if len(w.buf) > before && (known || w.e.peers.knows(src.Addr())) {
		w.e.cache.put(key, w.buf[before:], now)
	}
}

// reply appends a response to the request with header h.
func (w *worker) reply(h pfcp.Header, seid uint64, m pfcp.Message, cause pfcp.Cause) {
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
