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
	ID                 uint32
	UplinkGateClosed   bool
	DownlinkGateClosed bool
	QFI                uint8 // 1 to 63, marked into downlink packets; 0: none
	HasMBR, HasGBR     bool
	MBR, GBR           Rate
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
	// Parameters that hold no longer.
	RemoveMBR, RemoveGBR bool
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
}
