package n4

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// storm makes hostile datagrams, the same ones in each run.
type storm struct {
	rand  *rand.Rand
	good  [][]byte // valid messages of others
	own   [][]byte // valid messages of the peer, about its sessions
	buf   []byte
	kinds [stormKinds]int
}

// Kinds of hostile datagrams.
const (
	stormNoise     = iota // random octets from anywhere, in the peer's name too
	stormSpoofed          // valid messages from who is not on the list of peers
	stormStranger         // valid messages, also about sessions that there are, from who is not associated
	stormOther            // the same from who is associated, but not their owner
	stormMutated          // messages with changed octets, in the peer's name
	stormTruncated        // messages cut short, with a Length that fits or does not
	stormOversized        // as long as UDP takes
	stormBundled          // many messages in one datagram
	stormKinds
)

var (
	stormPeer  = netip.MustParseAddr("198.18.0.2") // has sessions
	stormOwner = netip.MustParseAddr("198.18.0.3") // is associated too
)

// next returns a hostile datagram and where it comes from.
func (s *storm) next() (netip.AddrPort, []byte) {
	kind := s.rand.IntN(stormKinds)
	s.kinds[kind]++
	src := stormPeer
	any := s.good[s.rand.IntN(len(s.good))]
	b := s.buf[:0]
	switch kind {
	case stormNoise:
		src = s.address(kind)
		b = s.noise(b, s.rand.IntN(300))
	case stormSpoofed, stormStranger, stormOther:
		src = s.address(kind)
		if kind != stormOther && s.rand.IntN(2) == 0 {
			b = append(b, any...)
		} else {
			b = append(b, s.own[s.rand.IntN(len(s.own))]...)
		}
	case stormMutated:
		b = append(b, any...)
		for range 1 + s.rand.IntN(4) {
			b[s.rand.IntN(len(b))] = byte(s.rand.Uint32())
		}
	case stormTruncated:
		b = append(b, any[:s.rand.IntN(len(any))]...)
		if len(b) >= 4 && s.rand.IntN(2) == 0 {
			binary.BigEndian.PutUint16(b[2:], uint16(len(b)-4))
		}
	case stormOversized:
		b = append(b, any...)
		b = append(b, make([]byte, 65507-len(b))...)
		binary.BigEndian.PutUint16(b[2:], uint16(len(b)-4))
	case stormBundled:
		for range 2 + s.rand.IntN(20) {
			b = append(b, s.good[s.rand.IntN(len(s.good))]...)
		}
		b[0] |= 0x04
	}
	// In the peer's name these would be the peer's wish.
	if len(b) > 1 && (pfcp.MessageType(b[1]) == pfcp.MsgAssociationSetupRequest || pfcp.MessageType(b[1]) == pfcp.MsgPFDManagementRequest) {
		b[1] += 100
	}
	s.buf = b
	return netip.AddrPortFrom(src, uint16(s.rand.Uint32())), b
}

func (s *storm) noise(b []byte, n int) []byte {
	for range n {
		b = append(b, byte(s.rand.Uint32()))
	}
	if n > 1 && s.rand.IntN(2) == 0 {
		b[0], b[1] = 0x20|b[0]&7, byte(s.rand.IntN(60))
	}
	return b
}

// address is where a datagram of a kind says it comes from.
func (s *storm) address(kind int) netip.Addr {
	r := s.rand.Uint32()
	switch {
	case kind == stormOther:
		return stormOwner
	case kind == stormStranger:
		return netip.AddrFrom4([4]byte{198, 18, byte(1 + r%255), byte(r >> 8)}) // on the list of peers
	case kind == stormNoise && r%2 == 0:
		return stormPeer
	}
	return netip.AddrFrom4([4]byte{byte(11 + r%180), byte(r >> 8), byte(r >> 16), byte(r >> 24)})
}

// stormBed is an endpoint with two peers and sessions of one of them.
func stormBed(t *testing.T) (*quiet, *fakeDriver, *memoryStore, *storm) {
	m, d := newManager(t, 1024)
	store := newMemoryStore()
	c, err := Config{
		Listen: netip.MustParseAddrPort("10.4.0.1:8805"), RecoveryTime: recoveryTime, Log: quietLog, Store: store,
		Peers: []netip.Prefix{netip.MustParsePrefix("198.18.0.0/16")}, CacheOctets: 64 << 10, HeartbeatInterval: time.Hour,
	}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	q := &quiet{Endpoint: newEndpoint(c, m)}
	q.worker = newWorker(q.Endpoint, nil)
	q.transmit = func(netip.AddrPort, []byte) {}
	q.patience = time.Minute
	s := &storm{rand: rand.New(rand.NewPCG(1, 2))}
	for _, v := range pfcptest.Good(t) {
		// A setup from who may be a peer is no attack; PFDs have no Node ID, so in
		// the peer's name they are the peer's.
		if kind := pfcp.MessageType(v.Octets[1]); kind != pfcp.MsgAssociationSetupRequest && kind != pfcp.MsgPFDManagementRequest {
			s.good = append(s.good, v.Octets)
		}
	}
	q.receive(netip.AddrPortFrom(stormPeer, 1), mustAppend(t, 1, setupRequest(stormPeer.String())))
	q.receive(netip.AddrPortFrom(stormOwner, 1), mustAppend(t, 1, setupRequest(stormOwner.String())))
	for i := range 10 {
		e := usual(stormPeer.String(), netip.AddrFrom4([4]byte{10, 45, 0, byte(i)}).String())
		q.receive(netip.AddrPortFrom(stormPeer, 1), mustAppend(t, uint32(10+i), e))
		s.own = append(s.own, mustAppend(t, uint32(10+i), e))
	}
	for x := range m.All() {
		for _, request := range []pfcp.Message{&pfcp.SessionDeletionRequest{}, &pfcp.SessionModificationRequest{RemovePDRs: []uint16{1}}} {
			b, err := pfcp.Append(nil, pfcp.Header{SEID: x.SEID, Sequence: 5}, request)
			if err != nil {
				t.Fatal(err)
			}
			s.own = append(s.own, b)
		}
	}
	s.own = append(s.own, mustAppend(t, 6, &pfcp.AssociationReleaseRequest{NodeID: pfcp.NodeID{Addr: stormPeer}}))
	return q, d, store, s
}

// TestStorm: hostile datagrams change nothing, and make the process grow by
// nothing. PLUMBLINE_HOSTILE says how many there are to be.
func TestStorm(t *testing.T) {
	n := 200_000
	if raceEnabled {
		n = 20_000
	}
	if v, err := strconv.Atoi(os.Getenv("PLUMBLINE_HOSTILE")); err == nil {
		n = v
	}
	q, d, store, s := stormBed(t)
	defer func() { q.stop(); q.background.Wait() }()
	snapshot := func() (state []any) {
		var list []session.Session
		for x := range q.sessions.All() {
			list = append(list, *x)
		}
		slices.SortFunc(list, func(a, b session.Session) int {
			return int(a.PDRs[0].PDI.UEAddress.IPv4[3]) - int(b.PDRs[0].PDI.UEAddress.IPv4[3])
		})
		store.mu.Lock()
		defer store.mu.Unlock()
		return []any{list, q.Associations(), q.sessions.Applications(), d.changed(), len(store.now), len(d.held())}
	}
	run := func(n int) {
		for range n {
			src, b := s.next()
			q.worker.begin(q.start)
			q.worker.handle(src, b, q.start)
		}
	}
	run(20_000) // all that grows to its bound has grown
	before, octets, goroutines := snapshot(), heapOctets(), runtime.NumGoroutine()
	if len(before[0].([]session.Session)) != 10 || len(q.Associations()) != 2 {
		t.Fatalf("%d sessions, associations %+v", q.sessions.Len(), q.Associations())
	}
	start := time.Now()
	run(n)
	took := time.Since(start)
	grown := int64(heapOctets()) - int64(octets)
	if after := snapshot(); !reflect.DeepEqual(after, before) {
		t.Errorf("%d hostile datagrams changed something:\n got %+v\nwant %+v", n, after, before)
	}
	if grown > 256<<10 || runtime.NumGoroutine() > goroutines {
		t.Errorf("the heap grew by %d octets, goroutines from %d to %d", grown, goroutines, runtime.NumGoroutine())
	}
	t.Logf("%d datagrams in %v (%v each), heap %+d octets, kinds %v", n, took, took/time.Duration(n), grown, s.kinds)
	// The peer goes on as if nothing had been.
	answer := q.receive(netip.AddrPortFrom(stormPeer, 1), mustAppend(t, 900, usual(stormPeer.String(), "10.45.0.200")))
	if cause, _ := causeOf(t, bytes.Clone(answer)); cause != pfcp.CauseRequestAccepted {
		t.Errorf("a new session afterwards: %v", cause)
	}
}
