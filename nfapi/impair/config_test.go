package impair

import (
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// TestValidate: what cannot be is said.
func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		c    Config
		want string
	}{
		{Config{Profile: "scf"}, "no profile"},
		{Config{SFNOffset: 1024}, "impair: sfn_offset: 1024: want 0 to 1023"},
		{Config{SFNOffset: 1, WrapAfter: 1}, "both given"},
		{Config{WrapAfter: 11 * time.Second}, "wrap_after: 11s: want 0s to less than the SFN's cycle of 10.24s"},
		{Config{ClockDriftPPM: math.NaN()}, "clock_drift_ppm: NaN: want -1000000 to 1000000"},
		{Config{TickDriftPPM: math.Inf(-1)}, "tick_drift_ppm: -Inf: want"},
		{Config{TickDriftMax: -1}, "tick_drift_max: -1ns: want"},
		{Config{Rules: []Rule{{}, {Loss: 1.1}}}, "rules[1].loss: 1.1: want 0 to 1"},
		{Config{Rules: []Rule{{Flip: math.NaN()}}}, "flip: NaN"},
		{Config{Rules: []Rule{{Jitter: -1}}}, "jitter: -1ns"},
		{Config{Rules: []Rule{{Direction: "up"}}}, `direction: "up": want to-pnf or to-vnf or both`},
		{Config{Rules: []Rule{{Messages: []string{"DL"}}}}, `no message "DL" in P7: there are [DL_TTI UL_TTI SLOT UL_DCI TX_DATA RX_DATA CRC UCI SRS RACH SLOT.response `},
	} {
		if _, err := New(tc.c); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: got %v, want %s", tc.c, err, tc.want)
		}
	}
}

// TestValidateRelay: addresses are given, and no relay sends to itself.
func TestValidateRelay(t *testing.T) {
	a := func(port uint16) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), port) }
	for want, c := range map[string]Config{
		"": {AsVNF: a(1), VNF: a(2), AsPNF: a(3)},
		"as_pnf: 192.0.2.1:1: want another one than as_vnf": {AsVNF: a(1), VNF: a(2), AsPNF: a(1)},
		"vnf: 192.0.2.1:0: want an address and a port":      {AsVNF: a(1), VNF: a(0), AsPNF: a(3)},
		"pnf: 192.0.2.1:0: want an address and a port":      {AsVNF: a(1), VNF: a(2), AsPNF: a(3), PNF: a(0)},
		"as_pnf: not set": {AsVNF: a(1), VNF: a(2)},
		"vnf: 192.0.2.1:1: want another one than the relay's own": {AsVNF: a(1), VNF: a(1), AsPNF: a(3)},
		"pnf: 192.0.2.1:3: want another one than the relay's own": {AsVNF: a(1), VNF: a(2), AsPNF: a(3), PNF: a(3)},
	} {
		if err := c.ValidateRelay(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: got %v, want %q", c, err, want)
		}
	}
}
