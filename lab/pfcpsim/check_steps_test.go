package pfcpsim

import (
	"strings"
	"testing"
)

// TestStepKeys: what a scenario has beside its IEs is looked at when it is read.
func TestStepKeys(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "steps: not set: want one or more",
		"steps: []":                        "steps: not set: want one or more",
		"steps: [{wait: 1s, bare: x}]":     `steps[0].bare: "x": want true or false`,
		"steps: [{wait: 1s, packets: 3}]":  `steps[0].packets: "3": want true or false`,
		"steps: [{wait: 1s, within: -3s}]": `steps[0].within: "-3s": want a duration, such as 30s`,
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if s, err := Parse([]byte("steps: [{wait: 1s, bare: true, packets: false, within: 0s}]")); err != nil || !s.Steps[0].Bare || s.Steps[0].Packets {
		t.Errorf("got %+v, %v", s, err)
	}
}
