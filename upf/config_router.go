package upf

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// RouterAdvertisement is what the UPF itself answers to UEs that solicit a
// router. Without it that is left to the CP function, which has tunnels for it.
// Source: RFC 4861, 4.2; RFC 8106, 5.1.
type RouterAdvertisement struct {
	Enabled  bool         `yaml:"enabled" json:"enabled"`
	Lifetime Duration     `yaml:"lifetime" json:"lifetime"` // as default router
	MTU      int          `yaml:"mtu" json:"mtu"`           // octets of the UE's link; 0: not said
	DNS      []netip.Addr `yaml:"dns" json:"dns"`           // recursive servers, IPv6
	Other    bool         `yaml:"other" json:"other"`       // the O flag: there is more to be had by DHCPv6
}

// maxRouterLifetime is what 16 bits hold. Source: RFC 8319, 4.
const maxRouterLifetime = 65535 * time.Second

const maxRouterDNS = 8

func (c *Config) checkRouter(m *checks) {
	a := &c.RouterAdvertisement
	l := time.Duration(a.Lifetime)
	m.Want(l >= time.Second && l <= maxRouterLifetime, "router_advertisement.lifetime", l, fmt.Sprintf("1s to %v", maxRouterLifetime))
	m.Want(a.MTU == 0 || a.MTU >= 1280 && a.MTU <= 65535, "router_advertisement.mtu", a.MTU, "0, or 1280 to 65535")
	m.Want(len(a.DNS) <= maxRouterDNS, "router_advertisement.dns", len(a.DNS), fmt.Sprintf("at most %d", maxRouterDNS))
	for i, d := range a.DNS {
		m.Want(d.IsValid() && isIPv6(d) && d.Zone() == "", fmt.Sprintf("router_advertisement.dns[%d]", i), d, "a unicast IPv6 address")
	}
}

// advertise returns what the datapath answers; nil: nothing.
func (a *RouterAdvertisement) advertise() *stages.RouterAdvertisement {
	if !a.Enabled {
		return nil
	}
	return &stages.RouterAdvertisement{Lifetime: time.Duration(a.Lifetime), MTU: a.MTU, DNS: a.DNS, Other: a.Other}
}
