package bearer

import (
	"time"

	"github.com/plumbline-upf/plumbline/ran/radio/rlc"
)

const (
	// QueueTime is the maximum queueing time of packets if the UE has the cell for itself: this is
	// added to a round trip under overload. It is more than twice the round trip of an idle cell, so
	// that TCP that halves its window does not run dry.
	QueueTime = 50 * time.Millisecond
	// ConfirmTime is the time for which AM keeps sent data, at the rate of the cell, until the peer
	// acknowledges it: t-Reassembly twice, and the transit of status reports and retransmissions.
	ConfirmTime = 150 * time.Millisecond
)

const (
	// leastOctets wait in any cell: what a TCP connection begins with. Source: RFC 6928, 2
	// (10 segments).
	leastOctets = 16 * 1500
	// packetOctets is the packet size at which the limits of packets and of octets coincide; smaller
	// packets are limited in number.
	packetOctets = 256
	// mostPackets is the window of RLC AM and of PDCP.
	mostPackets = 1 << 17
)

// room is how much an end keeps.
type room struct{ octets, packets int }

// newRoom is that for what is sent at a rate, in bit/s, for some time.
func newRoom(rate float64, d time.Duration) room {
	octets := max(int(rate/8*d.Seconds()), leastOctets)
	return room{octets: octets, packets: min(octets/packetOctets, mostPackets)}
}

// rates are the send and the receive rate of the end.
func (c *Config) rates() (out, in float64) {
	if c.UE {
		return c.Uplink, c.Downlink
	}
	return c.Downlink, c.Uplink
}

// newQueue is where packets wait and, in AM, stay until they are confirmed.
func (c *Config) newQueue(confirmed bool) *rlc.Queue {
	out, _ := c.rates()
	waiting := newRoom(out, QueueTime)
	if !confirmed {
		return rlc.NewQueue(waiting.octets, 0, waiting.packets)
	}
	all := newRoom(out, QueueTime+ConfirmTime)
	return rlc.NewQueue(waiting.octets, max(all.octets-waiting.octets, leastOctets), all.packets)
}

// held is how much waits in PDCP for packets before it. In AM that is still in the queue of
// the peer, so there is never more of it.
func (c *Config) held(confirmed bool) room {
	_, in := c.rates()
	if !confirmed {
		return newRoom(in, c.Reordering)
	}
	r := newRoom(in, QueueTime+ConfirmTime)
	r.octets += leastOctets + rlc.MaxSDU
	return r
}
