package stages

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

const (
	insideUE    = 10<<24 | 1
	outsideHost = 198<<24 | 1
)

// natPacket is an IPv4 packet with ports; of ICMP the port of the UE is the
// Identifier of an Echo Request, or of a Reply if it comes from outside.
func natPacket(protocol byte, src, dst uint32, sport, dport uint16, flags byte) user {
	size := map[byte]int{inet.ProtoTCP: 40, inet.ProtoUDP: 28, inet.ProtoICMP: 28}[protocol]
	b := make(user, size)
	b[0], b[8], b[9] = 0x45, 64, protocol
	binary.BigEndian.PutUint16(b[2:], uint16(size))
	binary.BigEndian.PutUint32(b[12:], src)
	binary.BigEndian.PutUint32(b[16:], dst)
	switch protocol {
	case inet.ProtoICMP:
		b[20] = icmpEcho
		binary.BigEndian.PutUint16(b[24:], sport)
		if src == outsideHost {
			b[20] = icmpEchoReply
			binary.BigEndian.PutUint16(b[24:], dport)
		}
	default:
		binary.BigEndian.PutUint16(b[20:], sport)
		binary.BigEndian.PutUint16(b[22:], dport)
		binary.BigEndian.PutUint16(b[24:], 8)
	}
	if protocol == inet.ProtoTCP {
		b[32], b[33] = 0x50, flags
	}
	binary.BigEndian.PutUint16(b[10:], checksum.Of(b[:20]))
	return b
}

// newTestNAT is one with one address, and as many blocks of two ports.
func newTestNAT(blocks, perUE, mappings int, told func(PortBlock, bool)) *NAT {
	cfg := datapath.DefaultNAT(netip.MustParsePrefix("192.0.2.1/32"))
	cfg.FirstPort, cfg.LastPort, cfg.BlockPorts, cfg.BlocksPerUE = 2000, uint16(2000+2*blocks-1), 2, perUE
	return NewNAT(cfg, &HeapMappings{Max: mappings}, nil, told)
}

// TestNATExpiry: a mapping lasts as long as the RFCs ask for since a packet of the
// UE, whatever comes from outside, and then its ports are another's.
func TestNATExpiry(t *testing.T) {
	const minute = time.Minute
	type step struct {
		at      time.Duration
		outward bool
		flags   byte
	}
	for _, tc := range []struct {
		name     string
		protocol byte
		steps    []step
		lasts    time.Duration // since the start
	}{
		{"UDP", inet.ProtoUDP, []step{{0, true, 0}}, 5 * minute},
		{"UDP, a packet of the UE", inet.ProtoUDP, []step{{0, true, 0}, {4 * minute, true, 0}}, 9 * minute},
		{"UDP, packets from outside", inet.ProtoUDP, []step{{0, true, 0}, {minute, false, 0}, {4 * minute, false, 0}}, 5 * minute},
		{"ICMP", inet.ProtoICMP, []step{{0, true, 0}, {30 * time.Second, false, 0}}, minute},
		{"TCP that is not answered", inet.ProtoTCP, []step{{0, true, tcpSYN}}, 4 * minute},
		{"TCP that stands", inet.ProtoTCP, []step{{0, true, tcpSYN}, {0, false, tcpSYN}, {minute, true, 0}}, 125 * minute},
		{"TCP, closed by the UE", inet.ProtoTCP, []step{{0, true, tcpSYN}, {0, false, tcpSYN}, {minute, true, tcpFIN}}, 5 * minute},
		{"TCP, reset from outside", inet.ProtoTCP, []step{{0, true, tcpSYN}, {0, false, tcpSYN}, {minute, false, tcpRST}, {2 * minute, false, tcpRST}}, 5 * minute},
		{"TCP, ended from outside after long", inet.ProtoTCP, []step{{0, true, tcpSYN}, {0, false, tcpSYN}, {60 * minute, false, tcpFIN}}, 64 * minute},
		{"TCP, SYN from outside after that", inet.ProtoTCP, []step{{0, true, tcpSYN}, {0, false, tcpRST}, {minute, false, tcpSYN}}, 4 * minute},
		{"TCP, opened again", inet.ProtoTCP, []step{{0, true, tcpSYN}, {0, false, tcpRST}, {minute, true, tcpSYN}}, 125 * minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := newTestNAT(4, 1, 10, nil)
			const start = uint64(time.Hour)
			for _, s := range tc.steps {
				p, treat := natPacket(tc.protocol, insideUE, outsideHost, 1000, 9, s.flags), n.Out
				if !s.outward {
					p, treat = natPacket(tc.protocol, outsideHost, 192<<24|2<<8|1, 9, 2000, s.flags), n.In
				}
				if out, reason := treat(p, start+uint64(s.at)); reason != datapath.ReasonNone || len(out) != 1 {
					t.Fatalf("at %v: %v", s.at, reason)
				}
			}
			n.Expire(start + uint64(tc.lasts) - 1)
			if mappings, ues := n.Mappings(); mappings != 1 || ues != 1 {
				t.Errorf("%d mappings of %d UEs just before %v", mappings, ues, tc.lasts)
			}
			n.Expire(start + uint64(tc.lasts))
			mappings, ues := n.Mappings()
			if used, _ := n.Blocks(); mappings != 0 || ues != 0 || used != 0 {
				t.Errorf("%d mappings of %d UEs, %d blocks after %v", mappings, ues, used, tc.lasts)
			}
			back := natPacket(tc.protocol, outsideHost, 192<<24|2<<8|1, 9, 2000, 0)
			if _, reason := n.In(back, start+uint64(tc.lasts)); reason != datapath.DropNATMapping {
				t.Errorf("from outside afterwards: %v, want %v", reason, datapath.DropNATMapping)
			}
		})
	}
}

// TestNATFull: where ports, blocks or mappings end, the packet that wants another
// is dropped and all others go on; what expires is there again. Whoever asks gets
// no block that another has.
func TestNATFull(t *testing.T) {
	ports := func(n *NAT, ue uint32, count int) (got int, reason datapath.Reason) {
		for i := range count {
			if _, reason = n.Out(natPacket(inet.ProtoUDP, ue, outsideHost, uint16(1000+i), 9, 0), 1); reason != datapath.ReasonNone {
				return i, reason
			}
		}
		return count, reason
	}
	for _, tc := range []struct {
		name                    string
		blocks, perUE, mappings int
		want                    [3]int // ports that the first, second and third UE get of 10
	}{
		{"blocks of a UE", 10, 2, 100, [3]int{4, 4, 4}},
		{"blocks of the address", 3, 2, 100, [3]int{4, 2, 0}},
		{"mappings", 10, 4, 10, [3]int{8, 2, 0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			owner := map[uint16]netip.Addr{}
			n := newTestNAT(tc.blocks, tc.perUE, tc.mappings, func(b PortBlock, given bool) {
				was, taken := owner[b.First]
				if given == taken || !given && was != b.UE {
					t.Errorf("block %+v, given %v, was of %v", b, given, was)
				}
				if delete(owner, b.First); given {
					owner[b.First] = b.UE
				}
			})
			for again := range 2 {
				for i, want := range tc.want {
					got, reason := ports(n, insideUE+uint32(i), 10)
					if got != want || reason != datapath.DropNATFull {
						t.Errorf("round %d, UE %d: %d ports, then %v; want %d, %v", again, i, got, reason, want, datapath.DropNATFull)
					}
				}
				if got, reason := ports(n, insideUE, tc.want[0]); got != tc.want[0] {
					t.Errorf("a mapping that is there: %v", reason)
				}
				n.Expire(uint64(time.Hour))
				if used, _ := n.Blocks(); used != 0 || len(owner) != 0 {
					t.Errorf("%d blocks are used, %d told of", used, len(owner))
				}
			}
		})
	}
}

// TestNATFragments: fragments go as the first one does, also those that come
// before it; as many as fit wait, and no longer than two seconds.
func TestNATFragments(t *testing.T) {
	piece := func(id, offset uint16, more bool) user {
		p := natPacket(inet.ProtoUDP, insideUE, outsideHost, 1000, 9, 0)
		binary.BigEndian.PutUint16(p[4:], id)
		binary.BigEndian.PutUint16(p[6:], offset)
		if more {
			p[6] |= 0x20
		}
		p[10], p[11] = 0, 0
		binary.BigEndian.PutUint16(p[10:], checksum.Of(p[:20]))
		return p
	}
	n := newTestNAT(4, 1, 10, nil)
	if out, reason := n.Out(piece(7, 1, false), 1); out != nil || reason != datapath.PassN6 {
		t.Errorf("before the first: %d packets, %v", len(out), reason)
	}
	out, reason := n.Out(piece(7, 0, true), 2)
	if len(out) != 2 || reason != datapath.ReasonNone || !out[1].isLaterFragment() {
		t.Errorf("the first: %d packets, %v; want it and the one that waited", len(out), reason)
	}
	for _, p := range out {
		if got := binary.BigEndian.Uint32(p[12:]); got != 192<<24|2<<8|1 || checksum.Of(p[:20]) != 0 {
			t.Errorf("source %#x, checksum of the header %#x", got, checksum.Of(p[:20]))
		}
	}
	for i := range maxHeld + 1 {
		_, reason = n.Out(piece(uint16(100+i), 1, false), 3)
		if want := map[bool]datapath.Reason{true: datapath.PassN6, false: datapath.DropNATFull}[i < maxHeld]; reason != want {
			t.Fatalf("fragment %d that waits: %v, want %v", i, reason, want)
		}
	}
	n.Expire(4 + fragmentTime)
	if n.fragment.held != 0 || len(n.fragment.packets) != 0 {
		t.Errorf("after two seconds %d of %d packets wait", n.fragment.held, len(n.fragment.packets))
	}
	if _, reason = n.Out(piece(7, 1, false), 5+fragmentTime); reason != datapath.PassN6 {
		t.Errorf("a fragment of a packet of long ago: %v", reason)
	}
}

// TestNATConnections: the end of one connection, or what a stranger sends, does not
// take the time from the others of a mapping.
//
// Source: RFC 5382, REQ-5; RFC 7857, 2.1.
func TestNATConnections(t *testing.T) {
	type segment struct {
		outward bool
		peer    uint32 // from outsideHost on
		flags   byte
		data    bool
	}
	open := func(peer uint32) []segment {
		return []segment{{true, peer, tcpSYN, false}, {false, peer, tcpSYN, false}}
	}
	end := func(peer uint32) []segment {
		return []segment{{true, peer, tcpFIN, false}, {false, peer, tcpFIN, false}, {true, peer, 0, false}}
	}
	const short, long = 4 * time.Minute, 124 * time.Minute
	for name, tc := range map[string]struct {
		segments []segment
		want     time.Duration
	}{
		"the only one ends":             {slices.Concat(open(0), end(0)), short},
		"one of two ends":               {slices.Concat(open(0), open(1), end(0)), long},
		"the other one of two ends":     {slices.Concat(open(0), open(1), end(1)), long},
		"one of two, whose SYN is lost": {slices.Concat(open(0), []segment{{true, 1, 0, true}}, end(0)), long},
		"one after another":             {slices.Concat(open(0), end(0), open(1)), long},
		"one after another, both ended": {slices.Concat(open(0), end(0), open(1), end(1)), short},
		"RST of a stranger":             {slices.Concat(open(0), []segment{{false, 7, tcpRST, false}}), long},
		"SYN of a stranger, then RST":   {slices.Concat(open(0), []segment{{false, 7, tcpSYN, false}, {false, 7, tcpRST, false}}), long},
		"RST, but the UE goes on":       {slices.Concat(open(0), []segment{{false, 0, tcpRST, false}, {true, 0, 0, true}}), long},
	} {
		t.Run(name, func(t *testing.T) {
			n := newTestNAT(4, 1, 10, nil)
			const start = uint64(time.Hour)
			for i, s := range tc.segments {
				peer := outsideHost + s.peer
				p, treat := natPacket(inet.ProtoTCP, insideUE, peer, 1000, 9, s.flags), n.Out
				if !s.outward {
					p, treat = natPacket(inet.ProtoTCP, peer, 192<<24|2<<8|1, 9, 2000, s.flags), n.In
				}
				if s.data {
					p = append(p, "data"...)
				}
				if _, reason := treat(p, start); reason != datapath.ReasonNone {
					t.Fatalf("segment %d: %v", i, reason)
				}
			}
			n.Expire(start + uint64(tc.want) - 1)
			if mappings, _ := n.Mappings(); mappings != 1 {
				t.Errorf("the mapping is gone before %v", tc.want)
			}
			n.Expire(start + uint64(tc.want))
			if mappings, _ := n.Mappings(); mappings != 0 {
				t.Errorf("the mapping is there after %v", tc.want)
			}
		})
	}
}

// TestNATRelease: with a session the mappings of its UE go, and its ports are nobody's for
// a while; those that a UE itself gave back it may have again.
func TestNATRelease(t *testing.T) {
	n := newTestNAT(1, 1, 10, nil)
	send := func(ue uint32, nowNs uint64) datapath.Reason {
		u := natPacket(inet.ProtoUDP, ue, outsideHost, 1000, 9, 0)
		if reason := n.Admit(u, nowNs); reason != datapath.ReasonNone {
			return reason
		}
		_, reason := n.Out(u, nowNs)
		return reason
	}
	now := uint64(time.Hour)
	expect := func(what string, got, want datapath.Reason) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	nobody := func(uint32) bool { return false }
	expect("the first UE", send(insideUE, now), datapath.ReasonNone)
	expect("another one", send(insideUE+1, now), datapath.DropNATFull)
	n.Release(datapath.Key{IPv4: insideUE + 1}, now, nobody)
	n.Release(datapath.Key{IPv4: insideUE}, now, nobody)
	_, reason := n.In(natPacket(inet.ProtoUDP, outsideHost, 192<<24|2<<8|1, 9, 2000, 0), now)
	expect("to the port of one that is gone", reason, datapath.DropNATMapping)
	expect("the next one with the address", send(insideUE, now+1), datapath.DropNATFull)
	expect("just before the time", send(insideUE, now+natHold-1), datapath.DropNATFull)
	now += natHold
	expect("after the time", send(insideUE, now), datapath.ReasonNone)
	now += uint64(5 * time.Minute)
	n.Expire(now)
	expect("another one at once", send(insideUE+1, now), datapath.DropNATFull)
	expect("the same one at once", send(insideUE, now), datapath.ReasonNone)
	route := datapath.Key{Route: netip.PrefixFrom(ipv4(insideUE), 24).Masked()}
	n.Release(route, now, func(addr uint32) bool { return addr == insideUE })
	if mappings, _ := n.Mappings(); mappings != 1 {
		t.Errorf("%d mappings of an address of its own in a framed route that has gone, want 1", mappings)
	}
	n.Release(route, now, nobody)
	expect("another one behind the framed route", send(insideUE, now), datapath.DropNATFull)
	n.Expire(now + natHold)
	if used, all := n.Blocks(); used != 0 || all != 1 || len(n.held)+len(n.had)+len(n.ues)+len(n.in)+n.heldBlocks != 0 {
		t.Errorf("%d of %d blocks are used, of %d UEs; held %v, had %v", used, all, len(n.ues), n.held, n.had)
	}
}

// TestNATBlocksAgain: a UE that gives blocks back and takes them again gets each once, and
// nobody gets one that it has.
func TestNATBlocksAgain(t *testing.T) {
	const blocks, size = 4, 2
	n := newTestNAT(blocks, 3, 100, nil)
	now := uint64(time.Hour)
	use := func(ue uint32, port uint16) datapath.Reason {
		_, reason := n.Out(natPacket(inet.ProtoUDP, ue, outsideHost, port, 9, 0), now)
		return reason
	}
	for round := range 5 {
		for port := range uint16(3 * size) { // three blocks
			if reason := use(insideUE, 1000+port); reason != datapath.ReasonNone {
				t.Fatalf("round %d, port %d: %v", round, port, reason)
			}
		}
		if reason := use(insideUE+1, 1000); reason != datapath.ReasonNone {
			t.Errorf("round %d: the second UE: %v", round, reason)
		}
		if reason := use(insideUE+2, 1000); reason != datapath.DropNATFull {
			t.Errorf("round %d: the third UE: %v", round, reason)
		}
		now += uint64(6 * time.Minute)
		n.Expire(now)
		if used, _ := n.Blocks(); used != 0 || n.heldBlocks != blocks {
			t.Errorf("round %d: %d blocks used, %d held", round, used, n.heldBlocks)
		}
		if round%2 == 1 {
			now += natHold
		}
	}
}
