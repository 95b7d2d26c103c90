package generator

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/netdev"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package generator replay ../../bpf/lab/replay.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu
//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package generator -type access generator ../../bpf/lab/generator.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu

// Direction is the way that frames take through the UPF.
type Direction uint8

// Directions.
const (
	Uplink   Direction = 1 // N3 to N6: GTP-U leaves the generator
	Downlink Direction = 2 // N6 to N3: plain IP leaves the generator
)

// String returns "uplink" or "downlink".
func (d Direction) String() string {
	switch d {
	case Uplink:
		return "uplink"
	case Downlink:
		return "downlink"
	}
	return fmt.Sprintf("Direction(%d)", uint8(d))
}

// Session is what the generator must know of a PDU session.
type Session struct {
	// TEID of the G-PDUs: uplink the UPF's, which the frames carry; downlink the
	// gNB's, which the meter expects.
	TEID uint32
	UE   netip.Addr // of the family of the server
	UE6  netip.Addr // IPv6, if there are streams of both families
	QFI  uint8      // 0 to 63
}

// Config describes a generator.
type Config struct {
	// Link is N3 for uplink, N6 for downlink. Frames leave by its Peer.
	Link      topology.Link
	Direction Direction

	Run    uint32 // identifies the run; the meter takes frames of its run only
	Stream uint16 // identifies the generator within the run, from 0: the number of its first stream

	// Server is the address that the UEs talk to, IPv4 or IPv6.
	Server netip.Addr

	PayloadOctets int // of the user packet's UDP datagram: ShortStampOctets at least
	// Mix, if there is one, takes PayloadOctets' place: the payloads of successive
	// frames, which then begin again, such as [IMIX].
	Mix           []int
	OuterChecksum bool // uplink: the outer UDP header has a checksum, as that of a gNB's kernel
	Sessions      []Session
	Access        Access
	ZipfExponent  float64 // s of Zipf; default 1
	Seed          uint64  // of the access pattern

	// Streams, if there are any, take the place of PayloadOctets, Mix, Access and
	// ZipfExponent. They have the numbers from Stream on.
	Streams []Stream

	Sender Sender

	// Batch is the number of times the program runs before the device is
	// flushed, 1 to 256. A frame waits for the end of its batch, so the default
	// is 64 at the highest rate and less when paced: see doc.go.
	Batch int
}

// Generator sends frames of one direction. Its methods are for one goroutine;
// several generators may run at once.
type Generator struct {
	config Config
	layout *layout
	sender sender
}

// New loads a generator. It sends nothing until Run.
func New(c Config) (*Generator, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	g := &Generator{config: c, layout: newLayout(&c)}
	if err := g.checkDevice(); err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	var err error
	if g.sender, err = newSender(&g.config, g.layout); err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	return g, nil
}

// FrameOctets returns the length of the longest frames, Ethernet header included,
// FCS not.
func (g *Generator) FrameOctets() int { return g.layout.longest }

// Close frees the generator.
func (g *Generator) Close() error { return g.sender.close() }

func (c *Config) validate() error {
	switch {
	case c.Direction != Uplink && c.Direction != Downlink:
		return fmt.Errorf("direction %d: want %d or %d", c.Direction, Uplink, Downlink)
	case len(c.Sessions) == 0:
		return errors.New("no sessions")
	case c.ZipfExponent < 0:
		return fmt.Errorf("zipf exponent %v: negative", c.ZipfExponent)
	case c.Batch < 0 || c.Batch > maxBatch:
		return fmt.Errorf("batch of %d: want 1 to %d", c.Batch, maxBatch)
	}
	return c.validateStreams()
}

// maxBatch is TEST_XDP_MAX_BATCH of the kernel, and the length of a veth's ring:
// a larger batch would overrun it. Source: Linux net/bpf/test_run.c,
// drivers/net/veth.c.
const maxBatch = 256

// checkDevice refuses frames that the device would drop in silence.
func (g *Generator) checkDevice() error {
	port := g.config.Link.Peer
	return port.Namespace.Do(func() error {
		device, err := net.InterfaceByIndex(port.Index)
		if err != nil {
			return fmt.Errorf("%s of %s: %w", port.Device, port.Namespace.Name, err)
		}
		if device.Flags&net.FlagUp == 0 {
			return fmt.Errorf("%s of %s: is down", port.Device, port.Namespace.Name)
		}
		if packet := g.FrameOctets() - inet.LenEthernet; packet > device.MTU {
			return fmt.Errorf("packet of %d octets on %s of %s: its MTU is %d",
				packet, port.Device, port.Namespace.Name, device.MTU)
		}
		// Kernels before 6.3 do not say; then frames that do not arrive do.
		features, err := netdev.Announced(port.Index)
		if g.config.Sender == Live && err == nil && features&netdev.Transmit == 0 {
			return fmt.Errorf("%s of %s takes no redirected frames: send by %v or %v, not by %v: %w",
				port.Device, port.Namespace.Name, XDPSocket, Packet, Live, errors.ErrUnsupported)
		}
		return nil
	})
}
