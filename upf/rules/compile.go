package rules

import (
	"cmp"
	"math"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// IDs of what the UP function adds to a session: bit 32 of a QER ID is not the CP
// function's (TS 29.244 V18.6.0, 8.2.75), and a PDR ID has 16 bits.
const (
	maskPDR         = 0xffff
	shiftPredefined = 16 // the number of the predefined rule among those of its PDR, from 1
	shiftEndpoint   = 24 // the number of the Traffic Endpoint among the further ones of its PDR, from 1

	idUP         = 1 << 31
	idSlice      = idUP            // the QER with the rates of the slice
	idPredefined = idUP | 0x100000 // and above: the QERs of predefined rules
)

// compilation is one change and the memory for it, which is used again.
type compilation struct {
	change  api.Change
	session api.Session
	rules   boxes[rule]
	qers    boxes[qer]
	urrs    boxes[urr]
	bars    boxes[api.BAR]
	markers boxes[endMarker]
	extra   []uint32 // QER IDs of all rules: that of the slice, if it has one
}

// qer is a QER and what it points to.
type qer struct {
	api.QER
	fields qerFields
}

// boxes hands out pointers to values that it hands out again after a reset. They
// stay where they are.
type boxes[T any] struct {
	list []*T
	used int
}

func (b *boxes[T]) next() *T {
	if b.used == len(b.list) {
		b.list = append(b.list, new(T))
	}
	b.used++
	return b.list[b.used-1]
}

// compile returns the change as a datapath takes it, valid until the next one.
func (o *compilation) compile(ch *session.Change) *api.Change {
	s := ch.Session
	o.rules.used, o.qers.used, o.urrs.used, o.bars.used, o.markers.used = 0, 0, 0, 0, 0
	out := &o.session
	out.Seid, out.Slice, out.PduType = s.SEID, s.Slice, pduType(s.PDNType)
	out.Rules, out.Qers, out.Urrs, out.Bars = out.Rules[:0], out.Qers[:0], out.Urrs[:0], out.Bars[:0]
	o.slice(ch)
	for i := range s.PDRs {
		o.pdr(ch, &s.PDRs[i])
	}
	slices.SortStableFunc(out.Rules, func(a, b *api.Rule) int { return cmp.Compare(a.Precedence, b.Precedence) })
	for i := range s.QERs {
		if named(s, s.QERs[i].ID) {
			out.Qers = append(out.Qers, o.qer(s.QERs[i].ID, &s.QERs[i]))
		}
	}
	for i := range s.URRs {
		out.Urrs = append(out.Urrs, o.urrs.next().compile(&s.URRs[i]))
	}
	for i := range s.BARs {
		out.Bars = append(out.Bars, o.bar(&s.BARs[i]))
	}
	c := &o.change
	c.Seid, c.Session, c.DropBuffered, c.EndMarkers = s.SEID, out, ch.DropBuffered, c.EndMarkers[:0]
	for i := range ch.EndMarkers {
		c.EndMarkers = append(c.EndMarkers, o.markers.next().compile(&ch.EndMarkers[i]))
	}
	return c
}

// slice adds the QER of the session's slice, if it has rates.
func (o *compilation) slice(ch *session.Change) {
	o.extra = o.extra[:0]
	up, down := ch.SliceMeter()
	if up == 0 && down == 0 {
		return
	}
	q := &o.qers.next().QER
	q.Reset()
	q.Id, q.UplinkMbrBps, q.DownlinkMbrBps, q.Shared = idSlice, uint64(up), uint64(down), ch.Session.Slice
	o.session.Qers = append(o.session.Qers, q)
	o.extra = append(o.extra, idSlice)
}

// pduType is what the T-PDUs of a session of that PDN Type are.
func pduType(t session.PDNType) api.PDUType {
	switch t {
	case session.PDNTypeEth:
		return api.PDUType_ETHERNET
	case session.PDNTypeNonIP:
		return api.PDUType_UNSTRUCTURED
	}
	return api.PDUType_IP
}

// named reports whether a PDR names the QER.
func named(s *session.Session, id uint32) bool {
	return slices.ContainsFunc(s.PDRs, func(r session.PDR) bool { return slices.Contains(r.QERIDs, id) })
}

// pdr compiles a PDR and the predefined rules that are active for it.
func (o *compilation) pdr(ch *session.Change, p *session.PDR) {
	s := ch.Session
	filters, known := p.PDI.Filters, true
	if app := p.PDI.ApplicationID; app != "" {
		filters, known = ch.Flows(app)
	}
	forward, held, spent := forwarding(s, p)
	if known {
		r := o.rules.next()
		r.compile(p, uint32(p.ID), p.Precedence, filters)
		r.qers = append(append(r.qers[:0], p.QERIDs...), o.extra...)
		r.forward(forward, held, spent)
		o.add(s, p, r)
	}
	for i, name := range p.Predefined {
		d := ch.Predefined(name)
		if d == nil {
			continue // not configured any more since the session was established
		}
		r := o.rules.next()
		r.compile(p, uint32(p.ID)|uint32(i+1)<<shiftPredefined, d.Precedence, d.Filters)
		r.qers = r.qers[:0]
		if d.HasQER {
			id := idPredefined + uint32(o.qers.used)
			o.session.Qers = append(o.session.Qers, o.qer(id, &d.QER))
			r.qers = append(r.qers, id)
		} else {
			r.qers = append(r.qers, p.QERIDs...)
		}
		r.qers = append(r.qers, o.extra...)
		if d.Drop {
			r.forward(nil, false, false)
		} else {
			r.forward(forward, held, spent)
		}
		o.add(s, p, r)
	}
}

// add appends the rule, and of a PDR of several Traffic Endpoints one for each.
func (o *compilation) add(s *session.Session, p *session.PDR, r *rule) {
	r.Rule.QerIds = r.qers
	r.ethernet(s, &p.PDI)
	o.session.Rules = append(o.session.Rules, &r.Rule)
	for i, id := range p.PDI.MoreEndpoints {
		e := s.Endpoint(id)
		if e == nil {
			continue // the session was checked: there is one
		}
		more := o.rules.next()
		more.copy(r)
		more.PdrId |= uint32(i+1) << shiftEndpoint
		more.ends(e.NetworkInstance, &e.FTEID, &e.UEAddress, e.Framed)
		o.session.Rules = append(o.session.Rules, &more.Rule)
	}
}

// forwarding is the FAR by which packets of the PDR go; nil: they are dropped. If
// a quota is used up that is the FAR for Quota Action, if there is one: what is dropped
// then is dropped for the quota, whoever says so. Packets are held back while it is not
// complete.
// Source: TS 29.244 V18.6.0, 5.2.2.2.1.
func forwarding(s *session.Session, p *session.PDR) (far *session.FAR, held, spent bool) {
	if spent = s.Exhausted(p); !spent {
		if p.NoFAR {
			return nil, true, false
		}
		far = s.FAR(p.FARID)
	} else {
		for _, id := range p.URRIDs {
			if u := s.URR(id); far == nil && u != nil && u.State.Exhausted && u.QuotaFAR.Present {
				far = s.FAR(u.QuotaFAR.Value)
			}
		}
	}
	return far, far != nil && far.Incomplete(), spent
}

// qer makes a closed gate of an MBR of 0: no packet conforms to it, and to a
// datapath 0 means that there is no limit.
func (o *compilation) qer(id uint32, q *session.QER) *api.QER {
	box := o.qers.next()
	out := &box.QER
	box.fields.set(out, q)
	out.Id, out.Shared = id, 0
	out.UplinkMbrBps, out.DownlinkMbrBps = 0, 0
	if q.HasMBR {
		out.UplinkMbrBps, out.DownlinkMbrBps = finite(q.MBR.Uplink), finite(q.MBR.Downlink)
		out.UplinkGateClosed = out.UplinkGateClosed || q.MBR.Uplink == 0
		out.DownlinkGateClosed = out.DownlinkGateClosed || q.MBR.Downlink == 0
	}
	qerRare(out, q)
	return out
}

// finite is a rate as a datapath takes it: one that no link has is none. Open5GS's SMF
// sends a GBR of 4 Tbit/s for a flow that has none.
func finite(r session.BitsPerSecond) uint64 {
	if r > datapath.MaxMBR {
		return 0
	}
	return uint64(r)
}

func (o *compilation) bar(b *session.BAR) *api.BAR {
	out := o.bars.next()
	out.Id, out.NotificationDelayMs, out.Packets = uint32(b.ID), uint32(b.NotificationDelay.Milliseconds()), uint32(b.Packets)
	out.DurationMs = uint32(min(b.Duration.Milliseconds(), math.MaxUint32))
	return out
}

// urr is a URR with its limits.
type urr struct {
	api.URR
	threshold, quota api.Volume
}

func (u *urr) compile(from *session.URR) *api.URR {
	l := from.Limits()
	u.Id, u.StartOfTraffic = from.ID, l.StartOfTraffic
	u.BeforeEnforcement, u.MacAddresses = from.Information&session.InfoMBQE != 0, from.Triggers&session.ReportMACAR != 0
	u.DroppedDownlinkPackets, u.DroppedDownlinkOctets = l.Dropped.Packets, l.Dropped.Octets
	u.Threshold, u.Quota = limit(&u.threshold, l.Threshold), limit(&u.quota, l.Quota)
	return &u.URR
}

// limit returns nil if there is none.
func limit(out *api.Volume, v session.Volume) *api.Volume {
	if !v.HasTotal && !v.HasUplink && !v.HasDownlink {
		return nil
	}
	out.Total, out.Uplink, out.Downlink = 0, 0, 0
	if v.HasTotal {
		out.Total = v.Total
	}
	if v.HasUplink {
		out.Uplink = v.Uplink
	}
	if v.HasDownlink {
		out.Downlink = v.Downlink
	}
	return out
}
