package generator

import "fmt"

// Sender is how frames leave.
type Sender uint8

// Senders. Live is the fastest, and needs a device that takes redirected frames; the
// others make frames in user space: XDPSocket for devices whose drivers have AF_XDP without
// a copy, Packet for all.
const (
	Live      Sender = iota // live frames of BPF_PROG_RUN
	XDPSocket               // AF_XDP
	Packet                  // AF_PACKET
)

var senderNames = [...]string{"live", "afxdp", "packet"}

// String returns the name that [ParseSender] takes.
func (s Sender) String() string {
	if int(s) < len(senderNames) {
		return senderNames[s]
	}
	return fmt.Sprintf("Sender(%d)", uint8(s))
}

// ParseSender is the reverse of [Sender.String].
func ParseSender(name string) (Sender, error) {
	for i, n := range senderNames {
		if n == name {
			return Sender(i), nil
		}
	}
	return 0, fmt.Errorf("generator: sender %q: want live, afxdp or packet", name)
}

// sender makes frames and hands them to the device.
type sender interface {
	// state returns the run as it is now: bpf/lab_schedule.h.
	state() (generatorRun, error)

	// begin sets the run, and the intervals of its ramp if it has one.
	begin(run generatorRun, ramp *[maxSegments]uint64) error

	// sequences returns the number of the next frame of each stream. Unlike the others
	// it may be called by any goroutine.
	sequences() ([]uint64, error)

	// send looks so many times whether a frame is due, and sends it if so. The device
	// gets what there is after each batch, and at the end.
	send(times, batch uint32) error

	close() error
}

func newSender(c *Config, l *layout) (sender, error) {
	var out output
	switch c.Sender {
	case Live:
		return newLiveSender(c, l)
	case XDPSocket:
		x, err := openXDP(c.Link.Peer)
		if err != nil {
			return nil, err
		}
		out = x
	case Packet:
		p, err := openPacket(c.Link.Peer)
		if err != nil {
			return nil, err
		}
		out = p
	default:
		return nil, fmt.Errorf("sender %d: unknown", c.Sender)
	}
	return &userspace{maker: newMaker(c, l), output: out, clock: newClock()}, nil
}

func newLiveSender(c *Config, l *layout) (sender, error) {
	if l.replays() {
		s, err := newLiveReplay(c, l)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	s, err := newLive(c, l)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Sequences returns the number of the next frame of each stream. It may be called by any
// goroutine.
func (g *Generator) Sequences() ([]uint64, error) {
	next, err := g.sender.sequences()
	if err != nil {
		return nil, fmt.Errorf("generator: %w", err)
	}
	return next, nil
}
