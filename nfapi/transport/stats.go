package transport

import (
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/internal/mmsg"
)

// P7Stats counts, since the beginning.
type P7Stats struct {
	Datagrams     uint64 `json:"datagrams"`      // that came
	Octets        uint64 `json:"octets"`         // of them
	Messages      uint64 `json:"messages"`       // that were handed on
	Segments      uint64 `json:"segments"`       // that came
	Incomplete    uint64 `json:"incomplete"`     // discarded messages with missing segments
	Repeated      uint64 `json:"repeated"`       // segments that were there already
	Contradictory uint64 `json:"contradictory"`  // segments that contradict others of their message, or make it too long
	WrongChecksum uint64 `json:"wrong_checksum"` // datagrams
	Malformed     uint64 `json:"malformed"`      // datagrams without a header
	Strangers     uint64 `json:"strangers"`      // datagrams of peers that are not admitted
	Replaced      uint64 `json:"replaced"`       // senders that gave way to others
	Overflow      uint64 `json:"overflow"`       // datagrams that the kernel dropped: the socket's buffer was full

	Sent          uint64 `json:"sent"` // messages
	SentDatagrams uint64 `json:"sent_datagrams"`
	SentOctets    uint64 `json:"sent_octets"`
	NotSent       uint64 `json:"not_sent"` // datagrams that the kernel refused

	ReceiveBuffer uint32 `json:"receive_buffer"` // of the socket, octets as the kernel counts them
}

// Dropped is what came and was not handed on, by a reason in one word.
func (s *P7Stats) Dropped() map[string]uint64 {
	return map[string]uint64{
		"stranger": s.Strangers, "malformed": s.Malformed, "wrong_checksum": s.WrongChecksum, "incomplete": s.Incomplete,
		"contradictory": s.Contradictory, "repeated": s.Repeated, "overflow": s.Overflow,
	}
}

type counters struct {
	datagrams, octets, messages, segments         atomic.Uint64
	incomplete, repeated, contradictory           atomic.Uint64
	wrongChecksum, malformed, strangers, replaced atomic.Uint64
	sent, sentDatagrams, sentOctets, notSent      atomic.Uint64
}

// Stats returns the counters. Those of the kernel are 0 when it is closed.
func (p *P7) Stats() P7Stats {
	c := &p.stats
	s := P7Stats{
		Datagrams: c.datagrams.Load(), Octets: c.octets.Load(), Messages: c.messages.Load(), Segments: c.segments.Load(),
		Incomplete: c.incomplete.Load(), Repeated: c.repeated.Load(), Contradictory: c.contradictory.Load(),
		WrongChecksum: c.wrongChecksum.Load(), Malformed: c.malformed.Load(), Strangers: c.strangers.Load(), Replaced: c.replaced.Load(),
		Sent: c.sent.Load(), SentDatagrams: c.sentDatagrams.Load(), SentOctets: c.sentOctets.Load(), NotSent: c.notSent.Load(),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		s.Overflow = mmsg.Drops(p.socket)
		_, s.ReceiveBuffer = mmsg.Backlog(p.socket)
	}
	return s
}
