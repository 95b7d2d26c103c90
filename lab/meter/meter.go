package meter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf/link"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package meter -type misdelivery -type window -type stream_count -type latency meter ../../bpf/lab/meter.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I/usr/include/x86_64-linux-gnu

// Config describes a meter.
type Config struct {
	// Port is where the frames arrive: N6.Peer for uplink, N3.Peer for downlink.
	Port topology.Port

	// N3 has the addresses that outer headers must carry, N6 those of the host that the
	// UEs talk to, which is its Peer.
	N3, N6 topology.Link

	Direction generator.Direction
	Run       uint32 // frames of other runs are passed on to the kernel
	Streams   int    // number of streams, from 0; default 1

	// Packets attaches the meter to socket buffers (tcx) and not to frames (XDP): for
	// a UPF that sends such, one for each frame. XDP would have them copied first.
	Packets bool

	// TimeStamps lets frames through that [Meter.Stamp] asks for: see lab/timestamp. Packets
	// must be set.
	TimeStamps bool

	// Replay says that the frames are those of a replay: stamps stand in UDP datagrams to
	// any port, and in TCP segments.
	Replay bool

	// Unenforced are kinds of what belongs to a QoS flow that the UPF is known not to
	// enforce: QFI, NoQFI, DSCP. Frames that are wrong in nothing else are not misdelivered.
	Unenforced []Kind

	// Bed says that the UPF's place is taken by [topology.Bed]: frames must
	// arrive as the generator sent them, GTP-U uplink and plain IP downlink.
	Bed bool
}

// Meter is attached to a device. Its methods may be called by several
// goroutines at once.
type Meter struct {
	config  Config
	objects meterObjects
	link    link.Link
}

// Attach puts a meter on a port, with XDP in native mode.
func Attach(c Config) (*Meter, error) {
	if c.Streams == 0 {
		c.Streams = 1
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("meter: %w", err)
	}
	m := &Meter{config: c}
	err := m.load()
	if err == nil {
		m.link, err = m.attach()
	}
	if err != nil {
		return nil, fmt.Errorf("meter: %w", errors.Join(err, m.Close()))
	}
	return m, nil
}

func (m *Meter) attach() (link.Link, error) {
	if m.config.Packets {
		return m.config.Port.AttachTCX(m.objects.MeterSkb)
	}
	return m.config.Port.AttachXDP(m.objects.Meter)
}

// ErrDetached says that the meter is not on its device any more: what it did not see has
// not been lost for that.
var ErrDetached = errors.New("the meter was taken off its device")

// attached wants the meter to be where it was attached.
func (m *Meter) attached() error {
	if m.link == nil { // never attached
		return nil
	}
	info, err := m.link.Info()
	if err != nil {
		return fmt.Errorf("%s: %w", &m.config.Port, err)
	}
	at := uint32(0)
	if x := info.XDP(); x != nil {
		at = x.Ifindex
	} else if x := info.TCX(); x != nil {
		at = x.Ifindex
	}
	if at != uint32(m.config.Port.Index) {
		return fmt.Errorf("%s: %w", &m.config.Port, ErrDetached)
	}
	return nil
}

// Stamp marks one frame in 2^shift and lets it through, until it is called with on false.
func (m *Meter) Stamp(on bool, shift uint8) error {
	if err := errors.Join(m.objects.StampShift.Set(shift), m.objects.Stamping.Set(flag(on))); err != nil {
		return fmt.Errorf("meter: %w", err)
	}
	return nil
}

// Close takes the meter off its device.
func (m *Meter) Close() error {
	var err error
	if m.link != nil {
		err = m.link.Close()
	}
	return errors.Join(err, m.objects.Close())
}

func (c *Config) validate() error {
	if c.Direction != generator.Uplink && c.Direction != generator.Downlink {
		return fmt.Errorf("direction %d: want %d or %d", c.Direction, generator.Uplink, generator.Downlink)
	}
	if !c.N6.Peer.Address.IsValid() {
		return errors.New("no N6: the host that UEs talk to is compared")
	}
	if c.TimeStamps && !c.Packets {
		return errors.New("time stamps of frames that are no socket buffers")
	}
	for _, k := range c.Unenforced {
		if k != QFI && k != NoQFI && k != DSCP {
			return fmt.Errorf("%v as what a UPF does not enforce: want %v, %v or %v", k, QFI, NoQFI, DSCP)
		}
	}
	if c.Streams < 1 || c.Streams > maxStreams {
		return fmt.Errorf("%d streams: want 1 to %d", c.Streams, maxStreams)
	}
	return nil
}

// maxStreams bounds the memory: 61 kB per stream and CPU, and 16 kB.
const maxStreams = 256

func (m *Meter) load() error {
	spec, err := loadMeter()
	if err != nil {
		return err
	}
	streams := uint32(m.config.Streams)
	spec.Maps["window_by_stream"].MaxEntries = streams
	spec.Maps["count_by_stream"].MaxEntries = streams
	spec.Maps["latency_by_stream"].MaxEntries = 2 * streams
	uplink := m.config.Direction == generator.Uplink
	source, destination := m.config.N3.UPF.Address, m.config.N3.Peer.Address
	if uplink {
		source, destination = destination, source
	}
	for name, value := range map[string]any{
		"run":               m.config.Run,
		"short_head":        generator.ShortHead(m.config.Run),
		"replayed":          flag(m.config.Replay),
		"time_stamps":       flag(m.config.TimeStamps),
		"uplink":            flag(uplink),
		"encapsulated":      flag(uplink == m.config.Bed),
		"many_cpus":         flag(m.config.Port.Queues > 1 || m.config.Packets), // of a veth without XDP, each CPU has its own backlog
		"unenforced":        kindBits(m.config.Unenforced),
		"server":            inFrame(m.config.N6.Peer.Address.Addr()),
		"server6":           folded(m.config.N6.Peer.Address6.Addr()),
		"outer_source":      inFrame(source.Addr()),
		"outer_destination": inFrame(destination.Addr()),
	} {
		if err := spec.Variables[name].Set(value); err != nil {
			return err
		}
	}
	return spec.LoadAndAssign(&m.objects, nil)
}

func kindBits(kinds []Kind) (bits uint32) {
	for _, k := range kinds {
		bits |= 1 << k
	}
	return bits
}

func flag(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// folded is an IPv6 address as the program has it, the four words xored; 0 if a is none.
func folded(a netip.Addr) uint32 {
	if !a.Is6() {
		return 0
	}
	return binary.NativeEndian.Uint32(binary.BigEndian.AppendUint32(nil, generator.FoldUE(a)))
}

// inFrame is an IPv4 address as the program reads it from a header; 0 if a is
// none.
func inFrame(a netip.Addr) uint32 {
	if !a.Is4() {
		return 0
	}
	b := a.As4()
	return binary.NativeEndian.Uint32(b[:])
}
