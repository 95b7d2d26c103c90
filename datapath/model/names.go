package model

import (
	"container/list"
	"encoding/binary"
	"net/netip"
	"strings"
	"sync"
)

// Limits of [Names].
const (
	maxNamed        = 1 << 16 // flows in all
	maxNamedSession = 1 << 10 // of a session: one user cannot make others' be forgotten
	maxPartial      = 1 << 10 // flows whose name is not complete, in all: the first of them is given up
	maxPartialSize  = 8192    // octets kept of one
	// namedIdle is how long a flow may be silent. Source: RFC 5382, REQ-5.
	namedIdle = (2*3600 + 4*60) * 1_000_000_000 // ns
)

// Names knows what the flows of users are called: by the server name of a TLS
// ClientHello, or the Host of an HTTP/1 request, that a packet has shown. A flow
// is a TCP connection of a session. It keeps its name until another one begins
// between the same ends, or it is silent for too long, or there are too many: then
// the one that was silent longest is forgotten. A name that is in several segments
// is put together if they come in order.
//
// It is for several goroutines.
type Names struct {
	mu      sync.Mutex
	flows   map[namedKey]*namedFlow
	all     list.List             // of *namedFlow, the one that was seen last in front
	own     map[uint64]*list.List // the same, of a session
	partial list.List             // of *namedFlow whose name is not complete, the first in front
}

// NewNames returns one that knows nothing.
func NewNames() *Names { return &Names{flows: map[namedKey]*namedFlow{}, own: map[uint64]*list.List{}} }

type namedKey struct {
	seid                  uint64
	remote, local         netip.Addr
	remotePort, localPort uint16
}

// flowName is what a flow is called.
type flowName struct {
	host string // in lower case
	path string // of an HTTP request; "": of TLS
}

type namedFlow struct {
	key      namedKey
	name     flowName
	known    bool
	uplink   bool   // the side that says the name
	part     []byte // what it has said of it, if not known
	next     uint32 // sequence number behind that
	seenNs   uint64
	all, own *list.Element
	partial  *list.Element // nil: known
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

// tcpSegment is what matters of one here.
type tcpSegment struct {
	flags byte
	seq   uint32
	data  []byte
}

// readTCP reports false if p is no TCP segment, or does not have its header.
func readTCP(p upper) (t tcpSegment, ok bool) {
	if p.protocol != protoTCP || len(p.payload) < lenTCP {
		return t, false
	}
	header := 4 * int(p.payload[12]>>4)
	if header < lenTCP || header > len(p.payload) {
		return t, false
	}
	return tcpSegment{p.payload[13], binary.BigEndian.Uint32(p.payload[4:]), p.payload[header:]}, true
}

// look returns the name of the flow to which a packet of session seid belongs,
// and learns from it. It reports false if the name is not known.
func (n *Names) look(seid uint64, f *fields, p upper, uplink bool, nowNs uint64) (flowName, bool) {
	t, ok := readTCP(p)
	if !ok {
		return flowName{}, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	key := namedKey{seid, f.remote, f.local, f.remotePort, f.localPort}
	flow := n.flows[key]
	if flow != nil && (nowNs-flow.seenNs > namedIdle || t.flags&(tcpSYN|tcpACK) == tcpSYN) {
		n.forget(flow)
		flow = nil
	}
	if flow == nil {
		if !showsName(t.data) {
			return flowName{}, false
		}
		flow = n.add(key, uplink, t.seq)
	}
	n.touch(flow, nowNs)
	n.learn(flow, t, uplink)
	if t.flags&tcpRST != 0 && n.flows[key] == flow {
		n.forget(flow)
	}
	return flow.name, flow.known
}

// learn takes from a segment what it says of the name of its flow. Another
// request of the same connection may be to another host, or path.
func (n *Names) learn(flow *namedFlow, t tcpSegment, uplink bool) {
	if uplink != flow.uplink || len(t.data) == 0 {
		return
	}
	if flow.known {
		if flow.name.path == "" || !isRequest(t.data) {
			return
		}
		if name, v := requestName(t.data); v == nameFound {
			flow.name = name
		}
		return
	}
	if t.seq != flow.next {
		return // again, or too early: it comes once more
	}
	flow.part = append(flow.part, t.data[:min(len(t.data), maxPartialSize-len(flow.part))]...)
	flow.next += uint32(len(t.data))
	name, v := readName(flow.part)
	switch {
	case v == nameFound:
		n.partial.Remove(flow.partial)
		flow.name, flow.known, flow.part, flow.partial = name, true, nil, nil
	case v == nameNone || len(flow.part) == maxPartialSize:
		n.forget(flow)
	}
}

func (n *Names) add(key namedKey, uplink bool, seq uint32) *namedFlow {
	if own := n.own[key.seid]; own != nil && own.Len() == maxNamedSession {
		n.forget(own.Back().Value.(*namedFlow))
	} else if n.all.Len() == maxNamed {
		n.forget(n.all.Back().Value.(*namedFlow))
	}
	if n.partial.Len() == maxPartial {
		n.forget(n.partial.Front().Value.(*namedFlow))
	}
	own := n.own[key.seid]
	if own == nil {
		own = list.New()
		n.own[key.seid] = own
	}
	flow := &namedFlow{key: key, uplink: uplink, next: seq}
	flow.all, flow.own, flow.partial = n.all.PushFront(flow), own.PushFront(flow), n.partial.PushBack(flow)
	n.flows[key] = flow
	return flow
}

func (n *Names) touch(flow *namedFlow, nowNs uint64) {
	flow.seenNs = nowNs
	n.all.MoveToFront(flow.all)
	n.own[flow.key.seid].MoveToFront(flow.own)
}

// Forget forgets the flows of a session, which has ended.
func (n *Names) Forget(seid uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for own := n.own[seid]; own != nil && own.Len() > 0; {
		n.forget(own.Front().Value.(*namedFlow))
	}
}

func (n *Names) forget(flow *namedFlow) {
	if flow.partial != nil {
		n.partial.Remove(flow.partial)
	}
	delete(n.flows, flow.key)
	n.all.Remove(flow.all)
	own := n.own[flow.key.seid]
	own.Remove(flow.own)
	if own.Len() == 0 {
		delete(n.own, flow.key.seid)
	}
}
