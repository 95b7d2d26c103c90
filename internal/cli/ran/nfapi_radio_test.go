package rancmd

import (
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/yamltext"
)

// TestNFAPIGNB: keys beside those of the command's own, with defaults for what is absent.
func TestNFAPIGNB(t *testing.T) {
	file := struct {
		Own string   `yaml:"own"`
		GNB nfapiGNB `yaml:",inline"`
	}{GNB: newNFAPIGNB()}
	const text = `
own: x
radio: {prbs: 51, k2: 4}
core:
  n4: 10.3.0.1
  n3: {address: 10.3.0.2, mtu: 1500}
`
	if err := yamltext.Parse("", []byte(text), &file, nil); err != nil {
		t.Fatal(err)
	}
	want := newNFAPIGNB().Radio
	if r := file.GNB.Radio; r.PRBs != 51 || r.K2 != 4 || r.Pattern != want.Pattern || len(r.UEs) != len(want.UEs) {
		t.Errorf("radio: %+v", r)
	}
	if c := file.GNB.Core; c.N3 == nil || c.N3.MTU != 1500 || c.N4.String() != "10.3.0.1" || c.TUN != nil {
		t.Errorf("core: %+v", c)
	}
	if err := file.GNB.validate(); err != nil {
		t.Error(err)
	}
}

func TestNFAPIGNBErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{}":             "neither n3 nor tun is given",
		"radio: {k2: 0}": "radio.k2: 0",
		"{radio: {prbs: 19}, core: {tun: {addresses: [10.45.0.1]}}}": "19 PRBs",
		"{radio: {k1: 15}, core: {tun: {addresses: [10.45.0.1]}}}":   "no uplink slot 15 to 15 slots after",
		"core: {n4: 10.3.0.1, tun: {addresses: [10.45.0.1]}}":        "n4 goes with n3",
		"core: {dnn: internet, tun: {addresses: [10.45.0.1]}}":       "want n4",
	} {
		file := newNFAPIGNB()
		if err := yamltext.Parse("", []byte(text), &file, nil); err != nil {
			t.Fatal(err)
		}
		if err := file.validate(); err == nil || !strings.Contains(err.Error(), want) || cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
