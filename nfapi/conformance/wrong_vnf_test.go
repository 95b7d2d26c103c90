package conformance

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
)

// slowMAC takes longer than slots are announced ahead.
type slowMAC struct{ *busyMAC }

func (m slowMAC) Schedule(r *fapi.Requests) {
	time.Sleep(2 * announced * time.Millisecond)
	m.busyMAC.Schedule(r)
}

// doubling asks twice for what was announced twice.
func doubling() taint {
	type key struct{ sfn, slot uint16 }
	announcements := make(chan key, 100_000)
	times := map[key]int{}
	var last key
	return taint{
		sent: func(m nfapi.Message) nfapi.Message {
			if s, ok := m.(*nfapi.SlotIndication); ok {
				announcements <- key{s.SFN, s.Slot}
			}
			return m
		},
		p7: func(_ *nfapi.Header, m nfapi.Message) []nfapi.Message {
			for len(announcements) > 0 {
				k := <-announcements
				if times[k] = 1; k == last {
					times[k] = 2
				}
				last = k
			}
			sfn, s, ok := nfapi.SlotOf(m)
			if k := (key{sfn, s}); ok && times[k] > 1 {
				return []nfapi.Message{m, m}
			}
			return []nfapi.Message{m}
		},
	}
}

// obeying takes each error for OK.
func obeying(m nfapi.Message) nfapi.Message {
	switch m := m.(type) {
	case *nfapi.PNFParamResponse:
		return &nfapi.PNFParamResponse{NumTLVs: m.NumTLVs, TLVs: m.TLVs}
	case *nfapi.PNFConfigResponse:
		return &nfapi.PNFConfigResponse{}
	case *nfapi.PNFStartResponse:
		return &nfapi.PNFStartResponse{}
	case *nfapi.ParamResponse:
		return &nfapi.ParamResponse{NumTLVs: m.NumTLVs, TLVs: m.TLVs}
	case *nfapi.ConfigResponse:
		return &nfapi.ConfigResponse{}
	case *nfapi.StartResponse:
		return &nfapi.StartResponse{}
	}
	return m
}

// TestWrongVNF: VNFs that are wrong in one way fail the cases that are about it, and no
// others.
func TestWrongVNF(t *testing.T) {
	wrapped := false
	for name, test := range map[string]struct {
		taint taint
		mac   func(*busyMAC) fapi.MAC
		cases string
		fail  []string
	}{
		"errors are ignored":    {taint{answered: obeying}, nil, "[rt]*", []string{"refused/pnf-*", "refused/param", "refused/config", "refused/start"}},
		"ticks count each time": {doubling(), nil, "[pt]*", []string{"tick/duplicate"}},
		"requests are late":     {taint{}, func(m *busyMAC) fapi.MAC { return slowMAC{m} }, "tick/[rls]*", []string{"tick/lead"}},
		"TX_DATA is not sent":   {taint{p7: dropping(nfapi.MsgTXDataRequest)}, nil, "tick/*", []string{"tick/pair"}},
		"time stamps are of Unix": {taint{p7: func(h *nfapi.Header, m nfapi.Message) []nfapi.Message {
			h.Timestamp += 1_700_000_000
			return []nfapi.Message{m}
		}}, nil, "tick/*", []string{"tick/time-stamp"}},
		"no slots behind the wrap": {taint{p7: func(_ *nfapi.Header, m nfapi.Message) []nfapi.Message {
			sfn, _, ok := nfapi.SlotOf(m)
			if wrapped = wrapped || ok && sfn > 1000; wrapped && ok && sfn < 400 {
				return nil
			}
			return []nfapi.Message{m}
		}}, nil, "tick/[rdw]*", []string{"tick/wrap"}},
		"half a TDD table": {taint{p5: func(_ *nfapi.Header, m nfapi.Message) []nfapi.Message {
			if r, ok := m.(*nfapi.ConfigRequest); ok {
				r.TLVs = without(r.TLVs, nfapi.TagSlotConfig)
			}
			return []nfapi.Message{m}
		}}, nil, "procedure/[cp]*", []string{"procedure/config"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mac := fapi.MAC(newBusyMAC(t))
			if test.mac != nil {
				mac = test.mac(newBusyMAC(t))
			}
			r := testVNF(t, Config{Seed: 1, Fuzz: 20, Cases: test.cases, taint: test.taint}, mac)
			exactly(t, r, test.fail)
		})
	}
}
