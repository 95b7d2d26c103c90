package n4

import (
	"plumbline/pfcp"
	"plumbline/session"
)

func (c *converter) createQER(out *session.QER, q *pfcp.CreateQER) {
	*out = session.QER{
		ID:               q.QERID,
		UplinkGateClosed: q.GateStatus.UplinkClosed, DownlinkGateClosed: q.GateStatus.DownlinkClosed,
		QFI: uint8(q.QFI.Value), HasMBR: q.MBR.Present, HasGBR: q.GBR.Present,
		MBR: bitRate(q.MBR.Value), GBR: bitRate(q.GBR.Value),
	}
	if q.QERCorrelationID.Present {
		c.refuseRule(session.RuleQER, q.QERID, pfcp.IEQERCorrelationID)
	}
	if q.RQI.Value {
		c.refuseRule(session.RuleQER, q.QERID, pfcp.IERQI)
	}
	c.refuseRule(session.RuleQER, q.QERID, q.Noted)
}

func (c *converter) updateQER(out *session.UpdateQER, q *pfcp.UpdateQER) {
	*out = session.UpdateQER{ID: q.QERID}
	if q.GateStatus.Present {
		out.Gates = session.Some(session.GateStatus(q.GateStatus.Value))
	}
	if q.MBR.Present {
		out.MBR = session.Some(bitRate(q.MBR.Value))
	}
	if q.GBR.Present {
		out.GBR = session.Some(bitRate(q.GBR.Value))
	}
	if q.QFI.Present {
		out.QFI = session.Some(uint8(q.QFI.Value))
	}
	if q.QERCorrelationID.Present {
		c.refuseRule(session.RuleQER, q.QERID, pfcp.IEQERCorrelationID)
	}
	if q.RQI.Value {
		c.refuseRule(session.RuleQER, q.QERID, pfcp.IERQI)
	}
	for _, ie := range q.Removed {
		switch ie {
		case pfcp.IEMBR:
			out.RemoveMBR = true
		case pfcp.IEGBR:
			out.RemoveGBR = true
		case pfcp.IEQFI:
			out.QFI = session.Some(uint8(0))
		case pfcp.IEAveragingWindow, pfcp.IERQI, pfcp.IEPagingPolicyIndicator, pfcp.IEQERCorrelationID:
			// There is nothing of it that could end.
		default:
			c.refuseRule(session.RuleQER, q.QERID, ie)
		}
	}
	c.refuseRule(session.RuleQER, q.QERID, q.Noted)
}

// bitRate converts kbit/s, which are 40 bits, to bit/s.
func bitRate(r pfcp.BitRates) session.Rate {
	return session.Rate{
		Uplink:   session.BitsPerSecond(r.UplinkKbps) * 1000,
		Downlink: session.BitsPerSecond(r.DownlinkKbps) * 1000,
	}
}
