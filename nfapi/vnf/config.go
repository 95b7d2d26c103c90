package vnf

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
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
	// P7 is the VNF's P7 address for this PHY. If unspecified, the PNF gets the address of the P5
	// connection.
	P7 netip.AddrPort `yaml:"p7"`
	// Announce is sent to the PNF instead of P7: the address of a relay or of an address translation.
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
	Retry   time.Duration `yaml:"retry"`   // until the procedure of a failed or stopped PHY starts again: 2 s
	Silence time.Duration `yaml:"silence"` // without SLOT.indication until a PNF is declared failed: 2 s
	// Sync is the interval of node sync: 50 ms. Negative: never.
	Sync time.Duration `yaml:"sync"`
}

// maxMax is the longest lead that may be configured. The window that CONFIG.request
// gives the PNF bounds it further.
const maxMax = 30 * time.Millisecond

// Validate completes c with its defaults. To do so again changes nothing.
//
// Errors: all that is wrong, wrapping [ErrConfig].
func (c *Config) Validate() error {
	_, err := c.check()
	return err
}

// check completes c with defaults.
//
// Errors: as of [Config.Validate].
func (c *Config) check() (nfapi.Profile, error) {
	var m yamltext.Checks
	if c.Profile == "" {
		c.Profile = nfapi.OAI2025.String()
	}
	profile, err := nfapi.ParseProfile(c.Profile)
	m.Under("profile", err)
	c.P5.check(&m)
	c.SlotAhead.check(&m)
	c.Timeouts.complete()
	m.Want(c.Timeouts.Answer >= 0, "timeouts.answer", c.Timeouts.Answer, "0 or more")
	m.Want(c.Timeouts.Retry >= 0, "timeouts.retry", c.Timeouts.Retry, "0 or more")
	m.Want(c.Timeouts.Silence >= 0, "timeouts.silence", c.Timeouts.Silence, "0 or more")
	c.checkPNFs(&m, profile, err == nil)
	return profile, m.Err(ErrConfig)
}

func (p *P5) check(m *yamltext.Checks) {
	m.Want(p.Address.IsValid(), "p5.address", p.Address, "address and port to which PNFs connect")
	if p.Network == "" {
		p.Network = "auto"
	}
	m.OneOf("p5.network", p.Network, transport.Networks()...)
	m.Want(p.SCTPUDPPort == 0 || p.Network == "sctp-udp", "p5.sctp_udp_port", p.SCTPUDPPort, "0: it goes with network sctp-udp, not "+p.Network)
}

func (c *Config) checkPNFs(m *yamltext.Checks, profile nfapi.Profile, known bool) {
	if len(c.PNFs) == 0 {
		m.Note("pnfs", "none: want at least one")
	}
	names := map[string]bool{}
	sockets := map[netip.AddrPort]bool{}
	for i := range c.PNFs {
		p := &c.PNFs[i]
		key := fmt.Sprintf("pnfs[%d]", i)
		if p.Name == "" {
			p.Name = fmt.Sprintf("pnf%d", i)
		}
		m.Want(!names[p.Name], key+".name", p.Name, "a name that no other has")
		names[p.Name] = true
		m.Want(p.From.IsValid(), key+".from", p.From, "the address or prefix that it connects from")
		p.checkPHYs(m, key+".phys", profile, known, sockets)
	}
}

func (p *PNF) checkPHYs(m *yamltext.Checks, at string, profile nfapi.Profile, known bool, sockets map[netip.AddrPort]bool) {
	if len(p.PHYs) == 0 || len(p.PHYs) > maxPHYs {
		m.Note(at, "%d phys: want 1 to %d", len(p.PHYs), maxPHYs)
	}
	ids := map[uint16]bool{}
	for i, y := range p.PHYs {
		key := fmt.Sprintf("%s[%d]", at, i)
		m.Want(!ids[y.ID], key+".id", y.ID, "an id that no other phy of this pnf has")
		m.Want(y.P7.IsValid(), key+".p7", y.P7, "address and port of P7")
		m.Want(y.P7.Port() == 0 || !sockets[y.P7], key+".p7", y.P7, "one that no other phy has")
		y.checkPeer(m, key)
		if known {
			_, err := transport.SegmentSize(profile, y.SegmentSize)
			m.Under(key+".segment_size", err)
		}
		ids[y.ID], sockets[y.P7] = true, true
	}
}

// checkPeer is about addresses to which others send, or this VNF does.
func (y *PHY) checkPeer(m *yamltext.Checks, key string) {
	sendable := func(a netip.AddrPort) bool { return !a.IsValid() || a.Port() != 0 && !a.Addr().IsUnspecified() }
	m.Want(sendable(y.Announce), key+".announce", y.Announce, "an address and a port that one can send to")
	m.Want(sendable(y.PNFP7), key+".pnf_p7", y.PNFP7, "an address and a port that one can send to")
}

// maxPHYs is how many PHYs a PNF may have: each has a socket and a thread.
const maxPHYs = 64

func (s *SlotAhead) check(m *yamltext.Checks) {
	if s.Mode == "" {
		s.Mode = AheadSlotIndication
	}
	m.OneOf("slot_ahead.mode", s.Mode, AheadSlotIndication, AheadAdaptive)
	setDefault(&s.Max, 5*time.Millisecond)
	setDefault(&s.Margin, 100*time.Microsecond)
	setDefault(&s.Calm, time.Second)
	m.Want(s.Max > 0 && s.Max <= maxMax, "slot_ahead.max", s.Max, fmt.Sprintf("up to %v", maxMax))
	m.Want(s.Min >= 0 && s.Min <= s.Max, "slot_ahead.min", s.Min, fmt.Sprintf("0 to max, %v", s.Max))
	m.Want(s.Margin >= 0 && s.Margin <= s.Max, "slot_ahead.margin", s.Margin, fmt.Sprintf("0 to max, %v", s.Max))
	m.Want(s.Calm >= 0, "slot_ahead.calm", s.Calm, "0 or more")
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
