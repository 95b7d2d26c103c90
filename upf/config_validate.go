package upf

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/netdev"
)

// Lengths that the kernel and PFCP set, in octets.
const (
	maxSocketPath = 103 // sizeof sun_path less the final 0 and the ".new" of listenUnix
	maxFQDN       = 253 // RFC 1035, 2.3.4, written with dots
	maxLabel      = 63
)

var logLevels = []string{"debug", "info", "warn", "error"}

// Validate checks every value and how they go together. It looks at the
// configuration alone, not at the machine: that is [Config.CheckLive].
//
// Errors: [ConfigError].
func (c *Config) Validate() error {
	m := c.mistakes()
	return m.Err(nil)
}

func (c *Config) mistakes() checks {
	var m checks
	m.Want(c.NodeID == "" || c.NodeID == c.N4.Address.String() || isNodeID(c.NodeID),
		"node_id", c.NodeID, "an IP address or a domain name")
	role := c.Role()
	if role != RoleDatapath {
		c.checkN4(&m)
	}
	if role != RoleN4 {
		c.checkInterfaces(&m)
		c.checkGTPU(&m)
		c.checkDataNetworks(&m)
	}
	c.checkRole(&m)
	c.checkRouter(&m)
	c.checkBuffer(&m)
	c.checkSlices(&m)
	c.checkPredefined(&m)
	c.checkStore(&m)
	c.checkBus(&m)
	m.OneOf("datapath", c.Datapath, append(datapathNames(), DatapathAgents)...)
	m.OneOf("xdp.mode", c.XDP.Mode, ModeAuto, ModeNative, ModeGeneric)
	c.AFXDP.check(&m)
	c.checkP4(&m)
	m.Want(c.XDP.MaxListedPDRs >= 0 && c.XDP.MaxListedPDRs <= MaxSessions,
		"xdp.max_listed_pdrs", c.XDP.MaxListedPDRs, fmt.Sprintf("0 to %d", MaxSessions))
	c.checkTUN(&m)
	m.Want(c.Sessions.Max >= 1 && c.Sessions.Max <= MaxSessions,
		"sessions.max", c.Sessions.Max, fmt.Sprintf("1 to %d", MaxSessions))
	a := c.Metrics.Address
	m.Want(!a.IsValid() || a.Addr().IsLoopback() || c.Metrics.AllowRemote, "metrics.address", a,
		"a loopback address, or metrics.allow_remote: true (the page has no authentication)")
	s := c.API.Socket
	m.Want(s == "" || filepath.IsAbs(s) && len(s) <= maxSocketPath && isPrintable(s),
		"api.socket", s, fmt.Sprintf("an absolute path of at most %d octets", maxSocketPath))
	m.OneOf("log.level", c.Log.Level, logLevels...)
	m.OneOf("log.format", c.Log.Format, FormatText, FormatJSON)
	return m
}

func (c *Config) checkInterfaces(m *checks) {
	n3 := c.N3.Address
	m.Want(n3.Is4() && isHost(n3), "n3.address", n3, "a unicast IPv4 address of this machine")
	if c.takesDevices() {
		m.Want(netdev.IsName(c.N3.Device), "n3.device", c.N3.Device, "the name of a network device")
		m.Want(netdev.IsName(c.N6.Device), "n6.device", c.N6.Device, "the name of a network device")
	} else {
		m.Want(c.N3.Device == "" || netdev.IsName(c.N3.Device), "n3.device", c.N3.Device, "the name of a network device")
		m.Want(c.N6.Device == "" || netdev.IsName(c.N6.Device), "n6.device", c.N6.Device, "the name of a network device")
	}
	g4, g6 := c.N6.Gateway, c.N6.Gateway6
	m.Want(!g4.IsValid() || g4.Is4() && isHost(g4) && g4 != n3, "n6.gateway", g4,
		"the unicast IPv4 address of another machine, or none")
	m.Want(!g6.IsValid() || g6.Is6() && !g6.Is4In6() && isHost(g6), "n6.gateway6", g6,
		"the unicast IPv6 address of another machine, or none")
}

// isHost says whether a can be the address of one machine.
func isHost(a netip.Addr) bool {
	return a.IsValid() && !a.IsUnspecified() && !a.IsMulticast() && !a.Is4In6() &&
		a != netip.AddrFrom4([4]byte{255, 255, 255, 255}) && isPrintable(a.Zone())
}

// isNodeID says whether s is an address or an FQDN.
func isNodeID(s string) bool {
	if a, err := netip.ParseAddr(s); err == nil {
		return isHost(a) && a.Zone() == ""
	}
	if len(s) > maxFQDN {
		return false
	}
	labels := strings.Split(s, ".")
	if _, err := strconv.Atoi(labels[len(labels)-1]); err == nil {
		return false // what is left of an address; no top-level domain is a number
	}
	for _, label := range labels {
		if label == "" || len(label) > maxLabel || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
		for _, r := range label {
			if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_') {
				return false
			}
		}
	}
	return true
}

func isPrintable(s string) bool {
	for _, r := range s {
		if r < ' ' || r > '~' {
			return false
		}
	}
	return true
}
