// Package verifier loads eBPF programs as the kernel's verifier sees them, one by
// one and attached to nothing: what each costs it, and which this kernel refuses
// and why.
//
// The limits are the kernel's: 1,000,000 instructions processed, and 512 octets of
// stack for a program and the functions that it calls.
package verifier

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
)

// MaxStack is how many octets of stack a program and what it calls may use.
// Source: Linux, include/linux/filter.h, MAX_BPF_STACK.
const MaxStack = 512

// Object is an object file with programs.
type Object struct {
	Name string
	Load func() (*ebpf.CollectionSpec, error)
	// Set are constants as they are at work: of a constant that is 0 the verifier
	// leaves out the paths behind it.
	Set map[string]any
	// Feature is what needs the object, and Needed those of its programs without which
	// it does not work; empty: neither a feature of its own nor asked of a kernel.
	Feature string
	Needed  []string
}

// Cost is what the verifier says of a program.
type Cost struct {
	Instructions int `json:"instructions,omitempty"` // processed, on all paths; 0: the log does not say
	Stack        int `json:"stack_octets"`           // of the program and its deepest function or chain of functions
}

// Program is the outcome for one program.
type Program struct {
	Object string `json:"object"`
	Name   string `json:"program"`
	Cost
	// Refused is why this kernel does not load it, in one line; empty: it does.
	Refused string `json:"refused,omitempty"`
	// Log is all that the verifier said of a program that was refused, or whose cost cannot be read.
	Log []string `json:"-"`
}

// Lacking reports whether the program was refused for a helper or kfunc that the kernel
// lacks, and not for what the verifier made of it.
func (p *Program) Lacking() bool { return strings.HasPrefix(p.Refused, lacksPrefix) }

// Try loads each program of the object over one set of tables and lets it go. Sizes
// of tables are cut to what costs little memory. An error is of the object: nothing
// of it could be tried.
func (o Object) Try() ([]Program, error) { return o.try(nil) }

// TryNeeded is [Object.Try] for the programs that the feature needs.
func (o Object) TryNeeded() ([]Program, error) { return o.try(o.Needed) }

func (o Object) try(only []string) ([]Program, error) {
	spec, err := o.Load()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Name, err)
	}
	for name, value := range o.Set {
		if err := spec.Variables[name].Set(value); err != nil {
			return nil, fmt.Errorf("%s: set %s: %w", o.Name, name, err)
		}
	}
	tables := spec.Copy()
	tables.Programs = nil
	for _, m := range tables.Maps {
		shrink(m, os.Getpagesize())
	}
	made, err := ebpf.NewCollection(tables)
	if err != nil {
		return nil, fmt.Errorf("%s: tables: %w", o.Name, err)
	}
	defer made.Close()
	var all []Program
	for _, name := range slices.Sorted(maps.Keys(spec.Programs)) {
		if only == nil || slices.Contains(only, name) {
			all = append(all, load(o.Name, spec, name, made.Maps))
		}
	}
	return all, nil
}

// maxEntries bounds the tables of a try.
const maxEntries = 4096

// shrink cuts a table that takes its memory at once. Those that name each possible
// CPU or have a size of their own for another reason are below the bound. A ring, whose size
// is set before it is made, is a page at least.
func shrink(m *ebpf.MapSpec, page int) {
	switch {
	case m.Type == ebpf.RingBuf:
		m.MaxEntries = max(m.MaxEntries, uint32(page))
	case m.MaxEntries > maxEntries:
		m.MaxEntries = maxEntries
	}
}

// load loads one program.
func load(object string, spec *ebpf.CollectionSpec, name string, tables map[string]*ebpf.Map) Program {
	p := Program{Object: object, Name: name}
	one := spec.Copy()
	one.Programs = map[string]*ebpf.ProgramSpec{name: one.Programs[name]}
	for _, m := range one.Maps {
		shrink(m, os.Getpagesize())
	}
	coll, err := ebpf.NewCollectionWithOptions(one, ebpf.CollectionOptions{
		MapReplacements: tables,
		Programs:        ebpf.ProgramOptions{LogLevel: ebpf.LogLevelStats},
	})
	if err != nil {
		p.Refused, p.Log = Reason(err), lines(err)
		return p
	}
	defer coll.Close()
	if p.Cost, err = parseCost(coll.Programs[name].VerifierLog); err != nil {
		p.Log = strings.Split(coll.Programs[name].VerifierLog, "\n") // loaded, at a cost that is not known
	}
	return p
}

func lines(err error) []string {
	var v *ebpf.VerifierError
	if errors.As(err, &v) {
		return v.Log
	}
	return nil
}

var (
	processed  = regexp.MustCompile(`processed (\d+) insns`)
	stackDepth = regexp.MustCompile(`stack depth (?:max )?([\d+]+)`)
)

// parseCost reads the figures of a verifier's log: "stack depth 280+72+0" of the program and
// of each function, up to Linux 7.1 or so, where the deepest function is added to the
// program; "stack depth max 480" of the deepest chain of calls, since then.
func parseCost(log string) (Cost, error) {
	p, s := processed.FindStringSubmatch(log), stackDepth.FindStringSubmatch(log)
	if p == nil || s == nil {
		return Cost{}, fmt.Errorf("verifier log without figures: %q", log)
	}
	var c Cost
	var err error
	if c.Instructions, err = strconv.Atoi(p[1]); err != nil {
		return Cost{}, err
	}
	deepest := 0
	for i, part := range strings.Split(s[1], "+") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return Cost{}, err
		}
		if i == 0 {
			c.Stack = n
		} else {
			deepest = max(deepest, n)
		}
	}
	c.Stack += deepest
	return c, nil
}
