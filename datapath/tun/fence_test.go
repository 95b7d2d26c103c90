package tun

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// here: what a UE reaches with a fence, and what it does not.
func (y *yard) here(t *testing.T) {
	t.Helper()
	y.arrives(t, y.ue, y.DN, y.Config.N6DN.Addr())
	y.arrives(t, y.ue6, y.DN, y.Config.N6DN6.Addr())
	y.arrives(t, y.ue, y.DN, beyond4.Addr())
	y.arrives(t, y.ue6, y.DN, beyond6.Addr())
	y.refused(t, y.ue, y.GNB, y.Config.N3GNB.Addr())
	y.refused(t, y.ue6, y.GNB, gnb6)
	y.refused(t, y.ue, y.other, corpDN)
	y.refused(t, y.ue6, y.other, corpDN6)
}

// TestReach: a UE reaches what is behind the device of its data network, on-link and by a
// gateway, and nothing else that the host has routes to. It is so again when N6's device
// has been removed and made again.
func TestReach(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  Config
	}{
		{"tun", Config{}},
		{"tap", Config{TAP: true}},
		{"gateways", Config{N6: datapath.N6{Networks: []datapath.DataNetwork{{
			Name: "n6", Device: "n6", Gateways: []netip.Addr{netip.MustParseAddr("10.6.0.2"), netip.MustParseAddr("fd06::2")},
		}}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			y := openYard(t, "tunreach", tc.cfg)
			y.install(t)
			y.here(t)
			check(t, y.Replace(&y.N6))
			if len(tc.cfg.N6.Networks) > 0 { // the route by gateways went with the device: upf opens the datapath again
				check(t, y.upf.Pause())
				check(t, y.UPF.Do(y.upf.Resume))
			}
			route(t, y.UPF, beyond4, y.Config.N6DN.Addr(), 0)
			y.arrives(t, y.ue, y.DN, beyond4.Addr())
			y.refused(t, y.ue, y.other, corpDN)
		})
	}
}

// TestReachUnnamed: where the data network names no device, the host's routes are all that
// counts.
func TestReachUnnamed(t *testing.T) {
	y := openYard(t, "tunreachun", Config{N6: datapath.N6{Networks: []datapath.DataNetwork{{Name: "n6"}}}})
	y.install(t)
	y.arrives(t, y.ue, y.DN, y.Config.N6DN.Addr())
	y.arrives(t, y.ue, y.other, corpDN)
	if y.hasTable(t) {
		t.Errorf("there is a table, and no device is named")
	}
}

// TestReachNetworks: with several data networks each UE reaches its own one, and UEs of the
// same one. A policy's gateways are reached, too.
func TestReachNetworks(t *testing.T) {
	y := openYard(t, "tunreachn", Config{N6: datapath.N6{
		Networks: []datapath.DataNetwork{
			{Name: "n6", Device: "n6", NetworkInstances: []string{"internet"}}, {Name: "corp", Device: "mgmt", NetworkInstances: []string{"corp"}},
		},
		Policies: []datapath.ForwardingPolicy{{Name: "filter", Gateways: []netip.Addr{netip.MustParseAddr("10.6.0.2")}}},
	}})
	apply := func(ue netip.Addr, instance, policy string) {
		t.Helper()
		y.sessions++
		s := y.session(y.sessions, ue, netip.Addr{})
		s.Rules[0].Forward.NetworkInstance, s.Rules[1].Detect.NetworkInstance = instance, instance
		s.Rules[0].Forward.ForwardingPolicy = policy
		check(t, y.upf.Apply(context.Background(), &api.Change{Seid: y.sessions, Session: s}))
	}
	internet, corp, neighbour, filtered := netip.MustParseAddr("10.64.0.1"), netip.MustParseAddr("10.65.0.1"), netip.MustParseAddr("10.65.0.2"), netip.MustParseAddr("10.64.0.2")
	apply(internet, "internet", "")
	apply(corp, "corp", "")
	apply(neighbour, "corp", "")
	apply(filtered, "internet", "filter")

	y.sessions = 1
	y.arrives(t, internet, y.DN, y.Config.N6DN.Addr())
	y.refused(t, internet, y.other, corpDN)
	y.refused(t, internet, y.GNB, y.Config.N3GNB.Addr())
	y.sessions = 2
	y.arrives(t, corp, y.other, corpDN)
	y.refused(t, corp, y.DN, y.Config.N6DN.Addr())
	y.refused(t, corp, y.GNB, y.Config.N3GNB.Addr())
	y.sessions = 4
	y.arrives(t, filtered, y.DN, y.Config.N6DN.Addr())
	y.refused(t, filtered, y.other, corpDN)

	between := func(from uint64, ue, to netip.Addr, at uint64) {
		t.Helper()
		y.sessions = from
		y.uplink(t, datagram(ue, to, []byte("to a UE")))
		y.sessions = at
		y.isDownlink(t, to, "to a UE")
	}
	between(2, corp, neighbour, 3)
	between(1, internet, filtered, 4)
	between(4, filtered, internet, 1)
}

// TestReachRule: a routing rule of the user goes before: here to a network behind N6 that has
// the numbers of N3.
func TestReachRule(t *testing.T) {
	y := openYard(t, "tunreachr", Config{})
	y.install(t)
	same := y.Config.N3GNB.Addr()
	y.refused(t, y.ue, y.GNB, same)
	address(t, y.DN, "lo", same.String()+"/32")
	route(t, y.UPF, netip.PrefixFrom(same, 32), y.Config.N6DN.Addr(), 101)
	check(t, y.UPF.Do(func() error {
		r := netlink.NewRule()
		r.Family, r.IifName, r.Table, r.Priority = unix.AF_INET, DefaultPrefix+"0", 101, 4000
		return netlink.RuleAdd(r)
	}))
	y.arrives(t, y.ue, y.DN, same)
}

// hasTable reports whether the kernel has the table of the fence, whoever made it.
func (y *yard) hasTable(t *testing.T) bool {
	t.Helper()
	var there bool
	check(t, y.UPF.Do(func() error {
		nft, err := openNftables()
		if err != nil {
			return err
		}
		defer nft.close()
		f := &fence{nft: nft, table: DefaultPrefix + "-n6"}
		there = f.there()
		return nil
	}))
	return there
}

// TestReachEnds: the table is gone while the datapath is paused, and when it is closed; what
// was counted stays. One of a process before that is in the way is replaced, one that
// somebody has removed comes again, and one whose process was killed goes with it.
func TestReachEnds(t *testing.T) {
	y := openYard(t, "tunreache", Config{})
	y.install(t)
	y.refused(t, y.ue, y.other, corpDN)
	check(t, y.upf.Pause())
	if y.hasTable(t) || y.counted(t) != 1 {
		t.Errorf("while paused: table %v, %d counted; want none, 1", y.hasTable(t), y.counted(t))
	}
	name := text(unix.NFTA_TABLE_NAME, DefaultPrefix+"-n6")
	wrong := &fence{log: slog.New(slog.DiscardHandler), table: DefaultPrefix + "-n6", kept: []kept{{DefaultPrefix + "0", []string{"mgmt"}}}}
	var killed *nftables
	check(t, y.UPF.Do(func() (err error) {
		if killed, err = openNftables(); err != nil {
			return err
		}
		return killed.commit(wrong.commands(name, false)...) // as before Linux 5.12: it stays
	}))
	killed.close()
	if !y.hasTable(t) {
		t.Fatal("a table without an owner has gone with who made it")
	}
	check(t, y.UPF.Do(y.upf.Resume))
	y.here(t)

	unowned := func() error { return y.upf.fence.nft.commit(command{unix.NFT_MSG_DELTABLE, 0, name}) }
	check(t, unowned())
	y.upf.fence.look()
	y.refused(t, y.ue, y.other, corpDN)
	if got := y.counted(t); got != 6 {
		t.Errorf("%d counted, want 6", got)
	}

	y.upf.fence.nft.close() // as the end of the process does
	check(t, y.UPF.Do(func() (err error) {
		y.upf.fence.nft, err = openNftables()
		return err
	}))
	if owned := y.upf.fence.owned; y.hasTable(t) == owned {
		t.Errorf("a process was killed, its table had an owner: %v, and is there: %v", owned, !owned)
	}
	check(t, y.upf.Close())
}

// lines is a log.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// TestReachSaid: the log says when packets are refused, and when a kernel can refuse none;
// here somebody else owns the table.
func TestReachSaid(t *testing.T) {
	y := openYard(t, "tunreachs", Config{})
	y.install(t)
	log := &lines{}
	y.upf.fence.log = slog.New(slog.NewTextHandler(log, nil))
	y.upf.fence.look()
	if got := log.String(); got != "" {
		t.Errorf("nothing was refused, and the log says %s", got)
	}
	y.refused(t, y.ue, y.other, corpDN)
	y.upf.fence.look()
	y.upf.fence.look()
	if got := log.String(); strings.Count(got, "packets of UEs are refused") != 1 || !strings.Contains(got, "packets=1") {
		t.Errorf("the log says %q, want it to say once that 1 packet is refused", got)
	}
	if !y.upf.fence.owned {
		t.Skip("this kernel has no owners of tables (Linux 5.12)")
	}
	second := &fence{log: y.upf.fence.log}
	check(t, y.UPF.Do(func() error {
		second.raise(DefaultPrefix, []kept{{DefaultPrefix + "0", []string{"mgmt"}}})
		return nil
	}))
	if got := log.String(); !strings.Contains(got, "UEs may reach whatever this host has routes to") || second.nft != nil {
		t.Errorf("the log says %q, want what UEs may reach", got)
	}
	second.lower()
	y.refused(t, y.ue, y.other, corpDN)
}

// TestReachTwo: UPFs of one namespace have a table each, and share N6's device.
func TestReachTwo(t *testing.T) {
	y := openYard(t, "tunreach2", Config{})
	y.install(t)
	second := &fence{log: slog.New(slog.DiscardHandler)}
	check(t, y.UPF.Do(func() error {
		second.raise("other", []kept{{"other0", []string{"n6", "other0"}}})
		return nil
	}))
	if second.nft == nil || !second.there() {
		t.Error("the second one has no table")
	}
	y.arrives(t, y.ue, y.DN, y.Config.N6DN.Addr())
	y.refused(t, y.ue, y.other, corpDN)
	if n := second.refused(); n != 0 {
		t.Errorf("the second one has counted %d packets, want 0", n)
	}
	second.lower()
	y.refused(t, y.ue, y.other, corpDN)
}

// TestReachVRF: N6's device is a port of a VRF, to whose table a rule of the user leads;
// then the datapath's device is a port, too.
func TestReachVRF(t *testing.T) {
	y := openYard(t, "tunreachv", Config{})
	y.install(t)
	vrf := &netlink.Vrf{LinkAttrs: netlink.LinkAttrs{Name: "red"}, Table: 77}
	err := y.UPF.Do(func() error { return netlink.LinkAdd(vrf) })
	if errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("this kernel has no VRF (CONFIG_NET_VRF, Linux 4.3)")
	}
	check(t, err)
	enslave := func(device string) {
		t.Helper()
		check(t, y.UPF.Do(func() error {
			link, err := netlink.LinkByName(device)
			return errors.Join(err, netlink.LinkSetMaster(link, vrf))
		}))
	}
	check(t, y.UPF.Do(func() error {
		r := netlink.NewRule()
		r.Family, r.IifName, r.Table, r.Priority = unix.AF_INET, DefaultPrefix+"0", 77, 4000
		return errors.Join(netlink.LinkSetUp(vrf), netlink.RuleAdd(r))
	}))
	enslave("n6")
	y.arrives(t, y.ue, y.DN, y.Config.N6DN.Addr())
	y.refused(t, y.ue, y.GNB, y.Config.N3GNB.Addr())
	enslave(DefaultPrefix + "0")
	y.arrives(t, y.ue, y.DN, y.Config.N6DN.Addr())
	enslave("mgmt")
	y.kept(t, y.ue, y.other, corpDN) // the VRF has no route to the UE, to tell it
}

// local adds a route of type local to the UPF's host, as "ip route add local … dev lo" does.
func (y *yard) local(t *testing.T, to netip.Prefix) {
	t.Helper()
	check(t, y.UPF.Do(func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.RouteAdd(&netlink.Route{
			Dst: ipNet(to), LinkIndex: lo.Attrs().Index, Table: unix.RT_TABLE_LOCAL, Type: unix.RTN_LOCAL, Scope: netlink.SCOPE_HOST})
	}))
}

// TestReachLocal: a route of type local makes a whole network addresses of the UPF's host, also
// one that is added later. UEs do not reach them; the host itself does.
func TestReachLocal(t *testing.T) {
	for name, cfg := range map[string]Config{"tun": {}, "tap": {TAP: true}} {
		t.Run(name, func(t *testing.T) {
			y := openYard(t, "tunreachl", cfg)
			y.install(t)
			server := listenAt(t, y.UPF, netip.AddrPortFrom(netip.IPv6Unspecified(), dnPort))
			from := listenAt(t, y.UPF, netip.AddrPortFrom(netip.IPv6Unspecified(), 0))
			for i, tc := range []struct {
				ue, to netip.Addr
				in     netip.Prefix
			}{
				{y.ue, netip.MustParseAddr("203.0.113.77"), netip.MustParsePrefix("203.0.113.0/24")},
				{y.ue6, netip.MustParseAddr("2001:db8:77::77"), netip.MustParsePrefix("2001:db8:77::/48")},
			} {
				y.local(t, tc.in)
				for begin := time.Now(); !y.upf.host.own.Has(tc.to); time.Sleep(time.Millisecond) {
					if time.Since(begin) > 5*time.Second {
						t.Fatalf("%v: the route is not seen", tc.to)
					}
				}
				y.uplink(t, datagram(tc.ue, tc.to, []byte("from a UE")))
				y.drops(t, datapath.DropLocal, uint64(i+1))

				_, err := from.WriteToUDPAddrPort([]byte("own"), netip.AddrPortFrom(tc.to, dnPort))
				check(t, err)
				check(t, server.SetReadDeadline(time.Now().Add(10*time.Second)))
				b := make([]byte, 64)
				if n, _, err := server.ReadFromUDPAddrPort(b); err != nil || string(b[:n]) != "own" {
					t.Errorf("%v: got %q, %v; want what the host itself sent", tc.to, b[:n], err)
				}
			}
			y.here(t)
			y.drops(t, datapath.DropLocal, 2)
		})
	}
}

// drops waits until want packets are counted for a reason.
func (y *yard) drops(t *testing.T, why datapath.Reason, want uint64) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		all, err := y.upf.Drops()
		check(t, err)
		if n := all[why.String()]; n == want {
			return
		} else if time.Since(begin) > 5*time.Second {
			t.Errorf("%d packets are counted as %v, want %d", n, why, want)
			return
		}
	}
}
