package xdp

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// Left is what a process before this one has left pinned, to a datapath that cannot
// adopt it: programs that still forward, and what they count of URRs. Counts of PDRs
// cannot be told from it.
type Left struct {
	dir string
	old *beside // nil: no tables
}

// Pinned reports whether a process has left tables or attachments in a directory.
func Pinned(dir string) bool {
	entries, _ := os.ReadDir(dir) // none if it is not there
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		_, _, is := cutAttachment(e.Name())
		return is || strings.HasPrefix(e.Name(), tablesPrefix)
	})
}

// OpenLeft looks at what is pinned in a directory.
func OpenLeft(dir string) (*Left, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("xdp: directory of pins: %w", err)
	}
	l := &Left{dir: dir}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tablesPrefix) {
			continue
		}
		if l.old, err = openBeside(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
		break
	}
	return l, nil
}

// Len returns how many URRs there are.
func (l *Left) Len() int {
	if l.old == nil {
		return 0
	}
	return len(l.old.index)
}

// Pause takes the programs off their devices; what is pinned otherwise stays.
func (l *Left) Pause() error {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return fmt.Errorf("xdp: directory of pins: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if prefix, device, is := cutAttachment(e.Name()); is {
			errs = append(errs, removeAttachment(l.dir, prefix, device))
		}
	}
	waitForPackets()
	time.Sleep(grace) // in the queues of CPUs
	return errors.Join(errs...)
}

// Resume fails: the programs are gone, and who had loaded them is, too.
func (l *Left) Resume() error {
	return fmt.Errorf("xdp: programs that were pinned in %s: %w", l.dir, datapath.ErrClosed)
}

// Usage returns what was counted for the URRs of a session.
//
// Errors: [datapath.ErrNoSession].
func (l *Left) Usage(seid uint64) (*api.SessionUsage, error) {
	u := &api.SessionUsage{}
	if l.old != nil {
		i, _ := slices.BinarySearchFunc(l.old.index, seid, func(o urrOrphan, seid uint64) int { return cmp.Compare(o.seid, seid) })
		for ; i < len(l.old.index) && l.old.index[i].seid == seid; i++ {
			u.Urrs = append(u.Urrs, l.old.count(l.old.index[i].slot))
		}
	}
	if len(u.Urrs) == 0 {
		return nil, fmt.Errorf("xdp: SEID %#x: %w", seid, datapath.ErrNoSession)
	}
	return u, nil
}

// count returns what the URR in a slot has counted.
func (b *beside) count(slot uint32) *api.URRUsage {
	return stages.URR{
		Volume: b.volume(slot), Owner: (*stages.Owner)(unsafe.Pointer(&b.owners.slots[slot])),
	}.Count()
}

// Close removes all that is pinned.
func (l *Left) Close() error {
	var err error
	if l.old != nil {
		err = l.old.close()
	}
	return errors.Join(err, Unpin(l.dir))
}
