package stages

import (
	"container/list"
	"hash/maphash"
	"net/netip"
	"strings"
	"sync"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Limits of [Names].
const (
	// MaxNamed is how many flows are known in all.
	MaxNamed        = 1 << 16
	maxNamedSession = 1 << 10 // of a session: one user cannot make others' be forgotten
	fairNamed       = 1 << 6  // of a session, and if all are taken it gives up its own for more

	// The same of flows whose name is not complete: the first of them is given up.
	maxPartial        = 1 << 10
	maxPartialSession = 1 << 6
	fairPartial       = 1 << 3

	// The same of QUIC flows that have a name, and whose ClientHello is kept: it is
	// given up, and they keep the name.
	maxHeldQUIC        = 1 << 11
	maxHeldQUICSession = 1 << 6
	fairHeldQUIC       = 1 << 3

	maxPartialSize = 8192    // octets kept of one, and as many beyond a gap
	maxBeyond      = 16      // segments kept beyond a gap
	maxGap         = 1 << 20 // octets that may come before what is missing of it
	maxAhead       = 1 << 30 // octets of a body that need not be seen; half the sequence numbers
	secondChances  = 8       // flows that are looked at for one that is not used, before the next is forgotten
	// namedIdle is how long a flow may be silent. Source: RFC 5382, REQ-5.
	namedIdle = (2*3600 + 4*60) * 1_000_000_000 // ns
	// namedIdleUDP is the same of UDP. Source: RFC 4787, REQ-5.
	namedIdleUDP = 5 * 60 * 1_000_000_000 // ns
	// learntFresh is how old what a [Learner] was told may be without being told again.
	learntFresh = 1_000_000_000 // ns
)

// Names knows what the flows of users are called: by the server name of a TLS
// ClientHello, or the Host of an HTTP/1 request, that its packets have shown. A flow
// is a TCP connection of a session, or all QUIC connections between two ends. It keeps
// its name until another TCP connection begins between the same ends, or a QUIC
// connection of another name, or it is silent for too long, or there are too many:
// then the one that was silent longest is forgotten. A ClientHello and each request are
// read from the stream, however that is cut into segments, and in whatever order
// these come. From the first octet of a request until its head is whole the flow
// has no name; if it is invalid, never again.
//
// A user gains by a name that is not the one that the server reads. So what a
// receiver drops is not read, and a stream that receivers may put together in
// different ways is given up for good.
//
// Flows of which no packet has shown a name are in the table, too, so that a
// [Learner] can be told of them within the same limits.
//
// It is for several goroutines.
type Names struct {
	learner Learner // nil: none

	seed maphash.Seed

	mu      sync.Mutex
	flows   map[NamedFlow]*namedFlow
	all     list.List                // of *namedFlow, the one that was seen last in front
	partial list.List                // of *namedFlow whose name is not complete, the first in front
	held    list.List                // of *namedFlow of QUIC whose ClientHello is kept, the same
	own     map[uint64]*namedSession // by SEID
}

// namedSession is what a session has of the lists of [Names].
type namedSession struct{ all, partial, held list.List }

// NewNames returns one that knows nothing, and tells l, if there is one, what it
// learns.
func NewNames(l Learner) *Names {
	return &Names{learner: l, seed: maphash.MakeSeed(), flows: map[NamedFlow]*namedFlow{}, own: map[uint64]*namedSession{}}
}

// NamedFlow is a TCP connection of a session, or what is said by UDP between two
// ends. The local end is the UE's.
type NamedFlow struct {
	SEID                  uint64
	Remote, Local         netip.Addr
	RemotePort, LocalPort uint16
	UDP                   bool
}

// flowName is what a flow is called.
type flowName struct {
	host string // in lower case
	path string // of an HTTP request, maxPath octets at most; "": of TLS
}

type namedFlow struct {
	key        NamedFlow
	said       Said
	seen       bool // a segment was learnt from
	ended      bool // RST has come, and nothing since
	stream     stream
	seenNs     uint64
	told       uint64 // what the learner called it; 0: it does not know the flow
	toldNs     uint64
	session    *namedSession
	all, own   *list.Element
	partial    *list.Element // nil: nothing is waited for
	ownPartial *list.Element // the same

	quic          *quicHello    // of UDP: nil: nothing was read of it, or it has no name for good
	held, ownHeld *list.Element // nil: nothing is kept, or it is partial
}

// match reports whether a filter with a host means name.
//
// Source: TS 29.244 V18.6.0, 8.2.39.
func (n flowName) match(host, path string) bool {
	if !strings.HasPrefix(n.path, path) {
		return false
	}
	if below, ok := strings.CutPrefix(host, "*"); ok {
		return len(n.host) > len(below) && strings.HasSuffix(n.host, below)
	}
	return host == "" || host == n.host
}

// look returns the name of the flow to which a packet of session seid belongs,
// and learns from it. It reports false if the name is not known.
func (n *Names) look(seid uint64, f *fields, u user, uplink bool, nowNs uint64) (flowName, bool) {
	p := u.upper()
	key := NamedFlow{seid, f.remote, f.local, f.remotePort, f.localPort, p.protocol == inet.ProtoUDP}
	if key.UDP {
		return n.lookUDP(key, u, p, uplink, nowNs)
	}
	t, ok := readTCP(p)
	if !ok {
		return flowName{}, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	flow := n.find(key, nowNs)
	if flow != nil && flow.ended && t.flags&tcpRST == 0 {
		n.end(flow)
	}
	changes := flow == nil || flow.heeds(t, uplink)
	if changes && !u.arrives(p) {
		changes = false
	}
	if flow == nil {
		if !changes || t.flags&tcpRST != 0 {
			return flowName{}, false
		}
		flow = n.add(key, nowNs)
	}
	n.touch(flow, nowNs)
	before := flow.said
	if changes {
		n.learn(flow, t, uplink)
	}
	n.tell(flow, flow.said != before, nowNs)
	return flow.said.name, flow.said.Known
}

// find returns the flow that is known by a key; nil: none, or it was silent for too
// long, here and where the learner is, and is forgotten.
func (n *Names) find(key NamedFlow, nowNs uint64) *namedFlow {
	flow := n.flows[key]
	if flow == nil {
		return nil
	}
	idle := int64(namedIdle)
	if key.UDP {
		idle = namedIdleUDP
	}
	if flow.silentNs(nowNs) > idle && !(n.used(flow) && flow.silentNs(nowNs) <= idle) {
		n.forget(flow)
		return nil
	}
	return flow
}

// silentNs is how long nothing has come; what came meanwhile counts as now.
func (f *namedFlow) silentNs(nowNs uint64) int64 { return int64(nowNs - f.seenNs) }

// add makes a flow of which nothing is known, and room for it.
func (n *Names) add(key NamedFlow, nowNs uint64) *namedFlow {
	own := n.own[key.SEID]
	full := n.all.Len() == MaxNamed
	switch {
	case own != nil && (own.all.Len() == maxNamedSession || full && own.all.Len() >= fairNamed):
		n.forget(n.silent(&own.all))
	case full:
		n.forget(n.silent(&n.all))
	}
	if own = n.own[key.SEID]; own == nil {
		own = &namedSession{}
		n.own[key.SEID] = own
	}
	flow := &namedFlow{key: key, seenNs: nowNs, session: own}
	flow.all, flow.own = n.all.PushFront(flow), own.all.PushFront(flow)
	n.flows[key] = flow
	return flow
}

// silent returns the one of some flows that was silent longest, or nearly.
func (n *Names) silent(flows *list.List) *namedFlow {
	for range secondChances {
		if flow := flows.Back().Value.(*namedFlow); !n.used(flow) {
			return flow
		}
	}
	return flows.Back().Value.(*namedFlow)
}

func (n *Names) touch(flow *namedFlow, nowNs uint64) {
	flow.seenNs = nowNs
	n.all.MoveToFront(flow.all)
	flow.session.all.MoveToFront(flow.own)
}

// Forget forgets the flows of a session, which has ended.
func (n *Names) Forget(seid uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for own := n.own[seid]; own != nil && own.all.Len() > 0; {
		n.forget(own.all.Front().Value.(*namedFlow))
	}
}

func (n *Names) forget(flow *namedFlow) {
	n.giveUp(flow)
	n.untell(flow)
	delete(n.flows, flow.key)
	n.all.Remove(flow.all)
	flow.session.all.Remove(flow.own)
	if flow.session.all.Len() == 0 {
		delete(n.own, flow.key.SEID)
	}
}
