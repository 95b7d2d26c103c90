package conformance

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/pnf"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// codesOK makes answers of some kind say OK.
func codesOK[M nfapi.Message](set func(M)) func(*nfapi.Header, nfapi.Message) []nfapi.Message {
	return func(_ *nfapi.Header, m nfapi.Message) []nfapi.Message {
		if r, ok := m.(M); ok {
			set(r)
		}
		return []nfapi.Message{m}
	}
}

// dropping leaves messages out.
func dropping(id nfapi.MessageID) func(*nfapi.Header, nfapi.Message) []nfapi.Message {
	return func(_ *nfapi.Header, m nfapi.Message) []nfapi.Message {
		if m.MessageID() == id {
			return nil
		}
		return []nfapi.Message{m}
	}
}

// tireless has every PUSCH be carried out, however late or early it was asked for: when its
// slot is over, a CRC.indication comes if none has; a machine that stands still may have no
// SLOT.indication for long.
func tireless() taint {
	const mu, ahead, long = slot.Numerology(0), 4, 2000
	var lock sync.Mutex
	waiting := map[uint32]slot.Number{} // by handle
	return taint{
		sent: func(m nfapi.Message) nfapi.Message {
			if r, ok := m.(*nfapi.ULTTIRequest); ok && len(r.PDUs) == 1 && r.PDUs[0].Type == 1 {
				lock.Lock()
				defer lock.Unlock()
				waiting[r.PDUs[0].PUSCH.Handle], _ = mu.Number(r.SFN, r.Slot)
			}
			return m
		},
		p7: func(_ *nfapi.Header, m nfapi.Message) []nfapi.Message {
			lock.Lock()
			defer lock.Unlock()
			var all []nfapi.Message
			switch m := m.(type) {
			case *nfapi.CRCIndication:
				for i := range m.CRCs {
					delete(waiting, m.CRCs[i].Handle)
				}
			case *nfapi.SlotIndication:
				now, _ := mu.Number(m.SFN, m.Slot)
				for handle, n := range waiting {
					if d := mu.Distance(n, mu.Add(now, -ahead)); d <= -2 && d > -long {
						sfn, at := mu.Split(n)
						all = append(all, &nfapi.CRCIndication{SFN: sfn, Slot: at, CRCs: []nfapi.CRC{{Handle: handle}}})
						delete(waiting, handle)
					}
				}
			}
			return append(all, m)
		},
	}
}

// TestWrongPNF: PNFs that are wrong in one way fail the cases that are about it, and no
// others.
func TestWrongPNF(t *testing.T) {
	lists := func(r *nfapi.ConfigResponse) {
		r.NumInvalid, r.NumInvalidIdle, r.NumInvalidRunning, r.NumMissing, r.TLVs = 0, 0, 0, 0, nil
	}
	tables := []string{"tdd/two-frames", "tdd/half-a-frame", "tdd/one-symbol-short", "tdd/10.04-long", "tdd/no-such-use", "tdd/unset"}
	tlvs := []string{"config/unknown-tag", "config/short-value", "config/long-value", "config/empty-value", "config/value-beyond", "config/numerology-beyond", "config/missing"}
	for name, test := range map[string]struct {
		taint taint
		cases string
		fail  []string
	}{
		"an unknown phy has parameters": {taint{p5: func(h *nfapi.Header, m nfapi.Message) []nfapi.Message {
			if r, ok := m.(*nfapi.ParamResponse); ok && h.PhyID == 77 {
				r.ErrorCode = 0
			}
			return []nfapi.Message{m}
		}}, "[^w]*", []string{"life/unknown-phy"}},
		"START is never refused": {taint{p5: codesOK(func(r *nfapi.StartResponse) { r.ErrorCode = 0 })}, "[sl][ti][af]*",
			[]string{"state/pnf-*/START.request", "state/phy-idle/START.request", "state/phy-running/START.request", "life/unknown-phy"}},
		"TLVs are not listed": {taint{p5: codesOK(lists)}, "[sct]*", append(tlvs, tables...)},
		"any TDD table will do": {taint{p5: codesOK(func(r *nfapi.ConfigResponse) {
			if len(r.TLVs) > 0 && (r.TLVs[0].Tag == nfapi.TagSlotConfig || r.TLVs[0].Tag == nfapi.TagTDDTable) {
				r.ErrorCode = 0
				lists(r)
			}
		})}, "[sctl]*", tables},
		"no STOP.indication": {taint{p5: dropping(nfapi.MsgStopIndication)}, "[^w]*",
			[]string{"state/phy-running/STOP.request", "state/phy-running/PNF_STOP.request", "life/start-stop", "life/configure-again", "life/pnf-stop", "report/not-running"}},
		"no ERROR.indication": {taint{p5: dropping(nfapi.MsgErrorIndication)}, "[rps]*", []string{"report/*", "pair/half-*"}},
		"node sync before it came": {taint{p7: func(_ *nfapi.Header, m nfapi.Message) []nfapi.Message {
			if r, ok := m.(*nfapi.ULNodeSync); ok {
				r.T2 = (r.T3 + 20) % cycle
			}
			return []nfapi.Message{m}
		}}, "[trc]*", []string{"time/node-sync"}},
		"TIMING_INFO says nothing": {taint{p7: func(_ *nfapi.Header, m nfapi.Message) []nfapi.Message {
			if r, ok := m.(*nfapi.TimingInfo); ok {
				*r = nfapi.TimingInfo{LastSFN: r.LastSFN, LastSlot: r.LastSlot}
			}
			return []nfapi.Message{m}
		}}, "[^w]*", []string{"time/timing-info", "time/timing-info-late"}},
		"slots come twice": {taint{p7: func(_ *nfapi.Header, m nfapi.Message) []nfapi.Message {
			if m.MessageID() == nfapi.MsgSlotIndication {
				return []nfapi.Message{m, m}
			}
			return []nfapi.Message{m}
		}}, "[^w]*", []string{"time/slot-indication"}},
		"requests are never late": {tireless(), "[rt]*", []string{"report/late", "report/early", "time/timing-info-late", "request/unknown-phy"}},
		"there is no window":      {tireless(), "window/[bls]*", []string{"window/beyond", "window/late-by-one", "window/slot-begun"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := testPNF(t, Config{Seed: 1, Fuzz: 20, Cases: test.cases, taint: test.taint}, silentPHY{})
			exactly(t, r, test.fail)
		})
	}
}

// TestWrongWrap: a PNF for which SFN 1024 follows 1023 is found out.
func TestWrongWrap(t *testing.T) {
	t.Parallel()
	seen := false // SFN 1023
	r := testPNF(t, Config{Cases: "window/[wo]*", taint: taint{p7: func(_ *nfapi.Header, m nfapi.Message) []nfapi.Message {
		if s, ok := m.(*nfapi.SlotIndication); ok {
			if seen = seen || s.SFN == 1023; seen && s.SFN < 100 {
				s.SFN += 1024
			}
		}
		return []nfapi.Message{m}
	}}}, silentPHY{})
	exactly(t, r, []string{"window/wrap"})
}

// TestGone: of a PNF that does not connect again, two cases fail and the others are not
// run.
func TestGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := Config{
		Peer: PNF, Network: "tcp", Address: local.String(), Cell: testCell(t), Timeout: time.Second, Connect: 500 * time.Millisecond, Cases: "life/*",
		Listening: func(at netip.AddrPort) {
			p, err := pnf.New(pnf.Config{
				P5: pnf.P5{Network: "tcp", VNF: at.String()}, P7: pnf.P7{Address: local}, PHYs: []pnf.PHYConfig{{ID: 1}},
				NewPHY: func(uint16) (fapi.PHY, error) { return silentPHY{}, nil },
			}, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Error(err)
				return
			}
			background(t, "pnf", func(context.Context) error { return p.Run(ctx) })
		},
		Begin: func(_, _ int, name string) {
			if name == "life/start-stop" {
				cancel()
			}
		},
	}
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Verdict{
		"life/unknown-phy": Passed, "life/unknown-phy-config-index": Passed, "life/start-stop": Failed, "life/configure-again": Failed, "life/pnf-stop": Failed, "life/reconnect": NotRun,
	}
	for _, one := range r.Results {
		if one.Name == "life/start-stop" || one.Name == "life/configure-again" || one.Name == "life/pnf-stop" {
			if one.Verdict == Passed {
				t.Errorf("%s passed without a PNF", one.Name)
			}
			continue
		}
		if one.Verdict != want[one.Name] {
			t.Errorf("%s: %s (%s), want %s", one.Name, one.Verdict, one.Reason, want[one.Name])
		}
	}
	if r.OK() {
		t.Error("the report is good")
	}
}
