package n4

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// handlers are the goroutines that answer requests while the datapath is asked
// over a network: the readers hand requests to them. All requests about a
// session go to the same one, so they are done in order, and one after the
// other.
type handlers struct {
	e      *Endpoint
	queues []chan *parcel
	octets atomic.Int64 // of requests that wait or are worked on
	pool   sync.Pool    // of parcels
	done   sync.WaitGroup
}

// queueLength is how many parcels may wait for one handler.
const queueLength = 256

// parcel is what one batch of a reader has for one handler.
type parcel struct {
	read   time.Time
	octets []byte
	items  []item
}

// item is a request in a parcel.
type item struct {
	src        netip.AddrPort
	start, end int // in parcel.octets
	key        requestKey
}

func newHandlers(e *Endpoint, n int) *handlers {
	h := &handlers{e: e, queues: make([]chan *parcel, n)}
	for i := range h.queues {
		h.queues[i] = make(chan *parcel, queueLength)
	}
	h.pool.New = func() any { return new(parcel) }
	return h
}

// start starts the handlers, which send from the sockets in turn.
func (h *handlers) start(sockets []*socket) {
	for i, q := range h.queues {
		w := newWorker(h.e, sockets[i%len(sockets)])
		h.done.Go(func() {
			for p := range q {
				h.work(w, p)
			}
		})
	}
}

// stop ends the handlers when they have done what waits for them. No reader
// may hand out anything any more.
func (h *handlers) stop() {
	for _, q := range h.queues {
		close(q)
	}
	h.done.Wait()
}

// work answers the requests of a parcel.
func (h *handlers) work(w *worker, p *parcel) {
	w.begin(p.read)
	for i := range p.items {
		it := &p.items[i]
		header, body, _, _ := pfcp.Parse(p.octets[it.start:it.end]) // the reader has parsed it
		before := len(w.buf)
		w.src, w.at = it.src, h.e.peers.at(it.src.Addr())
		w.execute(it.src, header, body, it.key)
		w.answered(it.src, header.Type, before)
	}
	w.finish()
	h.release(p)
}

// release takes back a parcel that is done with.
func (h *handlers) release(p *parcel) {
	h.octets.Add(-int64(len(p.octets)))
	const keep = 64 << 10 // larger ones are rare
	if cap(p.octets) > keep {
		p.octets = nil
	}
	p.octets, p.items = p.octets[:0], p.items[:0]
	h.pool.Put(p)
}

// handOff is the hand of one reader: the parcels that it fills.
type handOff struct {
	*handlers
	parcels []*parcel // by handler; nil: nothing for it in this batch
	used    []int     // those that are not nil
}

func (h *handlers) newHandOff() *handOff {
	return &handOff{handlers: h, parcels: make([]*parcel, len(h.queues))}
}

// give puts a request into the parcel of its handler, unless it is being worked
// on already or too much waits.
func (o *handOff) give(src netip.AddrPort, h pfcp.Header, message []byte, key requestKey, now time.Time) {
	c := &o.e.counters
	if o.octets.Load()+int64(len(message)) > int64(o.e.config.QueueOctets) {
		c.drop(DropQueue)
		return
	}
	if !o.e.cache.start(key) {
		c.drop(DropInProgress)
		return
	}
	i := o.choose(h, key)
	p := o.parcels[i]
	if p == nil {
		p = o.pool.Get().(*parcel)
		p.read = now
		o.parcels[i], o.used = p, append(o.used, i)
	}
	start := len(p.octets)
	p.octets = append(p.octets, message...)
	p.items = append(p.items, item{src, start, len(p.octets), key})
	o.octets.Add(int64(len(message)))
}

// choose says which handler a request goes to: by its SEID; where there is none
// yet, by its octets; node requests of one address always to the same.
func (o *handOff) choose(h pfcp.Header, key requestKey) int {
	n := key.hash
	switch {
	case !h.Type.IsSession():
		n = o.e.cache.hashAddr(key.addr)
	case h.Type != pfcp.MsgSessionEstablishmentRequest:
		n = h.SEID * 0x9e3779b97f4a7c15 >> 32
	}
	return int(n % uint64(len(o.queues)))
}

// dispatch hands out what the batch had. What a handler has no room for is
// dropped, and its sender repeats it.
func (o *handOff) dispatch() {
	for _, i := range o.used {
		p := o.parcels[i]
		o.parcels[i] = nil
		select {
		case o.queues[i] <- p:
		default:
			for _, it := range p.items {
				o.e.cache.end(it.key)
				o.e.counters.drop(DropQueue)
			}
			o.release(p)
		}
	}
	o.used = o.used[:0]
}
