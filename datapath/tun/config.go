package tun

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
)

// Limits of an MTU in octets: what an IPv6 link must carry (RFC 8200, 5), and what fits
// into a buffer with all headers.
const (
	MinMTU = 1280
	MaxMTU = 65535 - 64
)

// MaxPrefix leaves room for a number in a device's name: IFNAMSIZ less the final 0.
const MaxPrefix = 15 - 3

func (c *Config) complete() {
	c.Prefix = cmp.Or(c.Prefix, DefaultPrefix)
	c.MTU = cmp.Or(c.MTU, DefaultMTU)
	c.Workers = cmp.Or(c.Workers, min(runtime.GOMAXPROCS(0), MaxWorkers))
	c.ringOctets = cmp.Or(c.ringOctets, ringMemory)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
}

func (c *Config) check() error {
	switch {
	case len(c.N6.Networks) == 0 || len(c.Endpoints) == 0:
		return fmt.Errorf("%d endpoints and %d data networks: want one of each at least", len(c.Endpoints), len(c.N6.Networks))
	case len(c.Prefix) > MaxPrefix:
		return fmt.Errorf("device prefix %q: want at most %d octets", c.Prefix, MaxPrefix)
	case c.MTU < MinMTU || c.MTU > MaxMTU:
		return fmt.Errorf("MTU %d: want %d to %d", c.MTU, MinMTU, MaxMTU)
	case c.Workers < 1 || c.Workers > MaxWorkers:
		return fmt.Errorf("%d workers: want 1 to %d", c.Workers, MaxWorkers)
	}
	return nil
}

// CheckForwarding is what [New] says of what the kernel of the caller's network namespace
// forwards. It changes nothing.
func CheckForwarding(c Config) error {
	c.complete()
	return checkForwarding(&c)
}

// checkForwarding says what to type if the kernel does not forward what leaves the
// devices, and what comes for them. It changes nothing: what a machine forwards is not
// the UPF's to decide.
func checkForwarding(c *Config) error {
	if c.onlyEthernet() {
		return nil
	}
	if !forwards("ipv4/ip_forward", "ipv4/conf/"+c.N6.Networks[0].Device+"/forwarding") {
		return fmt.Errorf("this host does not forward IPv4 packets: sysctl -w net.ipv4.ip_forward=1")
	}
	if sysctl("ipv4/conf/all/rp_filter") == "1" {
		c.Log.Warn("a strict reverse path filter on all devices drops ICMP errors of the UPF towards N6: sysctl -w net.ipv4.conf.all.rp_filter=2")
	}
	if forwards("ipv6/conf/all/forwarding", "") {
		return nil
	}
	for _, p := range c.Pools {
		if p.Addr().Is6() {
			return fmt.Errorf("pool %v, and this host does not forward IPv6 packets: sysctl -w net.ipv6.conf.all.forwarding=1", p)
		}
	}
	c.Log.Warn("this host does not forward IPv6 packets, so UEs have no IPv6: sysctl -w net.ipv6.conf.all.forwarding=1")
	return nil
}

func (c *Config) onlyEthernet() bool {
	for i := range c.N6.Networks {
		if !c.N6.Networks[i].Ethernet {
			return false
		}
	}
	return true
}

// forwards reports whether one of the switches under /proc/sys/net is on.
func forwards(all, device string) bool {
	if sysctl(all) == "1" {
		return true
	}
	return !strings.Contains(device, "//") && device != "" && sysctl(device) == "1"
}

// sysctl reads a switch of the network namespace of the caller; "": there is none.
func sysctl(path string) string {
	b, err := os.ReadFile("/proc/sys/net/" + path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
