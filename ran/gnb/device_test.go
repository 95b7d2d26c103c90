package gnb_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/ran/gnb"
)

func TestOpenDeviceErrors(t *testing.T) {
	address := []netip.Addr{netip.MustParseAddr("10.45.0.2")}
	for _, tc := range []struct {
		name string
		ue   gnb.UE
		mtu  int
		want string
	}{
		{"no name", gnb.UE{Addresses: address}, 1400, "name"},
		{"no address", gnb.UE{Name: "ue"}, 1400, "0 IPv4 and 0 IPv6"},
		{"small MTU", gnb.UE{Name: "ue", Addresses: address}, 1279, "mtu: 1279"},
		{"large MTU", gnb.UE{Name: "ue", Addresses: address}, 65536, "mtu: 65536"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := gnb.OpenDevice(tc.ue, tc.mtu, 0)
			if !errors.Is(err, gnb.ErrConfig) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want ErrConfig about %q", err, tc.want)
			}
		})
	}
}
