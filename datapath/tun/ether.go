package tun

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/vnet"
)

// unframe takes the Ethernet header off a packet that came from a TAP device, and reports
// whether it is one: for the UEs behind, or for all.
func (dev *device) unframe(p *vector.Packet) bool {
	b := p.Octets()
	if len(b) <= inet.LenEthernet || [6]byte(b[:6]) != dev.peer && b[0]&1 == 0 {
		return false
	}
	version := b[inet.LenEthernet] >> 4
	switch binary.BigEndian.Uint16(b[12:]) {
	case inet.EtherIPv4:
		p.Start += inet.LenEthernet
		return version != 6
	case inet.EtherIPv6:
		p.Start += inet.LenEthernet
		return version != 4
	}
	return false
}

// proxy answers ARP requests and Neighbour Solicitations for UEs of a TAP device that is part of a
// bridge: packets to a UE are sent to the device's far end. The host itself sends no such requests,
// see [nextHop4].
type proxy struct {
	dev    *device
	covers func(a netip.Addr) bool
	out    *vnet.Writer
	limit  stages.Limiter
}

// answersPerSecond bounds what a bridge can make a device say.
const answersPerSecond = 1000

// reply adds the answer to a frame, if it asks for a UE.
func (x *proxy) reply(frame []byte) {
	answer := x.answer(frame)
	x.limit.PerSecond = answersPerSecond
	if answer != nil && x.limit.Allow(uint64(time.Since(epoch))) {
		x.out.AddFrame(answer)
	}
}

// flush sends what was added. An answer that cannot be sent is one that got lost.
func (x *proxy) flush() { _, _ = x.out.Flush() }

var epoch = time.Now()

// answer returns the frame that answers a frame that asks for a UE, in place; nil: it
// asks for none.
//
// Source: RFC 826; RFC 4861, 4.3 and 4.4.
func (x *proxy) answer(b []byte) []byte {
	if len(b) < inet.LenEthernet {
		return nil
	}
	switch binary.BigEndian.Uint16(b[12:]) {
	case inet.EtherARP:
		return x.arp(b)
	case inet.EtherIPv6:
		return x.neighbour(b)
	}
	return nil
}

const lenARP = inet.LenEthernet + 28

func (x *proxy) arp(b []byte) []byte {
	if len(b) < lenARP || string(b[14:22]) != "\x00\x01\x08\x00\x06\x04\x00\x01" {
		return nil // not a request for the Ethernet address of an IPv4 one
	}
	from, to := netip.AddrFrom4([4]byte(b[28:32])), netip.AddrFrom4([4]byte(b[38:42]))
	if from == to || !x.covers(to) || b[22]&1 != 0 { // a request for its own address: duplicate address detection
		return nil
	}
	b = b[:lenARP]
	copy(b[:6], b[22:28])
	copy(b[6:12], x.dev.peer[:])
	b[21] = 2 // reply
	copy(b[32:42], b[22:32])
	copy(b[22:28], x.dev.peer[:])
	a := to.As4()
	copy(b[28:32], a[:])
	return b
}

// A Neighbour Solicitation with the sender's Ethernet address, from its Ethernet header on.
const lenSolicitation = inet.LenEthernet + inet.LenIPv6 + 32

func (x *proxy) neighbour(b []byte) []byte {
	if len(b) < lenSolicitation || b[14]>>4 != 6 || b[20] != inet.ProtoICMPv6 || b[21] != 255 || b[54] != 135 || b[55] != 0 {
		return nil
	}
	from, target := netip.AddrFrom16([16]byte(b[22:38])), netip.AddrFrom16([16]byte(b[62:78]))
	// Without an option of the sender's address it asks whether it is alone (RFC 4862).
	if from.IsUnspecified() || b[78] != 1 || b[79] != 1 || b[80]&1 != 0 || !x.covers(target) {
		return nil
	}
	b = b[:lenSolicitation]
	copy(b[:6], b[80:86])
	copy(b[6:12], x.dev.peer[:])
	binary.BigEndian.PutUint32(b[14:], 6<<28)
	binary.BigEndian.PutUint16(b[18:], 32)
	copy(b[38:54], b[22:38])
	copy(b[22:38], b[62:78])
	b[54] = 136
	binary.BigEndian.PutUint32(b[58:], 0x60000000) // solicited, override
	b[78] = 2                                      // target's link-layer address
	copy(b[80:86], x.dev.peer[:])
	b[56], b[57] = 0, 0
	binary.BigEndian.PutUint16(b[56:], stages.UpperChecksum(b[inet.LenEthernet:], inet.ProtoICMPv6, inet.LenIPv6))
	return b
}
