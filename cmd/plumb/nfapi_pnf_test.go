package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/nfapi/pnf"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

// TestNFAPIPNFExample: the file in deploy says what the defaults are.
func TestNFAPIPNFExample(t *testing.T) {
	f, err := readNFAPIPNF("../../deploy/nfapi/pnf.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := pnf.Config{P5: pnf.P5{VNF: f.PNF.P5.VNF, Network: "auto"}, PHYs: []pnf.PHYConfig{{ID: 1}}}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	if f.PNF.Profile != want.Profile || f.PNF.P5 != want.P5 || f.PNF.P7 != want.P7 || f.PNF.PHYs[0] != want.PHYs[0] {
		t.Errorf("got %+v, want %+v", f.PNF, want)
	}
	if f.Air.Air.CRCFailureDownlink != 0 || f.Air.Air.CRCFailureUplink != 0 || f.Air.Air.Seed != 0 || f.Air.Air.Device.MTU != 0 {
		t.Errorf("got %+v, want defaults", f.Air)
	}
	d := radio.Default()
	if len(f.Air.Radio.UEs) != 1 || f.Air.Radio.UEs[0].RNTI != d.UEs[0].RNTI {
		t.Errorf("got %+v, want %+v", f.Air.Radio.UEs, d.UEs)
	}
	d.UEs, f.Air.Radio.UEs = nil, nil
	if diff := cmp.Diff(d, f.Air.Radio); diff != "" {
		t.Error(diff)
	}
}
