package session

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestDroppedThreshold takes a URR through what the datapath has dropped: the
// limit is absolute and moves on with each report of it, and only of it.
func TestDroppedThreshold(t *testing.T) {
	const born = 1_800_000_000 * second
	u := URR{
		ID: 7, Method: MeasureVolume, Triggers: ReportDROTH | ReportVOLTH, VolumeThreshold: total(1000),
		DroppedThreshold: DroppedThreshold{Packets: 10, Octets: 5000},
	}
	u.provision(born, Counts{})
	u.State.droppedSince(Dropped{Packets: 3, Octets: 300}) // of one of the same ID before
	s := &Session{URRs: []URR{u}}
	var got []string
	look := func(octets uint64, d Dropped) {
		s.Reports = nil
		s.look(born+second, &Usage{URRs: []URRCounts{{URRID: 7, Counts: Counts{DownlinkOctets: octets}, Dropped: d}}}, Optional[uint32]{})
		got = append(got, fmt.Sprintf("%s limits %v", reportText(s.Reports), s.URRs[0].Limits().Dropped))
	}
	look(0, Dropped{12, 1200})
	look(0, Dropped{13, 1300})    // packets
	look(1000, Dropped{14, 1400}) // volume alone
	look(1000, Dropped{15, 6300}) // octets
	s.URRs[0].Triggers = ReportVOLTH
	look(1000, Dropped{100, 99999})
	want := []string{
		" limits {13 5300}",
		"#0 DROTH 0/0 1s limits {23 6300}",
		"#1 VOLTH 0/1000 0s limits {23 6300}",
		"#2 DROTH 0/0 0s limits {25 11300}",
		" limits {0 0}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reports and limits (-want +got):\n%s", diff)
	}
	w := &writer{}
	s.URRs[0].write(w)
	var back URR
	r := &reader{b: w.b}
	back.read(r)
	if diff := cmp.Diff(s.URRs[0], back, cmpopts.EquateEmpty()); diff != "" || r.bad {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}
