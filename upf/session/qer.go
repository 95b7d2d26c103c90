package session

// BitsPerSecond is a rate of user packets, counted from their IP header on.
type BitsPerSecond uint64

// Rate is a pair of rates, one each way.
type Rate struct {
	Uplink, Downlink BitsPerSecond
}

// QER is a QoS Enforcement Rule.
// Source: TS 29.244 V18.6.0, 7.5.2.5.
type QER struct {
	ID                 uint32 `record:"0"`
	UplinkGateClosed   bool   `record:"1.0" api:"UplinkGateClosed"`
	DownlinkGateClosed bool   `record:"1.1" api:"DownlinkGateClosed"`
	QFI                uint8  `record:"2" api:"Qfi"` // 1 to 63, marked into downlink packets; 0: none
	HasMBR             bool   `record:"1.2"`
	HasGBR             bool   `record:"1.3"`
	MBR                Rate   `record:"3 4"`
	GBR                Rate   `record:"5 6"`
	// UplinkPackets and DownlinkPackets are the Packet Rate.
	UplinkPackets   PacketRate `record:"7 8"`
	DownlinkPackets PacketRate `record:"9 10"`
	// RQI is set in downlink packets: Reflective QoS.
	RQI bool `record:"11.0" api:"Rqi"`
	// PagingPolicy is marked into downlink packets: PPI, 0 to 7.
	PagingPolicy Optional[uint8] `record:"12" api:"PagingPolicy"`
	// DL Flow Level Marking: ToS or Traffic Class of the outer header of downlink
	// packets under a mask, 0 for none; Service Class Indicator.
	// Source: TS 29.244 V18.6.0, 8.2.66.
	TOS          uint8           `record:"13" api:"DownlinkTos"`
	TOSMask      uint8           `record:"14" api:"DownlinkTosMask"`
	ServiceClass Optional[uint8] `record:"15" api:"ServiceClass"`
}

// PacketRate is how many packets may pass in a time; TimeMs 0: any number.
// Source: TS 29.244 V18.6.0, 8.2.63.
type PacketRate struct {
	Packets uint16
	TimeMs  uint32
}

// GateStatus is the state of both gates.
// Source: TS 29.244 V18.6.0, 8.2.7.
type GateStatus struct {
	UplinkClosed, DownlinkClosed bool
}

// UpdateQER changes those parts of a QER that it has.
// Source: TS 29.244 V18.6.0, 7.5.4.5.
type UpdateQER struct {
	ID       uint32
	Gates    Optional[GateStatus]
	MBR, GBR Optional[Rate]
	QFI      Optional[uint8]
	// Packets is the Packet Rate, uplink and downlink; without limits: none any more.
	Packets      Optional[[2]PacketRate]
	RQI          Optional[bool]
	PagingPolicy Optional[uint8]
	Marking      Optional[FlowMarking] // the zero value: none any more
	// Parameters that hold no longer.
	RemoveMBR, RemoveGBR, RemovePagingPolicy bool
}

// FlowMarking is a DL Flow Level Marking.
type FlowMarking struct {
	TOS, TOSMask uint8
	ServiceClass Optional[uint8]
}

// apply changes q as u says.
func (u *UpdateQER) apply(q *QER) {
	if u.Gates.Present {
		q.UplinkGateClosed, q.DownlinkGateClosed = u.Gates.Value.UplinkClosed, u.Gates.Value.DownlinkClosed
	}
	if u.MBR.Present {
		q.HasMBR, q.MBR = true, u.MBR.Value
	}
	if u.GBR.Present {
		q.HasGBR, q.GBR = true, u.GBR.Value
	}
	if u.RemoveMBR {
		q.HasMBR, q.MBR = false, Rate{}
	}
	if u.RemoveGBR {
		q.HasGBR, q.GBR = false, Rate{}
	}
	set(&q.QFI, u.QFI)
	set(&q.RQI, u.RQI)
	if u.Packets.Present {
		q.UplinkPackets, q.DownlinkPackets = u.Packets.Value[0], u.Packets.Value[1]
	}
	if u.PagingPolicy.Present || u.RemovePagingPolicy {
		q.PagingPolicy = u.PagingPolicy
	}
	if m := u.Marking; m.Present {
		q.TOS, q.TOSMask, q.ServiceClass = m.Value.TOS, m.Value.TOSMask, m.Value.ServiceClass
	}
}
