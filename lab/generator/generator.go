package generator

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"plumbline/lab/topology"
)

// Direction is the way that frames take through the UPF.
type Direction uint8

// Directions.
const (
	Uplink   Direction = 1 // N3 to N6: GTP-U leaves the generator
	Downlink Direction = 2 // N6 to N3: plain IP leaves the generator
)

// Access says which session each frame belongs to.
type Access uint8

// Access patterns.
const (
	Same    Access = iota // the first session only
	Uniform               // each session equally likely, independently
	Zipf                  // the r-th most popular session in proportion to 1/r^s
)

// Session is what the generator must know of a PDU session.
type Session struct {
	// TEID of the G-PDUs: uplink the UPF's, which the frames carry; downlink the
	// gNB's, which the meter expects.
	TEID uint32
	UE   netip.Addr // IPv4 or IPv6; the same family for all of a generator
	QFI  uint8      // 0 to 63
}

// Config describes a generator.
type Config struct {
	// Link is N3 for uplink, N6 for downlink. Frames leave by its Peer.
	Link topology.Link
	Direction

	Run    uint32 // identifies the run; the meter takes frames of its run only
	Stream uint16 // identifies the generator within the run, from 0

	// Server is the address that the UEs talk to, of their family.
	Server netip.Addr

	PayloadOctets int // of the inner UDP datagram: StampOctets at least
	Sessions      []Session
	Access        Access
	ZipfExponent  float64 // s of Zipf; default 1
	Seed          uint64  // of the access pattern

	// Batch is the number of frames per flush, 1 to 256; default 64 at most
	// rate, fewer when paced.
	Batch int
}

// Load is what one run of a generator shall send.
type Load struct {
	Rate     uint64        // frames per second; 0: as many as possible
	Duration time.Duration // ends the run; 0: no limit
	Frames   uint64        // ends the run; 0: no limit
	CPU      int           // to run on; -1: any
}

// Result is what one run of a generator did send.
type Result struct {
	Intended   uint64        // frames that were due before the end; Sent if the rate is 0
	Sent       uint64        // frames handed to the device
	SentOctets uint64        // of these, Ethernet header included, FCS not
	Elapsed    time.Duration // from the first intended send time to the end
}

// Generator sends frames of one direction. Its methods are for one goroutine.
type Generator struct{}

// New loads a generator. It sends nothing until Run.
func New(c Config) (*Generator, error) { return nil, errors.New("generator: under construction") }

// Run sends the load and returns when it is done or ctx is. Sequence numbers go
// on from one run to the next.
func (g *Generator) Run(ctx context.Context, l Load) (Result, error) {
	return Result{}, errors.New("generator: under construction")
}

// FrameOctets returns the length of the frames, Ethernet header included, FCS not.
func (g *Generator) FrameOctets() int { return 0 }

// Close frees the generator.
func (g *Generator) Close() error { return nil }
