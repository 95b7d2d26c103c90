package xdp

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// layoutVersion is counted up when bpf/upf/rules.h changes so that tables of before
// cannot be read any more.
const layoutVersion = 12

// n6LayoutVersion is the same of struct n6_name in bpf/upf/n6.h and struct nat_mapping
// and nat_key in bpf/nat.h.
const n6LayoutVersion = 1

// What stands in the directory of the pins:
//
//	link-DEVICE            the attachment, whatever program it runs; of TC: tcx-, filter-
//	tags-DEVICE            that of the program that tags what the host sends
//	tables-LAYOUT-SIZES/   maps by name, all that programs and driver share
//	programs-N/            program arrays of the Nth process
//	next/                  tables beside those that the programs run over
//	n6-LAYOUT/             maps of the side of N6, which know no sizes
const (
	tablesPrefix   = "tables-"
	n6Prefix       = "n6-"
	nextTables     = "next"
	programsPrefix = "programs-"
)

// pinnedMaps are the maps that outlive the process. What is not here is made
// anew with the programs: counters of reasons, rings, neighbours on N6.
var pinnedMaps = []string{
	"rule_by_teid", "rule_by_ue", "guest_by_teid", "guest_by_ue", "accounts", "urr_owners", "urr_drops", "hops",
	"entries", "pdrs", "pdr_counters", "framed_by_prefix", "stations",
}

// pinnedNames and pinnedNAT are those of the side of N6, which stay whatever the
// sizes of the tables are.
var (
	pinnedNames = []string{"n6_names"}
	pinnedNAT   = []string{"nat_mappings", "nat_out", "nat_in"}
)

// pins is the directory of the pins; nil: there is none.
type pins struct {
	dir    string
	hook   *hook
	tables string   // directory of our tables
	n6     string   // and of those of the side of N6
	next   string   // where they stand until the programs run over them; "": they do
	others []string // directories of tables that we cannot adopt

	// programs is the directory of our program arrays. Those of processes before us,
	// left, stay until no device has a program that goes on in one of theirs: what is
	// behind a program has the neighbours and the slow path of its own process.
	programs string
	left     []string
	replaced bool // a program of ours is in the place of one that was there

	keep   bool     // on an orderly end, too
	failed bool     // to start: what was there before us stays, and nothing else
	nat    bool     // there are mappings to keep
	made   []string // pins of the side of N6 that were not there before us
}

// makeIn makes dir if it is, or would be, in a bpffs: elsewhere nothing is left.
func makeIn(dir string) error {
	if err := CheckPin(dir); err != nil {
		return fmt.Errorf("xdp: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("xdp: directory of pins: %w", err)
	}
	return nil
}

// CheckPin says whether a directory of pins is in a bpffs, or would be.
//
// Errors: [errors.ErrUnsupported] is wrapped if it is not.
func CheckPin(dir string) error {
	var st unix.Statfs_t
	at := dir
	err := unix.Statfs(at, &st)
	for errors.Is(err, unix.ENOENT) && at != filepath.Dir(at) {
		at = filepath.Dir(at)
		err = unix.Statfs(at, &st)
	}
	if err != nil {
		return fmt.Errorf("directory of pins %s: %w", dir, err)
	}
	if st.Type != unix.BPF_FS_MAGIC {
		return fmt.Errorf("directory of pins %s is not in a bpffs (mount -t bpf bpf /sys/fs/bpf): %w", dir, errors.ErrUnsupported)
	}
	return nil
}

// openPins makes the directory and looks at what is there.
func openPins(dir string, h *hook, slots, listed uint32) (*pins, error) {
	if dir == "" {
		return nil, nil
	}
	if err := makeIn(dir); err != nil {
		return nil, err
	}
	p := &pins{
		dir: dir, hook: h, tables: filepath.Join(dir, fmt.Sprintf("%s%d-%d-%d", tablesPrefix, layoutVersion, slots, listed)),
		n6: filepath.Join(dir, fmt.Sprint(n6Prefix, n6LayoutVersion)),
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("xdp: directory of pins: %w", err)
	}
	for _, name := range slices.Concat(onXDP.arrays, onTC.arrays) { // of earlier versions
		p.left = append(p.left, filepath.Join(p.tables, name))
	}
	last := 0
	for _, e := range entries {
		switch path := filepath.Join(dir, e.Name()); {
		case e.Name() == nextTables: // of one that was killed before it took over
			if err := os.RemoveAll(path); err != nil {
				return nil, fmt.Errorf("xdp: pins that never served: %w", err)
			}
		case strings.HasPrefix(e.Name(), tablesPrefix) && path != p.tables:
			p.others = append(p.others, path)
		case strings.HasPrefix(e.Name(), programsPrefix):
			n, _ := strconv.Atoi(e.Name()[len(programsPrefix):]) // 0: not ours to name
			last = max(last, n)
			p.left = append(p.left, path)
		}
	}
	p.programs = filepath.Join(dir, fmt.Sprint(programsPrefix, last+1))
	return p, nil
}

// adopted returns the maps with these names as they were left in a directory, or
// nil if they are not all there or not as spec wants them.
func (p *pins) adopted(dir string, names []string, spec *ebpf.CollectionSpec) map[string]*ebpf.Map {
	maps := map[string]*ebpf.Map{}
	for _, name := range names {
		m, err := ebpf.LoadPinnedMap(filepath.Join(dir, name), nil)
		if err == nil {
			maps[name] = m
			err = spec.Maps[name].Compatible(m)
		}
		if err != nil {
			closeMaps(maps)
			return nil
		}
	}
	return maps
}

func closeMaps(maps map[string]*ebpf.Map) {
	for _, m := range maps {
		_ = m.Close()
	}
}

// adopt returns all that a process before this one has left and spec wants: the
// side of N6 as far as it is there, and the tables, if it is known which data
// networks their rules mean.
func (p *pins) adopt(spec *ebpf.CollectionSpec) (all map[string]*ebpf.Map, tables bool) {
	if p == nil {
		return nil, false
	}
	all = p.adopted(p.n6, pinnedNames, spec)
	if all == nil {
		return nil, false
	}
	found := p.adopted(p.tables, pinnedMaps, spec)
	for _, more := range []map[string]*ebpf.Map{found, p.adopted(p.n6, pinnedNAT, spec)} {
		for name, m := range more {
			all[name] = m
		}
	}
	return all, found != nil
}

// pin pins new tables in place of whatever is there. nat says whether there are
// mappings to keep.
func (p *pins) pin(maps, adopted map[string]*ebpf.Map, tables, nat bool) error {
	if p == nil {
		return nil
	}
	names := pinnedNames
	if p.nat = nat; nat {
		names = append(names[:len(names):len(names)], pinnedNAT...)
	}
	if err := os.MkdirAll(p.n6, 0o700); err != nil {
		return fmt.Errorf("xdp: pins: %w", err)
	}
	for _, name := range names {
		if adopted[name] != nil {
			continue
		}
		path := filepath.Join(p.n6, name)
		if err := os.Remove(path); err != nil {
			p.made = append(p.made, path)
		}
		if err := maps[name].Pin(path); err != nil {
			return fmt.Errorf("xdp: pin %s: %w", name, err)
		}
	}
	if !tables {
		if err := p.pinTables(maps); err != nil {
			return err
		}
	}
	err := pinAll(p.programs, p.hook.arrays, maps) // the kernel empties those that nobody holds
	if errors.Is(err, fs.ErrExist) {
		p.programs = "" // of another process that starts at the same time
	}
	return err
}

// pinAll pins the maps with these names in a new directory.
func pinAll(dir string, names []string, maps map[string]*ebpf.Map) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("xdp: pins: %w", err)
	}
	for _, name := range names {
		if err := maps[name].Pin(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("xdp: pin %s: %w", name, err)
		}
	}
	return nil
}

func (p *pins) pinTables(maps map[string]*ebpf.Map) error {
	dir := p.tables
	if len(p.others) > 0 {
		p.next = filepath.Join(p.dir, nextTables)
		dir = p.next
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("xdp: old pins: %w", err)
	}
	return pinAll(dir, pinnedMaps, maps)
}

// serve says that the programs run over our tables now.
func (p *pins) serve() error {
	if p == nil || p.next == "" {
		return nil
	}
	if err := os.Rename(p.next, p.tables); err != nil {
		return fmt.Errorf("xdp: pins: %w", err)
	}
	p.next = ""
	return nil
}

// giveUp is called when the start has failed: because the UPF to which the pins
// belong still runs, perhaps.
func (p *pins) giveUp(adopted bool) {
	if p == nil {
		return
	}
	p.keep, p.failed = true, true
	if !adopted {
		_ = os.RemoveAll(cmp.Or(p.next, p.tables))
	}
	if !p.replaced && p.programs != "" {
		_ = os.RemoveAll(p.programs)
	}
	for _, path := range p.made {
		_ = os.Remove(path)
	}
	_ = os.Remove(p.n6)  // which fails if
	_ = os.Remove(p.dir) // there is more
}

// Unpin takes the programs that are pinned in dir off their devices and removes
// the directory: what is left of a UPF that does not come back. There being none
// is no error. A UPF that still runs goes on without what it had pinned, and
// without its programs.
func Unpin(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("xdp: directory of pins: %w", err)
	}
	var errs []error
	for _, e := range entries {
		prefix, device, is := cutAttachment(e.Name())
		switch path := filepath.Join(dir, e.Name()); {
		case is:
			errs = append(errs, removeAttachment(dir, prefix, device))
		case strings.HasPrefix(e.Name(), tablesPrefix), strings.HasPrefix(e.Name(), n6Prefix),
			strings.HasPrefix(e.Name(), programsPrefix), e.Name() == nextTables:
			errs = append(errs, os.RemoveAll(path))
		}
	}
	if err := os.Remove(dir); !errors.Is(err, fs.ErrPermission) { // else it is root's, and stays, empty
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("xdp: remove pins: %w", err)
	}
	return nil
}
