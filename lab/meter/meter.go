package meter

import (
	"errors"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plumbline/lab/generator"
	"plumbline/lab/topology"
)

// Config describes a meter.
type Config struct {
	// Port is where the frames arrive: N6.Peer for uplink, N3.Peer for downlink.
	Port topology.Port

	// N3 has the addresses that outer headers must carry downlink.
	N3 topology.Link

	Direction generator.Direction
	Run       uint32 // frames of other runs are passed on to the kernel
	Streams   int    // number of streams, from 0; default 1

	// Bed accepts frames as the generator sent them: GTP-U uplink, plain IP
	// downlink. It is for measuring the bed limit.
	Bed bool
}

// Kind is a way in which a delivered frame can be wrong.
type Kind uint8

// Snapshot is what a meter has seen since it was attached or reset.
type Snapshot struct {
	Streams []Stream
}

// Stream is what arrived of one generator.
type Stream struct {
	Received       uint64 // distinct frames, misdelivered ones included
	ReceivedOctets uint64 // of these, Ethernet header included
	Duplicated     uint64 // further arrivals of a frame that was already received
	Reordered      uint64 // of Received: arrived after one that was sent later (RFC 4737, 3.3)
	Stale          uint64 // arrivals too late to tell late from duplicated; 0 in a sound measurement

	// Misdelivered counts frames of Received that are wrong, each once, under
	// the first wrong thing found.
	Misdelivered map[Kind]uint64

	FirstNs, LastNs uint64 // arrivals, CLOCK_MONOTONIC; 0 if none

	FromIntended *hdrhistogram.Histogram // latency in ns since the intended send time
	FromSent     *hdrhistogram.Histogram // latency in ns since the real send time
}

// Meter is attached to a device.
type Meter struct{}

// Attach puts a meter on a port, in native mode.
func Attach(c Config) (*Meter, error) { return nil, errors.New("meter: under construction") }

// Read returns what was counted so far.
func (m *Meter) Read() (*Snapshot, error) { return nil, errors.New("meter: under construction") }

// Reset sets every count to zero. No frame may be on its way.
func (m *Meter) Reset() error { return nil }

// Close takes the meter off its device.
func (m *Meter) Close() error { return nil }
