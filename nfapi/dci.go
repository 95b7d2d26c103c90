package nfapi

// DCIPayloadLen is how many octets a DCI has at most: 144 bits, where polar coding
// takes 140. OpenAirInterface has 8 octets.
const DCIPayloadLen = 18

// decodeDCIPayloadBig reads the host memory of OpenAirInterface, lowest octet first.
func decodeDCIPayloadBig(s *scratch, m *DCI, b []byte, o int) int {
	n := (int(m.PayloadSizeBits) + 7) / 8
	if n > DCIPayloadLen {
		return s.beyond(o, "DCI", "PayloadSizeBits", int(m.PayloadSizeBits), 8*DCIPayloadLen)
	}
	if len(b)-o < n {
		return s.tail(b, o, "DCI", "Payload_memory_order", n)
	}
	m.Payload, m.PayloadPadding = [DCIPayloadLen]byte{}, 0
	copy(m.Payload[:n], b[o:])
	return o + n
}

func encodeDCIPayloadBig(s *scratch, m *DCI, b []byte, o int) int {
	n := (int(m.PayloadSizeBits) + 7) / 8
	if n > DCIPayloadLen {
		return s.beyond(o, "DCI", "PayloadSizeBits", int(m.PayloadSizeBits), 8*DCIPayloadLen)
	}
	if len(b)-o < n {
		return s.full(b, o, "DCI", n)
	}
	return o + copy(b[o:], m.Payload[:n])
}

// decodeDCIPayloadLittle reads the bits as SCF 222 has them: the highest first, left
// aligned in their octets.
func decodeDCIPayloadLittle(s *scratch, m *DCI, b []byte, o int) int {
	n := (int(m.PayloadSizeBits) + 7) / 8
	if n > DCIPayloadLen {
		return s.beyond(o, "DCI", "PayloadSizeBits", int(m.PayloadSizeBits), 8*DCIPayloadLen)
	}
	if len(b)-o < n {
		return s.tail(b, o, "DCI", "Payload_memory_order", n)
	}
	m.Payload, m.PayloadPadding = [DCIPayloadLen]byte{}, 0
	if n == 0 {
		return o
	}
	spare := uint(8*n) - uint(m.PayloadSizeBits)
	m.PayloadPadding = b[o+n-1] & (1<<spare - 1)
	above := byte(0)
	for i, octet := range b[o : o+n] { // the first octet is the highest
		m.Payload[n-1-i] = octet>>spare | above<<(8-spare)
		above = octet
	}
	return o + n
}

func encodeDCIPayloadLittle(s *scratch, m *DCI, b []byte, o int) int {
	n := (int(m.PayloadSizeBits) + 7) / 8
	if n > DCIPayloadLen {
		return s.beyond(o, "DCI", "PayloadSizeBits", int(m.PayloadSizeBits), 8*DCIPayloadLen)
	}
	if len(b)-o < n {
		return s.full(b, o, "DCI", n)
	}
	if n == 0 {
		return o
	}
	spare := uint(8*n) - uint(m.PayloadSizeBits)
	below := m.PayloadPadding & (1<<spare - 1) << (8 - spare) // what enters from below
	for i := range n {                                        // the lowest octet first
		b[o+n-1-i] = m.Payload[i]<<spare | below>>(8-spare)
		below = m.Payload[i]
	}
	return o + n
}
