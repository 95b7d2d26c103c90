package ue

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/dci"
	"github.com/plumbline-upf/plumbline/ran/radio/rrc"
)

// newUE makes one that is attached, in slot 46, with formats to write its DCIs.
func newUE(t *testing.T) (*UE, *dci.Formats) {
	t.Helper()
	r := radio.Default()
	r.K2 = 2
	cell, err := rrc.New(&r)
	if err != nil {
		t.Fatal(err)
	}
	u, err := New(Config{Cell: cell, UE: r.UEs[0], RLC: r.RLC})
	if err != nil {
		t.Fatal(err)
	}
	formats := dci.New(cell.Grid)
	u.Start()
	for n := range slot.Number(40) {
		u.Begin(n)
		u.Preamble(n)
	}
	var d nfapi.DCI
	if err := formats.PutDownlink(&d, &dci.Downlink{PRBs: 1, Symbols: cell.Slot(40).PDSCH, K1: cell.Slot(40).K1}); err != nil {
		t.Fatal(err)
	}
	if u.Control(40, &d); !u.Attached() {
		t.Fatalf("it is not attached: %+v", u.Stats())
	}
	return u, formats
}

// fill queues packets until there is no room.
func fill(u *UE) (packets int) {
	for u.Send(make([]byte, 1000)) {
		packets++
	}
	return packets
}

// TestPatientSender: a packet waits for room; if none is made it is lost, and counted.
func TestPatientSender(t *testing.T) {
	u, formats := newUE(t)
	queued := fill(u)
	timer := time.NewTimer(time.Hour)
	if u.sendPatiently(make([]byte, 1000), timer, time.Millisecond); u.Stats().Uplink.Dropped != 1 {
		t.Errorf("got %+v, want a packet dropped", u.Stats().Uplink)
	}
	done := make(chan struct{})
	go func() {
		u.sendPatiently(make([]byte, 1000), timer, time.Minute)
		close(done)
	}()
	sendBlock(t, u, formats, 46)
	<-done
	if s := u.Stats().Uplink; s.Dropped != 1 || s.Packets != uint64(queued)+1 {
		t.Errorf("got %+v, want a packet more than the %d of before, and 1 dropped", s, queued)
	}
}

// sendBlock has the UE send in slot n+2.
func sendBlock(t *testing.T, u *UE, formats *dci.Formats, n slot.Number) {
	t.Helper()
	var d nfapi.DCI
	if err := formats.PutUplink(&d, &dci.Uplink{PRBs: 106, MCS: 28, K2: 2}); err != nil {
		t.Fatal(err)
	}
	u.Grant(n, &d)
	u.Prepare(n + 1)
	u.Prepare(n + 2)
	if u.Transmission() == nil {
		t.Fatal("nothing is sent")
	}
}

// TestGrantTwice: of two grants for a slot the first one counts, and neither leaves the
// UE waiting for what does not come.
func TestGrantTwice(t *testing.T) {
	u, formats := newUE(t)
	var d nfapi.DCI
	for harq := range uint8(2) {
		if err := formats.PutUplink(&d, &dci.Uplink{PRBs: 50, MCS: 5, K2: 2, HARQ: harq}); err != nil {
			t.Fatal(err)
		}
		u.Grant(46, &d)
	}
	u.Prepare(47)
	if u.Prepare(48); u.Transmission() == nil || u.Transmission().HARQ != 0 {
		t.Errorf("got %+v, want process 0", u.Transmission())
	}
	if s := u.Stats(); s.IgnoredDCIs != 1 || s.Uplink.Grants != 1 || u.fresh != 0 {
		t.Errorf("got %+v, %d grants to come", s, u.fresh)
	}
}

// TestSameProcessTwice: new data for a process whose last transmission is on the air
// would change what the gNB has not taken yet.
func TestSameProcessTwice(t *testing.T) {
	u, formats := newUE(t)
	u.Send([]byte("first"))
	var d nfapi.DCI
	for i := range slot.Number(2) {
		if err := formats.PutUplink(&d, &dci.Uplink{PRBs: 50, MCS: 5, K2: 2, NDI: uint8(i)}); err != nil {
			t.Fatal(err)
		}
		u.Grant(46+i, &d)
	}
	u.Prepare(47)
	u.Prepare(48)
	first := string(u.Transmission().Block)
	block := u.Transmission().Block
	u.Send([]byte("second"))
	if u.Prepare(49); u.Transmission() != nil || string(block) != first {
		t.Errorf("the transport block has changed, or is sent: %+v", u.Transmission())
	}
}

// TestGrantMissed: a grant whose slot was left out is not waited for.
func TestGrantMissed(t *testing.T) {
	u, formats := newUE(t)
	var d nfapi.DCI
	for turn := range uint8(2) {
		if err := formats.PutUplink(&d, &dci.Uplink{PRBs: 50, MCS: 5, K2: 2, NDI: turn}); err != nil {
			t.Fatal(err)
		}
		u.Grant(46+slot.Number(turn)*320, &d) // whose ring entry is the same
	}
	u.Prepare(46 + 320 + 1)
	if u.Prepare(46 + 320 + 2); u.Transmission() == nil || u.fresh != 0 {
		t.Errorf("got %+v, %d grants to come", u.Transmission(), u.fresh)
	}
}

// TestAnotherSize: a transport block of another size is a new one, whatever NDI says.
func TestAnotherSize(t *testing.T) {
	u, formats := newUE(t)
	for turn, prbs := range []int{50, 60} {
		var d nfapi.DCI
		if err := formats.PutUplink(&d, &dci.Uplink{PRBs: prbs, MCS: 5, K2: 2}); err != nil {
			t.Fatal(err)
		}
		at := slot.Number(46 + 10*turn)
		u.Grant(at, &d)
		u.Prepare(at + 1)
		if u.Prepare(at + 2); u.Transmission() == nil || u.Stats().Uplink.Blocks != uint64(turn+1) {
			t.Errorf("turn %d: got %+v, %+v", turn, u.Transmission(), u.Stats().Uplink)
		}
	}
	for turn, prbs := range []int{50, 60} {
		n := slot.Number(60 + turn)
		s := u.Cell.Slot(n)
		var d nfapi.DCI
		if err := formats.PutDownlink(&d, &dci.Downlink{PRBs: prbs, MCS: 5, Symbols: s.PDSCH, K1: s.K1}); err != nil {
			t.Fatal(err)
		}
		u.Begin(n)
		u.Control(n, &d)
		size := u.Cell.Allocation(s.PDSCH, prbs, 5).TransportBlock()
		u.Receive(n, []nfapi.TXDataTLV{{Payload: make([]byte, size)}})
		if got := u.Stats().Downlink.Blocks; got != uint64(turn+1) {
			t.Errorf("turn %d: got %d blocks", turn, got)
		}
	}
}

// TestIdle: what a UE remembers by slot has no meaning when its number comes round.
func TestIdle(t *testing.T) {
	u, formats := newUE(t)
	cycle := slot.Number(u.Cell.Numerology.PerCycle())
	feedback := slot.Number(40 + u.Cell.Slot(40).K1)
	if _, ok := u.Feedback(feedback); !ok {
		t.Error("there is no feedback")
	}
	var d nfapi.DCI
	for turn, idle := range []slot.Number{0, cycle * 3 / 4, cycle} {
		if err := formats.PutUplink(&d, &dci.Uplink{PRBs: 50, MCS: 5, K2: 2, NDI: uint8(turn % 2)}); err != nil {
			t.Fatal(err)
		}
		for n := range idle {
			u.Begin((46 + n) % cycle)
			u.Prepare((46 + n + 1) % cycle)
		}
		at := (46 + idle) % cycle
		u.Grant(at, &d)
		u.Prepare((at + 1) % cycle)
		if u.Prepare((at + 2) % cycle); u.Transmission() == nil {
			t.Errorf("after %d slots nothing is sent", idle)
		}
	}
	if _, ok := u.Feedback(feedback); ok {
		t.Error("there is feedback of 10 s ago")
	}
}

// TestOff: a UE that is off, or has no preamble sent, takes nothing.
func TestOff(t *testing.T) {
	u, formats := newUE(t)
	u.Stop()
	for _, start := range []bool{false, true} {
		if start {
			u.Start()
		}
		var d nfapi.DCI
		if err := formats.PutUplink(&d, &dci.Uplink{PRBs: 50, MCS: 5, K2: 2}); err != nil {
			t.Fatal(err)
		}
		u.Grant(46, &d)
		u.Prepare(47)
		if u.Prepare(48); u.Transmission() != nil || u.Attached() {
			t.Errorf("started: %v: it sends", start)
		}
	}
}

func TestNewErrors(t *testing.T) {
	r := radio.Default()
	cell, err := rrc.New(&r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Cell: cell, UE: r.UEs[0], RLC: "tm"}); err == nil {
		t.Error("it has a bearer of RLC TM")
	}
}
