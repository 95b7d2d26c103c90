package xdp

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// natTables is where the mappings of all NATs are: made here, used by programs
// and slow path alike.
type natTables struct {
	mapped[stages.Mapping]
	out, in *ebpf.Map

	mu       sync.Mutex
	free     lateQueue // packets may still be under way with one that was given back
	next     uint32    // slot 0 is none
	nats     []*stages.NAT
	leftover []leftover // of a process before this one
	drops    func(error)
}

// natStore is the [stages.NATStore] of one data network.
type natStore struct {
	*natTables
	network uint16
}

// openNATs makes the NATs that are configured, and tells the programs of their
// addresses.
func (d *Driver) openNATs() error {
	mem, err := mapMemory[stages.Mapping](d.objs.NatMappings)
	if err != nil {
		return err
	}
	d.nat = &natTables{mapped: mem, out: d.objs.NatOut, in: d.objs.NatIn, next: 1}
	d.nat.drops = func(err error) { d.log.Warn("mapping of the NAT", "err", err) }
	choose := d.cfg.ChoosePort
	if choose == nil {
		choose = rand.IntN
	}
	byNumber := map[uint16]*stages.NAT{}
	for _, n := range d.networks {
		var nat *stages.NAT
		if n.cfg.NAT != nil {
			nat = stages.NewNAT(n.cfg.NAT, natStore{d.nat, uint16(n.number())}, choose, n.told)
			if err := d.objs.NatPools.Put(n.number(), natPool(n.cfg.NAT.Addresses)); err != nil {
				return fmt.Errorf("xdp: addresses of the NAT of %s: %w", n.cfg.Name, err)
			}
		}
		d.nat.nats = append(d.nat.nats, nat)
		byNumber[uint16(n.number())] = nat
		if err := d.arriveFrom(uint32(d.ports.n6[n.index].index), n.number()); err != nil {
			return fmt.Errorf("xdp: device of %s: %w", n.cfg.Name, err)
		}
	}
	return d.nat.adopt(byNumber)
}

// n6Devices is N6_DEVICES.
const n6Devices = 64

// arriveFrom tells the programs which data network, by its number, is on a device.
func (d *Driver) arriveFrom(device, number uint32) error {
	var homes [n6Devices]uint64
	if err := d.objs.N6Devices.Get(&homes); err != nil {
		return err
	}
	home := &homes[device%n6Devices]
	if *home != 0 && uint32(*home) != device {
		return d.objs.N6ByDevice.Put(device, number)
	}
	*home = uint64(number)<<32 | uint64(device)
	return d.objs.N6Devices.Set(homes)
}

// natPrefixes is NAT_PREFIXES.
const natPrefixes = 8

// natPool is struct nat_pool.
func natPool(prefixes []netip.Prefix) (pool [2 * natPrefixes]uint32) {
	for i := range natPrefixes {
		pool[i] = 1
		if i < len(prefixes) {
			a := prefixes[i].Masked().Addr().As4()
			pool[i] = binary.BigEndian.Uint32(a[:])
			pool[natPrefixes+i] = uint32(^uint64(0) << (32 - prefixes[i].Bits()))
		}
	}
	return pool
}

// told logs which UE has which ports: all that has to be kept to know later whose
// a packet was.
//
// Source: RFC 6888, 4 (logging), REQ-12 to REQ-14.
func (n *network) told(b stages.PortBlock, given bool) {
	what := "ports returned"
	if given {
		what = "ports given"
	}
	n.d.log.Info(what, "network", n.cfg.Name, "ue", b.UE, "address", b.Outside, "first", b.First, "last", b.Last)
}

// Add implements [stages.NATStore].
func (s natStore) Add(m stages.Mapping) *stages.Mapping {
	slot, ok := s.take()
	if !ok {
		return nil
	}
	m.Network = s.network
	s.slots[slot] = m
	err := s.in.Put(natKey(s.network, m.Outside, m.OutsidePort, m.Protocol), slot)
	if err == nil {
		err = s.out.Put(natKey(s.network, m.UE, m.UEPort, m.Protocol), slot)
	}
	if err != nil {
		s.drops(err)
		s.Remove(&s.slots[slot])
		return nil
	}
	return &s.slots[slot]
}

// Remove implements [stages.NATStore].
func (s natStore) Remove(m *stages.Mapping) {
	for _, e := range []struct {
		table *ebpf.Map
		key   [12]byte
	}{
		{s.out, natKey(s.network, m.UE, m.UEPort, m.Protocol)},
		{s.in, natKey(s.network, m.Outside, m.OutsidePort, m.Protocol)},
	} {
		if err := e.table.Delete(e.key); err != nil {
			s.drops(err)
		}
	}
	at := uintptr(unsafe.Pointer(m)) - uintptr(unsafe.Pointer(&s.slots[0]))
	s.give(uint32(at / unsafe.Sizeof(*m)))
}

func (t *natTables) take() (uint32, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if int(t.next) < len(t.slots) {
		t.next++
		return t.next - 1, true
	}
	return t.free.take()
}

func (t *natTables) give(slot uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free.put(slot, monotonic())
}

// natKey is struct nat_key.
func natKey(network uint16, addr uint32, port uint16, protocol uint8) (k [12]byte) {
	binary.NativeEndian.PutUint32(k[0:], uint32(network))
	binary.NativeEndian.PutUint32(k[4:], addr)
	binary.NativeEndian.PutUint16(k[8:], port)
	k[10] = protocol
	return k
}

// expireNATs removes mappings that are not used any more, until ctx is done.
func (d *Driver) expireNATs(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			d.slow.stages.N6.Expire(d.cfg.now())
		}
	}
}

// n6Side is what the slow path does on the side of N6.
func (d *Driver) n6Side() stages.Networks {
	return stages.Networks{N6: &d.cfg.N6, NATs: d.nat.nats, MSS: func(network int, v6 bool) int {
		w := d.way(network + 1)
		switch {
		case w.Flags&n6MSS == 0:
			return 0
		case v6:
			return int(w.MssIp6)
		}
		return int(w.MssIp4)
	}}
}

// clamp sets what the MSS of a data network's TCP is clamped to, by the MTUs of
// now. The caller holds routeTable.mu.
func (n *network) clamp() {
	if n.cfg.MSSClamp == 0 {
		return
	}
	d := n.d
	d.hops.mu.Lock()
	n6, tunnel := d.ports.n6[n.index].mtu, 1<<16
	for i := range d.ports.gtpu {
		tunnel = min(tunnel, d.ports.gtpu[i].mtu)
	}
	d.hops.mu.Unlock()
	tunnel -= datapath.OuterOctets(d.cfg.Endpoints)
	v4, v6 := n.cfg.MSS(n6, tunnel, false), n.cfg.MSS(n6, tunnel, true)
	for _, way := range n.ways() {
		w := d.way(way)
		if v4 <= 0 || v6 <= 0 {
			continue
		}
		w.MssIp4, w.MssIp6 = uint16(v4), uint16(v6)
		atomic.StoreUint32(&w.Flags, atomic.LoadUint32(&w.Flags)|n6MSS)
	}
}

// releaseUE ends what NATs have for a UE address whose rule has gone, which had the key.
func (d *Driver) releaseUE(k kind, key uint64) {
	if k == ruleByUE && key>>32 == 1 { // as rule_key_ip4 of bpf/upf/rules.h
		d.release(datapath.Key{IPv4: uint32(key)})
	}
}

// releaseRoute does the same for a framed route.
func (d *Driver) releaseRoute(p netip.Prefix) { d.release(datapath.Key{Route: p}) }

func (d *Driver) release(k datapath.Key) {
	if !d.hasNAT() {
		return
	}
	n := d.n6Side()
	n.Release(k, d.cfg.now(), func(addr uint32) bool {
		_, ok := d.ues.find(1<<32 | uint64(addr))
		return ok
	})
}
