package n4

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// losses remembers of associations that have ended which Recovery Time Stamp their CP
// functions were sent last, if that was a newer one than the endpoint's own: what an
// address is sent never goes back. There are as many as associations may be; beyond
// that the oldest stamp goes.
type losses struct {
	mu   sync.Mutex
	list map[netip.Addr]loss
}

// loss is one of them. Its owner number is that of an association that has ended, and
// the id of its record.
type loss struct {
	stamp pfcp.TimeStamp
	owner uint32
}

// at returns the stamp of an address; 0: none.
func (l *losses) at(addr netip.Addr) pfcp.TimeStamp {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list[addr].stamp
}

// newest is the latest stamp of all; 0: none.
func (l *losses) newest() (t pfcp.TimeStamp) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range l.list {
		t = newest(t, of.stamp)
	}
	return t
}

// put remembers one and returns the owner number of what it takes the place of, or 0.
func (l *losses) put(addr netip.Addr, of loss, limit int) (gone uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old, ok := l.list[addr]
	if ok && !newer(of.stamp, old.stamp) {
		return of.owner
	}
	if !ok && len(l.list) >= limit {
		old = l.dropOldest()
	}
	if l.list == nil {
		l.list = make(map[netip.Addr]loss)
	}
	l.list[addr] = of
	return old.owner
}

// dropOldest forgets the one with the oldest stamp.
func (l *losses) dropOldest() (oldest loss) {
	var at netip.Addr
	for addr, of := range l.list {
		if !at.IsValid() || newer(oldest.stamp, of.stamp) || oldest.stamp == of.stamp && of.owner < oldest.owner {
			at, oldest = addr, of
		}
	}
	delete(l.list, at)
	return oldest
}

// take forgets that of an address, unless it is newer than stamp, and returns its owner
// number; 0: there is none.
func (l *losses) take(addr netip.Addr, stamp pfcp.TimeStamp) (owner uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of, ok := l.list[addr]
	if !ok || newer(of.stamp, stamp) {
		return 0
	}
	delete(l.list, addr)
	return of.owner
}

// rememberLoss is called before a, which is ending, is taken out of the table.
func (e *Endpoint) rememberLoss(a *association) {
	if a.lost == 0 {
		return
	}
	of := loss{a.lost, a.owner}
	e.store.Save(KindLoss, uint64(a.owner), of.record(a.addr))
	if gone := e.losses.put(a.addr, of, e.config.MaxAssociations); gone != 0 {
		e.store.Drop(KindLoss, uint64(gone))
	}
}

// takeLoss is called when a is in the table, which has what was remembered of its
// address, and is kept.
func (e *Endpoint) takeLoss(a *association) {
	if owner := e.losses.take(a.addr, a.lost); owner != 0 {
		e.store.Drop(KindLoss, uint64(owner))
	}
}

// record is what the store keeps of it.
func (l loss) record(addr netip.Addr) []byte {
	b := appendShort([]byte{recordVersion}, addr.AsSlice())
	return binary.BigEndian.AppendUint32(b, uint32(l.stamp))
}

// readLoss reads a record of kind KindLoss.
func readLoss(owner uint32, record []byte) (addr netip.Addr, l loss, err error) {
	r := recordReader{b: record}
	v := r.u8()
	addr, l = r.addr(), loss{pfcp.TimeStamp(r.u32()), owner}
	if v != recordVersion || r.bad || len(r.b) > 0 || !addr.IsValid() || l.stamp == 0 || owner == 0 {
		return addr, l, fmt.Errorf("loss %d, %x: %w", owner, record, errRecord)
	}
	return addr, l, nil
}

// restoreLoss takes a record of kind KindLoss.
func (e *Endpoint) restoreLoss(owner uint32, record []byte) error {
	addr, l, err := readLoss(owner, record)
	if err != nil {
		return err
	}
	e.peers.reserve(owner) // not to be the id of another one
	if gone := e.losses.put(addr, l, e.config.MaxAssociations); gone != 0 {
		e.store.Drop(KindLoss, uint64(gone))
	}
	return nil
}
