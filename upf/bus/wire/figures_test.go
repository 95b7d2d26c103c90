package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/datapath"
)

// TestFigures: what an agent tells of its datapath arrives as it was.
func TestFigures(t *testing.T) {
	totals := []datapath.SliceTotal{
		{Slice: 3, Uplink: datapath.Total{Packets: 1, Octets: 2, Dropped: 3}, Downlink: datapath.Total{Packets: 4, Octets: 5, Dropped: 6}}, {}}
	if diff := cmp.Diff(totals, SliceTotalsOf(SliceTotals(totals))); diff != "" {
		t.Error(diff)
	}
	buffered := &datapath.Buffered{Sessions: 1, Packets: 2, MaxPackets: 3, Octets: 4, MaxOctets: 5}
	if diff := cmp.Diff(buffered, BufferedOf(Buffered(*buffered))); diff != "" {
		t.Error(diff)
	}
	if b := BufferedOf(nil); b != nil {
		t.Errorf("got %+v of a datapath that tells nothing", b)
	}
	tables := []datapath.TableUse{{Name: "pdrs", Used: 1, Max: 2}, {Name: "entries", Used: 3, Max: 4}}
	if diff := cmp.Diff(tables, TableUseOf(TableUse(tables))); diff != "" {
		t.Error(diff)
	}
}
