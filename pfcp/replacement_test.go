package pfcp

import (
	"encoding/hex"
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAddressReplacement: each flag says which field there is, in the order of the IE.
func TestAddressReplacement(t *testing.T) {
	v4, v6 := netip.MustParseAddr("10.9.0.1"), netip.MustParseAddr("2001:db8::9")
	for octets, want := range map[string]AddressReplacement{
		"00":         {},
		"010a090001": {Destination: ReplacedEnd{IPv4: v4}},
		"040050":     {Destination: ReplacedEnd{Port: Some(uint16(80))}},
		"3f0a09000120010db80000000000000000000000090050" + "0a09000120010db80000000000000000000000091f90": {
			Destination: ReplacedEnd{v4, v6, Some(uint16(80))}, Source: ReplacedEnd{v4, v6, Some(uint16(8080))}},
		"280a0900011f90": {Source: ReplacedEnd{IPv4: v4, Port: Some(uint16(8080))}},
	} {
		b, err := hex.DecodeString(octets)
		if err != nil {
			t.Fatal(err)
		}
		var got AddressReplacement
		if err := addressReplacement.read(&got, b); err != nil {
			t.Errorf("%s: %v", octets, err)
		}
		if d := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
			t.Errorf("%s (-want +got):\n%s", octets, d)
		}
		if again := hex.EncodeToString(addressReplacement.write(nil, &got)); again != octets {
			t.Errorf("encoded as %s, want %s", again, octets)
		}
		if len(b) > 1 {
			if err := addressReplacement.read(&got, b[:len(b)-1]); !errors.Is(err, ErrLength) {
				t.Errorf("%s less an octet: %v", octets, err)
			}
		}
	}
}
