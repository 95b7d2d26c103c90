package n4

import (
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

func (c *converter) createQER(out *session.QER, q *pfcp.CreateQER) {
	*out = session.QER{
		ID:               q.QERID,
		UplinkGateClosed: q.GateStatus.UplinkClosed, DownlinkGateClosed: q.GateStatus.DownlinkClosed,
		QFI: uint8(q.QFI.Value), HasMBR: q.MBR.Present, HasGBR: q.GBR.Present,
		MBR: bitRate(q.MBR.Value), GBR: bitRate(q.GBR.Value),
		RQI: q.RQI.Value, PagingPolicy: optional(q.PagingPolicyIndicator),
	}
	if q.PacketRate.Present {
		r := c.packetRate(q.QERID, &q.PacketRate.Value)
		out.UplinkPackets, out.DownlinkPackets = r[0], r[1]
	}
	if q.DLFlowLevelMarking.Present {
		m := flowMarking(&q.DLFlowLevelMarking.Value)
		out.TOS, out.TOSMask, out.ServiceClass = m.TOS, m.TOSMask, m.ServiceClass
	}
	if q.QERCorrelationID.Present {
		c.refuseRule(session.RuleQER, q.QERID, pfcp.IEQERCorrelationID)
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
	out.RQI, out.PagingPolicy = optional(q.RQI), optional(q.PagingPolicyIndicator)
	if q.PacketRate.Present {
		out.Packets = session.Some(c.packetRate(q.QERID, &q.PacketRate.Value))
	}
	if q.DLFlowLevelMarking.Present {
		out.Marking = session.Some(flowMarking(&q.DLFlowLevelMarking.Value))
	}
	for _, ie := range q.Removed {
		switch ie {
		case pfcp.IEMBR:
			out.RemoveMBR = true
		case pfcp.IEGBR:
			out.RemoveGBR = true
		case pfcp.IEQFI:
			out.QFI = session.Some(uint8(0))
		case pfcp.IERQI:
			out.RQI = session.Some(false)
		case pfcp.IEPagingPolicyIndicator:
			out.RemovePagingPolicy = true
		case pfcp.IEPacketRate:
			out.Packets = session.Some([2]session.PacketRate{})
		case pfcp.IEDLFlowLevelMarking:
			out.Marking = session.Some(session.FlowMarking{})
		case pfcp.IEAveragingWindow, pfcp.IEQERCorrelationID:
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

// packetRate converts the Packet Rate, uplink and downlink. Additional rates are for
// exception reports, of which packets say nothing; they are refused.
// Source: TS 29.244 V18.6.0, 8.2.63.
func (c *converter) packetRate(qer uint32, r *pfcp.PacketRate) [2]session.PacketRate {
	if r.AdditionalUplink.Present || r.AdditionalDownlink.Present {
		c.refuseRule(session.RuleQER, qer, pfcp.IEPacketRate)
	}
	return [2]session.PacketRate{packetLimit(r.Uplink), packetLimit(r.Downlink)}
}

// packetUnitMs is the length of the time units, in ms. Others are minutes.
var packetUnitMs = [...]uint32{60_000, 6 * 60_000, 3600_000, 24 * 3600_000, 7 * 24 * 3600_000}

func packetLimit(l pfcp.Optional[pfcp.PacketLimit]) session.PacketRate {
	if !l.Present {
		return session.PacketRate{}
	}
	unit := packetUnitMs[0]
	if int(l.Value.Unit) < len(packetUnitMs) {
		unit = packetUnitMs[l.Value.Unit]
	}
	return session.PacketRate{Packets: l.Value.Packets, TimeMs: unit}
}

// flowMarking converts a DL Flow Level Marking. The Service Class Indicator is octets 2
// and 3 of the GTP-U extension header, of which the second is spare.
// Source: TS 29.244 V18.6.0, 8.2.66; TS 29.281, 5.2.2.3.
func flowMarking(m *pfcp.DLFlowLevelMarking) session.FlowMarking {
	t := m.TrafficClass.Value
	out := session.FlowMarking{TOS: t.Value & t.Mask, TOSMask: t.Mask}
	if m.ServiceClassIndicator.Present {
		out.ServiceClass = session.Some(uint8(m.ServiceClassIndicator.Value >> 8))
	}
	return out
}
