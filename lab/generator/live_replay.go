package generator

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// liveReplay is the sender of a replay by live frames.
type liveReplay struct {
	objects replayObjects
	program *ebpf.Program
	parking *parking
	options ebpf.RunOptions
}

// newLiveReplay puts program, frames and sessions into the kernel.
func newLiveReplay(c *Config, l *layout) (*liveReplay, error) {
	spec, err := loadReplay()
	if err != nil {
		return nil, err
	}
	order := c.entries()
	spec.Maps["frame_by_position"].MaxEntries = uint32(len(l.frames))
	spec.Maps["access_by_position"].MaxEntries = uint32(len(order))
	for name, value := range map[string]any{
		"device":         uint32(c.Link.Peer.Index),
		"outer_checksum": flag(c.OuterChecksum),
		"frames":         uint32(len(l.frames)),
		"access_len":     uint32(len(order)),
		"ues":            uint32(l.streams[0].replayUEs()),
		"longest":        uint32(l.longest),
	} {
		if err := spec.Variables[name].Set(value); err != nil {
			return nil, err
		}
	}
	s := &liveReplay{options: ebpf.RunOptions{Data: make([]byte, l.longest), Flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES}}
	if err := spec.LoadAndAssign(&s.objects, nil); err != nil {
		return nil, err
	}
	if s.program = s.objects.ReplayDownlink; c.Direction == Uplink {
		s.program = s.objects.ReplayUplink
	}
	if err = errors.Join(s.writeFrames(l), writePattern(s.objects.AccessByPosition, c, l, order)); err == nil {
		s.parking, err = park(s.program)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *liveReplay) writeFrames(l *layout) error {
	memory, err := s.objects.FrameByPosition.Memory()
	if err != nil {
		return fmt.Errorf("frames: %w", err)
	}
	octets := int64(s.objects.FrameByPosition.ValueSize())
	for i := range l.frames {
		f := &l.frames[i]
		out := replayReplayFrame{
			L4Sum: f.l4Sum, StampHead: binary.NativeEndian.Uint64(f.octets[f.headers:]), GapNs: f.gap, IpSum: f.ipSum,
			PseudoSum: f.pseudoSum, OuterSum: f.outerSum, Ue: uint32(f.ue), Octets: uint16(len(f.octets)), Stamp: uint16(f.headers),
			Check: uint16(f.check), Dscp: f.dscp, ShortStamp: flag(f.short), Ipv6: flag(f.ipv6),
		}
		copy(out.Data[:], f.octets)
		b, err := binary.Append(make([]byte, 0, octets), binary.NativeEndian, &out)
		if err != nil {
			return fmt.Errorf("frame %d: %w", i, err)
		}
		if _, err := memory.WriteAt(b, int64(i)*octets); err != nil {
			return fmt.Errorf("frame %d: %w", i, err)
		}
	}
	return nil
}

func (s *liveReplay) state() (generatorRun, error) {
	var run replayRun
	err := s.objects.Current.Get(&run)
	return generatorRun(run), err
}

func (s *liveReplay) begin(run generatorRun, ramp *[maxSegments]uint64) error {
	if ramp != nil {
		if err := s.objects.IntervalBySegment.Set(ramp); err != nil {
			return err
		}
	}
	return s.objects.Current.Set(replayRun(run))
}

func (s *liveReplay) sequences() ([]uint64, error) {
	run, err := s.state()
	return []uint64{run.Sent}, err
}

func (s *liveReplay) send(times, batch uint32) error {
	s.options.Repeat, s.options.BatchSize = times, batch
	if _, err := s.program.Run(&s.options); err != nil {
		return fmt.Errorf("run with live frames: %w", err)
	}
	return nil
}

func (s *liveReplay) close() error {
	var err error
	if s.parking != nil {
		err = s.parking.close()
	}
	return errors.Join(err, s.objects.Close())
}
