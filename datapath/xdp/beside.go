package xdp

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// beside is what an earlier process has left and this one cannot adopt, because
// size or layout of the tables differ: its programs go on until all sessions are
// in the new tables.
type beside struct {
	accounts mapped[upfAccount]
	urrs     mapped[upfUrr] // of a layout before there were accounts
	owners   mapped[upfUrrOwner]
	index    []urrOrphan // sorted
}

// openBeside looks at old tables whose URRs can be read: struct urr and struct
// urr_owner of the same size have meant the same in every layout.
func openBeside(dir string) (*beside, error) {
	b := &beside{}
	var err error
	if b.accounts, err = mapPinned[upfAccount](filepath.Join(dir, "accounts")); errors.Is(err, fs.ErrNotExist) {
		b.urrs, err = mapPinned[upfUrr](filepath.Join(dir, "urrs"))
	}
	if err != nil {
		return nil, err
	}
	if b.owners, err = mapPinned[upfUrrOwner](filepath.Join(dir, "urr_owners")); err != nil {
		return nil, errors.Join(err, b.close())
	}
	for i := range min(len(b.owners.slots), max(len(b.accounts.slots), len(b.urrs.slots))) {
		if seid := b.owners.slots[i].Seid; seid != 0 {
			b.index = append(b.index, urrOrphan{seid, b.volume(uint32(i)).ID, uint32(i)})
		}
	}
	slices.SortFunc(b.index, compareOrphans)
	return b, nil
}

func mapPinned[T any](path string) (mapped[T], error) {
	m, err := ebpf.LoadPinnedMap(path, nil)
	if err != nil {
		return mapped[T]{}, fmt.Errorf("xdp: %s: %w", path, err)
	}
	defer m.Close() // the memory has a reference of its own
	return mapMemory[T](m)
}

// find returns the record of a URR in the old tables, or nil.
func (b *beside) find(seid uint64, id uint32) *stages.Volume {
	if b == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(b.index, urrOrphan{seid: seid, id: id}, compareOrphans)
	if !ok {
		return nil
	}
	return b.volume(b.index[i].slot)
}

// volume returns the record of the URR in a slot.
func (b *beside) volume(slot uint32) *stages.Volume {
	if b.accounts.slots != nil {
		return (*stages.Volume)(unsafe.Pointer(&b.accounts.slots[slot].Urr))
	}
	return (*stages.Volume)(unsafe.Pointer(&b.urrs.slots[slot]))
}

func (b *beside) close() error {
	return errors.Join(b.accounts.unmap(), b.urrs.unmap(), b.owners.unmap())
}

// grace is how long a program may still run after another has taken its place:
// far longer than one packet takes.
const grace = 20 * time.Millisecond

// takeOver lets the programs run over the new tables, and adds to the URRs what
// was counted in the old ones. The next packet holds the sums against the limits.
func (d *Driver) takeOver() error {
	if err := d.serve(d.attachAll); err != nil {
		return err
	}
	time.Sleep(grace)
	for seid, s := range d.sessions.all() {
		for _, h := range s.held {
			if h.kind() != urr {
				continue
			}
			if old := d.beside.find(seid, h.id); old != nil {
				addVolume(d.urrs.urr(h.slot()).Volume, old)
			}
		}
	}
	err := d.beside.close()
	d.beside = nil
	return errors.Join(err, d.pins.serve())
}

func addVolume(to, from *stages.Volume) {
	for i := range to.Octets {
		atomic.AddUint64(&to.Octets[i], atomic.LoadUint64(&from.Octets[i]))
		atomic.AddUint64(&to.Packets[i], atomic.LoadUint64(&from.Packets[i]))
	}
}
