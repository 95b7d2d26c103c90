// Package kernels has the tests that boot other kernels and run plumb in them
// (scripts/kernel), and their results: testdata/results.json, of which the table of
// docs/kernels.md is made. `make boot` runs what fits into `make test`, `make kernels`
// the whole.
package kernels

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/verifier"
)

// Result is what a kernel did.
type Result struct {
	Release string `json:"release"` // uname -r
	// Architecture is that of the kernel, as Go calls it; empty: amd64.
	Architecture string             `json:"architecture,omitempty"`
	Date         string             `json:"date"`
	Commit       string             `json:"commit"` // of plumb
	Parts        map[string]Outcome `json:"parts"`
	Programs     []verifier.Program `json:"programs"`
	// Instructions: nil where none were counted.
	Instructions *Instructions `json:"instructions,omitempty"`
}

// Outcome is that of a part of the job.
type Outcome struct {
	OK   bool   `json:"ok"`
	Said string `json:"said,omitempty"` // the line that says most
	// Of is the date and commit of plumb, if they are not those of the result.
	Of string `json:"of,omitempty"`
}

// Keep takes from an older result of the same kernel what was not run again.
func (r *Result) Keep(old *Result) {
	if old == nil {
		return
	}
	for part, o := range old.Parts {
		if _, ran := r.Parts[part]; ran {
			continue
		}
		if o.Of == "" {
			o.Of = old.Date + ", " + old.Commit
		}
		r.Parts[part] = o
	}
	if r.Programs == nil {
		r.Programs = old.Programs
	}
	if r.Instructions == nil {
		r.Instructions = old.Instructions
	}
}

// Results are those of all kernels, by the name that scripts/kernel has for them.
type Results map[string]*Result

// ResultsFile is where they are kept, in the directory of this package.
const ResultsFile = "testdata/results.json"

// Read reads results; a file that is not there has none.
func Read(file string) (Results, error) {
	results := Results{}
	b, err := os.ReadFile(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return results, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(b, &results); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return results, nil
}

// Series returns the result of a kernel of the architecture with the major and minor number
// of the release; nil: there is none.
func (r Results) Series(release, architecture string) *Result {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if majorMinor(r[name].Release) == majorMinor(release) && cmp.Or(r[name].Architecture, amd64) == architecture {
			return r[name]
		}
	}
	return nil
}

const amd64 = "amd64"

// majorMinor of a release: "6.18" of "6.18.15+deb13-cloud-amd64".
func majorMinor(release string) string {
	parts := strings.SplitN(release, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// Compare says which programs are worse than before: refused, though not for want of
// something that the kernel lacks, or costing its verifier more than a tenth more on the same
// release, or more than half more on another of its series: their verifiers prune
// differently. tc-traced/upf_again_traced took 14 % more on 6.18.44 than on 6.18.15. nil: nothing is known.
func Compare(before *Result, release string, now []verifier.Program) (worse []string) {
	was := map[string]verifier.Program{}
	percent := 150
	if before != nil {
		if before.Release == release {
			percent = 110
		}
		for _, p := range before.Programs {
			was[p.Object+"/"+p.Name] = p
		}
	}
	for _, p := range now {
		name := p.Object + "/" + p.Name
		b, known := was[name]
		switch {
		case p.Refused != "" && (known && b.Refused == "" || !known && !p.Lacking()):
			worse = append(worse, fmt.Sprintf("%s: refused: %s", name, p.Refused))
		case known && b.Instructions > 0 && p.Instructions > b.Instructions*percent/100:
			worse = append(worse, fmt.Sprintf("%s: %d instructions processed, was %d", name, p.Instructions, b.Instructions))
		}
	}
	return worse
}

// Part is a part of testdata/job.sh, and how the table calls it.
type Part struct{ Name, Title string }

// Parts are all, in the order in which they are run and shown.
var Parts = []Part{
	{"programs", "programs"},
	{"auto", "`auto`"},
	{"xdp", "`xdp`"},
	{"tc", "`tc`"},
	{"afxdp", "`afxdp`"},
	{"tun", "`tun`"},
	{"tap", "`tap`"},
	{"restart_xdp", "`kill -9`, `xdp`"},
	{"restart_tc", "`kill -9`, `tc`"},
	{"tools", "trace, move, probe"},
	{"bench", "bench"},
	{"conformance_xdp", "conformance, `xdp`"},
	{"conformance_tc", "conformance, `tc`"},
}

// What counts instructions, in a virtual machine of its own (KERNEL_COUNT of
// scripts/kernel): the programs alone, and frames through the test bed.
const (
	CountPrograms = "count_programs"
	CountFrames   = "count_frames"
)

// Counts reports whether the part is one of those.
func Counts(part string) bool { return part == CountPrograms || part == CountFrames }

// Lacks are, by kernel and part, what that kernel has not: a part that fails for it is
// no failure of ours.
var Lacks = map[string]map[string]string{
	"5.10": {
		"programs": "atomics that return a value: Linux 5.12", "xdp": "as programs", "tc": "as programs",
		"restart_xdp": "as programs", "restart_tc": "as programs", "tools": "as programs", "bench": "as programs",
		"conformance_xdp": "as programs", "conformance_tc": "as programs",
		CountPrograms: "as programs", CountFrames: "as programs",
	},
	"5.15": {
		"programs": "bpf_loop: Linux 5.17; bpf_xdp_load_bytes: 5.18", "xdp": "bpf_xdp_load_bytes: Linux 5.18", "restart_xdp": "as xdp",
		"tools": "the probe needs bpf_loop: Linux 5.17", "bench": "live frames: Linux 5.18", "conformance_xdp": "as xdp",
		CountPrograms: "as xdp", CountFrames: "as bench",
	},
	"6.1": {"programs": hostWide}, "6.5": {"programs": hostWide}, "6.8": {"programs": hostWide},
}

const hostWide = "host-wide points of the probe: Linux 6.12"

// Table is the generated part of docs/kernels.md.
func Table(results Results, names []string) string {
	var out bytes.Buffer
	columns := []string{"kernel", "tried"}
	for _, p := range Parts {
		columns = append(columns, p.Title)
	}
	fmt.Fprintf(&out, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	var of, notes []string
	for _, name := range names {
		r := results[name]
		if r == nil {
			continue
		}
		cells := []string{r.Release, r.Date + ", " + r.Commit}
		for _, p := range Parts {
			text := cell(name, p.Name, r)
			if o := r.Parts[p.Name]; o.Of != "" {
				if !slices.Contains(of, o.Of) {
					of = append(of, o.Of)
				}
				text += fmt.Sprintf(" (%d)", slices.Index(of, o.Of)+1)
			}
			cells = append(cells, text)
		}
		fmt.Fprintf(&out, "| %s |\n", strings.Join(cells, " | "))
		notes = append(notes, lacks(name, r)...)
	}
	fmt.Fprintln(&out)
	for i, o := range of {
		fmt.Fprintf(&out, "(%d) tried %s\n", i+1, o)
	}
	if len(of) > 0 {
		fmt.Fprintln(&out)
	}
	fmt.Fprintln(&out, strings.Join(notes, "\n"))
	return out.String()
}

func cell(kernel, part string, r *Result) string {
	o, ran := r.Parts[part]
	switch {
	case !ran:
		return "not run"
	case part == "programs":
		loaded := 0
		for _, p := range r.Programs {
			if p.Refused == "" {
				loaded++
			}
		}
		return fmt.Sprintf("%d of %d", loaded, len(r.Programs))
	case o.OK && o.Said != "":
		return o.Said
	case o.OK:
		return "works"
	case Lacks[kernel][part] != "":
		return "no"
	default:
		return "**fails**"
	}
}

// lacks are lines that say what a kernel has not, each once.
func lacks(kernel string, r *Result) []string {
	features := map[string][]string{}
	for _, p := range r.Programs {
		if p.Refused != "" {
			features[p.Refused] = append(features[p.Refused], p.Object+"/"+p.Name)
		}
	}
	var lines []string
	for _, reason := range slices.Sorted(maps.Keys(features)) {
		lines = append(lines, fmt.Sprintf("- **%s**: %s (%s)", r.Release, reason, strings.Join(features[reason], ", ")))
	}
	said := map[string][]string{}
	for part, why := range Lacks[kernel] {
		if o, ran := r.Parts[part]; ran && !o.OK && part != "programs" && !strings.HasPrefix(why, "as ") {
			said[why] = append(said[why], part)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(said)) {
		slices.Sort(said[why])
		lines = append(lines, fmt.Sprintf("- **%s**: no %s: %s", r.Release, strings.Join(said[why], ", "), why))
	}
	return lines
}
