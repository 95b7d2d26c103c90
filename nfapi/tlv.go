package nfapi

import "encoding/binary"

// TLV is one of P5: tag, length of the value, value, padding to 32 bits.
type TLV struct {
	Tag   uint16
	Value []byte // shares the message

	// Padding is what follows the value if that is not as many zeros as are needed
	// up to 32 bits; the last TLV of a message may have none.
	Padding    []byte
	OddPadding bool

	// Reports are the entries behind TLV 0005 of PARAM.response, which
	// OpenAirInterface writes as tag u16, length u8, value u8, padding.
	Reports []byte
}

const lenTLV = 4

// decodeTLVs reads TLVs to the end of the message. What a count says is not relied
// upon: OpenAirInterface's wraps at 256.
func (s *scratch) decodeTLVs(list *[]TLV, b []byte, o int, order binary.ByteOrder, message string) int {
	out := (*list)[:0]
	for o < len(b) {
		if len(b)-o < lenTLV {
			return s.tail(b, o, "TLV", "tag", lenTLV)
		}
		t := TLV{Tag: order.Uint16(b[o:])}
		n := int(order.Uint16(b[o+2:]))
		o += lenTLV
		if len(b)-o < n {
			s.tail(b, o, "TLV", "value", n)
			return s.inPDU(len(out))
		}
		t.Value = b[o : o+n : o+n]
		o += n
		pad := min(padded(n)-n, len(b)-o)
		if t.Padding = b[o : o+pad : o+pad]; pad == padded(n)-n && allZero(t.Padding) {
			t.Padding = nil
		} else {
			t.OddPadding = true
		}
		o += pad
		if t.Tag == TagNumConfigTLVSToReport && n == 2 && message == MsgParamResponse.String() {
			if o = s.decodeReports(&t, b, o, int(order.Uint16(t.Value))); o < 0 {
				return o
			}
		}
		out = append(out, t)
	}
	*list = out
	return o
}

// decodeReports steps over n entries behind TLV 0005.
func (s *scratch) decodeReports(t *TLV, b []byte, o, n int) int {
	start := o
	for range n {
		if len(b)-o < lenTLV {
			return s.tail(b, o, "TLV", "config_tlvs_to_report_list", lenTLV)
		}
		size := int(b[o+2])
		o += lenTLV + padded(size) - size
		if o > len(b) {
			return s.tail(b, len(b), "TLV", "config_tlvs_to_report_list", o-len(b))
		}
	}
	t.Reports = b[start:o:o]
	return o
}

func allZero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

// encodeTLVs writes TLVs.
func (s *scratch) encodeTLVs(list []TLV, b []byte, o int, order binary.ByteOrder) int {
	for i := range list {
		t := &list[i]
		n := len(t.Value)
		if n > 0xffff {
			return s.wide(o, "TLV", "length", n, 0xffff)
		}
		pad := padded(n) - n
		if t.OddPadding {
			if pad = len(t.Padding); pad > 3 {
				return s.fail(kindPadding, o, "TLV", "padding", 3, pad)
			}
		}
		if len(b)-o < lenTLV+n+pad+len(t.Reports) {
			return s.full(b, o, "TLV", lenTLV+n+pad+len(t.Reports))
		}
		order.PutUint16(b[o:], t.Tag)
		order.PutUint16(b[o+2:], uint16(n))
		o += lenTLV
		o += copy(b[o:], t.Value)
		clear(b[o : o+pad])
		if t.OddPadding {
			copy(b[o:], t.Padding)
		}
		o += pad
		o += copy(b[o:], t.Reports)
	}
	return o
}

// TagName is the name of a TLV of messages about a PHY, as the JSON view has it; "" if it
// is not known.
func TagName(tag uint16) string {
	name, _ := tlvOfPHY(tag)
	return name
}
