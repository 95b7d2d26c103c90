package generator

import (
	"time"

	"github.com/plumbline-upf/plumbline/lab/timestamp"
)

// userspace is a sender that makes frames in user space and gives them to an output.
type userspace struct {
	*maker
	output output
	clock  clock
	stamps *timestamp.Collector // nil: none are asked for
	asks   []byte               // what asks for them
}

// output is where frames of user space leave.
type output interface {
	// room returns where the next frame is to be made; nil: the device has not taken
	// enough of those before, and flush is to be called.
	room() []byte

	// put adds the frame of so many octets that was made there. request is a control
	// message that goes with it, nil but of [packetOutput].
	put(octets int, request []byte)

	// flush hands all that was put to the device.
	flush() error

	close() error
}

func (s *userspace) state() (generatorRun, error) { return s.maker.run, nil }

func (s *userspace) begin(run generatorRun, ramp *[maxSegments]uint64) error {
	s.maker.run, s.ramp = run, ramp
	return nil
}

func (s *userspace) sequences() ([]uint64, error) {
	next := make([]uint64, len(s.next))
	for i := range next {
		next[i] = s.next[i].Load()
	}
	return next, nil
}

func (s *userspace) send(times, batch uint32) error {
	for i := uint32(1); i <= times && s.maker.run.Finished == 0; i++ {
		b := s.output.room()
		if b != nil {
			now := s.clock.now()
			if intended, ok := s.due(now); ok {
				s.output.put(s.make(b, intended, now), s.request())
			}
		}
		if b != nil && i%batch != 0 {
			continue
		}
		if err := s.output.flush(); err != nil {
			return err
		}
	}
	return s.output.flush()
}

func (s *userspace) close() error { return s.output.close() }

// clock reads CLOCK_MONOTONIC without a system call.
type clock struct {
	base  time.Time
	since uint64 // base in CLOCK_MONOTONIC
}

// newClock compares the two clocks a few times and takes the closest.
func newClock() clock {
	var best clock
	least := time.Hour
	for range 10 {
		base := time.Now()
		since := now()
		if took := time.Since(base); took < least {
			best, least = clock{base, since - uint64(took)/2}, took
		}
	}
	return best
}

func (c clock) now() uint64 { return c.since + uint64(time.Since(c.base)) }
