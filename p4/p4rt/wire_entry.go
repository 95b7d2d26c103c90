package p4rt

import (
	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// wireEntry is a TableEntry. Its memory is used again for the next one; octets refer to those that were decoded.
type wireEntry struct {
	table     uint32
	match     []wireMatch
	action    wireAction
	actionID  uint32
	params    []wireParam
	priority  int32
	cookie    uint64
	metadata  []byte
	isDefault bool
	isConst   bool
	idle      int64
	lastHit   bool

	meter        *p4.MeterConfig
	counter      *p4.CounterData
	meterCounter bool
}

type wireAction uint8

const (
	noAction    wireAction = iota // not set, or nothing is set in it
	anAction                      // an action with parameters
	otherAction                   // something of an action profile
	emptyAction                   // TableAction without anything in it
)

// wireMatch is a FieldMatch: value and mask, or low and high.
type wireMatch struct {
	id     uint32
	set    bool
	kind   bmv2.MatchKind
	a, b   []byte
	prefix int32
}

type wireParam struct {
	id    uint32
	value []byte
}

// known drops fields that are not known.
var known = proto.UnmarshalOptions{DiscardUnknown: true}

func (e *wireEntry) reset() {
	*e = wireEntry{match: e.match[:0], params: e.params[:0]}
}

// decode takes a TableEntry apart, if nothing in it is unusual.
func (e *wireEntry) decode(b []byte) (ok bool) {
	e.reset()
	var f wireField
	var seen uint32
	for len(b) > 0 {
		if b, ok = f.take(b); !ok || f.number != fieldMatch && !once(&seen, f.number) {
			return false
		}
		switch f.kind {
		case protowire.VarintType:
			ok = e.scalar(f.number, f.v)
		case protowire.BytesType:
			ok = e.message(f.number, f.b)
		default:
			return false
		}
		if !ok {
			return false
		}
	}
	return true
}

func (e *wireEntry) scalar(n protowire.Number, v uint64) bool {
	switch n {
	case fieldTable:
		e.table = uint32(v)
	case fieldPriority:
		e.priority = int32(v)
	case fieldCookie:
		e.cookie = v
	case fieldDefault:
		e.isDefault = v != 0
	case fieldConst:
		e.isConst = v != 0
	case fieldIdle:
		e.idle = int64(v)
	default:
		return false
	}
	return true
}

func (e *wireEntry) message(n protowire.Number, b []byte) bool {
	switch n {
	case fieldMatch:
		e.match = append(e.match, wireMatch{})
		return e.match[len(e.match)-1].decode(b)
	case fieldAction:
		return e.tableAction(b)
	case fieldMetadata:
		e.metadata = b
	case fieldMeter:
		e.meter = &p4.MeterConfig{}
		return known.Unmarshal(b, e.meter) == nil
	case fieldCounter:
		e.counter = &p4.CounterData{}
		return known.Unmarshal(b, e.counter) == nil
	case fieldMeterCounter:
		e.meterCounter = true
		return proto.Unmarshal(b, &p4.MeterCounterData{}) == nil
	case fieldLastHit:
		e.lastHit = true
		return proto.Unmarshal(b, &p4.TableEntry_IdleTimeout{}) == nil
	default:
		return false
	}
	return true
}

func (m *wireMatch) decode(b []byte) (ok bool) {
	var f wireField
	var seen uint32
	for len(b) > 0 {
		if b, ok = f.take(b); !ok || !once(&seen, f.number) {
			return false
		}
		if f.kind == protowire.VarintType && f.number == matchID {
			m.id = uint32(f.v)
			continue
		}
		if f.kind != protowire.BytesType || m.set {
			return false
		}
		m.set = true
		switch f.number {
		case matchExact:
			m.kind = bmv2.Exact
		case matchTernary:
			m.kind = bmv2.Ternary
		case matchLPM:
			m.kind = bmv2.LPM
		case matchRange:
			m.kind = bmv2.Range
		case matchOptional:
			m.kind = optional
		default:
			return false
		}
		if !m.value(f.b) {
			return false
		}
	}
	return true
}

// value decodes what is in an exact, ternary, LPM, range or optional match: field 1 is octets in all of them.
func (m *wireMatch) value(b []byte) (ok bool) {
	var f wireField
	var seen uint32
	for len(b) > 0 {
		if b, ok = f.take(b); !ok || !once(&seen, f.number) {
			return false
		}
		switch {
		case f.number == 1 && f.kind == protowire.BytesType:
			m.a = f.b
		case f.number == 2 && f.kind == protowire.BytesType && (m.kind == bmv2.Ternary || m.kind == bmv2.Range):
			m.b = f.b
		case f.number == 2 && f.kind == protowire.VarintType && m.kind == bmv2.LPM:
			m.prefix = int32(f.v)
		default:
			return false
		}
	}
	return true
}

// tableAction decodes a TableAction, in which an Action is field 1.
func (e *wireEntry) tableAction(b []byte) (ok bool) {
	e.action = emptyAction
	var f wireField
	for len(b) > 0 {
		if b, ok = f.take(b); !ok || e.action != emptyAction {
			return false
		}
		switch {
		case f.number == 1 && f.kind == protowire.BytesType:
			e.action = anAction
			if !e.actionCall(f.b) {
				return false
			}
		case f.number <= 3 && f.kind == protowire.VarintType && f.number > 1:
			e.action = otherAction
		case f.number == 4 && f.kind == protowire.BytesType:
			e.action = otherAction
			if proto.Unmarshal(f.b, &p4.ActionProfileActionSet{}) != nil {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// actionCall decodes an Action: its id is field 1, parameters are field 4.
func (e *wireEntry) actionCall(b []byte) (ok bool) {
	var f wireField
	var seen uint32
	for len(b) > 0 {
		if b, ok = f.take(b); !ok {
			return false
		}
		switch {
		case f.number == 1 && f.kind == protowire.VarintType && once(&seen, 1):
			e.actionID = uint32(f.v)
		case f.number == 4 && f.kind == protowire.BytesType:
			p := wireParam{}
			if !p.decode(f.b) {
				return false
			}
			e.params = append(e.params, p)
		default:
			return false
		}
	}
	return true
}

func (p *wireParam) decode(b []byte) (ok bool) {
	var f wireField
	var seen uint32
	for len(b) > 0 {
		if b, ok = f.take(b); !ok || !once(&seen, f.number) {
			return false
		}
		switch {
		case f.number == 2 && f.kind == protowire.VarintType:
			p.id = uint32(f.v)
		case f.number == 3 && f.kind == protowire.BytesType:
			p.value = f.b
		default:
			return false
		}
	}
	return true
}
