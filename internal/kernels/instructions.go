package kernels

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Instructions are those that a CPU executes for a packet, counted by an emulator whose
// clock goes on by one nanosecond with each. What they are does not depend on the machine.
type Instructions struct {
	Date   string `json:"date"`
	Commit string `json:"commit"` // of plumb
	// Programs: the `xdp` program alone, by the case of BenchmarkProgram and BenchmarkEnforce.
	Programs map[string]int `json:"programs"`
	// Frames: `plumb bench`, by datapath and direction, such as "xdp uplink".
	Frames map[string]Frames `json:"frames,omitempty"`
}

// Frames are what a trial of `plumb bench` says.
type Frames struct {
	Cost  int     `json:"cost"`  // instructions that the UPF adds to a frame
	Share float64 `json:"share"` // of the bed limit
}

// MoreThan says which programs execute more instructions for a packet than before: more
// than 2 % on the same release, where they are exact but for the compiler and the layout of
// tables, 10 % on another of its series, whose helpers and JIT may differ.
func (i *Instructions) MoreThan(before *Instructions, sameRelease bool) (worse []string) {
	percent := 110
	if sameRelease {
		percent = 102
	}
	for _, name := range slices.Sorted(maps.Keys(i.Programs)) {
		if was, n := before.Programs[name], i.Programs[name]; was > 0 && n > was*percent/100 {
			worse = append(worse, fmt.Sprintf("%s: %d instructions a packet, was %d", name, n, was))
		}
	}
	return worse
}

// The columns of the tables: names of Instructions.Programs and Instructions.Frames.
var (
	programColumns = []string{"uplink", "downlink", "MBR", "URR", "MBR and URR"}
	frameColumns   = []string{"xdp uplink", "xdp downlink", "tc uplink", "tc downlink"}
)

// instructionsTable is the part of docs/kernels.md about packets; empty: none are counted.
func instructionsTable(results Results, names []string) string {
	var out bytes.Buffer
	for _, name := range names {
		r := results[name]
		if r == nil || r.Instructions == nil {
			continue
		}
		if out.Len() == 0 {
			columns := append([]string{"kernel", "counted"}, programColumns...)
			for _, c := range frameColumns {
				columns = append(columns, "`"+strings.Replace(c, " ", "` ", 1))
			}
			fmt.Fprintf(&out, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
		}
		i := r.Instructions
		cells := []string{r.Release, i.Date + ", " + i.Commit}
		for _, c := range programColumns {
			cells = append(cells, fmt.Sprint(i.Programs[c]))
		}
		for _, c := range frameColumns {
			cells = append(cells, fmt.Sprintf("%d, %.3f", i.Frames[c].Cost, i.Frames[c].Share))
		}
		fmt.Fprintf(&out, "| %s |\n", strings.Join(cells, " | "))
	}
	return out.String()
}
