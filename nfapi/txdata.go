package nfapi

import "encoding/binary"

// Tags of a [TXDataTLV]. Source: SCF 222.10.02, table 3-58, as OpenAirInterface
// develop 2025-09 has it.
const (
	TXDataInline  = 0
	TXDataPointer = 1 // in line, too: OpenAirInterface has no shared memory here
	TXDataOffset  = 2
)

func padded(n int) int { return (n + 3) &^ 3 }

// decodeTXValue2025 copies the payload into the message in its order: on the wire it
// is a list of 32-bit words of the sender's little-endian memory.
func decodeTXValue2025(s *scratch, m *TXDataTLV, b []byte, o int) int {
	if m.Tag == TXDataOffset {
		return s.decodeOffset(m, b, o, binary.BigEndian)
	}
	if len(b)-o < int(m.Length) || len(b)-o < padded(int(m.Length)) {
		return s.tail(b, o, "TXDataTLV", "payload", padded(int(m.Length)))
	}
	return s.decodeWords(m, b, o, int(m.Length))
}

// decodeTXValue2024 knows that OpenAirInterface of 2024 sends as many words as there
// are octets with tag 1. Where that is more than the message has, it is not from
// there, and the length is of octets.
func decodeTXValue2024(s *scratch, m *TXDataTLV, b []byte, o int) int {
	if m.Tag == TXDataPointer && 4*int(m.Length) <= len(b)-o {
		return s.decodeWords(m, b, o, 4*int(m.Length))
	}
	return decodeTXValue2025(s, m, b, o)
}

// decodeWords takes length octets, up to 32 bits, out of words.
func (s *scratch) decodeWords(m *TXDataTLV, b []byte, o, length int) int {
	n := padded(length)
	to := s.room(n, len(b))
	swapWords(to, b[o:o+n])
	m.Payload, m.Offset = to[:length:n], 0
	m.Padding = [3]byte{}
	if n != length {
		copy(m.Padding[:], to[length:])
	}
	return o + n
}

// decodeTXValueAerial reads the payload as it is.
func decodeTXValueAerial(s *scratch, m *TXDataTLV, b []byte, o int) int {
	if m.Tag == TXDataOffset {
		return s.decodeOffset(m, b, o, binary.LittleEndian)
	}
	n := padded(int(m.Length))
	if len(b)-o < n {
		return s.tail(b, o, "TXDataTLV", "payload", n)
	}
	to := s.room(n, len(b))
	copy(to, b[o:o+n])
	m.Payload, m.Offset = to[:m.Length:n], 0
	m.Padding = [3]byte{}
	copy(m.Padding[:], to[m.Length:])
	return o + n
}

func (s *scratch) decodeOffset(m *TXDataTLV, b []byte, o int, order binary.ByteOrder) int {
	if len(b)-o < 4 {
		return s.tail(b, o, "TXDataTLV", "offset", 4)
	}
	m.Payload, m.Padding, m.Offset = nil, [3]byte{}, order.Uint32(b[o:])
	return o + 4
}

func encodeTXValue2025(s *scratch, m *TXDataTLV, b []byte, o int) int {
	if m.Tag == TXDataOffset {
		return s.encodeOffset(m, b, o, binary.BigEndian)
	}
	if len(m.Payload) != int(m.Length) {
		return s.mismatch(o, "TXDataTLV", "payload", len(m.Payload), int(m.Length))
	}
	return s.encodeWords(m, b, o)
}

func encodeTXValue2024(s *scratch, m *TXDataTLV, b []byte, o int) int {
	if m.Tag == TXDataPointer && len(m.Payload) == 4*int(m.Length) {
		return s.encodeWords(m, b, o)
	}
	return encodeTXValue2025(s, m, b, o)
}

// encodeWords writes the payload as words, the last one filled up.
func (s *scratch) encodeWords(m *TXDataTLV, b []byte, o int) int {
	length := len(m.Payload)
	n := padded(length)
	if len(b)-o < n {
		return s.full(b, o, "TXDataTLV", n)
	}
	whole := length &^ 3
	swapWords(b[o:o+whole], m.Payload[:whole])
	if rest := length - whole; rest > 0 {
		var word [4]byte
		copy(word[:], m.Payload[whole:])
		copy(word[rest:], m.Padding[:])
		binary.BigEndian.PutUint32(b[o+whole:], binary.LittleEndian.Uint32(word[:]))
	}
	return o + n
}

func encodeTXValueAerial(s *scratch, m *TXDataTLV, b []byte, o int) int {
	if m.Tag == TXDataOffset {
		return s.encodeOffset(m, b, o, binary.LittleEndian)
	}
	if len(m.Payload) != int(m.Length) {
		return s.mismatch(o, "TXDataTLV", "payload", len(m.Payload), int(m.Length))
	}
	n := padded(len(m.Payload))
	if len(b)-o < n {
		return s.full(b, o, "TXDataTLV", n)
	}
	at := o + copy(b[o:], m.Payload)
	copy(b[at:o+n], m.Padding[:])
	return o + n
}

func (s *scratch) encodeOffset(m *TXDataTLV, b []byte, o int, order binary.ByteOrder) int {
	if len(b)-o < 4 {
		return s.full(b, o, "TXDataTLV", 4)
	}
	order.PutUint32(b[o:], m.Offset)
	return o + 4
}

// The words of an SRS report: as many as its octets need, in OpenAirInterface of
// 2024 as many as it has octets.

func decodeSRSValue2025(s *scratch, m *SRSReportTLV, b []byte, o int) int {
	return s.decodeSRSWords(m, b, o, wordsOf(m.Length), binary.BigEndian)
}

func decodeSRSValue2024(s *scratch, m *SRSReportTLV, b []byte, o int) int {
	return s.decodeSRSWords(m, b, o, int(m.Length), binary.BigEndian)
}

func decodeSRSValueAerial(s *scratch, m *SRSReportTLV, b []byte, o int) int {
	return s.decodeSRSWords(m, b, o, wordsOf(m.Length), binary.LittleEndian)
}

func wordsOf(octets uint32) int { return int((uint64(octets) + 3) / 4) }

func (s *scratch) decodeSRSWords(m *SRSReportTLV, b []byte, o, n int, order binary.ByteOrder) int {
	if (len(b)-o)/4 < n {
		return s.many(b, o, "SRSReportTLV", "value", n, 4)
	}
	m.Value = s.words.take(n)
	for i := range m.Value {
		m.Value[i] = order.Uint32(b[o:])
		o += 4
	}
	return o
}

func encodeSRSValue2025(s *scratch, m *SRSReportTLV, b []byte, o int) int {
	return s.encodeSRSWords(m, b, o, wordsOf(m.Length), binary.BigEndian)
}

func encodeSRSValue2024(s *scratch, m *SRSReportTLV, b []byte, o int) int {
	return s.encodeSRSWords(m, b, o, int(m.Length), binary.BigEndian)
}

func encodeSRSValueAerial(s *scratch, m *SRSReportTLV, b []byte, o int) int {
	return s.encodeSRSWords(m, b, o, wordsOf(m.Length), binary.LittleEndian)
}

func (s *scratch) encodeSRSWords(m *SRSReportTLV, b []byte, o, n int, order binary.ByteOrder) int {
	if len(m.Value) != n {
		return s.mismatch(o, "SRSReportTLV", "value", len(m.Value), n)
	}
	if (len(b)-o)/4 < n {
		return s.full(b, o, "SRSReportTLV", 4*n)
	}
	for _, v := range m.Value {
		order.PutUint32(b[o:], v)
		o += 4
	}
	return o
}
