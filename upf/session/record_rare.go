package session

import "net/netip"

// How those parts of rules are written that few sessions have. Their lists are
// made anew when they are read, as sessions share them.

// list returns memory for n elements, each of which takes an octet or more, or nil
// if there cannot be so many.
func list[T any](r *reader, n uint64) []T {
	if n > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	if n == 0 {
		return nil
	}
	return make([]T, n)
}

// rarePDI writes what its numbers of elements say that there is.
func (w *writer) rarePDI(d *PDI) {
	for _, id := range d.MoreEndpoints {
		w.number(uint64(id))
	}
	w.prefixes(d.Framed)
	for i := range d.Ethernet {
		w.ethernet(&d.Ethernet[i])
	}
}

// rarePDI reads n[0] Traffic Endpoint IDs, n[1] prefixes and n[2] Ethernet filters.
func (r *reader) rarePDI(d *PDI, n []uint64) {
	d.MoreEndpoints = list[uint8](r, n[0])
	for i := range d.MoreEndpoints {
		d.MoreEndpoints[i] = narrow[uint8](r, r.number())
	}
	d.Framed = r.prefixes(n[1])
	d.Ethernet = list[EthernetFilter](r, n[2])
	for i := range d.Ethernet {
		r.ethernet(&d.Ethernet[i])
	}
}

func (w *writer) prefixes(list []netip.Prefix) {
	for _, p := range list {
		v := prefixNumbers(p)
		w.fields(v[:])
	}
}

func (r *reader) prefixes(n uint64) []netip.Prefix {
	out := list[netip.Prefix](r, n)
	for i := range out {
		var v [3]uint64
		r.fields(v[:])
		out[i] = numbersPrefix(r, v[:])
	}
	return out
}

func (w *writer) ethernet(f *EthernetFilter) {
	c, s := tagNumbers(f.CTAG), tagNumbers(f.STAG)
	w.fields([]uint64{
		plus1(f.ID), pack(f.Bidirectional, f.Reference), uint64(len(f.MACs)), uint64(f.Ethertype), c[0], c[1], s[0], s[1],
		uint64(len(f.Filters)),
	})
	for i := range f.MACs {
		m := &f.MACs[i]
		w.fields([]uint64{macNumber(m.Source), macNumber(m.Destination), macNumber(m.UpperSource), macNumber(m.UpperDestination)})
	}
	for i := range f.Filters {
		w.filter(&f.Filters[i])
	}
}

func (r *reader) ethernet(f *EthernetFilter) {
	var v [9]uint64
	r.fields(v[:])
	f.ID, f.Ethertype = minus1[uint32](r, v[0]), narrow[uint16](r, v[3])
	f.CTAG, f.STAG = numbersTag(r, v[4:6]), numbersTag(r, v[6:8])
	unpack(r, v[1], &f.Bidirectional, &f.Reference)
	f.MACs = list[MACs](r, v[2])
	for i := range f.MACs {
		var n [4]uint64
		r.fields(n[:])
		f.MACs[i] = MACs{numberMAC(r, n[0]), numberMAC(r, n[1]), numberMAC(r, n[2]), numberMAC(r, n[3])}
	}
	f.Filters = list[SDFFilter](r, v[8])
	for i := range f.Filters {
		r.filter(&f.Filters[i])
	}
}

// tagNumbers is what there is of a tag, with bit 3 set if there is one at all, and
// its values.
func tagNumbers(o Optional[VLANTag]) (v [2]uint64) {
	if !o.Present {
		return v
	}
	t := &o.Value
	v[0] = pack(t.VID.Present, t.PCP.Present, t.DEI.Present, true)
	v[1] = uint64(t.VID.Value) | uint64(t.PCP.Value)<<16 | pack(t.DEI.Value)<<24
	return v
}

func numbersTag(r *reader, v []uint64) Optional[VLANTag] {
	var t VLANTag
	var there bool
	unpack(r, v[0], &t.VID.Present, &t.PCP.Present, &t.DEI.Present, &there)
	t.VID.Value, t.PCP.Value = uint16(v[1]), uint8(v[1]>>16)
	unpack(r, v[1]>>24, &t.DEI.Value)
	if !there && v[0]|v[1] != 0 {
		r.fail()
	}
	return Optional[VLANTag]{Value: t, Present: there}
}

// macNumber is 0 for none.
func macNumber(o Optional[MAC]) uint64 {
	if !o.Present {
		return 0
	}
	v := uint64(1)
	for _, b := range o.Value {
		v = v<<8 | uint64(b)
	}
	return v
}

func numberMAC(r *reader, v uint64) (o Optional[MAC]) {
	if v == 0 {
		return o
	}
	if v>>48 != 1 {
		r.fail()
	}
	o.Present = true
	for i := range o.Value {
		o.Value[i] = byte(v >> (40 - 8*i))
	}
	return o
}

// rareFAR writes what its flags and its number of Duplicates say that there is.
func (w *writer) rareFAR(f *FAR) {
	p := &f.Forwarding
	if p.ForwardingPolicy != "" {
		w.name(p.ForwardingPolicy)
	}
	if to := p.Redirect; to != nil {
		high, low := ipv6Numbers(to.IPv6)
		w.fields([]uint64{pack(to.URL != ""), ipv4Number(to.IPv4), high, low})
		if to.URL != "" {
			w.name(to.URL)
		}
	}
	for i := range f.Duplicates {
		w.duplicate(&f.Duplicates[i])
	}
}

func (r *reader) rareFAR(f *FAR, flags, duplicates uint64) {
	p := &f.Forwarding
	var hasPolicy, hasRedirect bool
	unpack(r, flags, &hasPolicy, &hasRedirect, &p.ProxyARP, &p.ProxyND)
	r.some(pack(hasPolicy), &p.ForwardingPolicy)
	if hasRedirect && !r.bad {
		var v [4]uint64
		r.fields(v[:])
		p.Redirect = &Redirect{IPv4: numberIPv4(r, v[1]), IPv6: numbersIPv6(v[2], v[3])}
		r.some(v[0], &p.Redirect.URL)
	}
	f.Duplicates = list[Duplicate](r, duplicates)
	for i := range f.Duplicates {
		r.duplicate(&f.Duplicates[i])
	}
}

func (w *writer) duplicate(d *Duplicate) {
	o := &d.OuterHeaderCreation
	high, low := ipv6Numbers(o.IPv6)
	w.fields([]uint64{
		uint64(d.DestinationInterface), pack(d.HasDSCP, d.ForwardingPolicy != ""), uint64(d.DSCP), uint64(o.TEID), ipv4Number(o.IPv4),
		high, low, uint64(o.Encapsulation), uint64(o.Port), plus1(o.CTAG), plus1(o.STAG),
	})
	if d.ForwardingPolicy != "" {
		w.name(d.ForwardingPolicy)
	}
}

func (r *reader) duplicate(d *Duplicate) {
	var v [11]uint64
	r.fields(v[:])
	*d = Duplicate{
		DestinationInterface: Interface(narrow[uint8](r, v[0])), DSCP: narrow[uint8](r, v[2]),
		OuterHeaderCreation: OuterHeaderCreation{
			TEID: narrow[uint32](r, v[3]), IPv4: numberIPv4(r, v[4]), IPv6: numbersIPv6(v[5], v[6]),
			Encapsulation: Encapsulation(narrow[uint8](r, v[7])), Port: narrow[uint16](r, v[8]),
			CTAG: minus1[uint16](r, v[9]), STAG: minus1[uint16](r, v[10]),
		},
	}
	var hasPolicy bool
	unpack(r, v[1], &d.HasDSCP, &hasPolicy)
	r.some(pack(hasPolicy), &d.ForwardingPolicy)
}
