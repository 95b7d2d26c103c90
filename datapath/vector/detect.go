package vector

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// find asks where the records of the packets are, and then for both lines of each of
// them: that all are on their way from memory at once is what vectors are for.
func (w *Worker) find(n int) {
	for i := range n {
		k := &w.works[i]
		if k.table != nil {
			k.record = k.table.home(k.key)
		}
	}
	for i := range n {
		if r := w.works[i].record; r != nil {
			w.sink += r.key + uint64(r.one[0].flags)
			if r.more != nil {
				w.sink++
			}
		}
	}
}

// detect finds the PDR of each packet: the first one of its key that matches, or why
// none does. Whatever it is not sure of is the model's.
func (w *Worker) detect(n int) {
	for i := range n {
		k := &w.works[i]
		if k.table == nil || k.key == 0 { // which nobody can have
			continue
		}
		if k.record == nil || k.record.key != k.key {
			k.record = w.elsewhere(k)
		}
		if k.record == nil {
			continue
		}
		if k.rule, k.reason = w.match(k); k.rule != nil {
			w.touch(k.rule)
		}
	}
}

// elsewhere returns the record of a packet whose key is not at home: it is a guest's,
// or within a framed route; nil: it is nobody's.
func (w *Worker) elsewhere(k *work) *record {
	if len(k.table.guests) > 0 {
		if r := k.table.guests[k.key]; r != nil {
			return r
		}
	}
	if k.header == 0 && len(w.e.tables.routes) > 0 {
		return w.e.tables.longest(destination(k.user()))
	}
	return nil
}

// touch has what a rule needs come from memory.
func (w *Worker) touch(r *rule) {
	w.sink += stages.Touch(r.counters, r.first.meter, r.first.volume)
}

// match returns the PDR of a packet whose record is found, or why it has none; neither:
// the model has to say.
func (w *Worker) match(k *work) (*rule, datapath.Reason) {
	r := k.record
	if len(r.rules) <= longList {
		return r.detect(k, &fields{}, false)
	}
	var f fields
	if !f.read(k.user()) {
		return nil, datapath.ReasonNone
	}
	known, ok := w.flowOf(r.more, k, &f)
	if !ok {
		known.rule, known.reason = r.detect(k, &f, true)
	}
	return known.rule, known.reason
}

// detect returns the first PDR that matches; if none does, why not: the reason is that
// of the one that came nearest, as in package model. Nothing: the model has to say. f
// is what filters look at, if it has been read.
func (r *record) detect(k *work, f *fields, read bool) (*rule, datapath.Reason) {
	nearest := datapath.DropNetwork
	for i := range r.rules {
		one := &r.rules[i]
		if one.has(undetected) {
			return nil, datapath.ReasonNone
		}
		if k.header == 0 && one.network != 0 && int(one.network) != k.packet.Network {
			continue
		}
		if nearest == datapath.DropNetwork {
			nearest = datapath.DropUEAddress
		}
		switch {
		case one.has(address) && !one.matchUE(k):
			continue
		case one.qfis != 0 && (k.qfi < 0 || one.qfis>>k.qfi&1 == 0):
			nearest = max(nearest, datapath.DropQFI)
			continue
		case !one.has(filtered):
			return one, datapath.ReasonNone
		}
		if !read {
			if !f.read(k.user()) {
				return nil, datapath.ReasonNone
			}
			read = true
		}
		if one.matchFilters(f) {
			return one, datapath.ReasonNone
		}
		nearest = datapath.DropSDFFilter
	}
	return nil, nearest
}

func (r *rule) matchFilters(f *fields) bool {
	all := *r.sdf
	for i := range all {
		if all[i].match(f, r.has(uplink)) {
			return true
		}
	}
	return false
}

// matchUE compares the UE IP address, and the framed routes.
func (r *rule) matchUE(k *work) bool {
	ue := k.dst
	if r.has(uplink) {
		ue = k.src
	}
	if k.v6 && r.ue6 != 0 && r.ue6 == ue || !k.v6 && r.ue4 != 0 && uint64(r.ue4) == ue {
		return true
	}
	return r.has(routed) && r.inRoutes(k)
}

func (r *rule) inRoutes(k *work) bool {
	a := destination(k.user())
	if r.has(uplink) {
		a = source(k.user())
	}
	for _, p := range r.model[0].Routes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
