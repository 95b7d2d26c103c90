package nfapi

import "fmt"

// Error says where and why a body could not be decoded or encoded.
type Error struct {
	Message string // which message
	PDU     int    // which PDU of it, from 0; -1: none
	In      string // structure
	Field   string // as the JSON view names it
	Offset  int    // octets from the beginning of the body
	Need    int    // octets or value that there would have to be, or that there may be at most
	Have    int    // octets or value that there are

	kind errorKind
}

type errorKind uint8

const (
	kindShort    errorKind = iota // a field goes beyond the end
	kindMany                      // more elements than octets
	kindBeyond                    // a count is larger than its array
	kindRoom                      // nothing to write into
	kindWide                      // a value does not fit its field
	kindMismatch                  // a string has not the length that another field says
	kindSize                      // a PDU's size
	kindPadding
)

// Error is the text: message, PDU, field, offset, and the numbers that decided.
func (e *Error) Error() string {
	where := e.Message
	if e.PDU >= 0 {
		where += fmt.Sprintf(": pdu %d", e.PDU)
	}
	if e.In != "" {
		where += ": " + e.In
	}
	if e.Field != "" {
		where += "." + e.Field
	}
	where = fmt.Sprintf("nfapi: %s at octet %d of the body", where, e.Offset)
	switch e.kind {
	case kindShort:
		return fmt.Sprintf("%s: %d octets needed, %d left: %v", where, e.Need, e.Have, ErrShort)
	case kindMany:
		return fmt.Sprintf("%s: %d elements in %d octets: %v", where, e.Need, e.Have, ErrShort)
	case kindBeyond:
		return fmt.Sprintf("%s: %d, at most %d are possible: %v", where, e.Have, e.Need, ErrValue)
	case kindRoom:
		return fmt.Sprintf("%s: %d octets to write, %d left: %v", where, e.Need, e.Have, ErrRoom)
	case kindWide:
		return fmt.Sprintf("%s: %d, the field holds at most %d: %v", where, e.Have, e.Need, ErrValue)
	case kindMismatch:
		return fmt.Sprintf("%s: %d octets, its length says %d: %v", where, e.Have, e.Need, ErrValue)
	case kindPadding:
		return fmt.Sprintf("%s: %d octets of padding, at most %d are possible: %v", where, e.Have, e.Need, ErrValue)
	}
	return fmt.Sprintf("%s: size %d, %d octets left: %v", where, e.Need, e.Have, ErrShort)
}

// Is makes errors comparable with [ErrShort], [ErrRoom] and [ErrValue].
func (e *Error) Is(target error) bool {
	switch e.kind {
	case kindShort, kindMany, kindSize:
		return target == ErrShort
	case kindRoom:
		return target == ErrRoom
	}
	return target == ErrValue
}

// fieldEnd is where a field of a run ends.
type fieldEnd struct {
	name string
	end  int
}

func (s *scratch) fail(kind errorKind, o int, in, field string, need, have int) int {
	s.err.kind, s.err.Offset, s.err.In, s.err.Field, s.err.Need, s.err.Have = kind, o, in, field, need, have
	return -1
}

// short says which field of a run is the first that b has not whole.
func (s *scratch) short(b []byte, o int, in string, run []fieldEnd) int {
	begin := 0
	for _, f := range run {
		if len(b)-o < f.end {
			return s.fail(kindShort, o+begin, in, f.name, f.end-begin, len(b)-o-begin)
		}
		begin = f.end
	}
	return s.fail(kindShort, o, in, "", begin, len(b)-o)
}

func (s *scratch) tail(b []byte, o int, in, field string, need int) int {
	return s.fail(kindShort, o, in, field, need, len(b)-o)
}

func (s *scratch) many(b []byte, o int, in, field string, n, _ int) int {
	return s.fail(kindMany, o, in, field, n, len(b)-o)
}

func (s *scratch) beyond(o int, in, field string, n, most int) int {
	return s.fail(kindBeyond, o, in, field, most, n)
}

func (s *scratch) full(b []byte, o int, in string, need int) int {
	return s.fail(kindRoom, o, in, "", need, len(b)-o)
}

func (s *scratch) wide(o int, in, field string, value, most int) int {
	return s.fail(kindWide, o, in, field, most, value)
}

func (s *scratch) mismatch(o int, in, field string, have, want int) int {
	return s.fail(kindMismatch, o, in, field, want, have)
}

func (s *scratch) pduSize(b []byte, o int, in string, size, _ int) int {
	return s.fail(kindSize, o, in, "", size, len(b)-o)
}

// inPDU adds the number of the PDU to an error.
func (s *scratch) inPDU(i int) int {
	s.err.PDU = i
	return -1
}
