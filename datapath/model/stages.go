// Package model is the slow, obviously right UPF: one packet at a time, in Go.
//
// It is the oracle that every datapath has to agree with, octet for octet and
// counter for counter, and it is the slow path of those that run in the kernel:
// what they cannot finish goes through [Stages] over their own tables.
//
// A packet goes the way of every datapath: parse, detect (PDR), forward (what
// the FAR asks for), enforce (QERs), measure, emit.
//
// Source: TS 29.244 V18.6.0, 5.2.1A (detection), TS 29.281 V18.1.0 (GTP-U).
package model

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"

	"plumbline/datapath"
	"plumbline/gtpu"
)

// Rule is a PDR with the FAR and the QERs that it names.
type Rule struct {
	UEIPv4  netip.Addr   // uplink: source to match; not valid: none
	UEIPv6  netip.Prefix // uplink: source to match, /64; not valid: none
	QFIs    uint64       // uplink: bit n is QFI n; 0: any
	Forward bool         // FAR says FORW
	Gate    bool         // closed
	Meters  []*Meter

	// Outer Header Creation of a downlink rule.
	TEID uint32
	Peer netip.Addr
	QFI  byte // 0: no PDU Session Container
	DSCP int  // -1: copied from the user packet

	Counters *Counters
}

// Counters is what was counted for a rule. Octets are those of user packets.
type Counters struct {
	Packets, Octets, Dropped uint64
}

// Tables finds the rule of a packet, or nil.
type Tables interface {
	Uplink(teid uint32) *Rule
	Downlink(ue netip.Addr) *Rule
}

// Stages treats packets by the rules of Tables.
type Stages struct {
	Tables Tables
	N3     netip.Addr         // source of outer headers
	Now    func() (ns uint64) // clock of the meters
}

// Uplink takes the payload of a UDP datagram from N3 and returns the user
// packet that goes out on N6, in memory of its own, or says why not.
func (s *Stages) Uplink(message []byte) ([]byte, datapath.Reason) {
	h, tpdu, reason := parseGTPU(message)
	if reason != datapath.ReasonNone {
		return nil, reason
	}
	u, reason := parseUser(tpdu)
	if reason != datapath.ReasonNone {
		return nil, reason
	}
	r := s.Tables.Uplink(h.TEID())
	if r == nil {
		return nil, datapath.DropNoPDR
	}
	if reason := r.detect(h, u); reason != datapath.ReasonNone {
		return nil, reason
	}
	if reason := s.treat(r, u); reason != datapath.ReasonNone {
		return nil, reason
	}
	out := append(user(nil), u...)
	out.hop()
	return out, datapath.ReasonNone
}

// Downlink takes an IP packet from N6 and returns the outer IPv4 packet that
// goes out on N3, in memory of its own, or says why not.
func (s *Stages) Downlink(packet []byte) ([]byte, datapath.Reason) {
	u, reason := parseUser(packet)
	if reason != datapath.ReasonNone {
		return nil, reason
	}
	r := s.Tables.Downlink(u.destination())
	if r == nil {
		return nil, datapath.PassHost
	}
	if reason := s.treat(r, u); reason != datapath.ReasonNone {
		return nil, reason
	}
	return s.encapsulate(r, u), datapath.ReasonNone
}

// detect compares what the PDI has beside the F-TEID.
func (r *Rule) detect(h gtpu.Header, u user) datapath.Reason {
	if r.UEIPv4.IsValid() || r.UEIPv6.IsValid() {
		src := u.source()
		if src != r.UEIPv4 && !(r.UEIPv6.IsValid() && r.UEIPv6.Contains(src)) {
			return datapath.DropUEAddress
		}
	}
	if r.QFIs == 0 {
		return datapath.ReasonNone
	}
	qfi, ok := h.QFI()
	if !ok || r.QFIs>>qfi&1 == 0 {
		return datapath.DropQFI
	}
	return datapath.ReasonNone
}

// treat does all that is the same in both directions: FAR, QERs, counting.
func (s *Stages) treat(r *Rule, u user) datapath.Reason {
	reason := s.judge(r, u)
	if reason != datapath.ReasonNone {
		atomic.AddUint64(&r.Counters.Dropped, 1)
		return reason
	}
	atomic.AddUint64(&r.Counters.Packets, 1)
	atomic.AddUint64(&r.Counters.Octets, uint64(len(u)))
	return datapath.ReasonNone
}

func (s *Stages) judge(r *Rule, u user) datapath.Reason {
	switch {
	case !r.Forward:
		return datapath.DropFAR
	case *u.ttl() <= 1:
		return datapath.DropTTL
	case r.Gate:
		return datapath.DropGate
	}
	for _, m := range r.Meters {
		if !m.Conforms(s.Now(), len(u)) {
			return datapath.DropMBR
		}
	}
	return datapath.ReasonNone
}

// encapsulate is Outer Header Creation with GTP-U/UDP/IPv4.
//
// Source: TS 29.244 V18.6.0, 8.2.56; TS 29.281 V18.1.0, 4.4.2.
func (s *Stages) encapsulate(r *Rule, u user) []byte {
	size := lenOuter + gtpu.LenGPDU + len(u)
	if r.QFI != 0 {
		size = lenOuter + gtpu.LenGPDUWithQFI + len(u)
	}
	dscp := u.dscp()
	if r.DSCP >= 0 {
		dscp = byte(r.DSCP)
	}
	n3, peer := s.N3.As4(), r.Peer.As4()

	b := make([]byte, 0, size)
	b = append(b, 0x45, dscp<<2)
	b = binary.BigEndian.AppendUint16(b, uint16(size))
	b = append(b, 0, 0, flagDF>>8, 0, ttlOuter, protoUDP, 0, 0)
	b = append(b, n3[:]...)
	b = append(b, peer[:]...)
	binary.BigEndian.PutUint16(b[10:], checksum(b[:lenIPv4]))

	b = binary.BigEndian.AppendUint16(b, u.sourcePort())
	b = binary.BigEndian.AppendUint16(b, gtpu.Port)
	b = binary.BigEndian.AppendUint16(b, uint16(size-lenIPv4))
	b = append(b, 0, 0) // no checksum: the user packet has its own

	b = gtpu.AppendGPDU(b, r.TEID, gtpu.PDUTypeDownlink, r.QFI, len(u))
	b = append(b, u...)
	user(b[size-len(u):]).hop()
	return b
}
