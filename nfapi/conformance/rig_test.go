package conformance

import (
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/pnf"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// patience is how long a test waits for what has to come: long, since machines are slow.
const patience = 30 * time.Second

var local = netip.MustParseAddrPort("127.0.0.1:0")

// testCell is what PNFs are configured with. Its slots are long, since machines are slow.
func testCell(t testing.TB) cell.Config {
	t.Helper()
	const mu = 0
	tdd, err := slot.ParseTDD(mu, "DDDSU", 6, 4)
	if err != nil {
		t.Fatal(err)
	}
	carrier := cell.Carrier{BandwidthMHz: 20, FrequencyKHz: 3_600_000, GridSize: 106, Antennas: 1}
	return cell.Config{Numerology: mu, TDD: tdd, Downlink: carrier, Uplink: carrier}
}

// silentPHY reports that nothing was received on any PUSCH.
type silentPHY struct{}

func (silentPHY) Configure(*cell.Config) error { return nil }
func (silentPHY) Start() error                 { return nil }
func (silentPHY) Stop()                        {}

func (silentPHY) Slot(r *fapi.Requests, i *fapi.Indications) {
	if r.Have&fapi.ULTTI == 0 {
		return
	}
	for j := range r.ULTTI.PDUs {
		if p := &r.ULTTI.PDUs[j]; p.Type == 1 && p.PUSCH.PDUBitmap&1 != 0 {
			i.Have |= fapi.CRC
			i.CRC.CRCs = append(i.CRC.CRCs, nfapi.CRC{Handle: p.PUSCH.Handle, RNTI: p.PUSCH.RNTI, TBCRCStatus: 1})
		}
	}
}

// background runs something until the test ends.
func background(t testing.TB, what string, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(patience):
			t.Errorf("%s does not end", what)
		}
	})
}

// testPNF runs cases against a PNF of ours.
func testPNF(t testing.TB, c Config, layer fapi.PHY) *Report {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	c.Peer, c.Network, c.Address, c.Cell = PNF, "tcp", local.String(), testCell(t)
	c.Timeout, c.Connect = 4*time.Second, patience
	if t.Name() != "TestPNF" && !strings.HasPrefix(t.Name(), "TestPNF/") {
		c.Timeout, c.Connect = time.Second, 2*time.Second // what is wrong does not come
	}
	c.Listening = func(at netip.AddrPort) {
		p, err := pnf.New(pnf.Config{
			Profile: c.Profile.String(), P5: pnf.P5{Network: "tcp", VNF: at.String(), Reconnect: 100 * time.Millisecond, Timeout: time.Minute},
			P7: pnf.P7{Address: local}, PHYs: []pnf.PHYConfig{{ID: 3, SlotAhead: 4}},
			NewPHY: func(uint16) (fapi.PHY, error) { return layer, nil },
		}, log)
		if err != nil {
			t.Error(err)
			return
		}
		background(t, "pnf", p.Run)
	}
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wholly fails the test for each case that did not pass.
func wholly(t testing.TB, r *Report, skipped ...string) {
	t.Helper()
	for i := range r.Results {
		one := &r.Results[i]
		want := Passed
		for _, pattern := range skipped {
			if ok, _ := Match(pattern, one.Name); ok {
				want = Skipped
			}
		}
		if one.Verdict != want && !slow(t, one) {
			t.Errorf("%s: %s, %s\n%s", one.Name, one.Verdict, one.Reason, one.failures("  "))
		}
	}
}

// slow reports whether a case could not be judged on this machine, which does too much
// else: that is nobody's fault.
func slow(t testing.TB, r *Result) bool {
	is := r.Verdict == Skipped && strings.HasSuffix(r.Reason, "too slow")
	if is {
		t.Logf("%s: %s", r.Name, r.Reason)
	}
	return is
}

// exactly fails the test unless the cases that failed are those that fit one of the
// patterns, all of them.
func exactly(t testing.TB, r *Report, patterns []string) {
	t.Helper()
	fits := func(name string) bool {
		for _, p := range patterns {
			if ok, err := Match(p, name); err != nil {
				t.Fatal(err)
			} else if ok {
				return true
			}
		}
		return false
	}
	failed := 0
	for i := range r.Results {
		one := &r.Results[i]
		got, want := one.Verdict == Failed, fits(one.Name)
		if want && slow(t, one) {
			failed++
			continue
		}
		if got {
			failed++
		}
		if got != want {
			t.Errorf("%s: %s, %s\n%s", one.Name, one.Verdict, one.Reason, one.failures("  "))
		}
	}
	if failed == 0 {
		t.Error("no case failed")
	}
}
