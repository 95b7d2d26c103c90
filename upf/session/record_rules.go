package session

import (
	"encoding/binary"
	"time"
)

// How each rule is written: what stands at which place of its numbers. A new
// number goes to the end; one that means something else needs another version.

func (w *writer) csid(c *FQCSID) {
	high, low := ipv6Numbers(c.Node)
	w.fields([]uint64{uint64(c.IDType), high, low, uint64(c.CSID), uint64(c.NodeType)})
}

func (r *reader) csid(c *FQCSID) {
	var v [5]uint64
	r.fields(v[:])
	*c = FQCSID{
		NodeType: narrow[uint8](r, v[4]), IDType: narrow[uint8](r, v[0]), Node: numbersIPv6(v[1], v[2]),
		CSID: narrow[uint16](r, v[3]),
	}
}

func (w *writer) pdr(p *PDR) {
	d := &p.PDI
	high, low := ipv6Numbers(d.FTEID.IPv6)
	w.fields([]uint64{
		uint64(p.ID), uint64(p.Precedence), uint64(p.FARID), uint64(d.SourceInterface),
		pack(p.OuterHeaderRemoval, d.Choose.CH, d.Choose.CHID, d.Choose.V4, d.Choose.V6, d.ChooseUE.V4, d.ChooseUE.V6),
		uint64(len(p.QERIDs)), uint64(len(p.URRIDs)),
		uint64(d.FTEID.TEID), ipv4Number(d.FTEID.IPv4), ipv4Number(d.UEAddress.IPv4),
		pack(d.NetworkInstance != "", d.ApplicationID != "", d.ChooseUE.Pool != ""),
		uint64(len(d.Filters)), uint64(len(p.Predefined)), uint64(d.QFIs),
		binary.BigEndian.Uint64(d.UEAddress.IPv6Prefix[:]), high, low, plus1(d.Endpoint), uint64(d.Choose.ID),
		uint64(p.Unwrap), pack(d.EthernetSession, d.Inherits, p.NoFAR, p.DropsContainer), uint64(len(d.MoreEndpoints)), uint64(len(d.Framed)),
		uint64(len(d.Ethernet)), plus1(d.InterfaceType),
	})
	for _, s := range [...]string{d.NetworkInstance, d.ApplicationID, d.ChooseUE.Pool} {
		if s != "" {
			w.name(s)
		}
	}
	w.ids(p.QERIDs)
	w.ids(p.URRIDs)
	for _, s := range p.Predefined {
		w.name(s)
	}
	for i := range d.Filters {
		w.filter(&d.Filters[i])
	}
	w.rarePDI(d)
}

func (r *reader) pdr(p *PDR) {
	var v [25]uint64
	r.fields(v[:])
	d := &p.PDI
	*p = PDR{
		ID: narrow[uint16](r, v[0]), Precedence: narrow[uint32](r, v[1]), FARID: narrow[uint32](r, v[2]),
		QERIDs: p.QERIDs[:0], URRIDs: p.URRIDs[:0], Predefined: p.Predefined[:0], Unwrap: Unwrap(narrow[uint8](r, v[19])),
		PDI: PDI{
			SourceInterface: Interface(narrow[uint8](r, v[3])),
			FTEID:           FTEID{TEID: narrow[uint32](r, v[7]), IPv4: numberIPv4(r, v[8]), IPv6: numbersIPv6(v[15], v[16])},
			UEAddress:       UEAddress{IPv4: numberIPv4(r, v[9])}, InterfaceType: minus1[InterfaceType](r, v[24]),
			QFIs: QFISet(v[13]), Endpoint: minus1[uint8](r, v[17]), Filters: d.Filters[:0],
		},
	}
	d.Choose.ID = narrow[uint8](r, v[18])
	binary.BigEndian.PutUint64(d.UEAddress.IPv6Prefix[:], v[14])
	unpack(r, v[4], &p.OuterHeaderRemoval, &d.Choose.CH, &d.Choose.CHID, &d.Choose.V4, &d.Choose.V6,
		&d.ChooseUE.V4, &d.ChooseUE.V6)
	unpack(r, v[20], &d.EthernetSession, &d.Inherits, &p.NoFAR, &p.DropsContainer)
	r.some(v[10], &d.NetworkInstance, &d.ApplicationID, &d.ChooseUE.Pool)
	p.QERIDs, p.URRIDs = r.ids(p.QERIDs, v[5]), r.ids(p.URRIDs, v[6])
	for n := v[12]; n > 0 && !r.bad; n-- {
		p.Predefined = append(p.Predefined, r.name())
	}
	for n := v[11]; n > 0 && !r.bad; n-- {
		r.filter(next(&d.Filters))
	}
	r.rarePDI(d, v[21:24])
}

// some reads those names whose bits are set.
func (r *reader) some(mask uint64, list ...*string) {
	if mask>>len(list) != 0 {
		r.fail()
	}
	for i, s := range list {
		if mask>>i&1 == 0 {
			continue
		}
		if *s = r.name(); *s == "" {
			r.fail()
		}
	}
}

func (w *writer) far(f *FAR) {
	p := &f.Forwarding
	o := &p.OuterHeaderCreation
	high, low := ipv6Numbers(o.IPv6)
	w.fields([]uint64{
		uint64(f.ID), uint64(f.ApplyAction), pack(f.HasForwarding, p.HasDSCP, p.NetworkInstance != ""),
		uint64(p.DestinationInterface), uint64(o.TEID), ipv4Number(o.IPv4), uint64(p.DSCP), plus1(f.BARID),
		plus1(p.Endpoint), high, low,
		uint64(o.Encapsulation), uint64(o.Port), plus1(o.CTAG), plus1(o.STAG),
		pack(p.ForwardingPolicy != "", p.Redirect != nil, p.ProxyARP, p.ProxyND), uint64(len(f.Duplicates)),
		plus1(p.InterfaceType),
	})
	if p.NetworkInstance != "" {
		w.name(p.NetworkInstance)
	}
	w.rareFAR(f)
}

func (r *reader) far(f *FAR) {
	var v [18]uint64
	r.fields(v[:])
	*f = FAR{
		ID: narrow[uint32](r, v[0]), ApplyAction: ApplyAction(narrow[uint16](r, v[1])), BARID: minus1[uint8](r, v[7]),
		Forwarding: ForwardingParameters{
			DestinationInterface: Interface(narrow[uint8](r, v[3])),
			OuterHeaderCreation: OuterHeaderCreation{
				TEID: narrow[uint32](r, v[4]), IPv4: numberIPv4(r, v[5]), IPv6: numbersIPv6(v[9], v[10]),
				Encapsulation: Encapsulation(narrow[uint8](r, v[11])), Port: narrow[uint16](r, v[12]),
				CTAG: minus1[uint16](r, v[13]), STAG: minus1[uint16](r, v[14]),
			},
			DSCP: narrow[uint8](r, v[6]), Endpoint: minus1[uint8](r, v[8]), InterfaceType: minus1[InterfaceType](r, v[17]),
		},
	}
	var hasInstance bool
	unpack(r, v[2], &f.HasForwarding, &f.Forwarding.HasDSCP, &hasInstance)
	r.some(pack(hasInstance), &f.Forwarding.NetworkInstance)
	r.rareFAR(f, v[15], v[16])
}

func (w *writer) qer(q *QER) {
	w.fields([]uint64{
		uint64(q.ID), pack(q.UplinkGateClosed, q.DownlinkGateClosed, q.HasMBR, q.HasGBR), uint64(q.QFI),
		uint64(q.MBR.Uplink), uint64(q.MBR.Downlink), uint64(q.GBR.Uplink), uint64(q.GBR.Downlink),
		uint64(q.UplinkPackets.Packets), uint64(q.UplinkPackets.TimeMs),
		uint64(q.DownlinkPackets.Packets), uint64(q.DownlinkPackets.TimeMs),
		pack(q.RQI), plus1(q.PagingPolicy), uint64(q.TOS), uint64(q.TOSMask), plus1(q.ServiceClass),
	})
}

func (r *reader) qer(q *QER) {
	var v [16]uint64
	r.fields(v[:])
	*q = QER{
		ID: narrow[uint32](r, v[0]), QFI: narrow[uint8](r, v[2]),
		MBR: Rate{BitsPerSecond(v[3]), BitsPerSecond(v[4])}, GBR: Rate{BitsPerSecond(v[5]), BitsPerSecond(v[6])},
		UplinkPackets:   PacketRate{narrow[uint16](r, v[7]), narrow[uint32](r, v[8])},
		DownlinkPackets: PacketRate{narrow[uint16](r, v[9]), narrow[uint32](r, v[10])},
		PagingPolicy:    minus1[uint8](r, v[12]), TOS: narrow[uint8](r, v[13]), TOSMask: narrow[uint8](r, v[14]),
		ServiceClass: minus1[uint8](r, v[15]),
	}
	unpack(r, v[11], &q.RQI)
	unpack(r, v[1], &q.UplinkGateClosed, &q.DownlinkGateClosed, &q.HasMBR, &q.HasGBR)
}

func (w *writer) bar(b *BAR) {
	w.fields([]uint64{uint64(b.ID), uint64(b.NotificationDelay), uint64(b.Packets), uint64(b.Duration)})
}

func (r *reader) bar(b *BAR) {
	var v [4]uint64
	r.fields(v[:])
	*b = BAR{
		ID: narrow[uint8](r, v[0]), NotificationDelay: time.Duration(v[1]), Packets: narrow[uint16](r, v[2]),
		Duration: time.Duration(v[3]),
	}
}

func (w *writer) endpoint(e *TrafficEndpoint) {
	high, low := ipv6Numbers(e.FTEID.IPv6)
	w.fields([]uint64{
		uint64(e.ID),
		pack(e.Choose.CH, e.Choose.CHID, e.Choose.V4, e.Choose.V6, e.ChooseUE.V4, e.ChooseUE.V6),
		uint64(e.FTEID.TEID), ipv4Number(e.FTEID.IPv4), ipv4Number(e.UEAddress.IPv4),
		pack(e.NetworkInstance != "", e.ChooseUE.Pool != ""), uint64(e.QFIs),
		binary.BigEndian.Uint64(e.UEAddress.IPv6Prefix[:]), high, low, uint64(e.Choose.ID),
		pack(e.EthernetSession), uint64(len(e.Framed)), plus1(e.InterfaceType),
	})
	for _, s := range [...]string{e.NetworkInstance, e.ChooseUE.Pool} {
		if s != "" {
			w.name(s)
		}
	}
	w.prefixes(e.Framed)
}

func (r *reader) endpoint(e *TrafficEndpoint) {
	var v [14]uint64
	r.fields(v[:])
	*e = TrafficEndpoint{
		ID:        narrow[uint8](r, v[0]),
		FTEID:     FTEID{TEID: narrow[uint32](r, v[2]), IPv4: numberIPv4(r, v[3]), IPv6: numbersIPv6(v[8], v[9])},
		UEAddress: UEAddress{IPv4: numberIPv4(r, v[4])}, QFIs: QFISet(v[6]),
		InterfaceType: minus1[InterfaceType](r, v[13]),
	}
	e.Choose.ID = narrow[uint8](r, v[10])
	binary.BigEndian.PutUint64(e.UEAddress.IPv6Prefix[:], v[7])
	unpack(r, v[1], &e.Choose.CH, &e.Choose.CHID, &e.Choose.V4, &e.Choose.V6, &e.ChooseUE.V4, &e.ChooseUE.V6)
	r.some(v[5], &e.NetworkInstance, &e.ChooseUE.Pool)
	unpack(r, v[11], &e.EthernetSession)
	e.Framed = r.prefixes(v[12])
}
