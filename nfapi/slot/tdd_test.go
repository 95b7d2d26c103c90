package slot_test

import (
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi/slot"
)

func TestParseTDD(t *testing.T) {
	tdd, err := slot.ParseTDD(1, "DDDDDDDSUU", 6, 4)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tdd.String(), "DDDDDDDSUUDDDDDDDSUU"; got != want {
		t.Errorf("the table is %s, want %s", got, want)
	}
	for n, want := range map[slot.Number][2]int{0: {14, 0}, 7: {6, 4}, 27: {6, 4}, 8: {0, 14}, 20479: {0, 14}, 20470: {14, 0}} {
		if got := [2]int{tdd.DownlinkSymbols(n), tdd.UplinkSymbols(n)}; got != want {
			t.Errorf("slot %d has %v symbols of downlink and uplink, want %v", n, got, want)
		}
	}
}

func TestParseTDDErrors(t *testing.T) {
	for name, parse := range map[string]func() (slot.TDD, error){
		"no divisor":       func() (slot.TDD, error) { return slot.ParseTDD(1, "DDDDDDSUU", 6, 4) },
		"empty":            func() (slot.TDD, error) { return slot.ParseTDD(1, "", 6, 4) },
		"letter":           func() (slot.TDD, error) { return slot.ParseTDD(1, "DXDSU", 6, 4) },
		"too many symbols": func() (slot.TDD, error) { return slot.ParseTDD(1, "DDDSU", 11, 4) },
		"numerology":       func() (slot.TDD, error) { return slot.ParseTDD(4, "DDDSU", 6, 4) },
		"two frames":       func() (slot.TDD, error) { return slot.NewTDD(1, make([][slot.Symbols]slot.Use, 40)) },
		"use": func() (slot.TDD, error) {
			return slot.NewTDD(0, append(make([][slot.Symbols]slot.Use, 9), [slot.Symbols]slot.Use{3}))
		},
	} {
		if got, err := parse(); err == nil {
			t.Errorf("%s: it is a table: %v", name, got)
		}
	}
}
