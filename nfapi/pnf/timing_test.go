package pnf

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

// TestNodeSync: t2 and t3 are those of the slot clock, whatever tick ran last.
func TestNodeSync(t *testing.T) {
	const mu = slot.Numerology(1)
	b := newBed(t, mu, 0)
	b.start()
	b.slots(3) // the middle of slot 0
	b.wire.take()
	b.time.Jump(100 * time.Microsecond)
	b.request(&nfapi.DLNodeSync{T1: 9_999_999})
	got := b.wire.take()
	if len(got) != 1 || !got[0].flushed || got[0].id != nfapi.MsgULNodeSync {
		t.Fatalf("sent %+v, want an UL_NODE_SYNC", got)
	}
	var m nfapi.ULNodeSync
	if err := m.DecodeBody(nfapi.OAI2025, got[0].body); err != nil {
		t.Fatal(err)
	}
	if m.T1 != 9_999_999 || m.T2 != 350 || m.T3 != 350 {
		t.Errorf("got %d %d %d, want 9999999 350 350", m.T1, m.T2, m.T3)
	}
}

// TestTimingInfo: periodic with the real leads; aperiodic after a late request only.
func TestTimingInfo(t *testing.T) {
	const mu = slot.Numerology(1)
	b := newBed(t, mu, 0)
	b.phy.cell.TimingInfo = cell.TimingInfo{Periodic: true, Period: 5}
	b.start()
	b.slots(2) // the middle of slot -1; two of five slots are over
	b.request(ulTTI(mu, 0))
	b.request(ulTTI(mu, 3))
	b.request(txData(mu, 20479, 9))
	b.wire.take()
	b.slots(3)
	got := timingInfos(t, b.wire.take())
	if len(got) != 1 {
		t.Fatalf("%d TIMING_INFO, want 1", len(got))
	}
	m := got[0]
	if m.LastSFN != 0 || m.LastSlot != 2 || m.TimeSinceLastTimingInfo != 2 {
		t.Errorf("at %d.%d after %d ms, want 0.2 after 2", m.LastSFN, m.LastSlot, m.TimeSinceLastTimingInfo)
	}
	if m.ULTTILatestDelay != -250 || m.ULTTIEarliestArrival != -1750 || m.ULTTIJitter != 93 {
		t.Errorf("UL_TTI %d to %d, jitter %d, want -250 to -1750, 93", m.ULTTILatestDelay, m.ULTTIEarliestArrival, m.ULTTIJitter)
	}
	if m.TXDataRequestLatestDelay != 250 || m.TXDataRequestEarliestArrival != 250 || m.DLTTILatestDelay != 0 || m.DLTTIEarliestArrival != 0 {
		t.Errorf("got %+v", m)
	}
	b.slots(5)
	if got := timingInfos(t, b.wire.take()); len(got) != 1 || got[0].ULTTILatestDelay != 0 {
		t.Errorf("got %+v, want one without requests", got)
	}

	b = newBed(t, mu, 0)
	b.phy.cell.TimingInfo = cell.TimingInfo{Aperiodic: true}
	b.start()
	b.slots(3)
	b.request(ulTTI(mu, 2))
	b.slots(2)
	if got := timingInfos(t, b.wire.take()); len(got) != 0 {
		t.Errorf("%d TIMING_INFO, want none", len(got))
	}
	b.request(ulTTI(mu, 1))
	b.slots(3)
	if got := timingInfos(t, b.wire.take()); len(got) != 1 || got[0].ULTTILatestDelay != 750 {
		t.Errorf("got %+v, want one with 750 us", got)
	}
}

func timingInfos(t *testing.T, all []sent) (infos []nfapi.TimingInfo) {
	t.Helper()
	for _, s := range all {
		if s.id != nfapi.MsgTimingInfo {
			continue
		}
		var m nfapi.TimingInfo
		if err := m.DecodeBody(nfapi.OAI2025, s.body); err != nil {
			t.Fatal(err)
		}
		infos = append(infos, m)
	}
	return infos
}
