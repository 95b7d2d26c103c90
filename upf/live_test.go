package upf

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

// TestCheckLive has a namespace with n3 (10.3.0.1), n6 (10.6.0.1) and down, which
// is down.
func TestCheckLive(t *testing.T) {
	const lost = "%s: %q: its far end takes no redirected frames, so packets that xdp.mode native sends there get lost: " +
		"ethtool -K DEVICE gro on at the far end, or xdp.mode auto, or datapath tc"
	inNamespace(t, func() {
		addDevice(t, vethPair("n3", "gnb"), "10.3.0.1/24")
		addDevice(t, vethPair("n6", "dn"), "10.6.0.1/24")
		if err := netlink.LinkAdd(vethPair("down", "down-peer")); err != nil {
			t.Error(err)
			return
		}
		for _, tc := range []struct {
			name   string
			change func(*Config)
			is     error
			want   string
		}{
			{"as it is", func(*Config) {}, nil, ""},
			{"n3 and n6 on one device", func(c *Config) { c.N6.Device = "n3" }, nil, ""},
			{"n4 on any device", func(c *Config) { c.N4.Address = netip.MustParseAddr("10.6.0.1") }, nil, ""},
			{"no such device", func(c *Config) { c.N3.Device = "n33" }, ErrNoDevice,
				`n3.device: "n33": no such network device: create it or use one of [`},
			{"device down", func(c *Config) { c.N6.Device = "down" }, nil,
				`n6.device: "down" is down: ip link set down up`},
			{"n3 address on another device", func(c *Config) { c.N3.Address = netip.MustParseAddr("10.6.0.1") }, ErrNoAddress,
				"n3.address: 10.6.0.1 is on n6, not on n3: no such address on this machine"},
			{"n3 address nowhere", func(c *Config) { c.N3.Address = netip.MustParseAddr("10.3.0.9") }, ErrNoAddress,
				"n3.address: 10.3.0.9: no such address on this machine: ip address add 10.3.0.9/PREFIX dev n3"},
			{"n4 address nowhere", func(c *Config) { c.N4.Address = netip.MustParseAddr("2001:db8::4") }, ErrNoAddress,
				"n4.address: 2001:db8::4: no such address on this machine: add it to a device (ip address add)"},
			{"NAT to an address of its own", func(c *Config) { c.N6.NAT.Addresses = []netip.Prefix{netip.MustParsePrefix("10.6.0.2/31")} }, nil, ""},
			{"NAT to N6's own address", func(c *Config) { c.N6.NAT.Addresses = []netip.Prefix{netip.MustParsePrefix("10.6.0.0/31")} }, nil,
				"n6.nat.addresses[0]: 10.6.0.1 is an address of this machine: want addresses that the NAT has for itself, routed to here, " +
					"or of N6's subnet (ip route add ADDRESS/32 dev lo metric 1000; ip neigh add proxy ADDRESS dev n6)"},
			{"XDP that takes what mode runs", func(c *Config) { c.Datapath = DatapathXDP }, nil, ""},
			{"native mode of a datapath that has none", func(c *Config) { c.Datapath, c.XDP.Mode = DatapathTC, ModeNative }, nil, ""},
			{"native XDP where the far ends have no GRO", func(c *Config) { c.Datapath, c.XDP.Mode = DatapathXDP, ModeNative }, nil,
				fmt.Sprintf(lost, "n3.device", "n3") + "\n" + fmt.Sprintf(lost, "n6.device", "n6")},
			{"native XDP, one far end with GRO", func(c *Config) {
				c.Datapath, c.XDP.Mode = DatapathXDP, ModeNative
				setGRO(t, "dn")
			}, nil, fmt.Sprintf(lost, "n3.device", "n3")},
			{"native XDP, both far ends with GRO", func(c *Config) {
				c.Datapath, c.XDP.Mode = DatapathXDP, ModeNative
				setGRO(t, "gnb")
			}, nil, ""},
		} {
			c := Default()
			c.N4.Address = netip.MustParseAddr("10.3.0.1")
			c.N3 = N3{Device: "n3", Address: netip.MustParseAddr("10.3.0.1")}
			c.N6.Device = "n6"
			tc.change(c)
			got := ""
			err := c.CheckLive()
			if err != nil {
				got = err.Error()
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%s: got %v, want %v", tc.name, err, tc.is)
			}
			if strings.HasSuffix(tc.want, "[") {
				got = got[:min(len(got), len(tc.want))]
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.name, diff)
			}
		}
	})
}

// setGRO lets a device receive what is redirected to the other end of its pair.
func setGRO(t *testing.T, name string) {
	t.Helper()
	raise(t, name)
	if err := topology.SetFeatures(name, map[string]bool{"rx-gro": true}); err != nil {
		t.Error(err)
	}
}

// TestCheckLiveTUN: what the kernel is to do for the datapaths on sockets is looked at as by a
// start.
func TestCheckLiveTUN(t *testing.T) {
	const still = "datapath tun: this host does not forward IPv4 packets: sysctl -w net.ipv4.ip_forward=1"
	unreached := func(key, gateway, device string) string {
		return fmt.Sprintf("%s: gateway %s is not reached by %s itself: add an address with its prefix to the device, or a route (ip route add %s dev %s)",
			key, gateway, device, gateway, device)
	}
	inNamespace(t, func() {
		addDevice(t, vethPair("n3", "gnb"), "10.3.0.1/24")
		addDevice(t, vethPair("n6", "dn"), "10.6.0.1/24", "fd06::1/64")
		for _, tc := range []struct {
			name    string
			forward string // of IPv4 and IPv6
			change  func(*Config)
			want    string
		}{
			{"none is forwarded", "00", func(*Config) {}, still},
			{"none is forwarded, nor to be", "00", func(c *Config) { c.Datapath = DatapathXDP }, ""},
			{"IPv4 alone", "10", func(*Config) {}, ""},
			{"IPv4 alone, and UEs with IPv6", "10", func(c *Config) {
				c.Pools = []Pool{{Name: "a", Prefixes: []netip.Prefix{netip.MustParsePrefix("fd64::/32")}}}
			}, "datapath tun: pool fd64::/32, and this host does not forward IPv6 packets: sysctl -w net.ipv6.conf.all.forwarding=1"},
			{"both", "11", func(c *Config) {
				c.Pools = []Pool{{Name: "a", Prefixes: []netip.Prefix{netip.MustParsePrefix("fd64::/32")}}}
			}, ""},
			{"gateways", "11", func(c *Config) {
				c.N6.Gateway, c.N6.Gateway6 = netip.MustParseAddr("10.6.0.2"), netip.MustParseAddr("fd06::2")
			}, ""},
			{"gateways elsewhere", "11", func(c *Config) {
				c.N6.Gateway, c.N6.Gateway6 = netip.MustParseAddr("10.7.0.2"), netip.MustParseAddr("fd07::2")
			}, unreached("n6", "10.7.0.2", "n6") + "\n" + unreached("n6", "fd07::2", "n6")},
			{"gateway of a policy elsewhere", "11", func(c *Config) {
				c.Policies = []ForwardingPolicy{{Name: "p", Gateways: []netip.Addr{netip.MustParseAddr("10.7.0.2")}}}
			}, unreached("forwarding_policies[0]", "10.7.0.2", "n6")},
			{"gateway elsewhere of another datapath, which asks for it itself", "11", func(c *Config) {
				c.Datapath, c.N6.Gateway = DatapathXDP, netip.MustParseAddr("10.7.0.2")
			}, ""},
		} {
			for i, path := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
				if err := os.WriteFile("/proc/sys/net/"+path, []byte(tc.forward[i:i+1]), 0); err != nil {
					t.Error(err)
				}
			}
			c := Default()
			c.Datapath = DatapathTUN
			c.N4.Address = netip.MustParseAddr("10.3.0.1")
			c.N3 = N3{Device: "n3", Address: netip.MustParseAddr("10.3.0.1")}
			c.N6.Device = "n6"
			tc.change(c)
			got := ""
			if err := c.CheckLive(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.name, diff)
			}
		}
	})
}
