package vector

import (
	"encoding/binary"

	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

const (
	protoESP, protoAH = 50, 51
	ttlOuter          = 64
	flagDF            = 0x4000
	maskFragment      = 0x3fff // more fragments, or an offset
	maskOffset        = 0x1fff
)

// PutOuter puts the UDP and IP header in front of a packet that leaves with Outer,
// for a datapath that sends IP packets: the same that package model makes. The UDP
// checksum is 0 over IPv4 and computed over IPv6.
//
// It reports false, and has done nothing, if there is no room for it in front of the
// packet, or Outer has no source address.
func (p *Packet) PutOuter() bool {
	if !p.Outer.Local.IsValid() {
		return false
	}
	if p.Outer.Peer.Is6() {
		return p.putOuter6()
	}
	size := inet.LenIPv4 + inet.LenUDP + p.End - p.Start
	if p.Start < inet.LenIPv4+inet.LenUDP || size > 0xffff {
		return false
	}
	p.Start -= inet.LenIPv4 + inet.LenUDP
	b := p.Buf[p.Start:p.End]
	from, to := p.Outer.Local.As4(), p.Outer.Peer.As4()
	binary.BigEndian.PutUint32(b, 0x4500<<16|uint32(p.DSCP)<<18|uint32(size))
	binary.BigEndian.PutUint32(b[4:], flagDF)
	binary.BigEndian.PutUint32(b[8:], ttlOuter<<24|inet.ProtoUDP<<16)
	copy(b[12:16], from[:])
	copy(b[16:20], to[:])
	binary.BigEndian.PutUint16(b[10:], checksum.Of(b[:inet.LenIPv4]))
	p.putUDP(b[inet.LenIPv4:])
	return true
}

func (p *Packet) putOuter6() bool {
	size := inet.LenUDP + p.End - p.Start
	if p.Start < inet.LenIPv6+inet.LenUDP || size > 0xffff {
		return false
	}
	p.Start -= inet.LenIPv6 + inet.LenUDP
	b := p.Buf[p.Start:p.End]
	from, to := p.Outer.Local.As16(), p.Outer.Peer.As16()
	binary.BigEndian.PutUint32(b, 6<<28|uint32(p.DSCP)<<22|p.label())
	binary.BigEndian.PutUint32(b[4:], uint32(size)<<16|inet.ProtoUDP<<8|ttlOuter)
	copy(b[8:24], from[:])
	copy(b[24:40], to[:])
	p.putUDP(b[inet.LenIPv6:])
	pseudo := checksum.Pseudo(b[8:inet.LenIPv6], inet.ProtoUDP) + checksum.Word(uint16(size))
	check := ^checksum.Fold(checksum.Sum(b[inet.LenIPv6:], pseudo))
	if check == 0 {
		check = 0xffff
	}
	binary.BigEndian.PutUint16(b[inet.LenIPv6+6:], check)
	return true
}

// label returns the outer Flow Label: none for signalling, which has no flow.
func (p *Packet) label() uint32 { return p.Flow >> 12 }

func (p *Packet) putUDP(b []byte) {
	binary.BigEndian.PutUint16(b, p.Source)
	binary.BigEndian.PutUint16(b[2:], p.Port)
	binary.BigEndian.PutUint32(b[4:], uint32(len(b))<<16)
}
