package p4

import "github.com/plumbline-upf/plumbline/datapath/stages"

// limits are the meters of a rule in the target.
type limits struct {
	own    [2]*stages.Meter // the second one only beside the first
	shared *stages.Meter    // with other sessions, as that of a slice
}

// limitsOf returns those of a rule; ok: the pipeline has no more to ask.
//
// A meter that sessions share is one for those that the target forwards, and another one for those
// that the CPU does.
func limitsOf(r *stages.Rule) (l limits, ok bool) {
	n := 0
	for _, one := range r.Limits {
		switch {
		case one.GBR != nil, one.Packets != nil:
			return limits{}, false
		case one.MBR == nil:
		case one.Shared && l.shared == nil:
			l.shared = one.MBR
		case !one.Shared && n < len(l.own):
			l.own[n] = one.MBR
			n++
		default:
			return limits{}, false
		}
	}
	return l, true
}

// share is the rate of a meter that sessions share, in a direction.
type share struct {
	uplink          bool
	unit, tolerance uint64
}

// takeBuckets gives a rule's meters cells, and returns what its entry says of them; ok: there
// was room.
func (o *offload) takeBuckets(sl *slot, l limits, uplink bool) (params [7]uint64, ok bool) {
	for i, m := range l.own {
		if m == nil {
			break
		}
		index := o.buckets.take(m)
		if index == 0 {
			o.giveBuckets(sl)
			return params, false
		}
		sl.limits.own[i] = m
		unit, tolerance := m.Rate()
		params[3*i], params[3*i+1], params[3*i+2] = uint64(index), unit, tolerance
	}
	if m := l.shared; m != nil {
		index := o.shares.take(m)
		if index == 0 {
			o.giveBuckets(sl)
			return params, false
		}
		sl.limits.shared, params[6] = m, uint64(index)
		now := share{uplink: uplink}
		now.unit, now.tolerance = m.Rate()
		if one := o.shares.of[m]; one.share != now {
			one.share, o.unlinked = now, true
		}
	}
	return params, true
}

func (o *offload) giveBuckets(sl *slot) {
	for _, m := range sl.limits.own {
		if m != nil {
			o.buckets.give(m)
		}
	}
	if m := sl.limits.shared; m != nil {
		if o.shares.give(m); o.shares.of[m] == nil {
			o.unlinked = true
		}
	}
	sl.limits = limits{}
}

// sharesInUse returns the rates of meters that sessions share, by the numbers of their cells.
func (o *offload) sharesInUse() map[uint32]share {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := map[uint32]share{}
	for _, one := range o.shares.of {
		all[one.index] = one.share
	}
	return all
}

// buckets are the cells of the target's MBR meters. A cell keeps what it has seen, and nobody
// can reset it over P4Runtime on every target: so one that is given back rests until that is in
// the past.
type buckets struct {
	most, next uint32
	of         map[*stages.Meter]*bucket
	resting    []resting
	now        func() uint64 // ns
}

type bucket struct {
	index uint32
	users int
	share share // of a meter that sessions share: as it was when it was linked last
}

type resting struct {
	index uint32
	until uint64
}

// clear is for a target whose cells have seen nothing.
func (b *buckets) clear() {
	b.next, b.resting = 0, nil
	clear(b.of)
}

// take returns the cell of a meter; 0: there is none.
func (b *buckets) take(m *stages.Meter) uint32 {
	one := b.of[m]
	if one == nil {
		one = &bucket{}
		switch {
		case len(b.resting) > 0 && b.resting[0].until <= b.now():
			one.index, b.resting = b.resting[0].index, b.resting[1:]
		case b.next < b.most:
			b.next++
			one.index = b.next
		default:
			return 0
		}
		b.of[m] = one
	}
	one.users++
	return one.index
}

// give ends one use of a meter's cell.
func (b *buckets) give(m *stages.Meter) {
	one := b.of[m]
	if one.users--; one.users > 0 {
		return
	}
	delete(b.of, m)
	unit, tolerance := m.Rate()
	const maxPacket = 65535
	ahead := tolerance>>8 + unit*maxPacket>>24 + 1 // ns: as far as one packet may have brought it
	b.resting = append(b.resting, resting{one.index, b.now() + ahead})
}
