package p4rt

import (
	"math"

	info "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// scratch is memory for an entry in the executor's words; it is used again for the next one.
type scratch struct {
	entry   bmv2.Entry
	match   []bmv2.Match
	params  [][]byte
	counter bmv2.CounterValue
	meter   bmv2.MeterConfig
}

// key makes the match and the priority of a wire entry those of an entry of t.
func (s *scratch) key(t *table, w *wireEntry) *failure {
	if cap(s.match) < len(t.fields) {
		s.match = make([]bmv2.Match, len(t.fields))
	}
	s.match = s.match[:len(t.fields)]
	clear(s.match)
	for i := range w.match {
		m := &w.match[i]
		at := t.field(m.id)
		switch {
		case at < 0:
			return invalid("table %s: there is no match field with id %d", t.name, m.id)
		case s.match[at].Value != nil:
			return invalid("table %s: match field %s comes twice", t.name, t.fields[at].name)
		}
		if why := t.fields[at].resolve(t.name, m, &s.match[at]); why != nil {
			return why
		}
	}
	for i := range t.fields {
		if t.fields[i].kind == bmv2.Exact && s.match[i].Value == nil {
			return invalid("table %s: match field %s is exact and left out", t.name, t.fields[i].name)
		}
	}
	s.entry = bmv2.Entry{Match: s.match, Priority: w.priority}
	return nil
}

// priorityOf checks that there is one where one is needed, and none elsewhere. Source: P4Runtime Specification v1.4.1, 9.1.
func (t *table) priorityOf(w *wireEntry) *failure {
	switch {
	case t.priority && w.priority <= 0:
		return invalid("table %s: priority %d: want one greater than 0, since its key has a ternary, range or optional field", t.name, w.priority)
	case !t.priority && w.priority != 0:
		return invalid("table %s: priority %d: want 0, since its key is exact or LPM", t.name, w.priority)
	}
	return nil
}

// resolve makes m what out is for the field. Source: P4Runtime Specification v1.4.1, 9.1.1.
func (f *field) resolve(table string, m *wireMatch, out *bmv2.Match) *failure {
	if !m.set || m.kind != f.kind {
		return invalid("table %s: match field %s: want a match of type %s", table, f.name, kindNames[f.kind])
	}
	value, ok := number(m.a, f.width)
	if !ok {
		return invalid("table %s: match field %s: value %x: want a number of at most %d bits", table, f.name, clip(m.a), f.width)
	}
	out.Value = value
	switch f.kind {
	case optional:
		out.Mask = f.ones
	case bmv2.LPM:
		switch {
		case m.prefix <= 0 || int(m.prefix) > f.width:
			return invalid("table %s: match field %s: prefix length %d: want 1 to %d; what matches anything is left out", table, f.name, m.prefix, f.width)
		case !isZero(value) && trailingZeros(value) < f.width-int(m.prefix):
			return invalid("table %s: match field %s: value %x has bits behind its prefix of %d", table, f.name, value, m.prefix)
		}
		out.PrefixLen = int(m.prefix)
	case bmv2.Ternary:
		mask, ok := number(m.b, f.width)
		switch {
		case !ok:
			return invalid("table %s: match field %s: mask %x: want a number of at most %d bits", table, f.name, clip(m.b), f.width)
		case isZero(mask):
			return invalid("table %s: match field %s: mask 0: what matches anything is left out", table, f.name)
		case !within(value, mask):
			return invalid("table %s: match field %s: value %x has bits outside of its mask %x", table, f.name, value, mask)
		}
		out.Mask = mask
	case bmv2.Range:
		high, ok := number(m.b, f.width)
		switch {
		case !ok:
			return invalid("table %s: match field %s: high %x: want a number of at most %d bits", table, f.name, clip(m.b), f.width)
		case greater(value, high):
			return invalid("table %s: match field %s: low %x is greater than high %x", table, f.name, value, high)
		case isZero(value) && allOnes(high, f.width):
			return invalid("table %s: match field %s: the range has all values: what matches anything is left out", table, f.name)
		}
		out.High = high
	}
	return nil
}

// action makes the action of a wire entry that of the entry. Source: P4Runtime Specification v1.4.1, 9.1.2.
func (s *scratch) action(t *table, w *wireEntry) *failure {
	switch w.action {
	case anAction:
	case otherAction:
		return invalid("table %s: it has no action profile", t.name)
	default:
		return invalid("table %s: no action", t.name)
	}
	a := t.action(w.actionID)
	switch {
	case a == nil:
		return invalid("table %s: it has no action with id %#x", t.name, w.actionID)
	case a.scope == info.ActionRef_TABLE_ONLY && w.isDefault:
		return fail(codes.PermissionDenied, "table %s: action %s is for entries only", t.name, a.name)
	case a.scope == info.ActionRef_DEFAULT_ONLY && !w.isDefault:
		return fail(codes.PermissionDenied, "table %s: action %s is for the default entry only", t.name, a.name)
	case len(w.params) != len(a.params):
		return invalid("action %s: %d parameters: want %d", a.name, len(w.params), len(a.params))
	}
	if cap(s.params) < len(a.params) {
		s.params = make([][]byte, len(a.params))
	}
	s.params = s.params[:len(a.params)]
	clear(s.params)
	for i := range w.params {
		p := &w.params[i]
		at := a.param(p.id)
		switch {
		case at < 0:
			return invalid("action %s: there is no parameter with id %d", a.name, p.id)
		case s.params[at] != nil:
			return invalid("action %s: parameter %s comes twice", a.name, a.params[at].name)
		}
		v, ok := number(p.value, a.params[at].width)
		if !ok {
			return invalid("action %s: parameter %s: value %x: want a number of at most %d bits", a.name, a.params[at].name, clip(p.value), a.params[at].width)
		}
		s.params[at] = v
	}
	s.entry.Action, s.entry.Params = a.index, s.params
	return nil
}

// direct makes the counter and the meter of a wire entry those of the entry. Source: P4Runtime Specification v1.4.1, 9.1.7.
func (s *scratch) direct(t *table, w *wireEntry) *failure {
	switch {
	case w.meterCounter:
		return unimplemented("table %s: counters of colours", t.name)
	case w.counter != nil && !t.counter:
		return invalid("table %s: counter_data: it has no direct counter", t.name)
	case w.meter != nil && t.meter == nil:
		return invalid("table %s: meter_config: it has no direct meter", t.name)
	}
	s.entry.Counter, s.entry.Meter = nil, nil
	if w.counter != nil {
		v, why := counterValue(w.counter)
		if why != nil {
			return why
		}
		s.counter = v
		s.entry.Counter = &s.counter
	}
	if w.meter != nil {
		c, why := meterConfig(w.meter, t.meter)
		if why != nil {
			return why
		}
		s.meter = c
		s.entry.Meter = &s.meter
	}
	return nil
}

func counterValue(d *p4.CounterData) (bmv2.CounterValue, *failure) {
	if d.GetByteCount() < 0 || d.GetPacketCount() < 0 {
		return bmv2.CounterValue{}, invalid("counter: %d octets, %d packets: want none below 0", d.GetByteCount(), d.GetPacketCount())
	}
	return bmv2.CounterValue{Packets: uint64(d.GetPacketCount()), Octets: uint64(d.GetByteCount())}, nil
}

func counterData(v bmv2.CounterValue) *p4.CounterData {
	d := &p4.CounterData{}
	setCounterData(d, v)
	return d
}

func setCounterData(d *p4.CounterData, v bmv2.CounterValue) {
	d.ByteCount, d.PacketCount = int64(min(v.Octets, math.MaxInt64)), int64(min(v.Packets, math.MaxInt64))
}

// meterConfig checks the rates and bursts of a meter. Source: P4Runtime Specification v1.4.1, 9.4.
func meterConfig(c *p4.MeterConfig, spec *info.MeterSpec) (bmv2.MeterConfig, *failure) {
	switch {
	case min(c.GetCir(), c.GetCburst(), c.GetPir(), c.GetPburst(), c.GetEburst()) < 0:
		return bmv2.MeterConfig{}, invalid("meter: a rate or burst is below 0")
	case c.GetEburst() != 0:
		return bmv2.MeterConfig{}, invalid("meter: eburst %d: want none, since it has not one rate and three colours", c.GetEburst())
	case spec.GetType() == info.MeterSpec_SINGLE_RATE_TWO_COLOR && (c.GetPir() != c.GetCir() || c.GetPburst() != c.GetCburst()):
		return bmv2.MeterConfig{}, invalid("meter: want pir and pburst as cir and cburst, since it has one rate and two colours")
	}
	return bmv2.MeterConfig{CIR: uint64(c.GetCir()), CBurst: uint64(c.GetCburst()), PIR: uint64(c.GetPir()), PBurst: uint64(c.GetPburst())}, nil
}

func meterData(c bmv2.MeterConfig) *p4.MeterConfig {
	return &p4.MeterConfig{Cir: int64(c.CIR), Cburst: int64(c.CBurst), Pir: int64(c.PIR), Pburst: int64(c.PBurst)}
}
