package vector

import (
	"encoding/binary"
	"math"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// work is a packet of the vector that is treated.
type work struct {
	packet *Packet
	record *record // of its key; until detect: what is at home there
	rule   *rule   // that matches; nil: the model treats the packet, if there is no reason
	reason datapath.Reason
	table  *table
	key    uint64
	// Source and destination of the user packet: an IPv4 address, or the first half
	// of an IPv6 address.
	src, dst uint64
	at, size int32 // octets of the user packet in the buffer: where, and how many
	header   int16 // octets of the GTP-U header that it came with; 0: bare
	qfi      int8  // of that; -1: none
	v6       bool
}

// user returns the user packet.
func (k *work) user() []byte { return k.packet.Buf[k.at : k.at+k.size] }

// parse looks for the key of each packet. What it does not know is left to the model:
// signalling, rare extension headers, and what is not as it should be.
func (w *Worker) parse(in []*Packet) {
	for i, p := range in {
		k := &w.works[i]
		k.packet, k.rule, k.reason, k.record, k.table = p, nil, datapath.ReasonNone, nil, nil
		if len(p.Buf) > math.MaxInt32 {
			continue
		}
		if p.Network == 0 {
			w.parseMessage(k, p)
		} else if p.Network < len(w.e.bare) && w.e.bare[p.Network] {
			w.parseBare(k, p)
		}
	}
}

// Octets of a GTP-U header with a PDU Session Container of 4 octets alone, and flags.
const (
	lenOptional                 = 12
	flagsG, flagE, maskOptional = 0x30, 0x04, 0x07
)

func (w *Worker) parseMessage(k *work, p *Packet) {
	b := p.Octets()
	if len(b) < inet.LenGTPU || b[0]&^byte(maskOptional) != flagsG || b[1] != gtpu.GPDU {
		return
	}
	end := inet.LenGTPU + int(binary.BigEndian.Uint16(b[2:]))
	if end > len(b) {
		return
	}
	header := inet.LenGTPU
	k.qfi = -1
	if b[0]&maskOptional != 0 {
		if header = k.container(b[:end]); header == 0 {
			return
		}
	}
	if !k.parseUser(b[:end], header) {
		return
	}
	k.at, k.header = int32(p.Start+header), int16(header)
	k.table, k.key = &w.e.tables.teids, datapath.FTEIDNumber(binary.BigEndian.Uint32(b[4:]), p.To)
}

// container returns how many octets the header of a message has that has no extension
// header but one PDU Session Container; 0: it has others, or is not as it should be.
func (k *work) container(b []byte) int {
	if len(b) < lenOptional {
		return 0
	}
	if b[0]&flagE == 0 || b[lenOptional-1] == 0 {
		return lenOptional
	}
	if b[lenOptional-1] != gtpu.ExtPDUSessionContainer || len(b) <= lenOptional {
		return 0
	}
	end := lenOptional + 4*int(b[lenOptional])
	if end == lenOptional || end > len(b) || b[end-1] != 0 {
		return 0
	}
	k.qfi = int8(b[lenOptional+2] & 0x3f)
	return end
}

func (w *Worker) parseBare(k *work, p *Packet) {
	if !k.parseUser(p.Octets(), 0) {
		return
	}
	k.at, k.header, k.qfi = int32(p.Start), 0, -1
	k.key, k.table = k.dst, &w.e.tables.v4
	if k.v6 {
		k.table = &w.e.tables.v6
	}
}

// parseUser looks at the user packet behind the header in b.
func (k *work) parseUser(b []byte, header int) bool {
	u := b[header:]
	if len(u) < inet.LenIPv4 {
		return false
	}
	size := 0
	switch u[0] >> 4 {
	case 4:
		size = int(binary.BigEndian.Uint16(u[2:]))
		if first := 4 * int(u[0]&0xf); first < inet.LenIPv4 || size < first {
			return false
		}
		k.v6 = false
		k.src, k.dst = uint64(binary.BigEndian.Uint32(u[12:])), uint64(binary.BigEndian.Uint32(u[16:]))
	case 6:
		if len(u) < inet.LenIPv6 {
			return false
		}
		size = inet.LenIPv6 + int(binary.BigEndian.Uint16(u[4:]))
		k.v6 = true
		k.src, k.dst = binary.BigEndian.Uint64(u[8:]), binary.BigEndian.Uint64(u[24:])
	default:
		return false
	}
	k.size = int32(size)
	return size <= len(u)
}

// flow is a number of the user's flow, its good bits first: as in package model.
func (k *work) flow(u []byte) uint32 {
	ports, header, proto := uint32(0), inet.LenIPv4, u[9]
	h := uint32(k.src) ^ uint32(k.dst)
	if k.v6 {
		header, proto = inet.LenIPv6, u[6]
		h ^= uint32(k.src >> 32)
	} else if u[0] != 0x45 || binary.BigEndian.Uint16(u[6:])&maskFragment != 0 {
		proto = 0
	}
	switch proto {
	case inet.ProtoTCP, inet.ProtoUDP, inet.ProtoSCTP:
		if len(u) >= header+4 {
			ports = binary.BigEndian.Uint32(u[header:])
		}
	}
	return (h ^ ports) * stages.FlowFactor
}
