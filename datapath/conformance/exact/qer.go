package exact

import (
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// limits are the meters of a QER in one direction; nil: there is none.
type limits struct{ mbr, gbr, packets *Meter }

func limitsOf(q *api.QER, source api.Interface, burst time.Duration) limits {
	var l limits
	if bps := datapath.MBR(q, source); bps != 0 {
		l.mbr = NewMBR(bps, burst)
	}
	if bps := datapath.GBR(q, source); bps != 0 {
		l.gbr = NewMBR(bps, burst)
	}
	if r := datapath.PacketRate(q, source); r != nil {
		l.packets = NewPacketRate(r)
	}
	return l
}

func (l limits) all() []*Meter {
	return slices.DeleteFunc([]*Meter{l.mbr, l.gbr, l.packets}, func(m *Meter) bool { return m == nil })
}

// become makes l what next is. What is new has seen nothing.
func (l *limits) become(next limits) {
	for _, m := range []struct{ was, is **Meter }{{&l.mbr, &next.mbr}, {&l.gbr, &next.gbr}, {&l.packets, &next.packets}} {
		if *m.was != nil && *m.is != nil {
			(*m.was).Become(*m.is)
			*m.is = *m.was
		}
	}
	*l = next
}

// sure reports whether a datapath has no choice what to do with a packet.
func sure(all []*limits) bool {
	for _, l := range all {
		for _, m := range l.all() {
			if _, ok := m.Conforms(); !ok {
				return false
			}
		}
	}
	return true
}

// admit says what becomes of a packet of a PDR with these QERs, and charges it to
// all of their meters or to none.
//
// Source: TS 29.244 V18.6.0, 5.4.4, 8.2.8 (MBR), 8.2.9 (GBR), 8.2.63 (Packet Rate);
// docs/architecture.md, Choices: several QERs, GBR.
func admit(all []*limits, octets int) datapath.Reason {
	conforms := func(m *Meter) bool {
		if m == nil {
			return false
		}
		ok, _ := m.Conforms()
		return ok
	}
	guaranteed := 0
	for _, l := range all {
		if l.packets != nil && !conforms(l.packets) {
			return datapath.DropPacketRate
		}
		if conforms(l.gbr) {
			guaranteed++
		}
	}
	// lifted: by the GBR of another QER.
	lifted := func(l *limits) bool { return guaranteed > 1 || guaranteed == 1 && !conforms(l.gbr) }
	for _, l := range all {
		if l.mbr != nil && !conforms(l.mbr) && !lifted(l) {
			return datapath.DropMBR
		}
	}
	for _, l := range all {
		if l.packets != nil {
			l.packets.Take(octets)
		}
		if conforms(l.gbr) {
			l.gbr.Take(octets)
		}
		if l.mbr != nil {
			l.mbr.Force(octets)
		}
	}
	return datapath.ReasonNone
}
