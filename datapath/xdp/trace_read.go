package xdp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/cilium/ebpf/ringbuf"

	"github.com/plumbline-upf/plumbline/datapath"
)

// read gives what the twins have written to the traces that want it.
func (t *tracer) read(ring *ringbuf.Reader, done chan struct{}) {
	defer close(done)
	var record ringbuf.Record
	err := t.d.readAll("the ring of traces", func() error {
		err := ring.ReadInto(&record)
		if err == nil {
			t.deliver(record.RawSample)
		}
		return err
	})
	if err != nil {
		t.d.log.Error("traces end", "error", err)
		go t.end() // which waits for us
	}
}

// deliver gives one record to its traces.
func (t *tracer) deliver(record []byte) {
	var h tracedTraceHead
	n, err := binary.Decode(record, binary.NativeEndian, &h)
	if err != nil || n+int(h.ArrivedSnap)+int(h.LeftSnap) > len(record) {
		return
	}
	frames := record[n:]
	arrived, left := frames[:h.ArrivedSnap], frames[h.ArrivedSnap:][:h.LeftSnap]
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, x := range t.traces {
		if x != nil && h.Wants>>i&1 != 0 && h.TimeNs >= x.since {
			x.put(t.packet(&h, x.clip(arrived), x.clip(left)))
		}
	}
}

// clip returns a copy of what the trace wants of a frame.
func (x *trace) clip(frame []byte) []byte { return bytes.Clone(frame[:min(len(frame), x.filter.Snap)]) }

// packet is a record as package datapath has it.
func (t *tracer) packet(h *tracedTraceHead, arrived, left []byte) *datapath.TracePacket {
	p := &datapath.TracePacket{
		At: wallClock(h.TimeNs), Took: time.Duration(h.TookNs), CPU: int(h.Cpu), Reason: datapath.Reason(h.Reason),
		TEID: h.Teid, PDRID: h.Pdr,
		Arrived: datapath.TraceFrame{Device: t.deviceName(h.ArrivedIfindex), Octets: int(h.ArrivedOctets), Data: arrived},
	}
	switch {
	case h.Key == 0:
	case h.Teid != 0:
		p.Key.TEID, p.Key.Local = h.Teid, datapath.LocalOf(t.d.cfg.Endpoints, uint32(h.Key>>32))
	case h.Version == 4:
		p.Key.IPv4 = uint32(h.Key)
	default:
		p.Key.IPv6 = h.Key
	}
	if h.LeftOctets > 0 {
		p.Left = datapath.TraceFrame{Device: t.deviceName(h.LeftIfindex), Octets: int(h.LeftOctets), Data: left}
	}
	return p
}

// wallClock is the time of day at a time of monotonic.
func wallClock(ns uint64) time.Time {
	return time.Now().Add(-time.Duration(monotonic() - ns))
}

func (t *tracer) deviceName(index uint32) string {
	for _, d := range append(t.d.ports.devices(), t.d.ports.n6Devices()...) {
		if d.index == int(index) {
			return d.name
		}
	}
	return fmt.Sprintf("if%d", index)
}
