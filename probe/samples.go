package probe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf/ringbuf"
)

// samplePause is how often the ring is looked at: programs wake nobody up.
const samplePause = 10 * time.Millisecond

// Samples gives each sample to f, in the order of the exits on a CPU, until ctx is done
// or f returns an error; those of exits before that moment are given still. Only one call
// may run at a time. Up to 10 ms pass before a sample is given.
func (p *Probe) Samples(ctx context.Context, f func(Sample) error) error {
	if !p.cfg.sampling() {
		return errors.New("probe: samples: Config.Sample has none")
	}
	reader, err := ringbuf.NewReader(p.base.Maps["samples"])
	if err != nil {
		return fmt.Errorf("probe: samples: %w", err)
	}
	defer reader.Close()
	var record ringbuf.Record
	var done uint64 // when ctx was seen to be
	for {
		reader.SetDeadline(time.Now().Add(samplePause))
		err := reader.ReadInto(&record)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if ctx.Err() != nil { // what had come has been given
				return nil
			}
		case err != nil:
			return fmt.Errorf("probe: samples: %w", err)
		default:
			s := p.sampleOf(record.RawSample)
			if done == 0 && ctx.Err() != nil {
				done = monotonic()
			}
			if done > 0 && s.OutNs > done { // the ring may never be empty
				return nil
			}
			if err := f(s); err != nil {
				return err
			}
		}
	}
}

// SamplesLost returns how many samples the ring had no room for.
func (p *Probe) SamplesLost() uint64 {
	var n uint64
	_ = p.base.Variables["samples_lost"].Get(&n) // its memory is ours
	return n
}

// sampleOf reads struct sample of bpf/probe.h.
func (p *Probe) sampleOf(b []byte) Sample {
	series := binary.NativeEndian.Uint16(b[24:])
	s := Sample{
		Direction: Direction(series & 1),
		InNs:      binary.NativeEndian.Uint64(b),
		OutNs:     binary.NativeEndian.Uint64(b[8:]),
		Octets:    binary.NativeEndian.Uint32(b[16:]),
		TEID:      binary.NativeEndian.Uint32(b[20:]),
		CPU:       binary.NativeEndian.Uint16(b[26:]),
		QFI:       b[28],
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := int(series >> 1); n < len(p.pairs) {
		x := p.pairs[n]
		s.UPF, s.Slice = p.upfs[x.upf].Name, x.slice
	}
	return s
}
