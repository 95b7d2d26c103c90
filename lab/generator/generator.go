package generator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/cilium/ebpf"

	"plumbline/lab/topology"
)

//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package generator -type access generator ../../bpf/generator.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf -I/usr/include/x86_64-linux-gnu

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
	UE   netip.Addr // of the family of Config.Server
	QFI  uint8      // 0 to 63
}

// Config describes a generator.
type Config struct {
	// Link is N3 for uplink, N6 for downlink. Frames leave by its Peer.
	Link      topology.Link
	Direction Direction

	Run    uint32 // identifies the run; the meter takes frames of its run only
	Stream uint16 // identifies the generator within the run, from 0

	// Server is the address that the UEs talk to, IPv4 or IPv6.
	Server netip.Addr

	PayloadOctets int // of the user packet's UDP datagram: StampOctets at least
	// Mix, if there is one, takes PayloadOctets' place: the payloads of successive
	// frames, which then begin again, such as [IMIX].
	Mix           []int
	OuterChecksum bool // uplink: the outer UDP header has a checksum, as that of a gNB's kernel
	Sessions      []Session
	Access        Access
	ZipfExponent  float64 // s of Zipf; default 1
	Seed          uint64  // of the access pattern

	// Batch is the number of times the program runs before the device is
	// flushed, 1 to 256. A frame waits for the end of its batch, so the default
	// is 64 at the highest rate and less when paced: see doc.go.
	Batch int
}

// Generator sends frames of one direction. Its methods are for one goroutine;
// several generators may run at once.
type Generator struct {
	config  Config
	frames  []frame // by shape, the longest first
	objects generatorObjects
	program *ebpf.Program
	parking *parking
}

// New loads a generator. It sends nothing until Run.
func New(c Config) (*Generator, error) {
	if c.ZipfExponent == 0 {
		c.ZipfExponent = 1
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	g := &Generator{config: c}
	for _, payload := range c.shapes() {
		g.frames = append(g.frames, newFrame(&c, payload))
	}
	if err := g.checkDevice(); err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	if err := g.load(); err != nil {
		return nil, fmt.Errorf("generator: %w", errors.Join(err, g.Close()))
	}
	return g, nil
}

// FrameOctets returns the length of the longest frames, Ethernet header included,
// FCS not.
func (g *Generator) FrameOctets() int { return len(g.frames[0].octets) }

// Close frees the generator.
func (g *Generator) Close() error {
	var err error
	if g.parking != nil {
		err = g.parking.close()
	}
	return errors.Join(err, g.objects.Close())
}

func (c *Config) validate() error {
	switch {
	case c.Direction != Uplink && c.Direction != Downlink:
		return fmt.Errorf("direction %d: want %d or %d", c.Direction, Uplink, Downlink)
	case !c.Server.IsValid():
		return errors.New("server: no address")
	case len(c.Sessions) == 0:
		return errors.New("no sessions")
	case c.Access > Zipf:
		return fmt.Errorf("access pattern %d: unknown", c.Access)
	case c.ZipfExponent < 0:
		return fmt.Errorf("zipf exponent %v: negative", c.ZipfExponent)
	case c.Batch < 0 || c.Batch > maxBatch:
		return fmt.Errorf("batch of %d: want 1 to %d", c.Batch, maxBatch)
	}
	if err := c.validateMix(); err != nil {
		return err
	}
	for i, s := range c.Sessions {
		if s.QFI > 63 {
			return fmt.Errorf("session %d: QFI %d: want 0 to 63", i, s.QFI)
		}
		if s.UE.BitLen() != c.Server.BitLen() {
			return fmt.Errorf("session %d: UE %v and server %v: not of one family", i, s.UE, c.Server)
		}
	}
	return nil
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
		if packet := g.FrameOctets() - etherOctets; packet > device.MTU {
			return fmt.Errorf("packet of %d octets on %s of %s: its MTU is %d",
				packet, port.Device, port.Namespace.Name, device.MTU)
		}
		return nil
	})
}

// load puts program and access pattern into the kernel.
func (g *Generator) load() error {
	spec, err := loadGenerator()
	if err != nil {
		return err
	}
	order := pattern(g.config.Access, len(g.config.Sessions), g.config.ZipfExponent, g.config.Seed)
	spec.Maps["access_by_position"].MaxEntries = uint32(len(order))
	turns := g.config.turns()
	for name, value := range map[string]any{
		"device":         uint32(g.config.Link.Peer.Index),
		"access_len":     uint32(len(order)),
		"outer_checksum": flag(g.config.OuterChecksum),
		"turns":          uint32(len(turns)),
		"shape_by_turn":  g.shapeByTurn(turns),
		"shapes":         g.shapesInProgram(),
		"stamp_head":     binary.NativeEndian.Uint64(g.frames[0].octets[g.frames[0].headers:]),
	} {
		if err := spec.Variables[name].Set(value); err != nil {
			return err
		}
	}
	if err := spec.LoadAndAssign(&g.objects, nil); err != nil {
		return err
	}
	g.program = g.pick()
	if err := g.writePattern(order); err != nil {
		return err
	}
	g.parking, err = park(g.program)
	return err
}

// pick returns the program for the direction and the family.
func (g *Generator) pick() *ebpf.Program {
	ipv4 := g.config.Server.Is4()
	switch {
	case g.config.Direction == Uplink && ipv4:
		return g.objects.GenerateUplink4
	case g.config.Direction == Uplink:
		return g.objects.GenerateUplink6
	case ipv4:
		return g.objects.GenerateDownlink4
	}
	return g.objects.GenerateDownlink6
}

func (g *Generator) writePattern(order []uint32) error {
	memory, err := g.objects.AccessByPosition.Memory()
	if err != nil {
		return fmt.Errorf("access pattern: %w", err)
	}
	const chunk = 1 << 15 // entries
	buffer := make([]byte, 0, chunk*accessOctets)
	for start := 0; start < len(order); start += chunk {
		buffer = buffer[:0]
		for _, index := range order[start:min(start+chunk, len(order))] {
			buffer = appendAccess(buffer, g.config.Stream, index, g.config.Sessions[index])
		}
		if _, err := memory.WriteAt(buffer, int64(start)*accessOctets); err != nil {
			return fmt.Errorf("access pattern: %w", err)
		}
	}
	return nil
}
