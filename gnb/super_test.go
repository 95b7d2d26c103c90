package gnb

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"plumbline/vnet"
)

func TestSuperNeedsVeth(t *testing.T) {
	if _, err := openSuper(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}}); !errors.Is(err, ErrConfig) {
		t.Errorf("got %v, want %v", err, ErrConfig)
	}
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
