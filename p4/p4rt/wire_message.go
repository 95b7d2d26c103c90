package p4rt

import (
	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// updates are those of a request: octets, or messages from inside the process.
type updates struct {
	octets   [][]byte
	messages []*p4.Update
}

func (u *updates) len() int { return len(u.octets) + len(u.messages) }

// decode takes update i apart. What e has refers to the update.
func (u *updates) decode(i int, to *update, e *wireEntry) *failure {
	if u.octets != nil {
		return to.decode(u.octets[i], e)
	}
	return to.read(u.messages[i], e)
}

// read is decode for a message.
func (u *update) read(m *p4.Update, e *wireEntry) *failure {
	*u = update{kind: m.GetType()}
	if t, ok := m.GetEntity().GetEntity().(*p4.Entity_TableEntry); ok {
		u.entry = true
		return e.read(t.TableEntry)
	}
	if m.GetEntity() != nil {
		u.entity = proto.CloneOf(m.GetEntity()) // a part of it may be kept
	}
	return nil
}

// read is decode for a message.
func (e *wireEntry) read(t *p4.TableEntry) *failure {
	if why := e.readKey(t); why != nil {
		return why
	}
	e.cookie, e.metadata = t.GetControllerMetadata(), t.GetMetadata() //nolint:staticcheck // older controllers use it
	e.isDefault, e.isConst, e.idle = t.GetIsDefaultAction(), t.GetIsConst(), t.GetIdleTimeoutNs()
	e.lastHit, e.meterCounter = t.GetTimeSinceLastHit() != nil, t.GetMeterCounterData() != nil
	e.meter, e.counter = t.GetMeterConfig(), t.GetCounterData()
	if t.GetAction() == nil {
		return nil
	}
	switch a := t.GetAction().GetType().(type) {
	case nil:
		e.action = emptyAction
	case *p4.TableAction_Action:
		e.action, e.actionID = anAction, a.Action.GetActionId()
		for _, p := range a.Action.GetParams() {
			e.params = append(e.params, wireParam{p.GetParamId(), p.GetValue()})
		}
	default:
		e.action = otherAction
	}
	return nil
}

// readKey takes what says which entry it is.
func (e *wireEntry) readKey(t *p4.TableEntry) *failure {
	e.reset()
	e.table, e.priority = t.GetTableId(), t.GetPriority()
	for _, m := range t.GetMatch() {
		w := wireMatch{id: m.GetFieldId(), set: true}
		switch x := m.GetFieldMatchType().(type) {
		case nil:
			w.set = false
		case *p4.FieldMatch_Exact_:
			w.kind, w.a = bmv2.Exact, x.Exact.GetValue()
		case *p4.FieldMatch_Ternary_:
			w.kind, w.a, w.b = bmv2.Ternary, x.Ternary.GetValue(), x.Ternary.GetMask()
		case *p4.FieldMatch_Lpm:
			w.kind, w.a, w.prefix = bmv2.LPM, x.Lpm.GetValue(), x.Lpm.GetPrefixLen()
		case *p4.FieldMatch_Range_:
			w.kind, w.a, w.b = bmv2.Range, x.Range.GetLow(), x.Range.GetHigh()
		case *p4.FieldMatch_Optional_:
			w.kind, w.a = optional, x.Optional.GetValue()
		default:
			return unimplemented("match type of another architecture")
		}
		e.match = append(e.match, w)
	}
	return nil
}
