package rancmd

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi/impair"
	"github.com/plumbline-upf/plumbline/nfapi/pnf"
	"github.com/plumbline-upf/plumbline/nfapi/vnf"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/phy"
)

// TestNFAPIMonoExample: the example has the defaults, and can be used.
func TestNFAPIMonoExample(t *testing.T) {
	file, err := readNFAPIMono("../../../deploy/nfapi/mono.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := file.GNB.validate(); err != nil {
		t.Error(err)
	}
	if want := radio.Default(); !reflect.DeepEqual(file.GNB.Radio, want) {
		t.Errorf("the example's radio is %+v, the default %+v", file.GNB.Radio, want)
	}
	if file.Mono.SlotAhead != defaultSlotAhead || file.Air.Device == nil {
		t.Errorf("slot_ahead %d, device %+v", file.Mono.SlotAhead, file.Air.Device)
	}
}

func TestNFAPIMonoErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mono.yaml")
	if err := os.WriteFile(path, []byte("slots_ahead: 6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readNFAPIMono(path); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("a key that is not known: %v", err)
	}
	if err := os.WriteFile(path, []byte("radio: {special_dl: 1.5}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readNFAPIMono(path); cli.ExitCode(err) != cli.ExitUsage || !strings.Contains(err.Error(), `mono.yaml:1:21: radio.special_dl: "1.5": want a whole number`) {
		t.Errorf("a number with a fraction: %v", err)
	}
	if err := os.WriteFile(path, []byte("core: {tun: {name: ue, addresses: [10.45.0.1]}}\nair: {device: {name: ue}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readNFAPIMono(path); cli.ExitCode(err) != cli.ExitUsage || !strings.Contains(err.Error(), `mono.yaml:2:22: air.device.name: device "ue" of namespace "": core.tun.name has it already`) {
		t.Errorf("two devices of one name: %v", err)
	}
	if _, err := readNFAPIMono(path + ".not"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	cell := radio.Default()
	if _, err := newNFAPIPHY(&cell, phy.Config{CRCFailureUplink: 2}, 1456, slog.New(slog.DiscardHandler)); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("failures of 2: %v", err)
	}
}

// TestNFAPIImpairFile: the example is a configuration, and flags come before it.
func TestNFAPIImpairFile(t *testing.T) {
	const file = "../../../deploy/nfapi/impair.yaml"
	c := nfapiImpairCommand{Seed: 7, Loss: 0.5, Delay: time.Millisecond}
	got, err := c.read(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.Seed != 7 || got.AsVNF.String() != "10.0.0.3:50011" || len(got.Rules) != 3 || got.Rules[0].Loss != 0.5 || got.TickDriftMax != 500*time.Microsecond {
		t.Errorf("got %+v", got)
	}
	var alone impair.Config
	if err := yamltext.Load(file, &alone, nil); err != nil {
		t.Fatal(err)
	}
	if r := alone.Rules; len(r) != 2 || r[0].SegmentLoss != 0.001 || r[0].Messages[0] != "TX_DATA" || r[1].Jitter != 20*time.Microsecond {
		t.Errorf("got %+v", r)
	}
}

// TestNFAPIPNFExample: the file in deploy says what the defaults are.
func TestNFAPIPNFExample(t *testing.T) {
	f, err := readNFAPIPNF("../../../deploy/nfapi/pnf.yaml")
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

// TestNFAPIVNFExample: the file in deploy says what the defaults are.
func TestNFAPIVNFExample(t *testing.T) {
	f, err := readNFAPIVNF("../../../deploy/nfapi/vnf.yaml")
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
