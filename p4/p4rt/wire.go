package p4rt

import (
	"errors"
	"unicode/utf8"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The numbers of the fields that are decoded here. Source: p4/v1/p4runtime.proto.
const (
	fieldDevice, fieldRoleID, fieldElection, fieldUpdates, fieldAtomicity, fieldRole = 1, 2, 3, 4, 5, 6 // WriteRequest
	fieldHigh, fieldLow                                                              = 1, 2             // Uint128
	fieldType, fieldEntity                                                           = 1, 2             // Update
	entityTable                                                                      = 2                // Entity
	fieldTable, fieldMatch, fieldAction, fieldPriority, fieldCookie                  = 1, 2, 3, 4, 5    // TableEntry
	fieldMeter, fieldCounter, fieldDefault, fieldIdle, fieldLastHit                  = 6, 7, 8, 9, 10
	fieldMetadata, fieldMeterCounter, fieldConst                                     = 11, 12, 13
	matchID, matchExact, matchTernary, matchLPM, matchRange, matchOptional           = 1, 2, 3, 4, 6, 7 // FieldMatch
)

// writeRequest is a WriteRequest with undecoded updates.
type writeRequest struct {
	device    uint64
	roleID    uint64
	role      string
	election  electionID
	updates   updates
	atomicity p4.WriteRequest_Atomicity
}

// electionID is the number of a controller; the zero value is none.
type electionID struct {
	set       bool
	high, low uint64
}

// errWire says that octets are no message.
var errWire = errors.New("the octets are no message of P4Runtime")

// wireField takes the next field. v is its value if it is a number, b if it is octets; rest is what is behind it.
type wireField struct {
	number protowire.Number
	kind   protowire.Type
	v      uint64
	b      []byte
}

func (f *wireField) take(b []byte) (rest []byte, ok bool) {
	number, kind, n := protowire.ConsumeTag(b)
	if n < 0 {
		return nil, false
	}
	f.number, f.kind = number, kind
	b = b[n:]
	switch kind {
	case protowire.VarintType:
		f.v, n = protowire.ConsumeVarint(b)
	case protowire.BytesType:
		f.b, n = protowire.ConsumeBytes(b)
	default:
		n = protowire.ConsumeFieldValue(number, kind, b)
	}
	if n < 0 {
		return nil, false
	}
	return b[n:], true
}

// decode takes a request apart. updates refer to b. Fields that are not known are passed over.
func (r *writeRequest) decode(b []byte) error {
	*r = writeRequest{updates: updates{octets: r.updates.octets[:0]}}
	var f wireField
	var ok bool
	for len(b) > 0 {
		if b, ok = f.take(b); !ok {
			return errWire
		}
		switch {
		case f.kind == protowire.BytesType && f.number == fieldUpdates:
			r.updates.octets = append(r.updates.octets, f.b)
		case f.kind == protowire.BytesType && f.number == fieldElection:
			if !r.election.decode(f.b) {
				return errWire
			}
		case f.kind == protowire.BytesType && f.number == fieldRole:
			if !utf8.Valid(f.b) {
				return errWire
			}
			r.role = string(f.b)
		case f.kind == protowire.VarintType && f.number == fieldDevice:
			r.device = f.v
		case f.kind == protowire.VarintType && f.number == fieldRoleID:
			r.roleID = f.v
		case f.kind == protowire.VarintType && f.number == fieldAtomicity:
			r.atomicity = p4.WriteRequest_Atomicity(f.v)
		}
	}
	return nil
}

// read is decode for a message.
func (r *writeRequest) read(m *p4.WriteRequest) error {
	if !utf8.ValidString(m.GetRole()) {
		return errWire
	}
	*r = writeRequest{
		device: m.GetDeviceId(), roleID: m.GetRoleId(), role: m.GetRole(), election: readElection(m.GetElectionId()), //nolint:staticcheck // as octets have it
		updates: updates{messages: m.GetUpdates()}, atomicity: m.GetAtomicity(),
	}
	return nil
}

// decode adds to what is there, as a message that comes in two parts does.
func (e *electionID) decode(b []byte) (ok bool) {
	e.set = true
	var f wireField
	for len(b) > 0 {
		if b, ok = f.take(b); !ok {
			return false
		}
		switch {
		case f.kind == protowire.VarintType && f.number == fieldHigh:
			e.high = f.v
		case f.kind == protowire.VarintType && f.number == fieldLow:
			e.low = f.v
		}
	}
	return true
}

// update is an update of a batch: a table entry as decoded here, or any other entity as a message.
type update struct {
	kind   p4.Update_Type
	entry  bool // of a table, which is in wireEntry
	entity *p4.Entity
}

// decode takes an update apart. What is unusual, as fields that come twice or are not known, is brought into the usual
// form first: that is slow, and rare.
func (u *update) decode(b []byte, e *wireEntry) *failure {
	if u.usual(b, e) {
		return nil
	}
	var m p4.Update
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b, &m); err != nil {
		return invalid("update: %v", errWire)
	}
	t, ok := m.GetEntity().GetEntity().(*p4.Entity_TableEntry)
	if !ok {
		*u = update{kind: m.GetType(), entity: m.GetEntity()}
		return nil
	}
	for _, match := range t.TableEntry.GetMatch() {
		if match.GetOther() != nil {
			return unimplemented("match type of another architecture")
		}
	}
	plain, err := proto.Marshal(&m)
	if err != nil || !u.usual(plain, e) {
		return invalid("update: %v", errWire)
	}
	return nil
}

// usual decodes an update with a table entry if nothing in it is unusual.
func (u *update) usual(b []byte, e *wireEntry) (ok bool) {
	*u = update{}
	var f wireField
	var seen uint32
	for len(b) > 0 {
		if b, ok = f.take(b); !ok || !once(&seen, f.number) {
			return false
		}
		switch {
		case f.kind == protowire.VarintType && f.number == fieldType:
			u.kind = p4.Update_Type(f.v)
		case f.kind == protowire.BytesType && f.number == fieldEntity:
			rest, ok := f.take(f.b)
			if !ok || len(rest) > 0 || f.kind != protowire.BytesType || f.number != entityTable || !e.decode(f.b) {
				return false
			}
			u.entry = true
		default:
			return false
		}
	}
	return u.entry
}

// once reports whether a field comes for the first time.
func once(seen *uint32, n protowire.Number) bool {
	if n > 31 || *seen&(1<<n) != 0 {
		return false
	}
	*seen |= 1 << n
	return true
}
