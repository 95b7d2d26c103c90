package nfapi

import "encoding/binary"

// BeamformingTX is the precoding and beamforming of what is sent.
//
// Source: SCF 222, as OpenAirInterface develop 2025-09 has it (no trpScheme).
type BeamformingTX struct {
	PRGSize         uint16 // PRB
	DigBFInterfaces uint8  // beams of each PRG
	NumPRGs         uint16
	Indices         []uint16 // for each PRG its precoding matrix, then its beams; belongs to the message
}

// BeamformingRX is the beamforming of what is received.
type BeamformingRX struct {
	PRGSize         uint16
	DigBFInterfaces uint8
	NumPRGs         uint16
	Indices         []uint16 // for each PRG its beams
}

const lenBeamforming = 5

// beamWordsBig and beamWordsLittle read n indices that b has.
func (s *scratch) beamWordsBig(b []byte, o, n int) []uint16 {
	list := s.beams.take(n)
	for i := range list {
		list[i] = binary.BigEndian.Uint16(b[o:])
		o += 2
	}
	return list
}

func (s *scratch) beamWordsLittle(b []byte, o, n int) []uint16 {
	list := s.beams.take(n)
	for i := range list {
		list[i] = binary.LittleEndian.Uint16(b[o:])
		o += 2
	}
	return list
}

func decodeBeamformingTXBig(s *scratch, m *BeamformingTX, b []byte, o int) int {
	if len(b)-o < lenBeamforming {
		return s.tail(b, o, "beamforming", "num_prgs", lenBeamforming)
	}
	w := (*[lenBeamforming]byte)(b[o:])
	m.NumPRGs, m.PRGSize, m.DigBFInterfaces = binary.BigEndian.Uint16(w[:2]), binary.BigEndian.Uint16(w[2:4]), w[4]
	o += lenBeamforming
	n := int(m.NumPRGs) * (1 + int(m.DigBFInterfaces))
	if len(b)-o < 2*n {
		return s.many(b, o, "beamforming", "prgs", n, 2)
	}
	m.Indices = s.beamWordsBig(b, o, n)
	return o + 2*n
}

func decodeBeamformingTXLittle(s *scratch, m *BeamformingTX, b []byte, o int) int {
	if len(b)-o < lenBeamforming {
		return s.tail(b, o, "beamforming", "num_prgs", lenBeamforming)
	}
	w := (*[lenBeamforming]byte)(b[o:])
	m.NumPRGs, m.PRGSize, m.DigBFInterfaces = binary.LittleEndian.Uint16(w[:2]), binary.LittleEndian.Uint16(w[2:4]), w[4]
	o += lenBeamforming
	n := int(m.NumPRGs) * (1 + int(m.DigBFInterfaces))
	if len(b)-o < 2*n {
		return s.many(b, o, "beamforming", "prgs", n, 2)
	}
	m.Indices = s.beamWordsLittle(b, o, n)
	return o + 2*n
}

func decodeBeamformingRXBig(s *scratch, m *BeamformingRX, b []byte, o int) int {
	if len(b)-o < lenBeamforming {
		return s.tail(b, o, "beamforming", "num_prgs", lenBeamforming)
	}
	w := (*[lenBeamforming]byte)(b[o:])
	m.NumPRGs, m.PRGSize, m.DigBFInterfaces = binary.BigEndian.Uint16(w[:2]), binary.BigEndian.Uint16(w[2:4]), w[4]
	o += lenBeamforming
	n := int(m.NumPRGs) * int(m.DigBFInterfaces)
	if len(b)-o < 2*n {
		return s.many(b, o, "beamforming", "prgs", n, 2)
	}
	m.Indices = s.beamWordsBig(b, o, n)
	return o + 2*n
}

func decodeBeamformingRXLittle(s *scratch, m *BeamformingRX, b []byte, o int) int {
	if len(b)-o < lenBeamforming {
		return s.tail(b, o, "beamforming", "num_prgs", lenBeamforming)
	}
	w := (*[lenBeamforming]byte)(b[o:])
	m.NumPRGs, m.PRGSize, m.DigBFInterfaces = binary.LittleEndian.Uint16(w[:2]), binary.LittleEndian.Uint16(w[2:4]), w[4]
	o += lenBeamforming
	n := int(m.NumPRGs) * int(m.DigBFInterfaces)
	if len(b)-o < 2*n {
		return s.many(b, o, "beamforming", "prgs", n, 2)
	}
	m.Indices = s.beamWordsLittle(b, o, n)
	return o + 2*n
}

func encodeBeamformingTXBig(s *scratch, m *BeamformingTX, b []byte, o int) int {
	return s.encodeBeamsBig(b, o, m.NumPRGs, m.PRGSize, m.DigBFInterfaces, m.Indices, int(m.NumPRGs)*(1+int(m.DigBFInterfaces)))
}

func encodeBeamformingTXLittle(s *scratch, m *BeamformingTX, b []byte, o int) int {
	return s.encodeBeamsLittle(b, o, m.NumPRGs, m.PRGSize, m.DigBFInterfaces, m.Indices, int(m.NumPRGs)*(1+int(m.DigBFInterfaces)))
}

func encodeBeamformingRXBig(s *scratch, m *BeamformingRX, b []byte, o int) int {
	return s.encodeBeamsBig(b, o, m.NumPRGs, m.PRGSize, m.DigBFInterfaces, m.Indices, int(m.NumPRGs)*int(m.DigBFInterfaces))
}

func encodeBeamformingRXLittle(s *scratch, m *BeamformingRX, b []byte, o int) int {
	return s.encodeBeamsLittle(b, o, m.NumPRGs, m.PRGSize, m.DigBFInterfaces, m.Indices, int(m.NumPRGs)*int(m.DigBFInterfaces))
}

func (s *scratch) encodeBeamsBig(b []byte, o int, prgs, size uint16, interfaces uint8, list []uint16, n int) int {
	if len(list) != n {
		return s.mismatch(o, "beamforming", "prgs", 2*len(list), 2*n)
	}
	if len(b)-o < lenBeamforming+2*n {
		return s.full(b, o, "beamforming", lenBeamforming+2*n)
	}
	w := (*[lenBeamforming]byte)(b[o:])
	binary.BigEndian.PutUint16(w[:2], prgs)
	binary.BigEndian.PutUint16(w[2:4], size)
	w[4] = interfaces
	o += lenBeamforming
	for _, v := range list {
		binary.BigEndian.PutUint16(b[o:], v)
		o += 2
	}
	return o
}

func (s *scratch) encodeBeamsLittle(b []byte, o int, prgs, size uint16, interfaces uint8, list []uint16, n int) int {
	if len(list) != n {
		return s.mismatch(o, "beamforming", "prgs", 2*len(list), 2*n)
	}
	if len(b)-o < lenBeamforming+2*n {
		return s.full(b, o, "beamforming", lenBeamforming+2*n)
	}
	w := (*[lenBeamforming]byte)(b[o:])
	binary.LittleEndian.PutUint16(w[:2], prgs)
	binary.LittleEndian.PutUint16(w[2:4], size)
	w[4] = interfaces
	o += lenBeamforming
	for _, v := range list {
		binary.LittleEndian.PutUint16(b[o:], v)
		o += 2
	}
	return o
}
