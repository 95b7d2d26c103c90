package random

import "github.com/plumbline-upf/plumbline/datapath/api"

// Rates in bit/s. The lowest are used up by three packets, the highest never.
var (
	rates     = []uint64{0, 0, 1000, 8000, 1_000_000, 100_000_000, 1_000_000_000_000}
	rateTimes = []uint32{1, 100, 1000, 3600_000}
)

func (m maker) qer(id uint32) *api.QER {
	q := &api.QER{Id: id, Qfi: pick(m.dice, uint32(0), 1, 5, 9), UplinkGateClosed: m.one(12), DownlinkGateClosed: m.one(12)}
	q.UplinkMbrBps, q.DownlinkMbrBps = pick(m.dice, rates...), pick(m.dice, rates...)
	if m.has.GetGbr() && m.one(3) {
		q.UplinkGbrBps, q.DownlinkGbrBps = pick(m.dice, rates...), pick(m.dice, rates...)
	}
	if m.has.GetPacketRate() && m.one(4) {
		q.UplinkPacketRate, q.DownlinkPacketRate = m.packetRate(), m.packetRate()
	}
	if m.has.GetMarking() {
		m.marks(q)
	}
	if m.one(6) { // all that share have the same rates, as the QERs of a slice
		return &api.QER{Id: id, Qfi: q.Qfi, UplinkMbrBps: 8000, DownlinkMbrBps: 1000, Shared: 7}
	}
	return q
}

func (m maker) packetRate() *api.PacketRate {
	if m.one(2) {
		return nil
	}
	return &api.PacketRate{Packets: uint32(1 + m.IntN(4)), TimeMs: pick(m.dice, rateTimes...)}
}

func (m maker) marks(q *api.QER) {
	q.Rqi = m.one(4)
	if m.one(4) {
		q.DownlinkTos, q.DownlinkTosMask = uint32(pick(m.dice, classes...)), pick(m.dice, uint32(0xfc), 0xff, 0xe0, 3)
	}
	if m.one(6) {
		q.ServiceClass = optional(uint32(m.IntN(3)))
	}
	if m.one(4) {
		q.PagingPolicy = optional(uint32(m.IntN(8)))
	}
}

func (m maker) urr(id uint32) *api.URR {
	u := &api.URR{Id: id, StartOfTraffic: m.one(3)}
	if m.one(2) {
		u.Threshold = m.volume()
	}
	if m.one(3) {
		u.Quota = m.volume()
	}
	u.MacAddresses = m.has.GetEthernet() && m.one(4)
	u.BeforeEnforcement = m.has.GetBeforeEnforcement() && m.one(3)
	if m.has.GetDroppedDownlink() && m.one(4) {
		u.DroppedDownlinkPackets, u.DroppedDownlinkOctets = uint64(m.IntN(3)), pick(m.dice, uint64(0), 1, 100)
	}
	return u
}

// volume is a limit that a few packets reach.
func (m maker) volume() *api.Volume {
	octets := func() uint64 { return pick(m.dice, uint64(0), 0, 60, 61, 120, 600, 3000) }
	return &api.Volume{Total: octets(), Uplink: octets(), Downlink: octets()}
}
