package controlplane

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// TestFigures: what the datapath tells of packets, and of how full it is, comes
// from the agent, and is what it was while the agent is down.
func TestFigures(t *testing.T) {
	b := newBed(t)
	want := AgentStatus{
		Number: 0, Name: "one", Up: true, Datapath: "memory",
		Buffered: &datapath.Buffered{Sessions: 1, Packets: 2, MaxPackets: 3, Octets: 4, MaxOctets: 5},
		Tables:   []datapath.TableUse{{Name: "pdrs", Used: 6, Max: 7}},
	}
	check := func(when string) {
		t.Helper()
		got := b.upper.Agents()[0]
		got.Stats = Stats{}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", when, diff)
		}
		passes, err := b.upper.Passes()
		if diff := cmp.Diff(map[string]uint64{"buffer": 4}, passes); diff != "" || err != nil {
			t.Errorf("%s: passes: %v %s", when, err, diff)
		}
		totals := []datapath.SliceTotal{{Slice: 8, Uplink: datapath.Total{Packets: 9, Octets: 10, Dropped: 11}, Downlink: datapath.Total{Packets: 12}}}
		if diff := cmp.Diff(totals, b.upper.SliceTotals()); diff != "" {
			t.Errorf("%s: totals of slices: -want +got\n%s", when, diff)
		}
		if drops, err := b.upper.Drops(); err != nil || drops["no_pdr"] != 3 {
			t.Errorf("%s: drops: %v, %v", when, drops, err)
		}
	}
	check("up")
	b.stopAgent()
	b.wait("the agent is down", func() bool { return !b.upper.Up(0) })
	want.Up = false
	check("down")
}

// TestDropBuffered: DROBU comes to the datapath, also with a session that is as it
// was, and once.
func TestDropBuffered(t *testing.T) {
	b := newBed(t)
	if err := b.apply(1, 1); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := b.upper.Apply(t.Context(), &api.Change{Seid: 1, Session: testSession(1, 1), DropBuffered: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.apply(1, 2); err != nil {
		t.Fatal(err)
	}
	b.driver.mu.Lock()
	defer b.driver.mu.Unlock()
	if got := b.driver.dropped[1]; got != 2 {
		t.Errorf("dropped %d times, want 2", got)
	}
}
