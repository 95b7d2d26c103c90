package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/ran/radio"
	"github.com/plumbline-upf/plumbline/ran/radio/phy"
)

// TestNFAPIMonoExample: the example has the defaults, and can be used.
func TestNFAPIMonoExample(t *testing.T) {
	file, err := readNFAPIMono("../../deploy/nfapi/mono.yaml")
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
