package nfapi

// scratch is working memory of a message during decoding and encoding: the memory of nested lists,
// and the error.
type scratch struct {
	dcis      arena[DCI]
	tlvs      arena[TXDataTLV]
	preambles arena[Preamble]
	words     arena[uint32]
	beams     arena[uint16]
	payload   []byte
	err       Error
}

// begin makes the memory free again that the last message took.
func (s *scratch) begin(message string) {
	s.dcis.used, s.tlvs.used, s.preambles.used, s.words.used, s.beams.used = 0, 0, 0, 0, 0
	s.payload = s.payload[:0]
	s.err.Message, s.err.PDU = message, -1
}

// arena is memory for lists that go with the message. The caller has checked the number against the
// remaining octets, so the memory is bounded by the message.
type arena[T any] struct {
	all  []T
	used int
}

const arenaLeast = 16

// take returns n elements with their previous values.
func (a *arena[T]) take(n int) []T {
	if n > len(a.all)-a.used {
		a.all = make([]T, max(2*len(a.all), n, arenaLeast)) // the lists of before keep the old one
		a.used = 0
	}
	list := a.all[a.used : a.used+n : a.used+n]
	a.used += n
	return list
}

// resize returns a list of n elements, in the memory of s if that suffices.
func resize[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	return append(make([]T, 0, max(2*cap(s), n)), make([]T, n)...)
}

// room returns n contiguous octets for payload. begin has the length of the message, so the memory
// is not moved meanwhile.
func (s *scratch) room(n, most int) []byte {
	used := len(s.payload)
	if cap(s.payload)-used < n {
		s.payload, used = make([]byte, 0, max(2*cap(s.payload), most)), 0
	}
	s.payload = s.payload[:used+n]
	return s.payload[used:]
}

// trail writes the octets behind the last field.
func (s *scratch) trail(b []byte, o int, octets []byte) (int, error) {
	if len(b)-o < len(octets) {
		s.full(b, o, "trailing octets", len(octets))
		return 0, &s.err
	}
	return o + copy(b[o:], octets), nil
}

// octetsOfCRC is how many octets of status OpenAirInterface sends for n code blocks:
// one too many if n is a multiple of 8, and none for 0.
func octetsOfCRC(n uint16) int {
	if n == 0 {
		return 0
	}
	return int(n)/8 + 1
}

// exactly is the condition of the optional parts of a PUSCH PDU.
func exactly(p Profile, bitmap, mask uint16) bool {
	if p == OAI2024 {
		return bitmap == mask
	}
	return bitmap&mask != 0
}

func choose(condition bool, a, b int) int {
	if condition {
		return a
	}
	return b
}
