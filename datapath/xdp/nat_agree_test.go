package xdp

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/conformance"
	traces "github.com/plumbline-upf/plumbline/datapath/trace"
)

// TestNATAgrees: programs and model do the same with a long row of packets of all
// kinds, of both UEs and from outside, many of them spoilt, while time passes and
// mappings come and go.
func TestNATAgrees(t *testing.T) {
	b := openNAT(t)
	for _, frame := range conformance.Frames(conformance.N3) {
		if len(frame) > lenTunnel && binary.BigEndian.Uint32(frame[upTEIDAt:]) == natTEID {
			b.tunnel = frame[:lenTunnel]
		}
	}
	r := natRandom{rand.New(rand.NewPCG(1, 2)), b.all[0].GetRules()[0].GetDetect().GetUeAddress().GetIpv4()}
	for i := 0; i < 3000 && !t.Failed(); i++ {
		b.both(t, r.packet())
		switch r.IntN(60) {
		case 0:
			b.Pass(2 * time.Second)
		case 1:
			b.Pass(time.Duration(r.IntN(200)) * 2 * time.Second)
		}
	}
	drops, err := b.Drops()
	if err != nil {
		t.Fatal(err)
	}
	passes, err := b.Passes()
	if err != nil {
		t.Fatal(err)
	}
	if drops["nat_mapping"] < 100 || passes["n6"] < 500 || passes["n6"] > 2200 {
		t.Errorf("drops %v, passes %v: not all kinds of packets were there", drops, passes)
	}
}

// natRandom makes packets.
type natRandom struct {
	*rand.Rand
	ue uint32
}

func (r natRandom) one(of ...int) int { return of[r.IntN(len(of))] }

// packet is one that arrives.
func (r natRandom) packet() natPacket {
	p := natPacket{up: r.IntN(2) == 0, second: r.IntN(3) == 0}
	ue, pool, far := r.ue, traces.Number4(netip.MustParseAddr("198.51.100.0")), traces.Number4(netip.MustParseAddr("198.18.0.1"))
	if p.second {
		ue++
	}
	src, dst := ue, far+uint32(r.IntN(3))
	if r.IntN(10) == 0 {
		dst = pool + uint32(r.IntN(2)) // another UE, perhaps
	}
	sport, dport := uint16(1000+r.IntN(4)), uint16(r.one(80, 443, 1024, 1025, 1280))
	if !p.up {
		src, dst, sport, dport = far, pool+uint32(r.one(0, 0, 0, 0, 1, 2)), 80, uint16(r.one(1024, 1024, 1025, 1026, 1027, 1280, 1281, 5000))
	}
	if r.IntN(10) == 0 {
		p.user = r.errorAbout(src, dst, sport, dport)
	} else {
		p.user = r.ip4(byte(r.one(6, 6, 6, 17, 17, 17, 17, 1, 1, 47)), src, dst, r.upper(sport, dport))
	}
	if r.IntN(8) == 0 {
		p.user[r.IntN(len(p.user))] ^= byte(1 << r.IntN(8))
	}
	return p
}

// upper is octets that may be a transport header: of TCP, UDP or ICMP Echo alike,
// whose checksums are whatever they are.
func (r natRandom) upper(sport, dport uint16) []byte {
	b := make([]byte, r.one(8, 20, 24, 60, 400, 400))
	binary.BigEndian.PutUint16(b, sport)
	binary.BigEndian.PutUint16(b[2:], dport)
	binary.BigEndian.PutUint16(b[4:], uint16(r.one(0, len(b))))
	binary.BigEndian.PutUint16(b[6:], uint16(r.IntN(3)))
	if len(b) >= 20 {
		b[12], b[13] = byte(len(b)/4-r.IntN(2))<<4, byte(r.one(2, 16, 17, 4))
		binary.BigEndian.PutUint16(b[16:], uint16(r.IntN(1<<16)))
	}
	return b
}

// ip4 is a packet, now and then a fragment or one with options.
func (r natRandom) ip4(protocol byte, src, dst uint32, upper []byte) []byte {
	if protocol == 1 {
		id := binary.BigEndian.Uint16(upper)
		if upper[0] = 8; r.ue != src && r.ue+1 != src {
			upper[0], id = 0, binary.BigEndian.Uint16(upper[2:])
		}
		upper[1] = 0
		binary.BigEndian.PutUint16(upper[4:], id)
	}
	b := make([]byte, 20, 24+len(upper))
	b[0], b[8], b[9] = 0x45, byte(r.one(2, 64, 64, 64, 64)), protocol
	if r.IntN(12) == 0 {
		b, b[0] = append(b, 1, 1, 1, 0), 0x46
	}
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)+len(upper)))
	binary.BigEndian.PutUint16(b[4:], uint16(r.IntN(3)))
	binary.BigEndian.PutUint16(b[6:], uint16(r.one(0, 0, 0, 0, 0, 0, 0, 0, 0x4000, 0x4000, 0x4000, 0x2000, 0x2001, 1)))
	binary.BigEndian.PutUint32(b[12:], src)
	binary.BigEndian.PutUint32(b[16:], dst)
	binary.BigEndian.PutUint16(b[10:], internetSum(b))
	return append(b, upper...)
}

// errorAbout is an ICMP error about a packet the other way.
func (r natRandom) errorAbout(src, dst uint32, sport, dport uint16) []byte {
	quote := r.ip4(byte(r.one(6, 17, 1)), dst, src, r.upper(dport, sport))
	quote = quote[:min(len(quote), r.one(24, 28, 28, 48))]
	icmp := append([]byte{byte(r.one(3, 3, 11, 12, 5)), byte(r.IntN(5)), 0, 0, 0, 0, 0, 0}, quote...)
	binary.BigEndian.PutUint16(icmp[2:], internetSum(icmp))
	b := make([]byte, 20)
	b[0], b[8], b[9] = 0x45, 64, 1
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(icmp)))
	binary.BigEndian.PutUint32(b[12:], src)
	binary.BigEndian.PutUint32(b[16:], dst)
	binary.BigEndian.PutUint16(b[10:], internetSum(b))
	return append(b, icmp...)
}

// internetSum is the checksum of RFC 1071.
func internetSum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
