package generator

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// live is the sender by live frames: each run of the program makes one.
type live struct {
	objects generatorObjects
	program *ebpf.Program
	parking *parking
	options ebpf.RunOptions
	streams int
}

// newLive puts program and access pattern into the kernel.
func newLive(c *Config, l *layout) (*live, error) {
	spec, err := loadGenerator()
	if err != nil {
		return nil, err
	}
	order := c.entries()
	spec.Maps["access_by_position"].MaxEntries = uint32(len(order))
	if err := setVariables(spec, c, l, len(order)); err != nil {
		return nil, err
	}
	s := &live{streams: len(l.streams), options: ebpf.RunOptions{Data: l.template(), Flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES}}
	if err := spec.LoadAndAssign(&s.objects, nil); err != nil {
		return nil, err
	}
	s.program = s.pick(c.Direction, l)
	if err := writePattern(s.objects.AccessByPosition, c, l, order); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if s.parking, err = park(s.program); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func setVariables(spec *ebpf.CollectionSpec, c *Config, l *layout, entries int) error {
	for name, value := range map[string]any{
		"device":          uint32(c.Link.Peer.Index),
		"access_len":      uint32(entries),
		"plain":           flag(len(l.frames) == 1 && !l.frames[0].short && !l.marked() && !c.OuterChecksum),
		"outer_checksum":  flag(c.OuterChecksum),
		"marked":          flag(l.marked()),
		"unlike":          flag(l.unlike()),
		"streams":         uint32(len(l.streams)),
		"first_stream":    uint32(c.Stream),
		"turns":           uint32(l.turns[0].Count),
		"turns_by_stream": l.turns,
		"shape_by_turn":   l.shapes,
		"shapes":          l.shapesInProgram(),
	} {
		if err := spec.Variables[name].Set(value); err != nil {
			return err
		}
	}
	return nil
}

func (s *live) state() (run generatorRun, err error) { return run, s.objects.Current.Get(&run) }

func (s *live) begin(run generatorRun, ramp *[maxSegments]uint64) error {
	if ramp != nil {
		if err := s.objects.IntervalBySegment.Set(ramp); err != nil {
			return err
		}
	}
	return s.objects.Current.Set(run)
}

func (s *live) sequences() ([]uint64, error) {
	if s.streams == 1 {
		run, err := s.state()
		return []uint64{run.Sent}, err
	}
	var state [MaxStreams]generatorStream
	if err := s.objects.StreamByNumber.Get(&state); err != nil {
		return nil, err
	}
	next := make([]uint64, s.streams)
	for i := range next {
		next[i] = state[i].Sent
	}
	return next, nil
}

func (s *live) send(times, batch uint32) error {
	s.options.Repeat, s.options.BatchSize = times, batch
	if _, err := s.program.Run(&s.options); err != nil {
		return fmt.Errorf("run with live frames: %w", err)
	}
	return nil
}

func (s *live) close() error {
	var err error
	if s.parking != nil {
		err = s.parking.close()
	}
	return errors.Join(err, s.objects.Close())
}

// pick returns the program for the direction and the families.
func (s *live) pick(d Direction, l *layout) *ebpf.Program {
	ipv4, ipv6 := l.family()
	if d == Uplink {
		switch {
		case ipv4 && ipv6:
			return s.objects.GenerateUplink
		case ipv4:
			return s.objects.GenerateUplink4
		}
		return s.objects.GenerateUplink6
	}
	switch {
	case ipv4 && ipv6:
		return s.objects.GenerateDownlink
	case ipv4:
		return s.objects.GenerateDownlink4
	}
	return s.objects.GenerateDownlink6
}

func writePattern(to *ebpf.Map, c *Config, l *layout, order []entry) error {
	memory, err := to.Memory()
	if err != nil {
		return fmt.Errorf("access pattern: %w", err)
	}
	const chunk = 1 << 15 // entries
	buffer := make([]byte, 0, chunk*accessOctets)
	for start := 0; start < len(order); start += chunk {
		buffer = buffer[:0]
		for i := range order[start:min(start+chunk, len(order))] {
			e := &order[start+i]
			ipv6 := l.streams[e.stream].Server.Is6()
			buffer = appendAccess(buffer, c.Stream+e.stream, e, &c.Sessions[e.session], ipv6)
		}
		if _, err := memory.WriteAt(buffer, int64(start)*accessOctets); err != nil {
			return fmt.Errorf("access pattern: %w", err)
		}
	}
	return nil
}
