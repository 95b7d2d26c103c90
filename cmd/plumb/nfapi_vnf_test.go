package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/nfapi/vnf"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

// TestNFAPIVNFExample: the file in deploy says what the defaults are.
func TestNFAPIVNFExample(t *testing.T) {
	f, err := readNFAPIVNF("../../deploy/nfapi/vnf.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := vnf.Config{P5: f.VNF.P5, PNFs: f.VNF.PNFs}
	if err := want.Validate(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.SlotAhead, f.VNF.SlotAhead); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Timeouts, f.VNF.Timeouts); diff != "" {
		t.Error(diff)
	}
	if f.VNF.Profile != want.Profile || f.VNF.P5.Network != "auto" {
		t.Errorf("profile %q, network %q", f.VNF.Profile, f.VNF.P5.Network)
	}
	if diff := cmp.Diff(radio.Default().UEs[0].RNTI, f.GNB.Radio.UEs[0].RNTI); diff != "" {
		t.Error(diff)
	}
	d := radio.Default()
	d.UEs, f.GNB.Radio.UEs = nil, nil
	if diff := cmp.Diff(d, f.GNB.Radio); diff != "" {
		t.Error(diff)
	}
}
