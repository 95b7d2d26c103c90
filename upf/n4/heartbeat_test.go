package n4

import (
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// quiet is an endpoint without sockets: what it sends by itself goes to sent.
// It runs in a bubble whose clock jumps.
type quiet struct {
	*Endpoint
	driver *fakeDriver
	start  time.Time
	work   sync.Mutex // guards worker
	worker *worker

	sequence atomic.Uint32 // of what it is sent by setUp

	mu     sync.Mutex // guards what follows
	sent   []transmission
	answer func(n int, request []byte) []byte // to the nth request; nil: none
}

type transmission struct {
	at       time.Duration
	to       netip.AddrPort
	datagram []byte
}

func newQuiet(t *testing.T) *quiet {
	t.Helper()
	return newQuietOver(t, usualDatapath)
}

// newQuietOver returns one over a datapath that can do what can says.
func newQuietOver(t *testing.T, can *api.Capabilities) *quiet {
	t.Helper()
	m, d := newManagerOver(t, 64, can)
	c, err := Config{
		Listen: netip.MustParseAddrPort("10.4.0.1:8805"), RecoveryTime: recoveryTime,
		HeartbeatInterval: 10 * time.Second, T1: 2 * time.Second, N1: 3,
		Log: slog.New(slog.DiscardHandler),
	}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	q := &quiet{Endpoint: newEndpoint(c, m), driver: d, start: time.Now()}
	q.worker = newWorker(q.Endpoint, nil)
	q.transmit = func(to netip.AddrPort, datagram []byte) {
		q.mu.Lock()
		n, answer := len(q.sent), q.answer
		q.sent = append(q.sent, transmission{time.Since(q.start), to, slices.Clone(datagram)})
		q.mu.Unlock()
		if answer != nil {
			q.receive(to, answer(n, datagram))
		}
	}
	return q
}

// receive is a datagram coming in; it returns the answer.
func (q *quiet) receive(from netip.AddrPort, datagram []byte) []byte {
	q.work.Lock()
	defer q.work.Unlock()
	q.worker.buf = q.worker.buf[:0]
	q.worker.handle(from, datagram, time.Now())
	return slices.Clone(q.worker.buf)
}

// answerWith sets how requests are answered from now on.
func (q *quiet) answerWith(f func(n int, request []byte) []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.answer = f
}

// transmissions is what has been sent so far.
func (q *quiet) transmissions() []transmission {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.sent)
}

var smfPort = netip.MustParseAddrPort("10.4.0.2:8805")

// associateQuiet sets up an association of 10.4.0.2 with a session.
func (q *quiet) associateQuiet(t *testing.T, recovery pfcp.TimeStamp) {
	t.Helper()
	setup, err := pfcp.Append(nil, pfcp.Header{Sequence: 1}, &pfcp.AssociationSetupRequest{
		NodeID: pfcp.NodeID{Addr: smfPort.Addr()}, RecoveryTimeStamp: recovery})
	if err != nil {
		t.Fatal(err)
	}
	establishment, err := pfcp.Append(nil, pfcp.Header{Sequence: 2}, usual("10.4.0.2", "10.45.0.2"))
	if err != nil {
		t.Fatal(err)
	}
	q.receive(smfPort, setup)
	q.receive(smfPort, establishment)
	if q.sessions.Len() != 1 || len(q.Associations()) != 1 {
		t.Fatalf("%d sessions, %d associations", q.sessions.Len(), len(q.Associations()))
	}
}

// heartbeatResponse answers a Heartbeat Request with a Recovery Time Stamp.
func heartbeatResponse(request []byte, recovery pfcp.TimeStamp) []byte {
	h, _, _, _ := pfcp.Parse(request)
	b, _ := pfcp.Append(nil, pfcp.Header{Sequence: h.Sequence}, &pfcp.HeartbeatResponse{RecoveryTimeStamp: recovery})
	return b
}

// TestPathFailure: a heartbeat that is not answered is sent N1 times, T1
// apart, the same octets each time; then the path counts as down. The sessions
// stay, and when the peer answers again the path is up.
func TestPathFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuiet(t)
		defer func() { q.stop(); q.background.Wait() }()
		q.answerWith(func(n int, request []byte) []byte {
			if n > 0 { // the first one asks whether it is there
				return nil
			}
			return heartbeatResponse(request, 100)
		})
		q.associateQuiet(t, 100)
		time.Sleep(17 * time.Second)
		synctest.Wait()
		want := []time.Duration{20 * time.Millisecond, 10 * time.Second, 12 * time.Second, 14 * time.Second}
		for i, s := range q.transmissions() {
			if i >= len(want) || s.at != want[i] || s.to != smfPort || i > 0 && string(s.datagram) != string(q.transmissions()[1].datagram) {
				t.Errorf("transmission %d: %+v, want the second one's octets, at %v", i, s, want)
			}
		}
		c := q.Counters()
		if len(q.transmissions()) != 4 || c.Retransmissions.Load() != 2 || c.PathFailures.Load() != 1 || !q.Associations()[0].PathDown {
			t.Errorf("%d sent, %d retransmissions, %d path failures", len(q.transmissions()), c.Retransmissions.Load(), c.PathFailures.Load())
		}
		if q.sessions.Len() != 1 {
			t.Error("the session went with the path")
		}
		q.answerWith(func(_ int, request []byte) []byte { return heartbeatResponse(request, 100) })
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if q.Associations()[0].PathDown || len(q.transmissions()) != 5 || q.sessions.Len() != 1 {
			t.Errorf("path down after an answer; %d sent", len(q.transmissions()))
		}
		first, _, _, _ := pfcp.Parse(q.transmissions()[1].datagram)
		last, _, _, _ := pfcp.Parse(q.transmissions()[4].datagram)
		if last.Sequence != (first.Sequence+1)&0xffffff {
			t.Errorf("sequence numbers %d, then %d; want the next one", first.Sequence, last.Sequence)
		}
	})
}

// TestPeerRestartByHeartbeat: only an answer to our own heartbeat, with a newer
// Recovery Time Stamp, deletes sessions.
func TestPeerRestartByHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuiet(t)
		defer func() { q.stop(); q.background.Wait() }()
		q.associateQuiet(t, 100)
		request, err := pfcp.Append(nil, pfcp.Header{Sequence: 9}, &pfcp.HeartbeatRequest{RecoveryTimeStamp: 200})
		if err != nil {
			t.Fatal(err)
		}
		q.receive(smfPort, request)
		for n := range uint32(100) { // unasked
			stray, err := pfcp.Append(nil, pfcp.Header{Sequence: n}, &pfcp.HeartbeatResponse{RecoveryTimeStamp: 200})
			if err != nil {
				t.Fatal(err)
			}
			q.receive(smfPort, stray)
		}
		thief := netip.MustParseAddrPort("10.4.0.66:8805")
		q.answerWith(func(n int, request []byte) []byte {
			q.receive(thief, heartbeatResponse(request, 200)) // right number, wrong address
			if n < 2 {
				return heartbeatResponse(request, 99) // older
			}
			return heartbeatResponse(request, 101)
		})
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if q.sessions.Len() != 1 || len(q.Associations()) != 1 || len(q.transmissions()) != 2 {
			t.Errorf("%d sessions, %d associations, %d sent; want 1, 1 and 2", q.sessions.Len(), len(q.Associations()), len(q.transmissions()))
		}
		if got := q.Counters().Dropped[DropUnexpected].Load(); got != 102 {
			t.Errorf("%d unexpected responses, want 102", got)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if q.sessions.Len() != 0 || len(q.Associations()) != 0 || q.Counters().PeerRestarts.Load() != 1 {
			t.Errorf("%d sessions, %d associations after a restart; want none", q.sessions.Len(), len(q.Associations()))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(q.transmissions()) != 3 {
			t.Errorf("%d heartbeats sent; want 3, as the association is gone", len(q.transmissions()))
		}
		if len(q.pending.waiting) != 0 || len(q.pending.last) != 0 {
			t.Error("a transaction is left")
		}
	})
}

// TestTakeOver: a Node ID can be associated from another address when its path
// is down: a CP function may come back elsewhere.
func TestTakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuiet(t)
		defer func() { q.stop(); q.background.Wait() }()
		q.associateQuiet(t, 100)
		setup, err := pfcp.Append(nil, pfcp.Header{Sequence: 5}, &pfcp.AssociationSetupRequest{
			NodeID: pfcp.NodeID{Addr: smfPort.Addr()}, RecoveryTimeStamp: 200})
		if err != nil {
			t.Fatal(err)
		}
		elsewhere := netip.MustParseAddrPort("10.4.0.3:8805")
		var r pfcp.AssociationSetupResponse
		for _, want := range []pfcp.Cause{pfcp.CauseRequestRejected, pfcp.CauseRequestAccepted} {
			_, body, _, err := pfcp.Parse(q.receive(elsewhere, setup))
			if err != nil || r.Decode(body) != nil || r.Cause != want {
				t.Errorf("setup from elsewhere: %v, %v; want %v", r.Cause, err, want)
			}
			time.Sleep(20 * time.Second) // the path fails
			synctest.Wait()
		}
		if got := q.Associations(); len(got) != 1 || got[0].Addr != elsewhere.Addr() || q.sessions.Len() != 0 {
			t.Errorf("associations %+v, %d sessions", got, q.sessions.Len())
		}
	})
}

// setUp asks for an association of a Node ID from an address, and returns the Cause.
func (q *quiet) setUp(t *testing.T, node, from string, recovery pfcp.TimeStamp) pfcp.Cause {
	t.Helper()
	src := netip.AddrPortFrom(netip.MustParseAddr(from), 8805)
	_, body, _, err := pfcp.Parse(q.receive(src, mustAppend(t, q.sequence.Add(1), &pfcp.AssociationSetupRequest{
		NodeID: pfcp.NodeID{Addr: netip.MustParseAddr(node)}, RecoveryTimeStamp: recovery})))
	var r pfcp.AssociationSetupResponse
	if err != nil || r.Decode(body) != nil {
		t.Fatalf("setup of %s from %s: %x, %v", node, from, body, err)
	}
	return r.Cause
}

// TestIdleGivesWay: when there are too many associations of CP functions that have been
// heard, one whose peer does not answer any more and that has no sessions gives way, and
// no other.
func TestIdleGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuiet(t)
		q.config.MaxAssociations, q.config.MaxAssociationsPerAddress = 2, 2
		defer func() { q.stop(); q.background.Wait() }()
		q.answerWith(func(_ int, request []byte) []byte {
			if time.Since(q.start) > time.Second {
				return nil
			}
			return heartbeatResponse(request, 100)
		})
		q.associateQuiet(t, 100) // has a session, and its path goes down
		setup := func(node string, want pfcp.Cause) {
			t.Helper()
			if got := q.setUp(t, node, node, 100); got != want {
				t.Errorf("setup of %s: %v; want %v", node, got, want)
			}
		}
		setup("10.4.0.3", pfcp.CauseRequestAccepted)
		time.Sleep(time.Second)
		synctest.Wait()
		setup("10.4.0.4", pfcp.CauseNoResourcesAvailable)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		setup("10.4.0.5", pfcp.CauseRequestAccepted) // in place of .3
		setup("10.4.0.6", pfcp.CauseRequestAccepted) // in place of .5, which was never heard
		list := q.Associations()
		if len(list) != 2 || list[0].NodeID != "10.4.0.2" || list[0].Sessions != 1 || list[1].NodeID != "10.4.0.6" || q.sessions.Len() != 1 {
			t.Errorf("associations %+v, %d sessions", list, q.sessions.Len())
		}
	})
}

// TestStrangersGiveWay: 64 addresses set up 16 associations each, twice a second, and
// never answer. A CP function that comes meanwhile is let in at once, and stays; one that
// a stranger was before has its Node ID when that had time to answer.
func TestStrangersGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQuiet(t)
		defer func() { q.stop(); q.background.Wait() }()
		q.answerWith(func(n int, request []byte) []byte {
			if q.transmissions()[n].to.Addr() != smfPort.Addr() {
				return nil
			}
			return heartbeatResponse(request, 100)
		})
		flood := func(round int) {
			for i := range 64 * 16 {
				from := netip.AddrFrom4([4]byte{10, 9, 0, byte(i / 16)}).String()
				node := netip.AddrFrom4([4]byte{10, 9, byte(1 + i%16), byte(i / 16)}).String()
				if i == 0 {
					node = "10.4.0.9" // of a CP function that is still to come
				}
				q.setUp(t, node, from, 100)
			}
		}
		const late = "10.4.0.9"
		for round := range 6 {
			flood(round)
			switch round {
			case 2:
				if got := q.setUp(t, "10.4.0.2", "10.4.0.2", 100); got != pfcp.CauseRequestAccepted {
					t.Errorf("setup among strangers: %v", got)
				}
				// Others in its name, which its own answers do not make good.
				for i := range 32 {
					q.setUp(t, netip.AddrFrom4([4]byte{10, 8, 0, byte(i)}).String(), "10.4.0.2", pfcp.TimeStamp(90+i))
				}
			case 3: // it is set up again from its address
				if got := q.setUp(t, "10.4.0.2", "10.4.0.2", 100); got != pfcp.CauseRequestAccepted {
					t.Errorf("setup again: %v", got)
				}
			case 5:
				if got := q.setUp(t, late, late, 100); got != pfcp.CauseRequestAccepted {
					t.Errorf("setup of a Node ID that a stranger took: %v", got)
				}
			}
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
		}
		list := q.Associations()
		if len(list) > 1024 || !slices.ContainsFunc(list, func(a Association) bool { return a.NodeID == "10.4.0.2" && a.Addr == smfPort.Addr() }) {
			t.Errorf("%d associations, and not that of the CP function", len(list))
		}
	})
}

// TestTransactions: a response is taken once, by its peer, number and type; one
// too many blocks nobody.
func TestTransactions(t *testing.T) {
	var tr transactions
	tr.init()
	k, answer := tr.begin(smfPort, pfcp.MsgHeartbeatResponse, nil)
	for _, stray := range []transactionKey{
		{netip.MustParseAddrPort("10.4.0.2:8806"), k.sequence, k.response},
		{k.peer, k.sequence + 1, k.response},
		{k.peer, k.sequence, pfcp.MsgAssociationSetupResponse},
	} {
		if tr.deliver(stray, []byte("stray")) {
			t.Errorf("%+v was taken for %+v", stray, k)
		}
	}
	body := []byte("one")
	if !tr.deliver(k, body) {
		t.Error("the response was not taken")
	}
	body[0] = 'x'
	if tr.deliver(k, []byte("two")) {
		t.Error("a second response was taken")
	}
	if got := string(<-answer); got != "one" {
		t.Errorf("body %q, want %q", got, "one")
	}
	tr.end(k)
	if again, _ := tr.begin(smfPort, pfcp.MsgHeartbeatResponse, nil); again.sequence != (k.sequence+1)&0xffffff {
		t.Errorf("sequence number %d after %d", again.sequence, k.sequence)
	}
}

func TestNewer(t *testing.T) {
	for _, tc := range []struct {
		a, b pfcp.TimeStamp
		want bool
	}{{2, 1, true}, {1, 1, false}, {1, 2, false}, {5, 0xffffffff, true}, {0xffffffff, 5, false}} {
		if got := newer(tc.a, tc.b); got != tc.want {
			t.Errorf("newer(%d, %d) = %v, want %v", tc.a, tc.b, got, tc.want)
		}
	}
}
