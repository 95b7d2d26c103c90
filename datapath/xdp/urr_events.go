package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/cilium/ebpf/ringbuf"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// urrEvents are the bits of struct urr_event.
var urrEvents = []struct {
	bit  uint32
	kind api.EventKind
}{
	{urrEventStart, api.EventKind_START_OF_TRAFFIC},
	{urrEventThreshold, api.EventKind_VOLUME_THRESHOLD},
	{urrEventQuota, api.EventKind_VOLUME_QUOTA},
}

// owedInterval is how often events are looked for that the ring had no room for,
// if it is not read empty before, when they are too.
const owedInterval = time.Second

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
			ring.SetDeadline(time.Now().Add(owedInterval))
			err := ring.ReadInto(&record)
			switch {
			case errors.Is(err, os.ErrDeadlineExceeded):
				d.postOwed()
				return nil
			case err != nil:
				return err
			}
			d.postURRRecord(record.RawSample)
			if record.Remaining == 0 {
				d.postOwed()
			}
			return nil
		}))
	}()
	d.detach = append(d.detach, func() error {
		err := ring.Close()
		<-done
		return err
	})
	return nil
}

// postURRRecord posts what one record tells.
func (d *Driver) postURRRecord(record []byte) {
	if len(record) >= 8 {
		d.postURREvents(binary.NativeEndian.Uint32(record), binary.NativeEndian.Uint32(record[4:]))
	}
}

// postURREvents posts events of the URR in a slot.
func (d *Driver) postURREvents(slot, bits uint32) {
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
			d.events.Post(&api.Event{Kind: e.kind, Seid: seid, RuleId: atomic.LoadUint32(&d.urrs.volume(slot).Id)})
		}
	}
}

// postOwed posts the events for which the ring had no room. Slot 0 says whether
// there are any; it is cleared first, so that what comes meanwhile is found by the
// next look.
func (d *Driver) postOwed() {
	slots := d.urrs.slots // there until the reader has ended
	if atomic.LoadUint32(&slots[0].Urr.Flags) == 0 {
		return
	}
	atomic.StoreUint32(&slots[0].Urr.Flags, 0)
	for slot := uint32(1); slot < uint32(len(slots)); slot++ {
		flags := &slots[slot].Urr.Flags
		if atomic.LoadUint32(flags)&stages.FlagsOwed != 0 {
			owed := atomic.AndUint32(flags, ^uint32(stages.FlagsOwed)) & stages.FlagsOwed
			d.postURREvents(slot, owed>>stages.OwedShift)
		}
	}
}
