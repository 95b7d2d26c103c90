package upf

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestAuto: the best datapath for the devices of the UPF is taken, and it is said
// why, and of others that run not.
func TestAuto(t *testing.T) {
	b := newNamedBed(t, "plt-auto")
	b.config.Datapath = DatapathAuto
	b.start(t)
	d, err := b.api.Datapath(t.Context())
	if err != nil || d.Name != DatapathXDP || !strings.HasPrefix(d.Why, "auto; xdp: native on ") || d.Since.IsZero() {
		t.Errorf("got %+v, %v, want xdp, and why", d, err)
	}
	if !strings.Contains(b.log.String(), "datapath chosen") {
		t.Error("the log does not say which datapath was chosen")
	}
	b.stop(t)
	b.checkNothingLeft(t)
}

// TestMoveRefused: what is asked for wrongly changes nothing.
func TestMoveRefused(t *testing.T) {
	b := newNamedBed(t, "plt-refused")
	b.start(t)
	for to, want := range map[string]string{
		DatapathXDP: "forwards already", DatapathAuto: "forwards already", DatapathModel: `datapath "model": want one of`, "": "want one of", "x\ny": "want one of",
	} {
		if m, err := b.api.Move(t.Context(), to); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("move to %q: got %+v, %v, want %q", to, m, err, want)
		}
	}
	d, err := b.api.Datapath(t.Context())
	if err != nil || d.Name != DatapathXDP || d.Why != "configured" {
		t.Errorf("got %+v, %v, want xdp as configured", d, err)
	}
	b.stop(t)
	b.checkNothingLeft(t)
}

// TestTagsStay: where devices have tags, neither "auto" nor a move ends at a datapath that has none.
func TestTagsStay(t *testing.T) {
	b := newNamedBed(t, "plt-tagsstay")
	b.config.Datapath, b.config.N3.VLAN = DatapathAuto, 30
	b.start(t)
	for _, to := range []string{DatapathTUN, DatapathTAP} {
		want := "n3.vlan: 30: want 0: datapath " + to + " tags no frames"
		if m, err := b.api.Move(t.Context(), to); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("move to %s: got %+v, %v, want %q", to, m, err, want)
		}
	}
	d, err := b.api.Datapath(t.Context())
	if err != nil || d.Name != DatapathXDP || !strings.HasPrefix(d.Why, "auto; ") {
		t.Errorf("got %+v, %v, want xdp, by auto", d, err)
	}
	b.stop(t)
	b.checkNothingLeft(t)
	// What "auto" gets where nothing else runs: passed over, as what a machine does not support.
	c := *b.config
	c.Datapath = DatapathTUN
	made, err := openTUN(opening{Config: &c})
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "datapath tun: n3.vlan: tags") {
		t.Errorf("datapath tun: got %v, %v, want that it has no tags", made, err)
	}
}

// TestMoveTook: a move says how long it took from when it was asked for, also if it has
// to wait until the programs of the datapath before are loaded.
func TestMoveTook(t *testing.T) {
	b := newNamedBed(t, "plt-took")
	b.start(t)
	for _, to := range []string{DatapathTC, DatapathTUN} {
		start := time.Now()
		m, err := b.api.Move(t.Context(), to)
		if took := time.Since(start); err != nil || m.Took < took/2 {
			t.Errorf("move to %s: got %+v, %v, want that it took %v", to, m, err, took)
		}
	}
}

// TestMoveForbidden: with api.move false nobody moves anything.
func TestMoveForbidden(t *testing.T) {
	b := newNamedBed(t, "plt-forbidden")
	b.config.API.Move = false
	b.start(t)
	if m, err := b.api.Move(t.Context(), DatapathTUN); err == nil || !strings.Contains(err.Error(), "api.move is false") {
		t.Errorf("got %+v, %v, want that it is forbidden", m, err)
	}
}
