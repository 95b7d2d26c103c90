package n4

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// The load of TestFigure.
const (
	figureRate  = 10_000 // transactions a second
	figureLoss  = 100    // one datagram in so many is lost, on each part of the way
	figureT1    = 100 * time.Millisecond
	figureHold  = 2 * time.Millisecond // responses wait up to so long, and overtake each other
	figureReads = 4 << 20              // octets of receive buffers
)

// kinds are the requests of the figure and their responses, with sequence number 0.
type kind struct {
	request, response []byte
	at                int // of the sequence number, in both
}

func figureKinds(t testing.TB) []kind {
	hb := kind{octetsOfHeartbeat(t, true), octetsOfHeartbeat(t, false), 4}
	del := kind{deletion(t.(*testing.T), 0, 5), deletionResponse(t.(*testing.T), 0, ie.CauseRequestAccepted), 12}
	return []kind{del, hb, del}
}

func octetsOfHeartbeat(t testing.TB, request bool) []byte {
	if request {
		return heartbeat(t.(*testing.T), 0, 1)
	}
	return heartbeatResponse(t.(*testing.T), 0)
}

// numbered is a message with a sequence number.
func numbered(message []byte, at int, sequence uint32) []byte {
	b := slices.Clone(message)
	tail := binary.BigEndian.Uint32(b[at:])
	binary.BigEndian.PutUint32(b[at:], sequence<<8|tail&0xff)
	return b
}

// sequenceOf is that of a message.
func sequenceOf(b []byte) uint32 {
	h, _, _, _ := pfcp.Parse(b)
	return h.Sequence
}

// upSide answers requests late and out of their order, and loses some.
type upSide struct {
	conn  *net.UDPConn
	kinds []kind

	mu       sync.Mutex
	sent     uint64
	arrived  map[uint32]uint64 // ns, first request that is answered
	left     map[uint32]uint64 // ns, first response
	awaiting []waiting
}

type waiting struct {
	due      time.Time
	to       netip.AddrPort
	sequence uint32
}

// receive takes requests until the socket is closed.
func (u *upSide) receive(r *rand.Rand) {
	b := make([]byte, 2048)
	for {
		n, from, err := u.conn.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		if r.IntN(figureLoss) == 0 {
			continue // lost between device and UP function
		}
		sequence := sequenceOf(b[:n])
		u.mu.Lock()
		if u.arrived[sequence] == 0 {
			u.arrived[sequence] = monotonic()
		}
		u.awaiting = append(u.awaiting, waiting{time.Now().Add(rand.N(figureHold)), from, sequence})
		u.mu.Unlock()
	}
}

// answer sends what is due, until the socket is closed.
func (u *upSide) answer() {
	for ; ; time.Sleep(200 * time.Microsecond) {
		now := time.Now()
		u.mu.Lock()
		var due []waiting
		u.awaiting = slices.DeleteFunc(u.awaiting, func(w waiting) bool {
			if w.due.After(now) {
				return false
			}
			due = append(due, w)
			return true
		})
		u.mu.Unlock()
		slices.SortFunc(due, func(a, b waiting) int { return a.due.Compare(b.due) })
		for _, w := range due {
			k := u.kinds[int(w.sequence)%len(u.kinds)]
			u.mu.Lock()
			if u.left[w.sequence] == 0 {
				u.left[w.sequence] = monotonic()
			}
			u.sent++
			u.mu.Unlock()
			if _, err := u.conn.WriteToUDPAddrPort(numbered(k.response, k.at, w.sequence), w.to); err != nil {
				return
			}
		}
	}
}

// cpSide sends requests at a rate, once more after T1, and loses some of what it sends and
// receives.
type cpSide struct {
	conn  *net.UDPConn
	to    netip.AddrPort
	kinds []kind
	sent  uint64 // requests on the wire

	mu   sync.Mutex
	open map[uint32]time.Time // when to send it once more
}

func (c *cpSide) receive(r *rand.Rand) {
	b := make([]byte, 2048)
	for {
		n, err := c.conn.Read(b)
		if err != nil {
			return
		}
		if r.IntN(figureLoss) == 0 {
			continue // lost between device and CP function
		}
		c.mu.Lock()
		delete(c.open, sequenceOf(b[:n]))
		c.mu.Unlock()
	}
}

// send puts a request on the wire, or loses it before.
func (c *cpSide) send(t *testing.T, r *rand.Rand, sequence uint32) {
	c.mu.Lock()
	c.open[sequence] = time.Now().Add(figureT1)
	c.mu.Unlock()
	if r.IntN(figureLoss) == 0 {
		return
	}
	k := c.kinds[int(sequence)%len(c.kinds)]
	if _, err := c.conn.WriteToUDPAddrPort(numbered(k.request, k.at, sequence), c.to); err != nil {
		t.Error(err)
	}
	c.sent++
}

// overdue returns what has waited for T1, and how many requests wait.
func (c *cpSide) overdue() (again []uint32, wait int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	for sequence, at := range c.open {
		if now.After(at) {
			again = append(again, sequence)
		}
	}
	return again, len(c.open)
}

// run sends n requests at the rate, and each until it is answered.
func (c *cpSide) run(t *testing.T, r *rand.Rand, n int) time.Duration {
	began := time.Now()
	var took time.Duration
	for next := 0; ; time.Sleep(500 * time.Microsecond) {
		for due := min(n, int(time.Since(began).Seconds()*figureRate)); next < due; next++ {
			c.send(t, r, uint32(next))
			took = time.Since(began)
		}
		again, wait := c.overdue()
		for _, sequence := range again {
			c.send(t, r, sequence)
		}
		if next == n && wait == 0 {
			return took
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%d of %d sent, %d wait", next, n, wait)
		}
	}
}

// TestFigure has transactions at a rate with losses on each part of the way and responses
// that overtake each other. All must be paired, what was sent again counted exactly, and no
// delay be less than the UP function's own.
func TestFigure(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	b := newBed(t, "figure")
	ended := map[uint32]Transaction{}
	m := open(t, Config{
		UPFs:         []UPF{{Name: "a", N4: []netip.Addr{bedUP}}},
		Transactions: 2 * n, // so that what comes late is known again
		Timeout:      maxTimeout,
		Done:         func(x Transaction) { ended[x.Sequence] = x },
	})
	attach(t, m, Point{Namespace: path(b.up), Device: "n4"})
	u := &upSide{conn: listen(t, b.up, netip.AddrPortFrom(bedUP, 8805)), kinds: figureKinds(t), arrived: map[uint32]uint64{}, left: map[uint32]uint64{}}
	c := &cpSide{conn: listen(t, b.cp, netip.AddrPortFrom(bedCP, 8805)), kinds: figureKinds(t), to: netip.AddrPortFrom(bedUP, 8805), open: map[uint32]time.Time{}}
	for _, conn := range []*net.UDPConn{u.conn, c.conn} {
		if err := conn.SetReadBuffer(figureReads); err != nil {
			t.Fatal(err)
		}
	}
	go u.receive(rand.New(rand.NewPCG(1, 1)))
	go u.answer()
	go c.receive(rand.New(rand.NewPCG(2, 2)))
	took := c.run(t, rand.New(rand.NewPCG(3, 3)), n)

	quiet := func() bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		return len(u.awaiting) == 0
	}
	for end := time.Now().Add(patience); !quiet() && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	time.Sleep(10 * time.Millisecond) // the last one that was due may be on its way
	u.mu.Lock()
	defer u.mu.Unlock()
	s := until(t, m, func(s *Snapshot) bool { return s.datagrams() == c.sent+u.sent })
	var all Account
	for _, x := range s.Series {
		if !balanced(x.Account) || x.Role != CP {
			t.Errorf("%v %v: %+v", x.Role, x.Type, x.Account)
		}
		all.Requests += x.Requests
		all.Answered += x.Answered
		all.Retransmissions += x.Retransmissions
		all.Repeated += x.Repeated
	}
	want := Account{Requests: uint64(n), Answered: uint64(n), Retransmissions: c.sent - uint64(n), Repeated: u.sent - uint64(n)}
	if all != want {
		t.Errorf("got %+v, want %+v", all, want)
	}
	if p := s.Points[0]; p.Lost+p.Orphans+p.Malformed+p.Foreign != 0 || p.Messages != c.sent+u.sent {
		t.Errorf("got %+v, want %d messages", p, c.sent+u.sent)
	}
	t.Logf("%d transactions in %v (%.0f a second), %d requests and %d responses once more", n, took, float64(n)/took.Seconds(), want.Retransmissions, want.Repeated)
	u.compare(t, m, ended)
}

// compare holds delays against how long the UP function had each request.
func (u *upSide) compare(t *testing.T, m *Monitor, ended map[uint32]Transaction) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var beyond []time.Duration
	for sequence, left := range u.left {
		x := ended[sequence]
		own, delay := left-u.arrived[sequence], x.ResponseNs-x.RequestNs
		if x.ResponseNs == 0 || delay < own {
			t.Fatalf("%d: delay %d ns, the UP function had it for %d", sequence, delay, own)
		}
		if x.Retransmissions == 0 {
			beyond = append(beyond, time.Duration(delay-own))
		}
	}
	slices.Sort(beyond)
	t.Logf("beyond the UP function's own time: least %v, half %v, 99%% %v", beyond[0], beyond[len(beyond)/2], beyond[len(beyond)*99/100])
}
