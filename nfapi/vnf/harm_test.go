package vnf_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/impair"
	"github.com/plumbline-upf/plumbline/nfapi/pnf"
	"github.com/plumbline-upf/plumbline/nfapi/vnf"
)

// TestSplitHarm: whatever is lost, comes twice, out of order or with wrong bits, what
// reaches MAC and PHY is right, and slots are scheduled in order.
func TestSplitHarm(t *testing.T) {
	for _, mode := range []string{vnf.AheadSlotIndication, vnf.AheadAdaptive} {
		t.Run(mode, func(t *testing.T) {
			log := slog.New(slog.NewTextHandler(t.Output(), nil))
			// Each end has an address of its own, which no other test has.
			network := rand.IntN(1 << 14)
			end := func(i, port int) netip.AddrPort {
				return netip.MustParseAddrPort(fmt.Sprintf("127.%d.%d.%d:%d", 64+network>>8, network&0xff, i, port))
			}
			upper, asUpper, asLower, lower := end(1, 50011), end(2, 50011), end(3, 50010), end(4, 50010)
			relay, err := impair.NewRelay(impair.Config{
				AsVNF: asUpper, VNF: upper, AsPNF: asLower, PNF: lower, Seed: 7,
				Rules: []impair.Rule{{Loss: 0.05, SegmentLoss: 0.05, Duplicate: 0.05, Reorder: 0.05, Flip: 0.05}},
			}, log)
			if err != nil {
				t.Fatal(err)
			}
			run(t, "relay", func(ctx context.Context) error {
				_, err := relay.Run(ctx)
				return err
			})
			mac, phy := newMAC(t, 1), newPHY()
			v, err := vnf.New(vnf.Config{
				P5: vnf.P5{Address: local, Network: "tcp"}, SlotAhead: vnf.SlotAhead{Mode: mode, Max: 10 * time.Millisecond},
				PNFs:     []vnf.PNF{{From: netip.MustParsePrefix("127.0.0.0/8"), PHYs: []vnf.PHY{{ID: 1, P7: upper, Announce: asUpper, PNFP7: asLower}}}},
				Timeouts: vnf.Timeouts{Answer: patience, Silence: patience, Sync: 5 * time.Millisecond},
			}, func(string, uint16) (fapi.MAC, error) { return mac, nil }, log)
			if err != nil {
				t.Fatal(err)
			}
			stopVNF := run(t, "vnf", v.Run)
			p, err := pnf.New(pnf.Config{
				P5: pnf.P5{Network: "tcp", VNF: v.P5().String()}, P7: pnf.P7{Address: lower}, PHYs: []pnf.PHYConfig{{ID: 1, SlotAhead: 8}},
				NewPHY: func(uint16) (fapi.PHY, error) { return phy, nil },
			}, log)
			if err != nil {
				t.Fatal(err)
			}
			stopPNF := run(t, "pnf", p.Run)
			wait(t, "slots", func() bool {
				_, sent := phy.counts()
				_, received := mac.counts()
				c := v.Stats().PNFs[0].PHYs[0]
				// Each kind of harm was there.
				return sent >= 500 && received >= 300 && c.Synchronised && c.Counts.TicksLost > 0 && c.Counts.TicksOld > 0 && c.Socket.WrongChecksum > 0
			})
			stopVNF()
			stopPNF()
			for _, f := range append(phy.faults, mac.faults...) {
				t.Error(f)
			}
		})
	}
}
