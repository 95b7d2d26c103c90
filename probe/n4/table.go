package n4

import (
	"hash/maphash"
	"net/netip"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// endpoint is an address and a port in comparable octets, IPv4 as ::ffff:a.b.c.d: half of
// what a netip.AddrPort takes, and nothing for the garbage collector to follow.
type endpoint struct {
	addr endpointAddr
	port uint16
}

type endpointAddr [16]byte

// addr16 is the address in an endpoint; zero: none.
func addr16(a netip.Addr) endpointAddr {
	if !a.IsValid() {
		return endpointAddr{}
	}
	return a.As16()
}

func (e endpoint) addrPort() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(e.addr).Unmap(), e.port)
}

// transactionKey is what a request and its response have in common.
type transactionKey struct {
	requester, responder endpoint
	sequence             uint32
	upf                  uint16
	kind                 pfcp.MessageType // of the request
}

// entry is a transaction that waits for its response, or had it lately: then it is there
// to know again what is sent once more.
type entry struct {
	key             transactionKey
	series          *series
	requestNs       uint64 // first transmission
	answerNs        uint64 // 0: it waits
	content         uint64 // hash of the request
	seid            uint64
	body            []byte // of the request, if its session is to be learnt from
	retransmissions uint32
	older, newer    int32 // in its list; none: no such entry
}

const none = -1

// fifo is a list of entries, in the order in which they came to it.
type fifo struct{ oldest, newest int32 }

// table has the transactions. It grows up to its bound and never beyond.
type table struct {
	byKey         map[transactionKey]int32
	entries       []entry
	free          []int32
	bound         int
	waiting, done fifo
	seed          maphash.Seed
}

func newTable(bound int) *table {
	return &table{
		byKey: map[transactionKey]int32{}, bound: bound, seed: maphash.MakeSeed(),
		waiting: fifo{none, none}, done: fifo{none, none},
	}
}

// content is a hash of what makes a request the same when it is sent again. Priority and
// bundling may differ. Source: TS 29.244 V18.6.0, 6.4.
func (t *table) content(h pfcp.Header, body []byte) uint64 {
	return maphash.Bytes(t.seed, body) ^ h.SEID
}

// find returns the transaction of a key, or nil.
func (t *table) find(k transactionKey) *entry {
	if i, ok := t.byKey[k]; ok {
		return &t.entries[i]
	}
	return nil
}

// add makes room for a transaction that waits. If there is none, the one answered first
// goes, or else the one that has waited longest, which is returned.
func (t *table) add(k transactionKey) (e *entry, evicted *entry) {
	i := t.room()
	if i == none {
		if i = t.done.oldest; i == none {
			i = t.waiting.oldest
			gone := t.entries[i]
			evicted = &gone
		}
		t.remove(&t.entries[i])
		t.free = t.free[:len(t.free)-1]
	}
	e = &t.entries[i]
	*e = entry{key: k}
	t.byKey[k] = i
	t.push(&t.waiting, i)
	return e, evicted
}

// room returns an entry that is not in use, or none.
func (t *table) room() int32 {
	if n := len(t.free); n > 0 {
		i := t.free[n-1]
		t.free = t.free[:n-1]
		return i
	}
	if len(t.entries) == t.bound {
		return none
	}
	t.entries = append(t.entries, entry{})
	return int32(len(t.entries) - 1)
}

// answered keeps a transaction that has its response.
func (t *table) answered(e *entry, ns uint64) {
	i := t.byKey[e.key]
	t.unlink(&t.waiting, e)
	e.answerNs, e.body = ns, nil
	t.push(&t.done, i)
}

// remove takes a transaction out.
func (t *table) remove(e *entry) {
	i := t.byKey[e.key]
	t.unlink(t.listOf(e), e)
	delete(t.byKey, e.key)
	*e = entry{}
	t.free = append(t.free, i)
}

// since is when an entry came to its list.
func (e *entry) since() uint64 {
	if e.answerNs != 0 {
		return e.answerNs
	}
	return e.requestNs
}

// oldest returns the oldest entry of a list that came to it before ns, or nil.
func (t *table) oldest(l *fifo, ns uint64) *entry {
	if l.oldest == none {
		return nil
	}
	if e := &t.entries[l.oldest]; e.since() < ns {
		return e
	}
	return nil
}

func (t *table) listOf(e *entry) *fifo {
	if e.answerNs != 0 {
		return &t.done
	}
	return &t.waiting
}

func (t *table) push(l *fifo, i int32) {
	e := &t.entries[i]
	e.older, e.newer = l.newest, none
	if l.newest == none {
		l.oldest = i
	} else {
		t.entries[l.newest].newer = i
	}
	l.newest = i
}

func (t *table) unlink(l *fifo, e *entry) {
	if e.older == none {
		l.oldest = e.newer
	} else {
		t.entries[e.older].newer = e.newer
	}
	if e.newer == none {
		l.newest = e.older
	} else {
		t.entries[e.newer].older = e.older
	}
}
