package stages

import (
	"encoding/binary"

	"github.com/plumbline-upf/plumbline/datapath"
)

// fragments knows where the first fragments of packets went, for those behind
// them, which have no ports; and keeps those that come before the first.
//
// Source: RFC 4787, REQ-14.
type fragments struct {
	packets map[fragmentKey]*fragmented
	held    int
}

// Bounds of what fragments can take: of memory, and of what others can be kept
// from. What is beyond is dropped.
const (
	maxFragmented = 4096 // packets
	maxHeld       = 256  // fragments that came before the first one
	fragmentTime  = 2_000_000_000
)

type fragmentKey struct {
	source, destination uint32
	id                  uint16
	protocol            uint8
}

type fragmented struct {
	seen  uint64 // ns
	known bool
	addr  uint32 // that the UE's end becomes
	held  []user
}

func newFragments() fragments { return fragments{packets: map[fragmentKey]*fragmented{}} }

func fragmentOf(u user) fragmentKey {
	return fragmentKey{binary.BigEndian.Uint32(u[12:]), binary.BigEndian.Uint32(u[16:]), binary.BigEndian.Uint16(u[4:]), u[9]}
}

func (u user) isLaterFragment() bool { return binary.BigEndian.Uint16(u[6:])&maskOffset4 != 0 }

func (u user) isFirstFragment() bool { return binary.BigEndian.Uint16(u[6:])&maskFragment == 0x2000 }

// of returns what is known of a packet, or begins to know it.
func (f *fragments) of(k fragmentKey, nowNs uint64) *fragmented {
	p := f.packets[k]
	if p == nil {
		if len(f.packets) >= maxFragmented {
			f.expire(nowNs)
		}
		if len(f.packets) >= maxFragmented {
			return nil
		}
		p = &fragmented{seen: nowNs}
		f.packets[k] = p
	}
	return p
}

func (f *fragments) expire(nowNs uint64) {
	for k, p := range f.packets {
		if nowNs-p.seen > fragmentTime {
			f.held -= len(p.held)
			delete(f.packets, k)
		}
	}
}

// firstFragment notes where a packet goes, and returns the fragments that waited.
func (n *NAT) firstFragment(k fragmentKey, e end, addr uint32, nowNs uint64) []user {
	p := n.fragment.of(k, nowNs)
	if p == nil {
		return nil
	}
	p.known, p.addr = true, addr
	held := p.held
	n.fragment.held -= len(held)
	p.held = nil
	for _, u := range held {
		u.rewrite(e, -1, 0, addr, 0)
	}
	return held
}

// laterFragment translates a fragment as the first one was, or keeps it.
func (n *NAT) laterFragment(u user, e end, nowNs uint64) ([]user, datapath.Reason) {
	p := n.fragment.of(fragmentOf(u), nowNs)
	switch {
	case p == nil:
		return nil, datapath.DropNATFull
	case p.known:
		u.rewrite(e, -1, 0, p.addr, 0)
		return []user{u}, datapath.ReasonNone
	case n.fragment.held >= maxHeld:
		return nil, datapath.DropNATFull
	}
	n.fragment.held++
	p.held = append(p.held, append(user(nil), u...))
	return nil, datapath.PassN6
}
