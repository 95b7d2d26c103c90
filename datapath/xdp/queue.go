package xdp

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"

	"plumbline/datapath/model"
	"plumbline/gtpu"
)

// queueMax is how many packets of one rule may be in the ring of exceptions. It
// is what a reader that does not get a CPU for 20 ms leaves there of a session
// with 1 Gbit/s, and a small part of the ring.
const queueMax = 2048

// exceptionHeader is how many octets of struct exception stand before the frame.
const exceptionHeader = 16

// exception is a frame that the programs hand to the slow path.
type exception struct {
	frame     []byte // the record's memory
	queue     uint32 // index in queues of the rule, plus 1; 0: none
	tunnelled bool   // a G-PDU, not a bare packet
}

// parseException reads a record of struct exception, which the programs wrote.
func parseException(record []byte) exception {
	n := binary.NativeEndian.Uint32(record)
	return exception{
		frame:     record[exceptionHeader : exceptionHeader+n],
		queue:     binary.NativeEndian.Uint32(record[8:]),
		tunnelled: binary.NativeEndian.Uint32(record[12:]) != 0,
	}
}

// exceptional treats one frame of the ring. When it has been sent, or is in the
// buffer, and not before, the next packet of its rule may go another way.
func (s *slowPath) exceptional(e exception) {
	if !e.tunnelled {
		s.fromN6(e.frame)
	} else if m, ok := outerDatagram(e.frame); ok {
		s.fromTunnel(m)
	}
	if e.queue != 0 {
		atomic.AddUint32(&s.d.queues.slots[e.queue-1].Packets, ^uint32(0))
	}
}

// Types of Ethernet frames, and of what is in IP packets.
const (
	etherIPv4     = 0x0800
	etherIPv6     = 0x86dd
	etherCustomer = 0x8100 // VLAN tags: C-TAG
	etherService  = 0x88a8 // S-TAG

	protoUDP = 17
)

// outerDatagram returns the datagram in a frame that the programs have found a
// G-PDU in, as the kernel would give it to the GTP-U socket.
func outerDatagram(frame []byte) (m model.Datagram, ok bool) {
	ether, ip := stripEthernet(frame)
	var from, to netip.Addr
	header, size, protocol := 0, 0, byte(0)
	switch {
	case ether == etherIPv4 && len(ip) >= 20:
		header, size, protocol = 4*int(ip[0]&0xf), int(binary.BigEndian.Uint16(ip[2:])), ip[9]
		from, to = netip.AddrFrom4([4]byte(ip[12:16])), netip.AddrFrom4([4]byte(ip[16:20]))
	case ether == etherIPv6 && len(ip) >= 40:
		header, size, protocol = 40, 40+int(binary.BigEndian.Uint16(ip[4:])), ip[6]
		from, to = netip.AddrFrom16([16]byte(ip[8:24])), netip.AddrFrom16([16]byte(ip[24:40]))
	}
	if protocol != protoUDP || size < header+lenUDP || size > len(ip) {
		return m, false
	}
	udp := ip[header:size]
	return model.Datagram{
		From:    netip.AddrPortFrom(from, binary.BigEndian.Uint16(udp)),
		To:      netip.AddrPortFrom(to, gtpu.Port),
		Payload: udp[lenUDP:],
	}, true
}

// stripEthernet returns the type of a frame, behind up to two VLAN tags, and what
// it carries; 0 if there is none.
func stripEthernet(frame []byte) (ether uint16, payload []byte) {
	for at := lenEthernet; at <= len(frame) && at <= lenEthernet+8; at += 4 {
		if ether = binary.BigEndian.Uint16(frame[at-2:]); ether != etherCustomer && ether != etherService {
			return ether, frame[at:]
		}
	}
	return 0, nil
}
