package nfapi

import "fmt"

// TLVValue is a structure that is the value of a TLV: [PNFParamGeneral], [PNFPHY] or
// [PNFPHYRF].
type TLVValue interface {
	decode(s *scratch, p Profile, b []byte) int
	encode(s *scratch, p Profile, b []byte) int
}

// EncodeTLV makes a TLV of a structure. Errors are an [*Error].
func (p Profile) EncodeTLV(tag uint16, v TLVValue) (TLV, error) {
	var s scratch
	s.begin(fmt.Sprintf("TLV %04x", tag))
	b := make([]byte, 0xffff)
	n := v.encode(&s, p, b)
	if n < 0 {
		return TLV{}, &s.err
	}
	return TLV{Tag: tag, Value: append([]byte(nil), b[:n]...)}, nil
}

// DecodeTLV reads the value of a TLV. Errors are an [*Error]; octets behind the
// structure's last field are one, too.
func (p Profile) DecodeTLV(t *TLV, v TLVValue) error {
	var s scratch
	s.begin(fmt.Sprintf("TLV %04x", t.Tag))
	switch n := v.decode(&s, p, t.Value); {
	case n < 0:
		return &s.err
	case n < len(t.Value):
		s.fail(kindMismatch, n, "", "", n, len(t.Value))
		return &s.err
	}
	return nil
}

// UintTLV makes a TLV of a number of width octets: 1, 2 or 4.
func (p Profile) UintTLV(tag uint16, width int, v uint32) TLV {
	return TLV{Tag: tag, Value: putNumber(p, uint64(v), width)}
}

// Uint is the number that the value of a TLV is; ok is false unless it has 1, 2 or 4
// octets.
func (t *TLV) Uint(p Profile) (v uint32, ok bool) {
	switch len(t.Value) {
	case 1:
		return uint32(t.Value[0]), true
	case 2:
		return uint32(p.uint16(t.Value)), true
	case 4:
		return p.uint32(t.Value), true
	}
	return 0, false
}
