package conformance

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// incoming is a message of P5.
type incoming struct {
	phy uint16
	id  nfapi.MessageID
	m   nfapi.Message // nil: it could not be decoded
	err error
	at  time.Time
}

// link is a P5 connection: received messages are queued until they are requested.
type link struct {
	*transport.P5
	taint taint

	mu    sync.Mutex
	queue []incoming
	ended error // there is no more
}

// maxQueued is how many messages are kept; a peer that floods loses the oldest.
const maxQueued = 4096

func newLink(p5 *transport.P5, t taint) *link {
	l := &link{P5: p5, taint: t}
	go l.receive()
	return l
}

// receive ends when the connection does.
func (l *link) receive() {
	for {
		h, m, err := l.Receive()
		var body *nfapi.Error
		if err != nil && !errors.As(err, &body) {
			l.mu.Lock()
			l.ended = err
			l.mu.Unlock()
			return
		}
		all := []nfapi.Message{m}
		if l.taint.p5 != nil && m != nil {
			all = l.taint.p5(&h, m)
		}
		l.mu.Lock()
		for _, m := range all {
			if len(l.queue) == maxQueued {
				l.queue = l.queue[1:]
			}
			one := incoming{phy: h.PhyID, id: h.MessageID, m: m, err: err, at: time.Now()}
			if m != nil {
				one.id = m.MessageID()
			}
			l.queue = append(l.queue, one)
		}
		l.mu.Unlock()
	}
}

// take takes the first message out that is wanted.
func (l *link) take(wanted func(*incoming) bool) (incoming, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.queue {
		if one := l.queue[i]; wanted(&one) {
			l.queue = append(l.queue[:i:i], l.queue[i+1:]...)
			return one, true
		}
	}
	return incoming{}, false
}

// drain forgets what has come.
func (l *link) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = nil
}

// lost is why the connection ended, if it did.
func (l *link) lost() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// wait waits for a message.
func (l *link) wait(t *trial, long time.Duration, wanted func(*incoming) bool) (one incoming, err error) {
	found := false
	t.awaitFor(long, func() bool {
		// First whether it ended: what came before is in the queue then.
		err = l.lost()
		one, found = l.take(wanted)
		return found || err != nil
	})
	switch {
	case found:
		return one, nil
	case err != nil:
		return one, fmt.Errorf("the connection ended: %w", err)
	case t.ctx.Err() != nil:
		return one, errStopped
	}
	return one, fmt.Errorf("nothing within %v", long)
}

// of wants messages of some ids.
func of(ids ...nfapi.MessageID) func(*incoming) bool {
	return func(m *incoming) bool {
		for _, id := range ids {
			if m.id == id {
				return true
			}
		}
		return false
	}
}

// octets are a message of P5 as it goes over the wire.
func octets(p nfapi.Profile, phy uint16, m nfapi.Message) ([]byte, error) {
	h := nfapi.Header{Generation: p.Generation(), PhyID: phy, Messages: 1}
	b := make([]byte, 1<<17)
	n, err := p.EncodeP5(&h, m, b)
	return b[:max(n, 0)], err
}

// codeText is an error code with its name.
func codeText(code uint32) string {
	names := [...]string{"OK", "INVALID_STATE", "INVALID_CONFIG", "SFN_OUT_OF_SYNC", "SLOT_ERR", "BCH_MISSING", "INVALID_SFN", "UL_DCI_ERR", "TX_ERR"}
	if code < uint32(len(names)) {
		return fmt.Sprintf("%d (%s)", code, names[code])
	}
	return fmt.Sprint(code)
}

// Error codes. Source: SCF 222.10.02, table 3-33, as OpenAirInterface develop 2025-09
// has it.
const (
	codeOK            = 0
	codeInvalidState  = 1
	codeInvalidConfig = 2
	codeOutOfSync     = 3
	codeSlotError     = 4
	codeInvalidSFN    = 6
	codeULDCIError    = 7
	codeTXError       = 8
)

func (m *incoming) String() string {
	if m.m == nil {
		return fmt.Sprintf("%v that cannot be decoded: %v", m.id, m.err)
	}
	if e, ok := m.m.(*nfapi.ErrorIndication); ok {
		return fmt.Sprintf("ERROR.indication %s about %v of %d.%d", codeText(uint32(e.ErrorCode)), nfapi.MessageID(e.Message), e.SFN, e.Slot)
	}
	if code, ok := nfapi.CodeOf(m.m); ok {
		return fmt.Sprintf("%v %s", m.id, codeText(code))
	}
	return m.id.String()
}
