package split

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

// Config describes a run.
type Config struct {
	Name    string // of the namespaces: letters, digits and '-'
	Program string // plumb; empty: this program
	Cases   []Case

	Pings    int           // of each case
	Interval time.Duration // between them
	Stream   time.Duration // of each direction, whole seconds
	Datapath string        // of the UPF

	Host report.Host
	Log  io.Writer // of the UPF; may be nil

	OnSwept  func([]string)    // the namespaces of a run that was killed, which were removed; may be nil
	OnStep   func(report.Step) // at the start of each step; may be nil
	OnDetail func(string)      // how it goes; may be nil
	OnCase   func(*Outcome)    // at the end of each; may be nil
}

// Case is a gNB to measure, and what of it.
type Case struct {
	Name      string
	OnePiece  bool // one process, without nFAPI
	SlotAhead int
	Radio     radio.Config

	Loss       float64 // of datagrams of P7, each way: 0 to 1
	CRCFailure float64 // of transmissions of transport blocks, each way: 0 to 1
	Grid       bool    // it belongs to the table of losses

	// Realtime has all threads of the processes be real time: for who keeps the slot
	// where others want the CPUs, too, as long as it leaves them some. iperf3 is as well: else
	// it is what is short of a CPU, and its figure says nothing about the split.
	Realtime bool

	Ping, TCP, UDP bool
	Idle           time.Duration // only keep the slot, for so long
}

// The cases' times.
const (
	attachTime = 2 * time.Second // to start, and until the UE has its first answer
	endTime    = time.Second
	omitTime   = time.Second // of TCP, for slow start
)

// expected is how long a case takes, about.
func (c *Config) expected(one *Case) time.Duration {
	d := attachTime + endTime + one.Idle
	if one.Ping {
		d += time.Duration(c.Pings) * c.Interval
	}
	if one.TCP {
		d += 2 * (c.Stream + omitTime)
	}
	if one.UDP {
		d += 2 * c.Stream
	}
	return d
}

// Validate says what is wrong with c.
func (c *Config) Validate() error {
	switch {
	case len(c.Cases) == 0:
		return errors.New("no cases")
	case c.Pings < 1 || c.Pings > 1_000_000:
		return fmt.Errorf("%d pings: want 1 to 1000000", c.Pings)
	case c.Interval < time.Millisecond || c.Interval > time.Minute:
		return fmt.Errorf("an interval of %v: want 1ms to 1m", c.Interval)
	case c.Stream < time.Second || c.Stream > time.Hour:
		return fmt.Errorf("streams of %v: want 1s to 1h", c.Stream)
	}
	for i := range c.Cases {
		if err := c.Cases[i].validate(); err != nil {
			return fmt.Errorf("%s: %w", c.Cases[i].Name, err)
		}
	}
	return nil
}

func (c *Case) validate() error {
	switch {
	case c.Name == "":
		return errors.New("a case has no name")
	case c.SlotAhead < 1:
		return fmt.Errorf("slot_ahead %d is below 1", c.SlotAhead)
	case !(c.Loss >= 0 && c.Loss < 1) || !(c.CRCFailure >= 0 && c.CRCFailure < 1):
		return fmt.Errorf("loss %g or CRC failures %g are not within 0 to 1", c.Loss, c.CRCFailure)
	case c.OnePiece && c.Loss > 0:
		return errors.New("there is nothing to lose between MAC and PHY in one process")
	case len(c.Radio.UEs) != 1:
		return fmt.Errorf("%d ues: want one", len(c.Radio.UEs))
	}
	return c.Radio.Validate()
}

func (c *Config) detail(format string, args ...any) {
	if c.OnDetail != nil {
		c.OnDetail(fmt.Sprintf(format, args...))
	}
}
