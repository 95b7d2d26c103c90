package pfcp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// FSEID is an F-SEID. At least one address is valid.
// Source: TS 29.244 V18.6.0, 8.2.37.
type FSEID struct {
	SEID       uint64
	IPv4, IPv6 netip.Addr
}

const fseidV6, fseidV4 = 0x01, 0x02

var fseid = codec[FSEID]{read: readFSEID, write: writeFSEID}

func readFSEID(v *FSEID, b []byte) error {
	r := reader{b: b}
	flags := r.u8()
	*v = FSEID{SEID: r.u64()}
	if flags&fseidV4 != 0 {
		v.IPv4 = r.ipv4()
	}
	if flags&fseidV6 != 0 {
		v.IPv6 = r.ipv6()
	}
	if flags&(fseidV4|fseidV6) == 0 {
		return fmt.Errorf("flags %#02x, no address: %w", flags, ErrIncorrect)
	}
	return r.err
}

func writeFSEID(b []byte, v *FSEID) []byte {
	b = append(b, bit(v.IPv4.Is4(), fseidV4)|bit(v.IPv6.Is6(), fseidV6))
	b = binary.BigEndian.AppendUint64(b, v.SEID)
	return appendAddrs(b, v.IPv4, v.IPv6)
}
