package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// stage is what a compiler for Tofino says of a stage (pipe/logs/resources.json, which -g makes it write), as far as it is
// wanted here.
type stage struct {
	Number int      `json:"stage_number"`
	RAMs   ramUse   `json:"rams"`
	TCAMs  tcamUse  `json:"tcams"`
	Maps   mapUse   `json:"map_rams"`
	Meters meterUse `json:"meter_alus"`
	Tables idUse    `json:"logical_tables"`
	Gates  gateUse  `json:"gateways"`
	Hash   bitUse   `json:"hash_bits"`
	VLIW   vliwUse  `json:"vliw"`
}

type unit struct {
	Usages []struct {
		By string `json:"used_by"`
	} `json:"usages"`
}

type (
	ramUse struct {
		Used []unit `json:"srams"`
	}
	tcamUse struct {
		Used []unit `json:"tcams"`
	}
	mapUse struct {
		Used []any `json:"maprams"`
	}
	meterUse struct {
		Used []any `json:"meters"`
	}
	idUse struct {
		Used []any `json:"ids"`
	}
	gateUse struct {
		Used []any `json:"gateways"`
	}
	bitUse struct {
		Used []any `json:"bits"`
	}
	vliwUse struct {
		Used []any `json:"instructions"`
	}
)

// units are what a stage of Tofino 1 has.
const units = "of each stage: 16 tables, 80 SRAM, 24 TCAM, 48 map RAM, 4 meter ALUs, 16 gateways, 416 hash bits, 32 instructions"

// resources is the recorded text for the directory of a compiler for Tofino: the units used, by
// stage and by table. The directory must contain the output of an assembler, which rejects more
// stages than the chip has.
func resources(dir string) ([]byte, error) {
	for _, name := range []string{"tofino.bin", "context.json"} {
		if info, err := os.Stat(filepath.Join(dir, "pipe", name)); err != nil {
			return nil, fmt.Errorf("not assembled: %w", err)
		} else if info.Size() == 0 {
			return nil, fmt.Errorf("not assembled: %s is empty", name)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "pipe", "logs", "resources.json"))
	if err != nil {
		return nil, err
	}
	var all struct {
		Resources struct {
			MAU struct {
				Stages []stage `json:"mau_stages"`
				Of     int     `json:"nStages"`
			} `json:"mau"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	mau := all.Resources.MAU
	if len(mau.Stages) == 0 || len(mau.Stages) > mau.Of {
		return nil, fmt.Errorf("%d stages of %d", len(mau.Stages), mau.Of)
	}
	return append(byStage(mau.Stages), byTable(mau.Stages)...), nil
}

func byStage(all []stage) []byte {
	columns := []string{"tables", "SRAM", "TCAM", "map_RAM", "meter_ALUs", "gateways", "hash_bits", "instructions"}
	b := fmt.Appendf(nil, "%s\n\n%-6s", units, "stage")
	for _, c := range columns {
		b = fmt.Appendf(b, " %*s", len(c), c)
	}
	sum := make([]int, len(columns))
	line := func(name string, used []int) {
		b = fmt.Appendf(b, "\n%-6s", name)
		for i, n := range used {
			b = fmt.Appendf(b, " %*d", len(columns[i]), n)
		}
	}
	for _, s := range all {
		used := []int{len(s.Tables.Used), len(s.RAMs.Used), len(s.TCAMs.Used), len(s.Maps.Used), len(s.Meters.Used), len(s.Gates.Used),
			len(s.Hash.Used), len(s.VLIW.Used)}
		for i, n := range used {
			sum[i] += n
		}
		line(fmt.Sprint(s.Number), used)
	}
	line("all", sum)
	return append(b, '\n')
}

// byTable says which blocks a table has, and in which stages. What the compiler has split is one.
func byTable(all []stage) []byte {
	type use struct {
		stages      []string
		srams, cams int
	}
	tables := map[string]*use{}
	count := func(s stage, units []unit, add func(*use)) {
		for _, u := range units {
			for _, by := range u.Usages {
				name, _, _ := strings.Cut(by.By, "$")
				if tables[name] == nil {
					tables[name] = &use{}
				}
				t := tables[name]
				if n := fmt.Sprint(s.Number); !slices.Contains(t.stages, n) {
					t.stages = append(t.stages, n)
				}
				add(t)
			}
		}
	}
	for _, s := range all {
		count(s, s.RAMs.Used, func(t *use) { t.srams++ })
		count(s, s.TCAMs.Used, func(t *use) { t.cams++ })
	}
	b := fmt.Appendf(nil, "\n%-32s %5s %5s  %s", "of", "SRAM", "TCAM", "in stages")
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		t := tables[name]
		b = fmt.Appendf(b, "\n%-32s %5d %5d  %s", name, t.srams, t.cams, strings.Join(t.stages, " "))
	}
	return append(b, '\n')
}

// output is what is kept of an output: of a directory, what resources says of it.
func output(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return os.ReadFile(file)
	}
	b, err := resources(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s", filepath.Base(file)), err)
	}
	return b, nil
}
