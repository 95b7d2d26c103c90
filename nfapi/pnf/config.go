package pnf

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// ErrConfig is wrapped by every error about what a [Config] says.
var ErrConfig = errors.New("pnf: configuration")

// Config says which PHYs a PNF has and where its VNF is.
type Config struct {
	// Profile is the VNF's profile of P5 and P7; "": oai-2025.
	Profile string `yaml:"profile"`
	P5      P5     `yaml:"p5"`
	P7      P7     `yaml:"p7"`
	// PHYs are what the PNF offers to the VNF.
	PHYs []PHYConfig `yaml:"phys"`

	// NewPHY creates the PHY with an ID of PHYs. The creator closes them.
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
	// SlotAhead is the number of slots by which SLOT.indication precedes the air. 0: 2<<mu, as in
	// OpenAirInterface.
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
//
// Errors: all that is wrong, wrapping [ErrConfig].
func (c Config) Complete() (Config, error) {
	var m yamltext.Checks
	if c.Profile == "" {
		c.Profile = nfapi.OAI2025.String()
	}
	profile, err := nfapi.ParseProfile(c.Profile)
	m.Under("profile", err)
	if err == nil {
		_, err = transport.SegmentSize(profile, c.P7.SegmentSize)
		m.Under("p7.segment_size", err)
	}
	c.P5.complete(&m)
	if !c.P7.Address.IsValid() {
		c.P7.Address = netip.AddrPortFrom(netip.IPv4Unspecified(), portP7)
	}
	c.completePHYs(&m)
	if err := m.Err(ErrConfig); err != nil {
		return Config{}, err
	}
	return c, nil
}

func (c *Config) completePHYs(m *yamltext.Checks) {
	if n := len(c.PHYs); n == 0 || n > maxPHYs {
		m.Note("phys", "%d phys: want 1 to %d", n, maxPHYs)
	}
	c.PHYs = slices.Clone(c.PHYs)
	known := map[uint16]bool{}
	for i := range c.PHYs {
		p := &c.PHYs[i]
		m.Want(!known[p.ID], fmt.Sprintf("phys[%d].id", i), p.ID, "an id that no other phy has")
		known[p.ID] = true
		yamltext.Within(m, fmt.Sprintf("phys[%d].slot_ahead", i), p.SlotAhead, 0, maxAhead)
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
}

// hostPort takes host:port apart. ok says that the port is a number, and that a host with
// colons is an IPv6 address.
func hostPort(text string) (host string, port uint64, ok bool) {
	host, digits, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, false
	}
	if _, err := netip.ParseAddr(host); err != nil && strings.Contains(host, ":") {
		return "", 0, false
	}
	port, err = strconv.ParseUint(digits, 10, 16)
	return host, port, err == nil
}

func (p *P5) complete(m *yamltext.Checks) {
	if p.Timeout == 0 {
		p.Timeout = 10 * time.Second
	}
	if p.Reconnect == 0 {
		p.Reconnect = 5 * time.Second
	}
	const form = "host:port, such as 10.0.0.1:50001"
	m.Want(p.VNF != "", "p5.vnf", p.VNF, form)
	if p.VNF != "" {
		given := p.VNF
		if _, _, err := net.SplitHostPort(given); err != nil {
			p.VNF = net.JoinHostPort(given, portVNFP5)
		}
		host, port, ok := hostPort(p.VNF)
		m.Want(ok && host != "" && port != 0, "p5.vnf", given, form)
	}
	if p.Local != "" {
		_, _, ok := hostPort(p.Local)
		m.Want(ok, "p5.local", p.Local, "host:port, with port 0 for any")
	}
	if p.Network != "" {
		m.OneOf("p5.network", p.Network, transport.Networks()...)
	}
	m.Want(p.SCTPUDPPort == 0 || p.Network == "sctp-udp", "p5.sctp_udp_port", p.SCTPUDPPort, fmt.Sprintf("0: it goes with network sctp-udp, not %q", p.Network))
	m.Want(p.Timeout >= 0, "p5.timeout", p.Timeout, "0 or more")
	m.Want(p.Reconnect >= leastPause, "p5.reconnect", p.Reconnect, fmt.Sprintf("at least %v", leastPause))
}
