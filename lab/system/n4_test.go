package system

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/faulty"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/upf"
)

// TestN4 has sessions come, change and go, and looks whether frames say the same.
func TestN4(t *testing.T) {
	s := newSystem(t, Config{Name: "n4", Kind: dut.Plumbline(upf.DatapathXDP, nil), MaxSessions: n4load.MaxHeld(200)})
	load := n4load.Load{Rate: 2000, Shares: [n4load.Operations]float64{1, 2, 1}, WarmUp: 50 * time.Millisecond, Duration: 300 * time.Millisecond, Seed: 1}
	for _, cps := range []int{1, 3} { // the associations of the first time are set up anew
		got, err := s.N4(t.Context(), n4load.Campaign{
			CPs: cps, T1: time.Second, N1: 4, InFlight: 1024, Threads: 1, Sessions: 200, Loads: []n4load.Load{load},
			Host: func() report.Host { return report.Host{} },
		}, Rules{URR: true})
		if err != nil {
			t.Fatal(err)
		}
		checked := 0
		for _, f := range got.Figures {
			switch {
			case strings.HasPrefix(f.Name, "sessions checked"):
				if f.Value < 20 {
					t.Errorf("%d CPs: %s: %v, want more", cps, f.Name, f.Value)
				}
				checked++
			case f.Value != 0:
				t.Errorf("%d CPs: %s: %v, want 0", cps, f.Name, f.Value)
			}
		}
		if checked != 2 || len(got.Figures) != 8 || len(got.Loads()) != 1 || got.Phases[1].DUT == nil {
			t.Errorf("%d CPs: figures %+v, %d loads", cps, got.Figures, len(got.Loads()))
		}
	}
}

// TestCheck finds sessions that are not there where they should be, those that are
// where they should not, and tunnels that lead elsewhere.
func TestCheck(t *testing.T) {
	const n = 40
	s := newSystem(t, Config{Name: "check", Kind: dut.Plumbline(upf.DatapathXDP, nil)})
	establish(t, s, n, Rules{})
	there := slices.Clone(s.Sessions())
	template, err := s.template(Rules{})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := template.Sessions(n, n/2)
	for i := range elsewhere {
		elsewhere[i].ULTEID = 0xfffff000 + uint32(i)
	}
	moved := slices.Clone(there)
	for i := range moved[:5] {
		moved[i].DLTEID ^= 1 << 31
	}
	for _, d := range []generator.Direction{generator.Uplink, generator.Downlink} {
		if through, err := s.through(t.Context(), there, d); err != nil || through != n {
			t.Errorf("%v: %d go through, %v, want %d", d, through, err, n)
		}
		if through, err := s.through(t.Context(), elsewhere, d); err != nil || through != 0 {
			t.Errorf("%v: %d of others go through, %v, want none", d, through, err)
		}
		if lost, wrong, err := s.missing(t.Context(), append(slices.Clone(there), elsewhere...), d); err != nil || lost != n/2 || wrong != 0 {
			t.Errorf("%v: %d missing, %d wrong, %v, want %d", d, lost, wrong, err, n/2)
		}
	}
	if lost, wrong, err := s.missing(t.Context(), moved, generator.Downlink); err != nil || wrong != 5 || lost != 0 {
		t.Errorf("%d missing, %d with a wrong tunnel, %v, want 0 and 5", lost, wrong, err)
	}
	s.sessions = there // as the system knows them
}

// TestCheckLossy has a UPF lose frames of other sessions in each try, and wants no session to
// be missing for that.
func TestCheckLossy(t *testing.T) {
	s, err := New(t.Context(), Config{Run: "plt-system", Name: "lossy", Kind: faulty.Kind(faulty.Faults{Fault: faulty.Loss, Every: 7})})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = s.DUT().Kill() // it knows no other end
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	establish(t, s, 40, Rules{})
	there := slices.Clone(s.Sessions())
	trial, silent, err := s.oneEach(t.Context(), there, generator.Downlink, checkRates[0])
	if err != nil || len(silent) == 0 || uint64(len(silent)) != trial.OfferedFrames-trial.ReceivedFrames {
		t.Fatalf("%d sessions without a frame, trial %+v, %v", len(silent), trial, err)
	}
	if lost, wrong, err := s.missing(t.Context(), there, generator.Downlink); err != nil || lost != 0 || wrong != 0 {
		t.Errorf("%d missing, %d wrong, %v, want none", lost, wrong, err)
	}
	s.sessions = there // as the system knows them
}

// TestNotAgain leaves out a session whose TEID another one has.
func TestNotAgain(t *testing.T) {
	gone, held := []n4load.Session{{ULTEID: 1}, {ULTEID: 2}}, []n4load.Session{{ULTEID: 2}, {ULTEID: 3}}
	if got := notAgain(gone, held); len(got) != 1 || got[0].ULTEID != 1 {
		t.Errorf("%+v, want TEID 1", got)
	}
}
