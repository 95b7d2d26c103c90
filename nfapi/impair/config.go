package impair

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"plumbline/nfapi"
)

// Direction is that of a datagram.
type Direction uint8

// The directions.
const (
	ToPNF Direction = iota
	ToVNF
	directions
)

var directionNames = [...]string{"to-pnf", "to-vnf"}

// String is to-pnf or to-vnf.
func (d Direction) String() string { return directionNames[d] }

// Config says between whom the relay is, and what it does.
type Config struct {
	Profile string `yaml:"profile"` // as nfapi.ParseProfile reads it; "": oai-2025

	// AsVNF is where the relay stands in for the VNF: the PNF sends there. VNF is the real
	// one. AsPNF and PNF are the same for the other direction; without PNF it is who sends
	// to AsVNF first.
	AsVNF netip.AddrPort `yaml:"as_vnf"`
	VNF   netip.AddrPort `yaml:"vnf"`
	AsPNF netip.AddrPort `yaml:"as_pnf"`
	PNF   netip.AddrPort `yaml:"pnf"`

	// Seed is that of all chances: the same datagrams have the same fate. 0 is one, too.
	Seed uint64 `yaml:"seed"`

	// SFNOffset is by how much the VNF's SFN is ahead of the PNF's, 0 to 1023. WrapAfter
	// chooses it so that the VNF sees the SFN come round this time after the first
	// SLOT.indication, up to 160 ms later: the offset is a multiple of 16 frames, the
	// period of PRACH.
	SFNOffset uint16        `yaml:"sfn_offset"`
	WrapAfter time.Duration `yaml:"wrap_after"`

	// ClockDriftPPM makes the PNF's clock fast for the VNF, or slow: time stamps and the
	// times of node sync drift by so many microseconds in a second, the other way round
	// towards the PNF.
	ClockDriftPPM float64 `yaml:"clock_drift_ppm"`
	// TickDriftPPM delays SLOT.indications by so many microseconds more each second, up to
	// TickDriftMax, then by 0 again. Negative: less each second, from TickDriftMax on.
	TickDriftPPM float64       `yaml:"tick_drift_ppm"`
	TickDriftMax time.Duration `yaml:"tick_drift_max"` // 0: 500 us

	// Rules are looked at in their order: the first that is about a datagram says what
	// happens to it.
	Rules []Rule `yaml:"rules"`
}

// Rule is what happens to messages. Chances are from 0 to 1, for each datagram.
type Rule struct {
	Direction string   `yaml:"direction"` // to-pnf, to-vnf, both; "": both
	Messages  []string `yaml:"messages"`  // DL_TTI, TX_DATA.request, SLOT, ...; none: all, also what is no message

	Loss        float64 `yaml:"loss"`
	SegmentLoss float64 `yaml:"segment_loss"` // of segments only, after Loss
	Duplicate   float64 `yaml:"duplicate"`
	// Reorder has a datagram sent behind the next one of its direction, or after 2 ms if
	// none comes.
	Reorder float64 `yaml:"reorder"`
	Flip    float64 `yaml:"flip"` // one bit is wrong, any but of its time stamp; the checksum stays as it is

	Delay  time.Duration `yaml:"delay"`
	Jitter time.Duration `yaml:"jitter"` // added to Delay: from 0 to so much, all the same likely
}

// Harmless reports whether nothing happens by the rule.
func (r *Rule) Harmless() bool {
	return r.Loss == 0 && r.SegmentLoss == 0 && r.Duplicate == 0 && r.Reorder == 0 && r.Flip == 0 && r.Delay == 0 && r.Jitter == 0
}

const (
	tickDriftDefault = 500 * time.Microsecond
	reorderTimeout   = 2 * time.Millisecond
	maxDelay         = time.Minute
	maxDriftPPM      = 1_000_000 // a clock that goes twice as fast, or stands
	frames           = 1024
	wrapMultiple     = 16
)

// Validate says what is wrong with the configuration.
func (c *Config) Validate() error {
	var errs []error
	if _, err := c.profile(); err != nil {
		errs = append(errs, err)
	}
	if c.SFNOffset >= frames {
		errs = append(errs, fmt.Errorf("impair: sfn_offset %d is above %d", c.SFNOffset, frames-1))
	}
	if c.SFNOffset != 0 && c.WrapAfter != 0 {
		errs = append(errs, errors.New("impair: sfn_offset and wrap_after are both given: wrap_after chooses the offset"))
	}
	for name, d := range map[string]time.Duration{"wrap_after": c.WrapAfter, "tick_drift_max": c.TickDriftMax} {
		if d < 0 || d > maxDelay {
			errs = append(errs, fmt.Errorf("impair: %s %v is not within 0 and %v", name, d, maxDelay))
		}
	}
	for name, ppm := range map[string]float64{"clock_drift_ppm": c.ClockDriftPPM, "tick_drift_ppm": c.TickDriftPPM} {
		if !(math.Abs(ppm) <= maxDriftPPM) { // nor NaN
			errs = append(errs, fmt.Errorf("impair: %s %v is not within %d and %d", name, ppm, -maxDriftPPM, maxDriftPPM))
		}
	}
	if c.WrapAfter >= nfapi.SFNCycle*time.Microsecond {
		errs = append(errs, fmt.Errorf("impair: wrap_after %v is not below the SFN's cycle of 10.24 s", c.WrapAfter))
	}
	for i := range c.Rules {
		if _, err := c.Rules[i].compile(); err != nil {
			errs = append(errs, fmt.Errorf("impair: rule %d: %w", i+1, err))
		}
	}
	return errors.Join(errs...)
}

// ValidateRelay is Validate, and looks at the addresses, too.
func (c *Config) ValidateRelay() error {
	errs := []error{c.Validate()}
	for _, one := range []struct {
		name string
		at   netip.AddrPort
	}{{"as_vnf", c.AsVNF}, {"vnf", c.VNF}, {"as_pnf", c.AsPNF}} {
		if !one.at.IsValid() {
			errs = append(errs, fmt.Errorf("impair: %s is not given: address and port of P7", one.name))
		}
	}
	for _, peer := range []netip.AddrPort{c.VNF, c.PNF} {
		if peer.IsValid() && peer.Port() != 0 && (peer == c.AsVNF || peer == c.AsPNF) {
			errs = append(errs, fmt.Errorf("impair: %s is the relay's own address: it would send to itself", peer))
		}
	}
	return errors.Join(errs...)
}

func (c *Config) profile() (nfapi.Profile, error) {
	if c.Profile == "" {
		return nfapi.OAI2025, nil
	}
	return nfapi.ParseProfile(c.Profile)
}

// rule is a Rule as it is used.
type rule struct {
	Rule
	in  [directions]bool
	ids map[nfapi.MessageID]bool // nil: all
}

func (r *Rule) compile() (rule, error) {
	c := rule{Rule: *r}
	switch r.Direction {
	case "", "both":
		c.in = [directions]bool{true, true}
	case directionNames[ToPNF]:
		c.in[ToPNF] = true
	case directionNames[ToVNF]:
		c.in[ToVNF] = true
	default:
		return c, fmt.Errorf("direction %q is none of to-pnf, to-vnf, both", r.Direction)
	}
	for name, p := range map[string]float64{"loss": r.Loss, "segment_loss": r.SegmentLoss, "duplicate": r.Duplicate, "reorder": r.Reorder, "flip": r.Flip} {
		if !(p >= 0 && p <= 1) {
			return c, fmt.Errorf("%s %v is not within 0 and 1", name, p)
		}
	}
	for name, d := range map[string]time.Duration{"delay": r.Delay, "jitter": r.Jitter} {
		if d < 0 || d > maxDelay {
			return c, fmt.Errorf("%s %v is not within 0 and %v", name, d, maxDelay)
		}
	}
	for _, name := range r.Messages {
		id, err := parseMessage(name)
		if err != nil {
			return c, err
		}
		if c.ids == nil {
			c.ids = map[nfapi.MessageID]bool{}
		}
		c.ids[id] = true
	}
	return c, nil
}

func (r *rule) about(d Direction, id nfapi.MessageID) bool {
	return r.in[d] && (r.ids == nil || r.ids[id])
}

// messages are those of P7.
var messages = []nfapi.MessageID{
	nfapi.MsgDLTTIRequest, nfapi.MsgULTTIRequest, nfapi.MsgSlotIndication, nfapi.MsgULDCIRequest, nfapi.MsgTXDataRequest,
	nfapi.MsgRXDataIndication, nfapi.MsgCRCIndication, nfapi.MsgUCIIndication, nfapi.MsgSRSIndication, nfapi.MsgRACHIndication,
	nfapi.MsgSlotResponse, nfapi.MsgULNodeSync, nfapi.MsgDLNodeSync, nfapi.MsgTimingInfo,
}

// parseMessage reads a message's name: DL_TTI.request, or DL_TTI, large or small.
func parseMessage(name string) (nfapi.MessageID, error) {
	var short []string
	for _, id := range messages {
		first, _, _ := strings.Cut(id.String(), ".")
		if strings.EqualFold(name, id.String()) || strings.EqualFold(name, first) {
			return id, nil
		}
		if slices.Contains(short, first) {
			first = id.String()
		}
		short = append(short, first)
	}
	return 0, fmt.Errorf("no message %q in P7: there are %v", name, short)
}
