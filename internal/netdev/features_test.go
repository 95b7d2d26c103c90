package netdev

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestParse reads answers of NETDEV_CMD_DEV_GET, whole, as a little
// endian machine receives them. "veth" was recorded on Linux 6.18.
func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		index    int
		want     Features
		wantErr  bool
	}{
		{"loopback", "01010000 0800010001000000 0c00030000000000 00000000", 1, 0, false},
		{"index only", "01010000 0800010001000000", 1, 0, false},
		{
			"veth", "01010000 0800010002000000 0c00030023000000 00000000 0c00050007000000 00000000 0c00060000000000 00000000",
			2, Basic | Redirect | ReceiveFrag, false,
		},
		{"unknown attribute", "01010000 08006300ffffffff 0800010007000000", 7, 0, false},
		{"features of the wrong length", "01010000 0800010007000000 0800030023000000", 7, 0, false},
		{"no index", "01010000 0c00030023000000 00000000", 0, 0, true},
		{"header cut", "0101", 0, 0, true},
		{"attribute beyond the end", "01010000 ff00010001000000", 0, 0, true},
		{"padding of the last attribute missing", "01010000 0800010007000000 05006300ff", 7, 0, false},
		{"octets after the last attribute", "01010000 0800010007000000 0000", 0, 0, true},
		{"attribute shorter than its header", "01010000 0200010001000000", 0, 0, true},
	} {
		in, err := hex.DecodeString(strings.ReplaceAll(tc.in, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		index, got, err := parse(in)
		if index != tc.index || got != tc.want || (err != nil) != tc.wantErr {
			t.Errorf("%s: got %d, %#x, %v; want %d, %#x, error %t", tc.name, index, got, err, tc.index, tc.want, tc.wantErr)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"010100000800010001000000", "0101000008000100020000000c0003002300000000000000"} {
		in, err := hex.DecodeString(seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		index, features, err := parse(in)
		if (err == nil) != (index != 0) {
			t.Errorf("parse(%x): got index %d, error %v", in, index, err)
		}
		if err != nil && features != 0 {
			t.Errorf("parse(%x): got features %#x with error %v", in, features, err)
		}
	})
}

// TestNoTarget: only a veth loses what is redirected to it, unless it is known to pass it on.
func TestNoTarget(t *testing.T) {
	const none, unknown = "its far end takes no redirected frames", "this kernel does not say whether its far end takes redirected frames"
	for _, tc := range []struct {
		kind      string
		features  Features
		announced bool
		want      string
	}{
		{"veth", Basic | Redirect, true, none},
		{"veth", Basic | Redirect | Transmit, true, ""},
		{"veth", 0, false, unknown},
		{"device", Basic | Redirect, true, ""},
		{"device", 0, false, ""},
	} {
		if got := NoTarget(tc.kind, tc.features, tc.announced); got != tc.want {
			t.Errorf("NoTarget(%q, %#x, %t): got %q, want %q", tc.kind, tc.features, tc.announced, got, tc.want)
		}
	}
}
