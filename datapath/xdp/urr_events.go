package xdp

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/cilium/ebpf/ringbuf"

	"plumbline/api"
)

// Bits of struct urr_event, as in bpf/rules.h.
var urrEvents = []struct {
	bit  uint32
	kind api.EventKind
}{
	{1, api.EventKind_START_OF_TRAFFIC},
	{2, api.EventKind_VOLUME_THRESHOLD},
	{4, api.EventKind_VOLUME_QUOTA},
}

// startURREvents passes on what the programs tell of URRs.
func (d *Driver) startURREvents() error {
	ring, err := ringbuf.NewReader(d.objs.UrrEvents)
	if err != nil {
		return fmt.Errorf("xdp: ring of URR events: %w", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var record ringbuf.Record
		d.ending.fail(d.readAll("the ring of URR events", func() error {
			err := ring.ReadInto(&record)
			if err == nil {
				d.postURREvents(record.RawSample)
			}
			return err
		}))
	}()
	d.detach = append(d.detach, func() error {
		err := ring.Close()
		<-done
		return err
	})
	return nil
}

// postURREvents posts those of one record.
func (d *Driver) postURREvents(record []byte) {
	if len(record) < 8 {
		return
	}
	slot, bits := binary.NativeEndian.Uint32(record), binary.NativeEndian.Uint32(record[4:])
	d.mu.RLock()
	defer d.mu.RUnlock()
	if int(slot) >= len(d.urrs.slots) {
		return
	}
	seid := atomic.LoadUint64(&d.urrs.owners.slots[slot].Seid)
	if seid == 0 {
		return // removed meanwhile
	}
	for _, e := range urrEvents {
		if bits&e.bit != 0 {
			d.events.Post(&api.Event{Kind: e.kind, Seid: seid, RuleId: atomic.LoadUint32(&d.urrs.slots[slot].Id)})
		}
	}
}
