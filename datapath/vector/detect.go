package vector

import "plumbline/datapath/model"

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

// detect finds the PDR of each packet: the first one of its key that matches. Whatever
// it is not sure of is the model's.
func (w *Worker) detect(n int) {
	for i := range n {
		k := &w.works[i]
		if k.table == nil {
			continue
		}
		record := k.record
		if record == nil || record.key != k.key {
			if len(k.table.guests) == 0 {
				continue
			}
			if record = k.table.guests[k.key]; record == nil {
				continue
			}
		}
		if r := record.detect(k); r != nil {
			k.rule = r
			w.touch(r)
		}
	}
}

// touch has what a rule needs come from memory.
func (w *Worker) touch(r *rule) {
	w.sink += model.Touch(r.counters, r.first.meter, r.first.volume)
}

func (r *record) detect(k *work) *rule {
	var f fields
	read := false
	for i := range r.rules {
		one := &r.rules[i]
		switch {
		case one.has(undetected):
			return nil
		case k.header == 0 && one.network != 0 && int(one.network) != k.packet.Network,
			one.has(address) && !one.matchUE(k),
			one.qfis != 0 && (k.qfi < 0 || one.qfis>>k.qfi&1 == 0):
			continue
		case !one.has(filtered):
			return one
		}
		if !read {
			if !f.read(k.user()) {
				return nil
			}
			read = true
		}
		for j := range one.sdf {
			if one.sdf[j].match(&f, one.has(uplink)) {
				return one
			}
		}
	}
	return nil
}

// matchUE compares the UE IP address.
func (r *rule) matchUE(k *work) bool {
	ue := k.dst
	if r.has(uplink) {
		ue = k.src
	}
	if k.v6 {
		return r.ue6 != 0 && r.ue6 == ue
	}
	return r.ue4 != 0 && uint64(r.ue4) == ue
}
