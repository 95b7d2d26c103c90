package topology

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

// far is a UPF behind two devices of one namespace, whose neighbours have yet to be
// found.
func far(t *testing.T) (bed *Topology, e External) {
	t.Helper()
	bed = build(t, Config{Name: "plt-external", Together: true, MTU: 1600})
	for _, p := range []Port{bed.N3.Peer, bed.N6.Peer} {
		list, err := bed.GNB.links.NeighList(p.Index, netlink.FAMILY_ALL)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			if err := bed.GNB.links.NeighDel(&list[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	return bed, External{
		N3: "n3", N6: "n6", N3UPF: bed.N3.UPF.Address.Addr(), N6UPF: bed.N6.UPF.Address.Addr(), N4UPF: bed.N3.UPF.Address.Addr(),
		UEPools: bed.Config.UEPools,
	}
}

// from makes the topology from within the bed's gNB and data network.
func from(bed *Topology, e External) (got *Topology, err error) {
	err = bed.GNB.Do(func() (err error) {
		got, err = NewExternal(e)
		return err
	})
	return got, err
}

// TestExternal finds a UPF by ARP and by Neighbour Discovery, and wants what the bed
// knows of it.
func TestExternal(t *testing.T) {
	bed, e := far(t)
	for _, n6 := range []netip.Addr{bed.N6.UPF.Address.Addr(), bed.N6.UPF.Address6.Addr()} {
		e.N6UPF = n6
		got, err := from(bed, e)
		if err != nil {
			t.Fatal(err)
		}
		ports := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Namespace" }, cmp.Ignore())
		prefixes := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
		for _, tc := range []struct{ got, want Port }{{got.N3.Peer, bed.N3.Peer}, {got.N6.Peer, bed.N6.Peer}} {
			if diff := cmp.Diff(tc.want, tc.got, ports, prefixes); diff != "" {
				t.Errorf("port (-want +got):\n%s", diff)
			}
		}
		if got.N3.UPF.MAC.String() != bed.N3.UPF.MAC.String() || got.N6.UPF.MAC.String() != bed.N6.UPF.MAC.String() {
			t.Errorf("Ethernet addresses of the UPF: got %v and %v, want %v and %v", got.N3.UPF.MAC, got.N6.UPF.MAC, bed.N3.UPF.MAC, bed.N6.UPF.MAC)
		}
		if got.Config.N4SMF != bed.N3.Peer.Address.Addr() || got.Config.MTU != 1600 || got.N3.UPF.Address.Addr() != e.N3UPF {
			t.Errorf("got %+v", got.Config)
		}
		if err := got.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := bed.GNB.links.LinkByName("n3"); err != nil {
		t.Errorf("after Close: %v, want the device to be there still", err)
	}
}

// TestExternalIsNotThere wants to be told what is wrong.
func TestExternalIsNotThere(t *testing.T) {
	bed, good := far(t)
	for _, tc := range []struct {
		name   string
		change func(*External)
		want   string
	}{
		{"no device", func(e *External) { e.N3 = "n7" }, `N3: device "n7"`},
		{"no Ethernet", func(e *External) { e.N6 = "lo" }, "N6: device lo: is down, or no Ethernet device"},
		{"nobody there", func(e *External) { e.N6UPF = netip.MustParseAddr("10.6.0.9") }, "10.6.0.9: nobody answers"},
		{"another device", func(e *External) { e.N6UPF = good.N3UPF }, "leads over another device"},
		{"no IPv4", func(e *External) { e.N3UPF = netip.MustParseAddr("fd06::1") }, "want IPv4"},
		{"no pool", func(e *External) { e.UEPools = nil }, "no pool"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := good
			tc.change(&e)
			got, err := from(bed, e)
			if err == nil {
				got.Close()
				t.Fatal("got no error")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want it to say %q", err, tc.want)
			}
		})
	}
}

func TestExternalFromText(t *testing.T) {
	var got External
	if err := got.UnmarshalText([]byte("n3=eth1@10.3.0.1,n6=eth2@fd06::1,n4=10.4.0.1@10.4.0.2,ue=10.64.0.7/10+fd64::/32")); err != nil {
		t.Fatal(err)
	}
	want := External{
		N3: "eth1", N6: "eth2", N3UPF: netip.MustParseAddr("10.3.0.1"), N6UPF: netip.MustParseAddr("fd06::1"),
		N4UPF: netip.MustParseAddr("10.4.0.1"), N4SMF: netip.MustParseAddr("10.4.0.2"),
		UEPools: []netip.Prefix{netip.MustParsePrefix("10.64.0.0/10"), netip.MustParsePrefix("fd64::/32")},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"":                        "want n3, n6, n4 or ue",
		"n3=eth1@10.3.0.1":        "n6 is missing",
		"n3=eth1":                 "unable to parse IP",
		"n4=10.4.0.1,n4=10.4.0.1": "given twice",
		"n4=10.4.0.1@":            "unable to parse IP",
		"ue=10.64.0.0":            "no '/'",
		"n5=10.0.0.1":             "want n3, n6, n4 or ue",
		"n3=e@10.3.0.1,n6=f@10.6.0.1,n4=10.4.0.1,ue=10.0.0.0/8,": "want n3, n6, n4 or ue",
	} {
		if err := new(External).UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want it to say %q", text, err, want)
		}
	}
}
