package n4

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
)

// answerTo returns what a datagram is answered with, nil if it is dropped; a
// heartbeat behind it shows that no answer will come. The socket has one
// worker, so the answers come in order.
func (c *client) answerTo(datagram []byte) []byte {
	c.t.Helper()
	c.send(datagram)
	c.send([]byte{0x20, 1, 0, 12, 0xff, 0xff, 0xfe, 0, 0, 96, 0, 4, 0, 0, 0, 1})
	var answer []byte
	for {
		r := c.receive(5 * time.Second)
		h, _, _, err := pfcp.Parse(r)
		if err != nil {
			c.t.Fatalf("%x is answered with %x: %v", datagram, r, err)
		}
		if h.Type == pfcp.MsgHeartbeatResponse && h.Sequence == heartbeatMark {
			return answer
		}
		if answer != nil {
			c.t.Fatalf("%x is answered twice", datagram)
		}
		answer = r
	}
}

// causeOf returns the Cause and the Offending IE of a response.
func causeOf(t *testing.T, response []byte) (cause pfcp.Cause, ie pfcp.IEType) {
	t.Helper()
	_, body, _, err := pfcp.Parse(response)
	if err != nil {
		t.Fatal(err)
	}
	for len(body) >= 4 {
		kind, size := pfcp.IEType(binary.BigEndian.Uint16(body)), binary.BigEndian.Uint16(body[2:])
		switch content := body[4 : 4+size]; kind {
		case pfcp.IECause:
			cause = pfcp.Cause(content[0])
		case pfcp.IEOffendingIE:
			ie = pfcp.IEType(binary.BigEndian.Uint16(content))
		}
		body = body[4+size:]
	}
	return cause, ie
}

// split returns the messages that stand one after the other.
func split(t *testing.T, b []byte) (list [][]byte) {
	t.Helper()
	for len(b) > 0 {
		end := 4
		if len(b) >= 4 {
			end += int(binary.BigEndian.Uint16(b[2:]))
		}
		if end > len(b) {
			t.Fatalf("message of %d octets in %x", end, b)
		}
		if _, _, _, err := pfcp.Parse(b[:end]); err != nil {
			t.Fatalf("answer %x: %v", b[:end], err)
		}
		list, b = append(list, b[:end]), b[end:]
	}
	return list
}

// TestBad sends every bad datagram, as a stranger and as a peer: it is answered
// with its Cause, or dropped and counted.
func TestBad(t *testing.T) {
	b := newBed(t, Config{Sockets: 1})
	stranger, peer := b.client(t, "127.0.0.1"), b.client(t, "127.0.0.2")
	peer.associate("192.168.14.111", recoveryTime)
	for _, v := range pfcptest.Bad(t) {
		for _, c := range []*client{stranger, peer} {
			drops := totalDrops(b.Counters())
			answer := c.answerTo(v.Octets)
			switch h, _, _, _ := pfcp.Parse(v.Octets); {
			case v.Version:
				if h, _, _, err := pfcp.Parse(answer); err != nil || h.Type != pfcp.MsgVersionNotSupportedResponse {
					t.Errorf("%s: answered with %x, want Version Not Supported Response", v.Name, answer)
				}
			case v.Discard, !h.Type.IsRequest(), h.Type == pfcp.MsgHeartbeatRequest,
				h.Type == pfcp.MsgNodeReportRequest, h.Type == pfcp.MsgSessionReportRequest: // which UP functions send
				if h.Type == pfcp.MsgHeartbeatRequest && answer != nil && h.FO {
					continue // its first message is good
				}
				if answer != nil || totalDrops(b.Counters()) != drops+1 {
					t.Errorf("%s: answered with %x, %d drops; want 1 drop", v.Name, answer, totalDrops(b.Counters())-drops)
				}
			default:
				if answer == nil {
					t.Errorf("%s: not answered", v.Name)
					continue
				}
				cause, ie := causeOf(t, answer)
				noSession := cause == pfcp.CauseSessionContextNotFound || cause == pfcp.CauseNoEstablishedPFCPAssociation
				if h.Type == pfcp.MsgSessionModificationRequest && noSession {
					continue // there is no such session to be malformed for
				}
				if isNode := !h.Type.IsSession(); uint8(cause) != v.Cause || !isNode && v.OffendingIE != 0 && uint16(ie) != v.OffendingIE {
					t.Errorf("%s: %v, IE %v; want cause %d, IE %d", v.Name, cause, ie, v.Cause, v.OffendingIE)
				}
			}
		}
	}
	stranger.heartbeat()
	if n := b.sessions.Len(); n != 0 || len(b.Associations()) != 1 {
		t.Errorf("%d sessions, %d associations; want 0 and 1", n, len(b.Associations()))
	}
}

func totalDrops(c *Counters) (n uint64) {
	for i := range c.Dropped {
		n += c.Dropped[i].Load()
	}
	return n
}

// TestTruncations sends every golden datagram cut at every octet, with its
// Length as it was and with one that fits: each is answered or dropped and
// counted, nothing is left of it, and the endpoint lives.
func TestTruncations(t *testing.T) {
	b := newBed(t, Config{Sockets: 1})
	c := b.client(t, "127.0.0.2")
	pass := func() (sent int) {
		c = b.client(t, "127.0.0.2") // from another port nothing is a repetition
		c.associate("192.168.14.111", recoveryTime)
		for _, v := range pfcptest.Good(t) {
			var cuts [][]byte
			for cut := range v.Octets {
				fitting := bytes.Clone(v.Octets[:cut])
				if cut >= 4 {
					binary.BigEndian.PutUint16(fitting[2:], uint16(cut-4))
				}
				cuts = append(cuts, v.Octets[:cut], fitting)
			}
			for part := range slices.Chunk(cuts, 50) { // what a socket holds
				drops := totalDrops(b.Counters())
				answers := c.answersTo(part)
				// A bundle is answered for its first message, and the rest dropped.
				if got := answers + int(totalDrops(b.Counters())-drops); got < len(part) {
					t.Errorf("%s: %d of %d datagrams answered or dropped", v.Name, got, len(part))
				}
				sent += len(part)
			}
		}
		// What was cut between two IEs may be a whole request: end it all.
		c.associate("192.168.14.111", recoveryTime)
		c.associate("10.4.0.2", recoveryTime) // which a golden datagram associates
		return sent
	}
	pass()
	goroutines, heap := runtime.NumGoroutine(), heapOctets()
	sent := pass()
	// The cache of responses may grow to its bound; a leak per datagram would
	// show as megabytes.
	if got := heapOctets(); got > heap+4<<20 {
		t.Errorf("heap grew from %d to %d octets over %d datagrams", heap, got, sent)
	}
	if got := runtime.NumGoroutine(); got > goroutines {
		t.Errorf("%d goroutines, before %d", got, goroutines)
	}
	if n := b.sessions.Len(); n != 0 || len(b.driver.held()) != 0 {
		t.Errorf("%d sessions here, %d in the datapath; want none", n, len(b.driver.held()))
	}
	c.heartbeat()
	t.Logf("%d datagrams", sent)
}

// heartbeatMark is the sequence number of heartbeats that mark an end.
const heartbeatMark = 0xfffffe

// answersTo sends datagrams and a heartbeat behind them, and counts what comes
// before that is answered.
func (c *client) answersTo(datagrams [][]byte) (n int) {
	c.t.Helper()
	for _, d := range datagrams {
		c.send(d)
	}
	c.send([]byte{0x20, 1, 0, 12, 0xff, 0xff, 0xfe, 0, 0, 96, 0, 4, 0, 0, 0, 1})
	for {
		h, _, _, err := pfcp.Parse(c.receive(5 * time.Second))
		if err != nil {
			c.t.Fatal(err)
		}
		if h.Type == pfcp.MsgHeartbeatResponse && h.Sequence == heartbeatMark {
			return n
		}
		n++
	}
}

func heapOctets() uint64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// FuzzHandle gives a datagram to an endpoint that has a peer with a session:
// nothing panics, and what the endpoint holds changes only if the answer says
// that the request was accepted.
func FuzzHandle(f *testing.F) {
	for _, v := range append(pfcptest.Good(f), pfcptest.Bad(f)...) {
		f.Add(v.Octets)
	}
	m, _ := newManager(f, 64)
	c, err := Config{
		Listen: netip.MustParseAddrPort("10.4.0.1:8805"), NodeID: "upf.example",
		Log: slog.New(slog.DiscardHandler),
	}.withDefaults()
	if err != nil {
		f.Fatal(err)
	}
	e := newEndpoint(c, m)
	e.transmit = func(netip.AddrPort, []byte) {}
	e.patience = time.Minute // what is done is done before the next datagram
	w := newWorker(e, nil)
	src := netip.MustParseAddrPort("192.168.14.111:8805")
	sequence := uint32(0)
	ask := func(m pfcp.Message) {
		sequence++
		b, err := pfcp.Append(nil, pfcp.Header{Sequence: sequence}, m)
		if err != nil {
			f.Fatal(err)
		}
		w.buf = w.buf[:0]
		w.handle(src, b, time.Now())
	}
	f.Fuzz(func(t *testing.T, datagram []byte) {
		if len(e.Associations()) == 0 {
			ask(&pfcp.AssociationSetupRequest{NodeID: pfcp.NodeID{Addr: src.Addr()}, RecoveryTimeStamp: 1})
			ask(usual(src.Addr().String(), "10.45.9.9"))
		}
		sessions, associations, apps := m.Len(), e.peers.table.Load(), m.Applications()
		w.buf = w.buf[:0]
		w.handle(src, datagram, time.Now())
		accepted := false
		for _, a := range split(t, w.buf) {
			cause, _ := causeOf(t, a)
			accepted = accepted || cause.Accepted()
		}
		if !accepted && (m.Len() != sessions || e.peers.table.Load() != associations || m.Applications() != apps) {
			t.Errorf("%x, answered with %x, changed something", datagram, w.buf)
		}
		counted := 0
		for _, a := range e.Associations() {
			counted += a.Sessions
		}
		if m.Len() > 64 || len(e.Associations()) > 16 || counted != m.Len() || e.cache.inProgress() != 0 {
			t.Errorf("%d sessions, %d of them in %d associations, %d requests noted as being worked on",
				m.Len(), counted, len(e.Associations()), e.cache.inProgress())
		}
	})
}
