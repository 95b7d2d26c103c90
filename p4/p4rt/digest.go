package p4rt

import (
	"sync"
	"time"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// Bounds of what is kept of digests.
const (
	maxDigestList  = 1024    // messages of a list, regardless of the controller's setting
	maxDigestCache = 1 << 16 // messages that wait for an acknowledgement
)

// digest is a digest of the program for controllers, message by message. Equal messages are sent
// once, until the controller has acknowledged the list or the time-out has expired. Source:
// P4Runtime Specification v1.4.1, 9.8.
type digest struct {
	id   uint32
	name string
	data *dataType

	mu       sync.Mutex
	config   *p4.DigestEntry_Config // nil: not sent
	waiting  []string
	timer    *time.Timer         // runs while something waits
	known    map[string]struct{} // what waits or is not acknowledged
	unacked  []digestList        // the oldest first
	cached   int                 // messages in unacked
	lastList uint64
}

type digestList struct {
	id       uint64
	sent     time.Time
	messages []string
}

// digest does an update of a digest's configuration.
func (b *batch) digest(kind p4.Update_Type, e *p4.DigestEntry) *failure {
	d := b.p.digestID[e.GetDigestId()]
	if d == nil {
		return invalid("there is no digest with id %#x", e.GetDigestId())
	}
	c := e.GetConfig()
	if c.GetMaxTimeoutNs() < 0 || c.GetMaxListSize() < 0 || c.GetAckTimeoutNs() < 0 {
		return invalid("digest %s: a time or size is below 0", d.name)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.config
	switch {
	case kind == p4.Update_INSERT && old != nil:
		return fail(codes.AlreadyExists, "digest %s is configured", d.name)
	case kind != p4.Update_INSERT && old == nil:
		return fail(codes.NotFound, "digest %s is not configured", d.name)
	}
	if d.config = nil; kind != p4.Update_DELETE {
		d.config = &p4.DigestEntry_Config{}
		proto.Merge(d.config, c)
	}
	d.forget()
	if b.keep {
		b.onError(func(Tx) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.config = old
		})
	}
	return nil
}

// forget drops what waits and what is not acknowledged.
func (d *digest) forget() {
	d.waiting, d.unacked, d.cached, d.known = nil, nil, 0, nil
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

// configured is the configuration; nil: none.
func (d *digest) configured() *p4.DigestEntry_Config {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.config
}

// add takes a message of the program. send is called with lists that are complete, now or later; it does not wait, and
// says whether the list went to a controller.
func (d *digest) add(message []byte, send func(*p4.DigestList) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.config == nil {
		return
	}
	d.expire(time.Now())
	if _, known := d.known[string(message)]; known {
		return
	}
	if d.known == nil {
		d.known = map[string]struct{}{}
	}
	m := string(message)
	d.known[m] = struct{}{}
	d.waiting = append(d.waiting, m)
	most := int(d.config.GetMaxListSize())
	if most == 0 || most > maxDigestList {
		most = maxDigestList
	}
	switch timeout := time.Duration(d.config.GetMaxTimeoutNs()); {
	case len(d.waiting) >= most || timeout == 0:
		d.flush(send)
	case d.timer == nil:
		var timer *time.Timer
		timer = time.AfterFunc(timeout, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.timer == timer {
				d.flush(send)
			}
		})
		d.timer = timer
	}
}

// flush sends what waits.
func (d *digest) flush(send func(*p4.DigestList) bool) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if len(d.waiting) == 0 {
		return
	}
	now := time.Now()
	d.lastList++
	list := &p4.DigestList{DigestId: d.id, ListId: d.lastList, Timestamp: now.UnixNano()}
	for _, m := range d.waiting {
		data, _ := d.data.take([]byte(m))
		list.Data = append(list.Data, data)
	}
	sent := digestList{d.lastList, now, d.waiting}
	d.waiting = nil
	if !send(list) || d.config.GetAckTimeoutNs() == 0 {
		sent.forgetFrom(d)
		return
	}
	d.unacked, d.cached = append(d.unacked, sent), d.cached+len(sent.messages)
}

// expire removes lists with an expired acknowledgement, and those above the limit.
func (d *digest) expire(now time.Time) {
	for len(d.unacked) > 0 {
		l := &d.unacked[0]
		if now.Sub(l.sent) < time.Duration(d.config.GetAckTimeoutNs()) && d.cached <= maxDigestCache {
			return
		}
		l.forgetFrom(d)
		d.cached -= len(l.messages)
		d.unacked = d.unacked[1:]
	}
}

func (l *digestList) forgetFrom(d *digest) {
	for _, m := range l.messages {
		delete(d.known, m)
	}
}

// acknowledge forgets a list, if it is known.
func (d *digest) acknowledge(id uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.unacked {
		if l := &d.unacked[i]; l.id == id {
			l.forgetFrom(d)
			d.cached -= len(l.messages)
			d.unacked = append(d.unacked[:i:i], d.unacked[i+1:]...)
			return
		}
	}
}

// Digest takes a digest message that a program tells: its position in the program, and the members one after the other,
// each in whole octets. It may be called by any goroutine, does not wait, and does not keep data.
func (s *Server) Digest(from State, index int, data []byte) {
	p := s.live.Load()
	if p == nil || p.state != from || index < 0 || index >= len(p.digests) || p.digests[index] == nil {
		return
	}
	d := p.digests[index]
	if d.data.octets() != len(data) {
		s.stats.digestsMalformed.Add(1)
		return
	}
	d.add(data, s.sendDigest)
}

// sendDigest gives a list to the primary controller.
func (s *Server) sendDigest(l *p4.DigestList) bool {
	c := s.primary.Load()
	ok := c != nil && c.offer(&p4.StreamMessageResponse{Update: &p4.StreamMessageResponse_Digest{Digest: l}}, proto.Size(l))
	if ok {
		s.stats.digestLists.Add(1)
	} else {
		s.stats.digestsDropped.Add(uint64(len(l.GetData())))
	}
	return ok
}
