package xdp

import (
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/plumbline-upf/plumbline/lab/scratch/bpffs"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// TestBeside: what URRs have counted is found in tables of this layout, and of one
// before there were accounts.
func TestBeside(t *testing.T) {
	const slot, seid, id, octets = 3, 0x1234, 7, 4711
	urr := upfUrr{Octets: [2]uint64{octets, 1}, Id: id}
	for name, value := range map[string]any{"accounts": upfAccount{Urr: urr}, "urrs": urr} {
		t.Run(name, func(t *testing.T) {
			dir := bpffs.New(t)
			pinRecord(t, dir, name, slot, value)
			pinRecord(t, dir, "urr_owners", slot, upfUrrOwner{Seid: seid})
			b, err := openBeside(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer b.close()
			if v := b.find(seid, id); v == nil || v.Octets != urr.Octets {
				t.Errorf("got %+v, want octets %v", v, urr.Octets)
			}
			if v := b.find(seid, id+1); v != nil {
				t.Errorf("another URR: got %+v", v)
			}
		})
	}
}

// pinRecord pins an array map of 8 slots, of which one is a value.
func pinRecord(t *testing.T, dir, name string, slot uint32, value any) {
	t.Helper()
	const slots = 8
	spec := &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(binary.Size(value)), MaxEntries: slots, Flags: unix.BPF_F_MMAPABLE}
	m, err := ebpf.NewMap(spec)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Put(slot, value); err != nil {
		t.Fatal(err)
	}
	if err := m.Pin(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}
