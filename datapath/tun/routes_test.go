package tun

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// TestRoutes: routes of sessions come and go with them; what the host cannot have is
// refused, and leaves nothing.
func TestRoutes(t *testing.T) {
	n := openNetwork(t, "tunroutes", Config{Pools: []netip.Prefix{netip.MustParsePrefix("10.64.0.0/16")}})
	apply := func(ue netip.Addr, framed ...*api.Prefix) error {
		s := n.session(1, ue, netip.Addr{})
		s.Rules[1].Detect.FramedRoutes = framed
		return n.upf.Apply(context.Background(), &api.Change{Seid: 1, Session: s})
	}
	routes := func() string {
		var all []string
		check(t, n.UPF.Do(func() error {
			list, err := n.upf.host.kernel.RouteList(n.upf.traffic.devices[0].link, 2)
			for _, r := range list {
				all = append(all, r.Dst.String())
			}
			return err
		}))
		return strings.Join(all, " ")
	}
	pooled, beside := netip.MustParseAddr("10.64.0.1"), netip.MustParseAddr("10.99.0.1")
	framed := func(p string) *api.Prefix { return prefixOf(netip.MustParsePrefix(p)) }
	for _, tc := range []struct {
		name   string
		ue     netip.Addr
		framed []*api.Prefix
		err    error
		want   string
	}{
		{"in a pool", pooled, nil, nil, "10.64.0.0/16"},
		{"beside", beside, nil, nil, "10.64.0.0/16 10.99.0.1/32"},
		{"a framed route", beside, []*api.Prefix{framed("192.168.5.0/24")}, nil, "10.64.0.0/16 10.99.0.1/32 192.168.5.0/24"},
		{"too short", pooled, []*api.Prefix{framed("0.0.0.0/0")}, datapath.ErrUnsupported, "10.64.0.0/16 10.99.0.1/32 192.168.5.0/24"},
		{"the gNB's", pooled, []*api.Prefix{framed("10.3.0.0/16")}, datapath.ErrUnsupported, "10.64.0.0/16 10.99.0.1/32 192.168.5.0/24"},
		{"less again", pooled, nil, nil, "10.64.0.0/16"},
	} {
		err := apply(tc.ue, tc.framed...)
		var rule *datapath.RuleError
		if !errors.Is(err, tc.err) || tc.err != nil && !(errors.As(err, &rule) && rule.ID == 2) {
			t.Errorf("%s: got %v, want %v about PDR 2", tc.name, err, tc.err)
		}
		if got := routes(); got != tc.want {
			t.Errorf("%s: routes %q, want %q", tc.name, got, tc.want)
		}
	}
}

func prefixOf(p netip.Prefix) *api.Prefix {
	return &api.Prefix{Address: p.Addr().AsSlice(), Bits: uint32(p.Bits())}
}

// TestPause: while it is paused the datapath has no device, port or rule of the kernel, and
// takes changes; afterwards packets flow by them.
func TestPause(t *testing.T) {
	n := openNetwork(t, "tunpause", Config{N6: datapath.N6{Networks: []datapath.DataNetwork{
		{Name: "n6", Device: "n6", Gateways: []netip.Addr{netip.MustParseAddr("10.6.0.2")}},
	}}})
	check(t, n.upf.Pause())
	check(t, n.UPF.Do(func() error {
		rules, err := n.upf.host.kernel.RuleList(2)
		for _, r := range rules {
			if r.IifName != "" {
				t.Errorf("while paused there is %v", r)
			}
		}
		if _, err := os.Stat("/proc/sys/net/ipv4/conf/" + DefaultPrefix + "0"); err == nil {
			t.Errorf("while paused there is %s0", DefaultPrefix)
		}
		return err
	}))
	n.install(t)
	check(t, n.UPF.Do(n.upf.Resume))
	for range 2 { // and once more, to see that it can
		n.uplink(t, datagram(n.ue, n.Config.N6DN.Addr(), []byte("uplink")))
		_, from := receive(t, n.dn)
		_, err := n.dn.WriteToUDPAddrPort([]byte("downlink"), from)
		check(t, err)
		n.isDownlink(t, n.ue, "downlink")
		check(t, n.upf.Pause())
		check(t, n.UPF.Do(n.upf.Resume))
	}
}

// TestForwarding: where the kernel does not forward, New says what to type.
func TestForwarding(t *testing.T) {
	n := openNetwork(t, "tunforward", Config{})
	cfg := n.upf.cfg
	check(t, n.UPF.Do(func() error {
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("0"), 0); err != nil {
			return err
		}
		_, err := New(cfg)
		if err == nil || !strings.Contains(err.Error(), "sysctl -w net.ipv4.ip_forward=1") {
			t.Errorf("got %v, want what to type", err)
		}
		return nil
	}))
}
