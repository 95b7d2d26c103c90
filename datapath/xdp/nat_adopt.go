package xdp

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// leftover is what stands in an index of mappings and nobody needs: of a process
// that was killed between two steps, or of a NAT that is configured otherwise now.
type leftover struct {
	table *ebpf.Map
	key   [12]byte
}

// adopt takes the mappings that a process before this one has left, each for the
// NAT of its data network. It changes nothing: the process may still be there, and
// this one be refused.
func (t *natTables) adopt(byNumber map[uint16]*stages.NAT) error {
	in, err := indexed(t.in)
	if err != nil {
		return err
	}
	out, err := indexed(t.out)
	if err != nil {
		return err
	}
	used := newBitmap(len(t.slots))
	for key, slot := range in {
		if int(slot) >= len(t.slots) || slot == 0 || used.has(slot) {
			t.leftover = append(t.leftover, leftover{t.in, key})
			continue
		}
		m := &t.slots[slot]
		inside := natKey(m.Network, m.UE, m.UEPort, m.Protocol)
		nat := byNumber[m.Network]
		if natKey(m.Network, m.Outside, m.OutsidePort, m.Protocol) != key || out[inside] != slot || nat == nil || !nat.Adopt(m) {
			t.leftover = append(t.leftover, leftover{t.in, key})
			continue
		}
		delete(out, inside)
		used.add(slot)
		t.next = max(t.next, slot+1)
	}
	for key := range out {
		t.leftover = append(t.leftover, leftover{t.out, key})
	}
	for slot := uint32(1); slot < t.next; slot++ {
		if !used.has(slot) {
			t.free.put(slot, 0)
		}
	}
	return nil
}

// tidy removes what adopt has found and nobody needs.
func (t *natTables) tidy() {
	for _, l := range t.leftover {
		if err := l.table.Delete(l.key); err != nil {
			t.drops(err)
		}
	}
	t.leftover = nil
}

// indexed returns what an index of mappings has: slot by key.
func indexed(m *ebpf.Map) (map[[12]byte]uint32, error) {
	const batch = 4096
	all := map[[12]byte]uint32{}
	keys, slots := make([][12]byte, batch), make([]uint32, batch)
	var cursor ebpf.MapBatchCursor
	for {
		n, err := m.BatchLookup(&cursor, keys, slots, nil)
		for i := range n {
			all[keys[i]] = slots[i]
		}
		switch {
		case errors.Is(err, ebpf.ErrKeyNotExist):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("xdp: mappings of before: %w", err)
		}
	}
}
