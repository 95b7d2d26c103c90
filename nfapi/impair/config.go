package impair

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi"
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

// Config defines the two ends of the relay, and its rules.
type Config struct {
	Profile string `yaml:"profile"` // as nfapi.ParseProfile reads it; "": oai-2025

	// AsVNF is the relay's address as VNF: the PNF sends there. VNF is the real one. AsPNF and PNF
	// are the same for the other direction; without PNF it is the first sender to AsVNF.
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

	// ClockDriftPPM makes the PNF's clock appear fast or slow to the VNF: time stamps and the times
	// of node sync drift by this number of microseconds per second, in the opposite direction
	// towards the PNF.
	ClockDriftPPM float64 `yaml:"clock_drift_ppm"`
	// TickDriftPPM increases the delay of SLOT.indications by this number of microseconds each
	// second, up to TickDriftMax, then from 0 again. Negative: decreases it, from TickDriftMax on.
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
	maxDriftPPM      = 1_000_000 // a clock that runs twice as fast, or stands still
	frames           = 1024
	wrapMultiple     = 16
)

// Validate returns all that is wrong with the configuration, in a [yamltext.ConfigError].
func (c *Config) Validate() error {
	var m yamltext.Checks
	c.check(&m)
	return m.Err(errConfig)
}

// errConfig begins the mistakes that are in no file.
var errConfig = errors.New("impair")

func (c *Config) check(m *yamltext.Checks) {
	_, err := c.profile()
	m.Under("profile", err)
	yamltext.Within(m, "sfn_offset", c.SFNOffset, 0, frames-1)
	if c.SFNOffset != 0 && c.WrapAfter != 0 {
		m.Note("wrap_after", "sfn_offset and wrap_after are both given: wrap_after chooses the offset")
	}
	const cycle = nfapi.SFNCycle * time.Microsecond
	m.Want(c.WrapAfter >= 0 && c.WrapAfter < cycle, "wrap_after", c.WrapAfter, fmt.Sprintf("0s to less than the SFN's cycle of %v", cycle))
	span(m, "tick_drift_max", c.TickDriftMax, 0, maxDelay)
	span(m, "clock_drift_ppm", c.ClockDriftPPM, -maxDriftPPM, maxDriftPPM)
	span(m, "tick_drift_ppm", c.TickDriftPPM, -maxDriftPPM, maxDriftPPM)
	for i := range c.Rules {
		_, err := c.Rules[i].compile()
		m.Under(fmt.Sprintf("rules[%d]", i), err)
	}
}

// span notes a value that is outside of both ends, or NaN.
func span[T time.Duration | float64](m *yamltext.Checks, key string, value, from, to T) {
	allowed := fmt.Sprintf("%v to %v", from, to)
	if _, ok := any(value).(float64); ok {
		allowed = fmt.Sprintf("%.0f to %.0f", float64(from), float64(to))
	}
	m.Want(value >= from && value <= to, key, value, allowed)
}

// ValidateRelay is Validate, and looks at the addresses, too.
func (c *Config) ValidateRelay() error {
	var m yamltext.Checks
	c.CheckRelay(&m)
	return m.Err(errConfig)
}

// CheckRelay notes what ValidateRelay returns.
func (c *Config) CheckRelay(m *yamltext.Checks) {
	c.check(m)
	m.Want(c.AsVNF.IsValid(), "as_vnf", c.AsVNF, "address and port of P7")
	m.Want(c.VNF.IsValid(), "vnf", c.VNF, "address and port of P7")
	m.Want(c.AsPNF.IsValid(), "as_pnf", c.AsPNF, "address and port of P7")
	m.Want(c.AsPNF.Port() == 0 || c.AsPNF != c.AsVNF, "as_pnf", c.AsPNF, "another one than as_vnf")
	sendable := func(a netip.AddrPort) bool { return !a.IsValid() || a.Port() != 0 && !a.Addr().IsUnspecified() }
	m.Want(sendable(c.VNF), "vnf", c.VNF, "an address and a port that one can send to")
	m.Want(sendable(c.PNF), "pnf", c.PNF, "an address and a port that one can send to")
	own := func(a netip.AddrPort) bool { return a.IsValid() && a.Port() != 0 && (a == c.AsVNF || a == c.AsPNF) }
	m.Want(!own(c.VNF), "vnf", c.VNF, "another one than the relay's own: it would send to itself")
	m.Want(!own(c.PNF), "pnf", c.PNF, "another one than the relay's own: it would send to itself")
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

// compile returns all that is wrong with a rule.
func (r *Rule) compile() (rule, error) {
	var m yamltext.Checks
	c := rule{Rule: *r}
	c.in = [directions]bool{ToPNF: r.Direction != directionNames[ToVNF], ToVNF: r.Direction != directionNames[ToPNF]}
	if r.Direction != "" {
		m.OneOf("direction", r.Direction, directionNames[ToPNF], directionNames[ToVNF], "both")
	}
	span(&m, "loss", r.Loss, 0, 1)
	span(&m, "segment_loss", r.SegmentLoss, 0, 1)
	span(&m, "duplicate", r.Duplicate, 0, 1)
	span(&m, "reorder", r.Reorder, 0, 1)
	span(&m, "flip", r.Flip, 0, 1)
	span(&m, "delay", r.Delay, 0, maxDelay)
	span(&m, "jitter", r.Jitter, 0, maxDelay)
	for i, name := range r.Messages {
		id, err := parseMessage(name)
		m.Under(fmt.Sprintf("messages[%d]", i), err)
		if c.ids == nil {
			c.ids = map[nfapi.MessageID]bool{}
		}
		c.ids[id] = true
	}
	return c, m.Err(errConfig)
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
