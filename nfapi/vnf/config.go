package vnf

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"plumbline/nfapi"
	"plumbline/nfapi/slot"
	"plumbline/nfapi/stopwatch"
	"plumbline/nfapi/transport"
)

// ErrConfig is wrapped by every error about what a [Config] says.
var ErrConfig = errors.New("vnf: configuration")

// Config says where a VNF is, and which PNFs and PHYs it has.
type Config struct {
	// Profile is what the PNFs speak, as [nfapi.ParseProfile] reads it. Empty:
	// oai-2025.
	Profile string `yaml:"profile"`
	P5      P5     `yaml:"p5"`
	PNFs    []PNF  `yaml:"pnfs"`

	SlotAhead SlotAhead `yaml:"slot_ahead"`
	Timeouts  Timeouts  `yaml:"timeouts"`

	// Watch is the stopwatch of each PHY; nil, or nil of a PHY: none.
	Watch func(pnf string, phy uint16) *stopwatch.Watch `yaml:"-"`
}

// P5 is where PNFs connect.
type P5 struct {
	Address netip.AddrPort `yaml:"address"`
	// Network is tcp, sctp, sctp-udp, or auto: package transport has them. Empty: auto.
	Network string `yaml:"network"`
	// SCTPUDPPort is the UDP port of network sctp-udp. 0: 9899, that of RFC 6951.
	SCTPUDPPort uint16 `yaml:"sctp_udp_port"`
}

// PNF is one that may connect.
type PNF struct {
	Name string `yaml:"name"`
	// From is where it connects from: an address, or a prefix. Others are refused. If
	// several PNFs come from one host, they get the entries in the order in which they
	// come.
	From netip.Prefix `yaml:"from"`
	PHYs []PHY        `yaml:"phys"`
}

// PHY is one of a PNF.
type PHY struct {
	ID uint16 `yaml:"id"` // phy_id of all its messages
	// P7 is where the VNF has P7 for this PHY. An unspecified address: that of the P5
	// connection is told to the PNF.
	P7 netip.AddrPort `yaml:"p7"`
	// Announce is what the PNF is told instead of P7: where a relay, or an address
	// translation, takes its messages.
	Announce netip.AddrPort `yaml:"announce"`
	// PNFP7 is where requests go, if not to where the PNF's messages come from. Messages
	// may come from that address, too.
	PNFP7 netip.AddrPort `yaml:"pnf_p7"`
	// SegmentSize of P7 in octets. 0: the profile's.
	SegmentSize int `yaml:"segment_size"`
	// NoChecksum leaves checksums out.
	NoChecksum bool `yaml:"no_checksum"`
}

// The modes of [SlotAhead].
const (
	// AheadSlotIndication: each SLOT.indication has its slot scheduled when it comes.
	AheadSlotIndication = "slot-indication"
	// AheadAdaptive: the VNF's own clock, synchronised with the PNF's, schedules each
	// slot as late as the requests still come in time.
	AheadAdaptive = "adaptive"
)

// SlotAhead says when a slot is scheduled.
type SlotAhead struct {
	Mode string `yaml:"mode"` // empty: slot-indication
	// The others are for adaptive: bounds of the time between scheduling and the air
	// slot, and how much of it is to be left when the requests have come.
	Min    time.Duration `yaml:"min"`    // 0: a quarter of a slot
	Max    time.Duration `yaml:"max"`    // 0: 5 ms
	Margin time.Duration `yaml:"margin"` // 0: 100 us
	// Calm is how long nothing may have been late before it is made shorter. 0: 1 s.
	Calm time.Duration `yaml:"calm"`
}

// Timeouts are how long the VNF waits. 0 is the default of each.
type Timeouts struct {
	Answer time.Duration `yaml:"answer"` // of each request of P5: 2 s
	// Repeat is how often a request that may be repeated is sent again: 2. Negative:
	// never.
	Repeat  int           `yaml:"repeat"`
	Retry   time.Duration `yaml:"retry"`   // until a PHY that failed or stopped is begun with anew: 2 s
	Silence time.Duration `yaml:"silence"` // without SLOT.indication until a PNF is given up: 2 s
	// Sync is how often node sync is asked for: 50 ms. Negative: never.
	Sync time.Duration `yaml:"sync"`
}

// maxMax is the longest lead that may be configured. The window that CONFIG.request
// gives the PNF bounds it further.
const maxMax = 30 * time.Millisecond

// Validate completes c with its defaults. To do so again changes nothing.
//
// Errors: [ErrConfig].
func (c *Config) Validate() error {
	_, err := c.check()
	return err
}

// check completes c with defaults.
//
// Errors: [ErrConfig].
func (c *Config) check() (nfapi.Profile, error) {
	if c.Profile == "" {
		c.Profile = nfapi.OAI2025.String()
	}
	profile, err := nfapi.ParseProfile(c.Profile)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if !c.P5.Address.IsValid() {
		return 0, fmt.Errorf("%w: p5.address is missing", ErrConfig)
	}
	if c.P5.Network == "" {
		c.P5.Network = "auto"
	}
	if !slices.Contains(transport.Networks(), c.P5.Network) {
		return 0, fmt.Errorf("%w: p5.network %q is none of %v", ErrConfig, c.P5.Network, transport.Networks())
	}
	if c.P5.SCTPUDPPort != 0 && c.P5.Network != "sctp-udp" {
		return 0, fmt.Errorf("%w: p5.sctp_udp_port %d goes with network sctp-udp, not %s", ErrConfig, c.P5.SCTPUDPPort, c.P5.Network)
	}
	if err := c.SlotAhead.check(); err != nil {
		return 0, err
	}
	c.Timeouts.complete()
	if t := &c.Timeouts; t.Answer < 0 || t.Retry < 0 || t.Silence < 0 {
		return 0, fmt.Errorf("%w: timeouts: answer %v, retry %v, silence %v: none may be negative", ErrConfig, t.Answer, t.Retry, t.Silence)
	}
	return profile, c.checkPNFs(profile)
}

func (c *Config) checkPNFs(profile nfapi.Profile) error {
	if len(c.PNFs) == 0 {
		return fmt.Errorf("%w: no pnfs", ErrConfig)
	}
	names := map[string]bool{}
	sockets := map[netip.AddrPort]bool{}
	for i := range c.PNFs {
		p := &c.PNFs[i]
		if p.Name == "" {
			p.Name = fmt.Sprintf("pnf%d", i)
		}
		if names[p.Name] {
			return fmt.Errorf("%w: two pnfs named %q", ErrConfig, p.Name)
		}
		names[p.Name] = true
		if !p.From.IsValid() {
			return fmt.Errorf("%w: pnf %q: from is missing: the address or prefix that it connects from", ErrConfig, p.Name)
		}
		if err := p.checkPHYs(profile, sockets); err != nil {
			return err
		}
	}
	return nil
}

func (p *PNF) checkPHYs(profile nfapi.Profile, sockets map[netip.AddrPort]bool) error {
	if len(p.PHYs) == 0 || len(p.PHYs) > maxPHYs {
		return fmt.Errorf("%w: pnf %q has %d phys, want 1 to %d", ErrConfig, p.Name, len(p.PHYs), maxPHYs)
	}
	ids := map[uint16]bool{}
	for _, y := range p.PHYs {
		switch {
		case ids[y.ID]:
			return fmt.Errorf("%w: pnf %q: two phys of id %d", ErrConfig, p.Name, y.ID)
		case !y.P7.IsValid():
			return fmt.Errorf("%w: pnf %q: phy %d: p7 is missing", ErrConfig, p.Name, y.ID)
		case y.P7.Port() != 0 && sockets[y.P7]:
			return fmt.Errorf("%w: pnf %q: phy %d: p7 %v is another phy's", ErrConfig, p.Name, y.ID, y.P7)
		}
		for key, a := range map[string]netip.AddrPort{"announce": y.Announce, "pnf_p7": y.PNFP7} {
			if a.IsValid() && (a.Port() == 0 || a.Addr().IsUnspecified()) {
				return fmt.Errorf("%w: pnf %q: phy %d: %s %v is no address that one can send to", ErrConfig, p.Name, y.ID, key, a)
			}
		}
		if _, err := transport.SegmentSize(profile, y.SegmentSize); err != nil {
			return fmt.Errorf("%w: pnf %q: phy %d: %w", ErrConfig, p.Name, y.ID, err)
		}
		ids[y.ID], sockets[y.P7] = true, true
	}
	return nil
}

// maxPHYs is how many PHYs a PNF may have: each has a socket and a thread.
const maxPHYs = 64

func (s *SlotAhead) check() error {
	switch s.Mode {
	case "":
		s.Mode = AheadSlotIndication
	case AheadSlotIndication, AheadAdaptive:
	default:
		return fmt.Errorf("%w: slot_ahead.mode %q is none of %s, %s", ErrConfig, s.Mode, AheadSlotIndication, AheadAdaptive)
	}
	setDefault(&s.Max, 5*time.Millisecond)
	setDefault(&s.Margin, 100*time.Microsecond)
	setDefault(&s.Calm, time.Second)
	switch {
	case s.Min < 0 || s.Min > s.Max || s.Max > maxMax:
		return fmt.Errorf("%w: slot_ahead: min %v, max %v: want 0 <= min <= max <= %v", ErrConfig, s.Min, s.Max, maxMax)
	case s.Margin < 0 || s.Margin > s.Max:
		return fmt.Errorf("%w: slot_ahead.margin %v is not within 0 to max, %v", ErrConfig, s.Margin, s.Max)
	case s.Calm < 0:
		return fmt.Errorf("%w: slot_ahead.calm %v is negative", ErrConfig, s.Calm)
	}
	return nil
}

// least is the shortest lead, which depends on the numerology.
func (s *SlotAhead) least(mu slot.Numerology) time.Duration {
	if s.Min > 0 {
		return s.Min
	}
	return mu.Duration() / 4
}

func (t *Timeouts) complete() {
	setDefault(&t.Answer, 2*time.Second)
	setDefault(&t.Retry, 2*time.Second)
	setDefault(&t.Silence, 2*time.Second)
	setDefault(&t.Sync, 50*time.Millisecond)
	if t.Repeat == 0 {
		t.Repeat = 2
	}
}

func setDefault(d *time.Duration, value time.Duration) {
	if *d == 0 {
		*d = value
	}
}
