package pfcp

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// FTEID is an F-TEID: either a tunnel endpoint, or the wish that the UP
// function choose one (CH). At least one of V4 and V6 is set.
// Source: TS 29.244 V18.6.0, 8.2.3.
type FTEID struct {
	CH   bool            // TEID and addresses are to be chosen
	CHID Optional[uint8] // CHOOSE ID: the same F-TEID for the same ID; with CH only

	// V4 and V6 say which addresses there are, or with CH are wanted. The
	// encoder needs them with CH only.
	V4, V6 bool

	TEID       uint32 // 0 with CH
	IPv4, IPv6 netip.Addr
}

const fteidV4, fteidV6, fteidCH, fteidCHID = 0x01, 0x02, 0x04, 0x08

var fteid = codec[FTEID]{read: readFTEID, write: writeFTEID}

func readFTEID(v *FTEID, b []byte) error {
	r := reader{b: b}
	flags := r.u8()
	*v = FTEID{CH: flags&fteidCH != 0, V4: flags&fteidV4 != 0, V6: flags&fteidV6 != 0}
	if !v.V4 && !v.V6 {
		return fmt.Errorf("flags %#02x, neither V4 nor V6: %w", flags, ErrIncorrect)
	}
	if v.CH {
		if flags&fteidCHID != 0 {
			v.CHID = Some(r.u8())
		}
		return r.err
	}
	if flags&fteidCHID != 0 {
		return fmt.Errorf("flags %#02x, CHID without CH: %w", flags, ErrIncorrect)
	}
	v.TEID = r.u32()
	if v.V4 {
		v.IPv4 = r.ipv4()
	}
	if v.V6 {
		v.IPv6 = r.ipv6()
	}
	return r.err
}

func writeFTEID(b []byte, v *FTEID) []byte {
	if v.CH {
		b = append(b, fteidCH|bit(v.V4, fteidV4)|bit(v.V6, fteidV6)|bit(v.CHID.Present, fteidCHID))
		if v.CHID.Present {
			b = append(b, v.CHID.Value)
		}
		return b
	}
	b = append(b, bit(v.IPv4.Is4(), fteidV4)|bit(v.IPv6.Is6(), fteidV6))
	b = binary.BigEndian.AppendUint32(b, v.TEID)
	return appendAddrs(b, v.IPv4, v.IPv6)
}
