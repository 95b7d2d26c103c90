package xdp

import (
	"encoding/binary"
	"net/netip"
	"sync"

	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// ownWords is OWN_WORDS of bpf/maps.h.
const ownWords = 64

// ownTable has the programs know the addresses of this host, to which no user packet
// goes.
type ownTable struct {
	d  *Driver
	mu sync.Mutex
	is map[netip.Addr]bool
}

// watchOwn follows the host's addresses.
func (d *Driver) watchOwn() error {
	w, err := nexthop.WatchOwn(d.log, d.own.set)
	if err == nil {
		d.detach = append(d.detach, func() error { w.Close(); return nil })
	}
	return err
}

// set makes the addresses those of the host. New ones are there before their bits, and
// those that are gone until theirs are.
func (t *ownTable) set(addrs []netip.Addr) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var bits [ownWords]uint64
	now := map[netip.Addr]bool{}
	for _, a := range addrs {
		if !t.is[a] {
			if err := t.d.objs.OwnAddresses.Put(a.As16(), uint32(1)); err != nil {
				t.d.log.Error("UEs reach an address of this host", "address", a, "err", err)
				continue
			}
		}
		now[a] = true
		at, bit := ownBit(a)
		bits[at] |= bit
	}
	t.write(bits)
	for a := range t.is {
		if now[a] {
			continue
		}
		if err := t.d.objs.OwnAddresses.Delete(a.As16()); err != nil {
			t.d.log.Warn("an address that this host had is kept from UEs", "address", a, "err", err)
			now[a] = true // to be tried again
		}
	}
	t.is = now
}

// write writes the bits whole, word by word.
func (t *ownTable) write(bits [ownWords]uint64) {
	if err := t.d.objs.OwnBits.Set(bits); err != nil {
		t.d.log.Error("addresses of this host are not known to the programs", "err", err)
	}
}

// ownBit is where the bit of an address is: see forward_own() in bpf/forward_n6.h.
func ownBit(a netip.Addr) (at uint32, bit uint64) {
	b := a.As16()
	word := binary.BigEndian.Uint32(b[12:])
	if a.Is6() {
		word ^= binary.BigEndian.Uint32(b[4:])
	}
	word *= stages.FlowFactor
	return word >> 26, 1 << (word >> 20 & 63)
}
