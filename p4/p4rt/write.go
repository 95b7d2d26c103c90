package p4rt

import (
	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
)

// chunk is how many updates are done in one update of the executor, in which frames wait: of a batch that need not be
// atomic.
const chunk = 256

// batch does the updates of a request. Its memory is used again for the next request.
type batch struct {
	p    *pipeline
	tx   Tx
	wire wireEntry
	new  scratch

	keep bool       // whether what undoes an update is kept
	undo []func(Tx) // in the order of the updates
}

// write does updates and says which were refused; nil: none.
func (b *batch) write(p *pipeline, all *updates, atomicity p4.WriteRequest_Atomicity) (why failures) {
	b.p, b.keep, b.undo = p, atomicity != p4.WriteRequest_CONTINUE_ON_ERROR, nil
	defer func() { b.p, b.tx, b.undo = nil, nil, nil }()
	n, most := all.len(), chunk
	if atomicity == p4.WriteRequest_DATAPLANE_ATOMIC {
		most = max(n, 1)
	}
	for first := 0; first < n && (why == nil || !b.keep); first += most {
		p.state.Update(func(tx Tx) {
			b.tx = tx
			for i := first; i < min(first+most, n); i++ {
				if f := b.update(all, i); f != nil {
					why.set(i, n, f)
					if b.keep {
						break
					}
				}
			}
			if why != nil && atomicity == p4.WriteRequest_DATAPLANE_ATOMIC {
				b.rollBack(tx)
			}
		})
	}
	if why != nil && b.keep {
		p.state.Update(b.rollBack)
		for i := range why {
			if why[i] == nil {
				why[i] = fail(codes.Aborted, "not done, or undone, since another update of the batch was refused")
			}
		}
	}
	return why
}

// rollBack undoes what was done.
func (b *batch) rollBack(tx Tx) {
	for i := len(b.undo) - 1; i >= 0; i-- {
		b.undo[i](tx)
	}
	b.undo = nil
}

// onError keeps what undoes the update.
func (b *batch) onError(f func(tx Tx)) { b.undo = append(b.undo, f) }

// update does one update. What is refused has changed nothing.
func (b *batch) update(all *updates, i int) *failure {
	var u update
	if why := all.decode(i, &u, &b.wire); why != nil {
		return why
	}
	switch u.kind {
	case p4.Update_INSERT, p4.Update_MODIFY, p4.Update_DELETE:
	default:
		return invalid("update: type %v: want INSERT, MODIFY or DELETE", u.kind)
	}
	if u.entry {
		return b.tableEntry(u.kind)
	}
	switch x := u.entity.GetEntity().(type) {
	case *p4.Entity_DirectCounterEntry:
		return b.directCounter(u.kind, x.DirectCounterEntry)
	case *p4.Entity_DirectMeterEntry:
		return b.directMeter(u.kind, x.DirectMeterEntry)
	case *p4.Entity_CounterEntry:
		return b.counter(u.kind, x.CounterEntry)
	case *p4.Entity_MeterEntry:
		return b.meter(u.kind, x.MeterEntry)
	case *p4.Entity_RegisterEntry:
		return b.register(u.kind, x.RegisterEntry)
	case *p4.Entity_PacketReplicationEngineEntry:
		return b.replication(u.kind, x.PacketReplicationEngineEntry)
	case *p4.Entity_DigestEntry:
		return b.digest(u.kind, x.DigestEntry)
	case nil:
		return invalid("update: no entity")
	}
	return notHere(u.entity)
}

// notHere refuses the entities that are not implemented.
func notHere(e *p4.Entity) *failure {
	switch e.GetEntity().(type) {
	case *p4.Entity_ActionProfileMember, *p4.Entity_ActionProfileGroup:
		return unimplemented("action profiles are not implemented")
	case *p4.Entity_ValueSetEntry:
		return unimplemented("value sets are not implemented")
	case *p4.Entity_ExternEntry:
		return unimplemented("externs of other architectures are not implemented")
	}
	return unimplemented("entity %T is not implemented", e.GetEntity())
}

// table finds a table by its id.
func (p *pipeline) table(id uint32) (*table, *failure) {
	if t := p.tableByID[id]; t != nil {
		return t, nil
	}
	return nil, invalid("there is no table with id %#x", id)
}
