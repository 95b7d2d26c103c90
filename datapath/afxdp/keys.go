package afxdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// keyTable keeps the destinations on N6 that are the UPF's: of UEs, framed routes
// and NATs. The programs ask it. Its owner locks.
type keyTable struct {
	ip4, ip6, prefixes *ebpf.Map
	count              *ebpf.Variable // of prefixes
	prefixCount        uint32
	uses               map[datapath.Key]int
}

// keysOf returns the destinations of a session's rules, each once.
func keysOf(s *api.Session) map[datapath.Key]bool {
	all := map[datapath.Key]bool{}
	for _, r := range s.GetRules() {
		for _, k := range datapath.Keys(r) {
			if !k.Local.IsValid() {
				all[k] = true
			}
		}
	}
	return all
}

// use counts one session more for each of the keys; those that are new are in the
// tables when it returns.
//
// Errors: [datapath.ErrFull]; nothing has changed then.
func (t *keyTable) use(keys map[datapath.Key]bool) error {
	done := map[datapath.Key]bool{}
	for k := range keys {
		if t.uses[k] == 0 {
			if err := t.put(k); err != nil {
				return errors.Join(err, t.release(done))
			}
		}
		t.uses[k]++
		done[k] = true
	}
	return nil
}

// release decrements the references, and removes unreferenced keys from the tables.
func (t *keyTable) release(keys map[datapath.Key]bool) error {
	var errs []error
	for k := range keys {
		if t.uses[k]--; t.uses[k] > 0 {
			continue
		}
		delete(t.uses, k)
		errs = append(errs, t.remove(k))
	}
	return errors.Join(errs...)
}

func (t *keyTable) put(k datapath.Key) error {
	table, key := t.entry(k)
	err := table.Put(key, uint8(1))
	switch {
	case errors.Is(err, unix.E2BIG), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ENOMEM):
		return fmt.Errorf("afxdp: all %d places for destinations are taken: %w", table.MaxEntries(), datapath.ErrFull)
	case err != nil:
		return fmt.Errorf("afxdp: destination %+v: %w", k, err)
	}
	return t.counted(k, 1)
}

func (t *keyTable) remove(k datapath.Key) error {
	table, key := t.entry(k)
	if err := table.Delete(key); err != nil {
		return fmt.Errorf("afxdp: destination %+v stays: %w", k, err)
	}
	return t.counted(k, -1)
}

// counted tells the programs how many prefixes there are.
func (t *keyTable) counted(k datapath.Key, change int) error {
	if !k.Route.IsValid() {
		return nil
	}
	t.prefixCount += uint32(change)
	if err := t.count.Set(t.prefixCount); err != nil {
		return fmt.Errorf("afxdp: count of prefixes: %w", err)
	}
	return nil
}

// entry returns the table of a key and its encoding there.
func (t *keyTable) entry(k datapath.Key) (*ebpf.Map, any) {
	switch {
	case k.IPv4 != 0:
		return t.ip4, binary.BigEndian.AppendUint32(nil, k.IPv4)
	case k.IPv6 != 0:
		return t.ip6, binary.BigEndian.AppendUint64(nil, k.IPv6)
	}
	return t.prefixes, prefixKey(k.Route)
}

// prefixKey is struct prefix.
func prefixKey(p netip.Prefix) claimPrefix {
	k := claimPrefix{Bits: uint32(p.Bits())}
	if p.Addr().Is4() {
		k.Bits += 96
	}
	k.Addr.Word = addressWords(p.Addr())
	return k
}

// addressWords is an address such that its octets in memory are those on the wire,
// IPv4 as ::ffff:a.b.c.d.
func addressWords(a netip.Addr) (words [4]uint32) {
	b := a.As16()
	for i := range words {
		words[i] = binary.NativeEndian.Uint32(b[4*i:])
	}
	return words
}
