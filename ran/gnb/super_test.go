package gnb

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"github.com/plumbline-upf/plumbline/internal/vnet"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

func TestSuperNeedsVeth(t *testing.T) {
	if _, err := openSuper(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}}, nil); !errors.Is(err, ErrConfig) {
		t.Errorf("got %v, want %v", err, ErrConfig)
	}
}

// TestFarEnd asks for the address of the other end of a veth in another namespace,
// and of one in the same.
func TestFarEnd(t *testing.T) {
	bed, err := topology.New(topology.Config{Name: "plt-gnb-far"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	near := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "near"}, PeerName: "far"}
	for _, tc := range []struct {
		device string
		upf    netip.Addr
		want   bool
	}{
		{"n3", bed.N3.UPF.Address.Addr(), true},
		{"n3", bed.N3.Peer.Address.Addr(), false}, // of this end
		{"n3", bed.N6.UPF.Address.Addr(), false},  // of the UPF, on another device
		{"near", netip.MustParseAddr("10.9.9.9"), true},
		{"far", netip.MustParseAddr("10.9.9.9"), false},
	} {
		err := bed.GNB.Do(func() error {
			if tc.device == "near" {
				if err := addPair(near, "10.9.9.9/24"); err != nil {
					return err
				}
			}
			device, err := netlink.LinkByName(tc.device)
			if err != nil {
				return err
			}
			got := checkFarEnd(device, []UE{{UPF: tc.upf}})
			if tc.want != (got == nil) || got != nil && !errors.Is(got, ErrConfig) {
				t.Errorf("%s, UPF %v: got %v, want it there: %t", tc.device, tc.upf, got, tc.want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// addPair makes a pair whose far end has the address.
func addPair(pair *netlink.Veth, address string) error {
	if err := netlink.LinkAdd(pair); err != nil {
		return err
	}
	far, err := netlink.LinkByName(pair.PeerName)
	if err != nil {
		return err
	}
	a, err := netlink.ParseAddr(address)
	if err != nil {
		return err
	}
	return netlink.AddrAdd(far, a)
}

// TestSuperFrame compares a whole frame of the packet socket.
func TestSuperFrame(t *testing.T) {
	f := frameBetween(netip.MustParseAddrPort("10.3.0.2:40000"), netip.MustParseAddrPort("10.3.0.1:2152"))
	const at = superRoom + 8
	b := make([]byte, at+44)
	s := &superN3{socket: -1}
	if err := s.send(&f, b, vnet.Super{}, at); err == nil {
		t.Error("a closed socket: got no error")
	}
	want := append(make([]byte, vnet.HeaderLen), octets(t, "000000000000 000000000000 0800"+
		"4500 0050 0000 4000 4011 2695 0a030002 0a030001"+"9c40 0868 003c 0000")...)
	b[6], b[7] = 0, 0 // where the checksum begins, moved by the headers: package vnet tests it
	if diff := cmp.Diff(want, b[:superRoom]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
