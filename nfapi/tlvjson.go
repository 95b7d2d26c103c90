package nfapi

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
)

// tlvKind is the type of a TLV's value.
type tlvKind uint8

const (
	kindOctets tlvKind = iota
	kindU8
	kindU16
	kindU32
	kindS32
	kindU8s
	kindU16s
	kindIPv4
	kindIPv6
	kindPNFParamGeneral
	kindPNFPHY
	kindPNFPHYRF
)

// tlvOf says what a tag means in a message. A tag has two meanings: in PNF_PARAM and
// PNF_CONFIG, and in the others.
func tlvOf(id MessageID, tag uint16) (string, tlvKind) {
	if id >= MsgPNFParamRequest && id <= MsgPNFReadyIndication && id != MsgStartResponse {
		return tlvOfPNF(tag)
	}
	return tlvOfPHY(tag)
}

// width is how many octets a number of this kind has; 0: it is no number.
func (k tlvKind) width() int {
	switch k {
	case kindU8, kindU8s:
		return 1
	case kindU16, kindU16s:
		return 2
	case kindU32, kindS32:
		return 4
	}
	return 0
}

// writeTLVs writes each TLV with its name and a value of its type; several u8 are a list; a TLV
// with another length than its type is printed as octets.
func writeTLVs(w *jsonWriter, list []TLV, p Profile, id MessageID) {
	w.array("tlvs")
	for i := range list {
		t := &list[i]
		name, kind := tlvOf(id, t.Tag)
		w.element()
		w.uint("tag", uint64(t.Tag))
		if name != "" {
			w.text("name", name)
		}
		w.uint("length", uint64(len(t.Value)))
		writeTLVValue(w, t.Value, kind, p)
		if t.OddPadding {
			w.hex("padding", t.Padding)
		}
		if len(t.Reports) > 0 {
			w.hex("config_tlvs_to_report_list", t.Reports)
		}
		w.end()
	}
	w.endArray()
}

func writeTLVValue(w *jsonWriter, v []byte, kind tlvKind, p Profile) {
	o := p.order()
	switch {
	case kind == kindU8 && len(v) == 1:
		w.uint("value", uint64(v[0]))
	case kind == kindU16 && len(v) == 2:
		w.uint("value", uint64(o.Uint16(v)))
	case kind == kindU32 && len(v) == 4:
		w.uint("value", uint64(o.Uint32(v)))
	case kind == kindS32 && len(v) == 4:
		w.int("value", int64(int32(o.Uint32(v))))
	case kind == kindU8s, kind == kindU8 && len(v) > 1: // Aerial has the TDD table in one TLV
		writeNumbers(w, "value", v)
	case kind == kindU16s && len(v)%2 == 0:
		w.array("value")
		for i := 0; i < len(v); i += 2 {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			w.b = strconv.AppendUint(w.b, uint64(o.Uint16(v[i:])), 10)
		}
		w.endArray()
	case kind == kindIPv4 && len(v) == 4, kind == kindIPv6 && len(v) == 16:
		addr, _ := netip.AddrFromSlice(v)
		w.text("value", addr.String())
	case kind == kindPNFParamGeneral && writeValue[PNFParamGeneral](w, v, p):
	case kind == kindPNFPHY && writeValue[PNFPHY](w, v, p):
	case kind == kindPNFPHYRF && writeValue[PNFPHYRF](w, v, p):
	default:
		w.hex("value", v)
	}
}

// codecOf is a structure that is the value of a TLV.
type codecOf[T any] interface {
	viewOf[T]
	decode(s *scratch, p Profile, b []byte) int
	encode(s *scratch, p Profile, b []byte) int
}

// writeValue writes a structure, and reports whether v is one.
func writeValue[T any, P codecOf[T]](w *jsonWriter, v []byte, p Profile) bool {
	var s scratch
	m := P(new(T))
	if m.decode(&s, p, v) != len(v) {
		return false
	}
	w.object("value")
	m.toJSON(w, p)
	w.end()
	return true
}

func readValue[T any, P codecOf[T]](r *jsonReader, v any, p Profile) []byte {
	o := r.inner("value", v)
	m := P(new(T))
	m.fromJSON(o, p)
	o.done()
	var s scratch
	s.begin("TLV")
	b := make([]byte, 0xffff)
	n := m.encode(&s, p, b)
	if n < 0 {
		r.fail("value", "%v", &s.err)
		return nil
	}
	return b[:n]
}

// readTLVs is the inverse of writeTLVs.
func readTLVs(r *jsonReader, p Profile, id MessageID) []TLV {
	list := r.list("tlvs")
	out := make([]TLV, len(list))
	for i, v := range list {
		t := &out[i]
		o := r.inner(fmt.Sprintf("tlvs[%d]", i), v)
		t.Tag = uint16(o.uint("tag", 16))
		o.take("name")
		o.take("length")
		_, kind := tlvOf(id, t.Tag)
		t.Value = readTLVValue(o, o.take("value"), kind, p)
		if _, t.OddPadding = o.fields["padding"]; t.OddPadding {
			t.Padding = o.hex("padding")
		}
		t.Reports = o.hex("config_tlvs_to_report_list")
		o.done()
	}
	return out
}

func readTLVValue(r *jsonReader, v any, kind tlvKind, p Profile) []byte {
	switch x := v.(type) {
	case nil:
		return nil
	case string:
		if kind == kindIPv4 || kind == kindIPv6 {
			if addr, err := netip.ParseAddr(x); err == nil {
				return addr.AsSlice()
			}
		}
		r.fields["value"] = x
		return r.hex("value")
	case []any:
		var b bytes.Buffer
		for i, item := range x {
			b.Write(putNumber(p, r.number(fmt.Sprintf("value[%d]", i), item, 8*kind.width()), kind.width()))
		}
		return b.Bytes()
	case map[string]any:
		switch kind {
		case kindPNFParamGeneral:
			return readValue[PNFParamGeneral](r, x, p)
		case kindPNFPHY:
			return readValue[PNFPHY](r, x, p)
		case kindPNFPHYRF:
			return readValue[PNFPHYRF](r, x, p)
		}
		r.fail("value", "this tag has no structure")
		return nil
	}
	if kind == kindS32 {
		r.fields["value"] = v
		return putNumber(p, uint64(uint32(r.int("value", 32))), 4)
	}
	return putNumber(p, r.number("value", v, 8*kind.width()), kind.width())
}

// putNumber writes a number of 0, 1, 2 or 4 octets.
func putNumber(p Profile, v uint64, width int) []byte {
	b := make([]byte, width)
	switch width {
	case 1:
		b[0] = byte(v)
	case 2:
		p.order().PutUint16(b, uint16(v))
	case 4:
		p.order().PutUint32(b, uint32(v))
	}
	return b
}

// The structures of TLVs are the same in both profiles of OpenAirInterface.

func (m *PNFParamGeneral) decode(s *scratch, p Profile, b []byte) int {
	if p == Aerial {
		return decodePNFParamGeneralAerial(s, m, b, 0)
	}
	return decodePNFParamGeneral2025(s, m, b, 0)
}

func (m *PNFParamGeneral) encode(s *scratch, p Profile, b []byte) int {
	if p == Aerial {
		return encodePNFParamGeneralAerial(s, m, b, 0)
	}
	return encodePNFParamGeneral2025(s, m, b, 0)
}

func (m *PNFPHY) decode(s *scratch, p Profile, b []byte) int {
	if p == Aerial {
		return decodePNFPHYAerial(s, m, b, 0)
	}
	return decodePNFPHY2025(s, m, b, 0)
}

func (m *PNFPHY) encode(s *scratch, p Profile, b []byte) int {
	if p == Aerial {
		return encodePNFPHYAerial(s, m, b, 0)
	}
	return encodePNFPHY2025(s, m, b, 0)
}

func (m *PNFPHYRF) decode(s *scratch, p Profile, b []byte) int {
	if p == Aerial {
		return decodePNFPHYRFAerial(s, m, b, 0)
	}
	return decodePNFPHYRF2025(s, m, b, 0)
}

func (m *PNFPHYRF) encode(s *scratch, p Profile, b []byte) int {
	if p == Aerial {
		return encodePNFPHYRFAerial(s, m, b, 0)
	}
	return encodePNFPHYRF2025(s, m, b, 0)
}
