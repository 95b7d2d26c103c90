package pnf

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"plumbline/nfapi"
	"plumbline/nfapi/fapi"
	"plumbline/nfapi/stopwatch"
	"plumbline/nfapi/transport"
)

// ErrConfig is wrapped by every error about what a [Config] says.
var ErrConfig = errors.New("pnf: configuration")

// Config says which PHYs a PNF has and where its VNF is.
type Config struct {
	// Profile is whose P5 and P7 the VNF speaks; "": oai-2025.
	Profile string `yaml:"profile"`
	P5      P5     `yaml:"p5"`
	P7      P7     `yaml:"p7"`
	// PHYs are what the PNF offers to the VNF.
	PHYs []PHYConfig `yaml:"phys"`

	// NewPHY makes the PHY with an ID of PHYs. Who made them closes them.
	NewPHY func(id uint16) (fapi.PHY, error) `yaml:"-"`
	// Watch is the stopwatch of a PHY. Nil: there is none.
	Watch func(id uint16) *stopwatch.Watch `yaml:"-"`
}

// P5 is the connection to the VNF.
type P5 struct {
	// Network is one of [transport.Networks]; "": auto.
	Network string `yaml:"network"`
	// SCTPUDPPort is the VNF's UDP port with network sctp-udp. 0: 9899, that of RFC 6951.
	SCTPUDPPort uint16 `yaml:"sctp_udp_port"`
	// VNF is host:port.
	VNF string `yaml:"vnf"`
	// Local is where to connect from, host:port; "": as the route to the VNF has it.
	Local string `yaml:"local"`
	// Timeout is how long the VNF may be silent until a PHY runs. 0: 10 s.
	Timeout time.Duration `yaml:"timeout"`
	// Reconnect is the longest pause between two attempts to connect. 0: 5 s.
	Reconnect time.Duration `yaml:"reconnect"`
}

// P7 is where requests come, for all PHYs that have no address of their own.
type P7 struct {
	// Address and port; port 0: any. Not set: all IPv4 addresses, port 50010.
	Address netip.AddrPort `yaml:"address"`
	// SegmentSize is the longest datagram that is sent, in octets with its header. 0:
	// the profile's.
	SegmentSize int `yaml:"segment_size"`
	// NoChecksum leaves checksums out.
	NoChecksum bool `yaml:"no_checksum"`
}

// PHYConfig is one PHY.
type PHYConfig struct {
	// ID is the phy_config_index by which the VNF asks for it.
	ID uint16 `yaml:"id"`
	// P7 is where its requests come. Not set: that of the PNF.
	P7 netip.AddrPort `yaml:"p7"`
	// SlotAhead is how many slots before the air SLOT.indication is. 0: 2<<mu, as
	// OpenAirInterface has it.
	SlotAhead int `yaml:"slot_ahead"`
	// BandwidthMHz and Layers are what the PHY says that it can do. 0: 100 and 4.
	BandwidthMHz uint16 `yaml:"bandwidth_mhz"`
	Layers       uint8  `yaml:"layers"`
}

// Ports of OpenAirInterface.
const (
	portP7     = 50010
	portVNFP5  = "50001"
	maxPHYs    = 64
	maxAhead   = 255 // slots: the longest timing window
	leastPause = 100 * time.Millisecond
)

// Complete validates c and returns it with its defaults. To do so again changes nothing.
func (c Config) Complete() (Config, error) {
	if c.Profile == "" {
		c.Profile = nfapi.OAI2025.String()
	}
	profile, err := nfapi.ParseProfile(c.Profile)
	if err != nil {
		return Config{}, fmt.Errorf("%w: profile: %w", ErrConfig, err)
	}
	if _, err := transport.SegmentSize(profile, c.P7.SegmentSize); err != nil {
		return Config{}, fmt.Errorf("%w: p7: %w", ErrConfig, err)
	}
	if err := c.P5.complete(); err != nil {
		return Config{}, err
	}
	if !c.P7.Address.IsValid() {
		c.P7.Address = netip.AddrPortFrom(netip.IPv4Unspecified(), portP7)
	}
	if n := len(c.PHYs); n == 0 || n > maxPHYs {
		return Config{}, fmt.Errorf("%w: %d phys, there may be 1 to %d", ErrConfig, n, maxPHYs)
	}
	c.PHYs = slices.Clone(c.PHYs)
	known := map[uint16]bool{}
	for i := range c.PHYs {
		p := &c.PHYs[i]
		if known[p.ID] {
			return Config{}, fmt.Errorf("%w: two phys with id %d", ErrConfig, p.ID)
		}
		known[p.ID] = true
		if p.SlotAhead < 0 || p.SlotAhead > maxAhead {
			return Config{}, fmt.Errorf("%w: phy %d: slot_ahead %d is not within 0 to %d", ErrConfig, p.ID, p.SlotAhead, maxAhead)
		}
		if !p.P7.IsValid() {
			p.P7 = c.P7.Address
		}
		if p.BandwidthMHz == 0 {
			p.BandwidthMHz = defaultBandwidthMHz
		}
		if p.Layers == 0 {
			p.Layers = defaultLayers
		}
	}
	return c, nil
}

func (p *P5) complete() error {
	if p.Timeout == 0 {
		p.Timeout = 10 * time.Second
	}
	if p.Reconnect == 0 {
		p.Reconnect = 5 * time.Second
	}
	if p.VNF == "" {
		return fmt.Errorf("%w: p5.vnf is not set: host:port", ErrConfig)
	}
	if _, _, err := net.SplitHostPort(p.VNF); err != nil {
		p.VNF = net.JoinHostPort(p.VNF, portVNFP5)
		if _, _, err := net.SplitHostPort(p.VNF); err != nil {
			return fmt.Errorf("%w: p5.vnf: %w", ErrConfig, err)
		}
	}
	if p.Local != "" {
		if _, _, err := net.SplitHostPort(p.Local); err != nil {
			return fmt.Errorf("%w: p5.local: %w: host:port, with port 0 for any", ErrConfig, err)
		}
	}
	if p.Network != "" && !slices.Contains(transport.Networks(), p.Network) {
		return fmt.Errorf("%w: p5.network %q is none of %v", ErrConfig, p.Network, transport.Networks())
	}
	if p.SCTPUDPPort != 0 && p.Network != "sctp-udp" {
		return fmt.Errorf("%w: p5.sctp_udp_port %d goes with network sctp-udp, not %q", ErrConfig, p.SCTPUDPPort, p.Network)
	}
	if p.Timeout < 0 || p.Reconnect < leastPause {
		return fmt.Errorf("%w: p5.timeout %v is negative, or p5.reconnect %v below %v", ErrConfig, p.Timeout, p.Reconnect, leastPause)
	}
	return nil
}
