package rancmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/yamltext"
)

// TestNFAPICells: each PHY has a cell, with the keys of its entry and defaults for what
// is absent.
func TestNFAPICells(t *testing.T) {
	f, err := readNFAPIVNF(nfapiFile(t, vnfOfTwo+`
cells:
  - {phy: 2, radio: {prbs: 51, ues: [{rnti: 1, addresses: [10.65.0.1]}]}, core: {tun: {name: tun1, addresses: [10.45.1.1]}}}
  - {pnf: pnf0, phy: 1, core: {tun: {addresses: [10.45.0.1]}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var m yamltext.Checks
	cells := f.cells(&m)
	one, two := cells[nfapiPHYName{"pnf0", 1}], cells[nfapiPHYName{"pnf0", 2}]
	if len(cells) != 2 || one.Radio.PRBs != 106 || two.Radio.PRBs != 51 || two.Radio.K2 != 6 || two.Core.TUN.Addresses[0].String() != "10.45.1.1" {
		t.Errorf("got %+v", cells)
	}
	below, err := readNFAPIPNF(nfapiFile(t, pnfOfTwo+`
cells: [{phy: 1}, {phy: 2, air: {seed: 7}, radio: {mcs: 10, ues: [{rnti: 1, addresses: [10.65.0.1]}]}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	airs := below.cells(&m)
	if len(m) > 0 {
		t.Errorf("got %v", m)
	}
	if a := airs[nfapiPHYName{phy: 2}]; len(airs) != 2 || a.Air.Seed != 7 || a.Radio.MCS != 10 || a.Radio.K2 != 6 || airs[nfapiPHYName{phy: 1}].Radio.MCS != 28 {
		t.Errorf("got %+v", airs)
	}
}

// TestNFAPICellsErrors: a PHY without a cell, a cell without a PHY, two for one.
func TestNFAPICellsErrors(t *testing.T) {
	const (
		tun   = "core: {tun: {addresses: [10.45.0.1]}}"
		n3    = "n3: {address: 10.3.0.2}"
		other = "radio: {ues: [{rnti: 1, addresses: [10.65.0.1]}]}"
	)
	for text, want := range map[string]string{
		tun:                                      "2 phys, and the one cell of the top level: write an entry of cells: for each",
		"cells: [{phy: 1, " + tun:                ".yaml:3:9: could not find flow mapping end token",
		"cells: [{phy: 1, " + tun + "}]\n" + tun: "a cell at the top level (radio, core, air) beside the 1 of cells:",
		"cells: [{phy: 1, " + tun + "}]":         "none for phy 2 of pnf0",
		"cells: [{phy: 1, " + tun + "}, {phy: 1, " + tun + "}]":                                              "two for phy 1 of pnf0",
		"cells: [{phy: 1, " + tun + "}, {phy: 2, " + tun + "}, {phy: 3, " + tun + "}]":                       "cells[2]: there is no phy 3 of pnf0: [phy 1 of pnf0 phy 2 of pnf0] are the names",
		"cells: [{phy: 1, " + tun + "}, {phy: 2}]":                                                           "cells[1].core: neither n3 nor tun is given",
		"cells: [{phy: 1, " + tun + "}, {phy: 2, " + tun + "}]":                                              "both have a ue with address 10.64.0.1",
		"cells: [{phy: 1, " + tun + "}, {phy: 2, " + tun + ", " + other + "}]":                               `cells[1].core.tun.name: device "nfapi-gnb" of namespace "": cells[0].core.tun.name has it already`,
		"cells: [{phy: 1, core: {n4: 10.3.0.1, " + n3 + "}}, {phy: 2, core: {n4: 10.3.0.1, " + n3 + "}}]":    "cells[1].core.smf: PFCP at the address that the route to 10.3.0.1 has: cells[0].core.smf has it already",
		"cells: [{phy: 1, core: {n4: 10.3.0.1, " + n3 + "}}, {phy: 2, core: {" + n3 + "}}]":                  `cells[1].core.n3.address: GTP-U at 10.3.0.2 of namespace "": cells[0].core.n3.address has it already`,
		"cells: [{phy: 1, " + tun + "}, {phy: 2, cores: 1}]":                                                 `cells[1].cores: no such key, perhaps core: want one of core, phy, pnf, radio`,
		"cells: [{phy: 1, " + tun + "}, {pnf: x, phy: 2, " + tun + ", " + other + "}]":                       "none for phy 2 of pnf0",
		"cells: [{phy: 1, " + tun + "}, {phy: 2, " + tun + ", " + strings.Replace(other, "1", "0", 1) + "}]": "cells[1].radio.ues[0].rnti: 0: want 1 to",
	} {
		_, err := readNFAPIVNF(nfapiFile(t, vnfOfTwo+text))
		if err == nil || !strings.Contains(err.Error(), want) || cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                            "2 phys, and the one cell of the top level",
		"cells: [{phy: 1}]":           "none for phy 2",
		"cells: [{phy: 1}, {phy: 2}]": "phy 1 and phy 2 both have a ue with address 10.64.0.1",
		"cells: [{phy: 1, air: {device: {name: ue}}}, {phy: 2, air: {device: {name: ue}}}]": `cells[1].air.device.name: device "ue" of namespace "": cells[0].air.device.name has it already`,
	} {
		_, err := readNFAPIPNF(nfapiFile(t, pnfOfTwo+text))
		if err == nil || !strings.Contains(err.Error(), want) || cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

const (
	vnfOfTwo = `p5: {address: 127.0.0.1:0}
pnfs: [{from: 127.0.0.1/32, phys: [{id: 1, p7: "127.0.0.1:0"}, {id: 2, p7: "127.0.0.1:0"}]}]
`
	pnfOfTwo = `p5: {vnf: 127.0.0.1:1}
phys: [{id: 1}, {id: 2}]
`
)

func nfapiFile(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "nfapi.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
