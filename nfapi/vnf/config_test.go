package vnf

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
)

// TestValidateAll: all that is wrong is said at once, with its keys.
func TestValidateAll(t *testing.T) {
	at := netip.MustParseAddrPort("192.0.2.1:50011")
	c := Config{
		Profile: "oai", P5: P5{Network: "udp", SCTPUDPPort: 1}, SlotAhead: SlotAhead{Mode: "x", Max: time.Second, Min: -1, Margin: -1, Calm: -1},
		Timeouts: Timeouts{Answer: -1, Retry: -1, Silence: -1},
		PNFs: []PNF{
			{Name: "a", PHYs: []PHY{{ID: 1, P7: at}, {ID: 1, P7: at, Announce: netip.MustParseAddrPort("0.0.0.0:1"), PNFP7: netip.MustParseAddrPort("192.0.2.1:0")}}},
			{Name: "a"},
		},
	}
	err := c.Validate()
	var wrong *yamltext.ConfigError
	if !errors.As(err, &wrong) || !errors.Is(err, ErrConfig) {
		t.Fatalf("got %v", err)
	}
	var keys []string
	for _, m := range wrong.Mistakes {
		keys = append(keys, m.Key)
	}
	want := []string{
		"profile", "p5.address", "p5.network", "p5.sctp_udp_port", "slot_ahead.mode", "slot_ahead.max", "slot_ahead.min", "slot_ahead.margin",
		"slot_ahead.calm", "timeouts.answer", "timeouts.retry", "timeouts.silence", "pnfs[0].from", "pnfs[0].phys[1].id", "pnfs[0].phys[1].p7",
		"pnfs[0].phys[1].announce", "pnfs[0].phys[1].pnf_p7", "pnfs[1].name", "pnfs[1].from", "pnfs[1].phys",
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
