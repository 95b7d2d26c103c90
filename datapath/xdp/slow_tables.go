package xdp

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"plumbline/datapath/model"
)

// stages returns the model over the driver's tables.
func (d *Driver) stages() model.Stages {
	return model.Stages{Tables: slowTables{d}, N3: d.cfg.N3Address, Now: monotonic}
}

// monotonic is the clock of bpf_ktime_get_ns().
func monotonic() uint64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err) // the clock exists on every Linux
	}
	return uint64(ts.Nano())
}

// slowTables reads rules as the programs do, but waits for changes to end.
type slowTables struct{ *Driver }

// Uplink implements [model.Tables].
func (t slowTables) Uplink(teid uint32) *model.Rule {
	t.mu.RLock()
	defer t.mu.RUnlock()
	r := t.uplink.rule(1<<32 | uint64(teid))
	if r == nil {
		return nil
	}
	m := t.rule(r)
	m.QFIs = r.Qfis
	if r.Ctl&ruleMatchIP4 != 0 {
		m.UEIPv4 = netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, r.UeIp4)))
	}
	if r.Ctl&ruleMatchIP6 != 0 {
		var a [16]byte
		binary.BigEndian.PutUint64(a[:], r.UeIp6)
		m.UEIPv6 = netip.PrefixFrom(netip.AddrFrom16(a), 64)
	}
	return m
}

// Downlink implements [model.Tables].
func (t slowTables) Downlink(ue netip.Addr) *model.Rule {
	t.mu.RLock()
	defer t.mu.RUnlock()
	r := t.downlink.rule(ueKey(ue))
	if r == nil {
		return nil
	}
	var word [8]byte
	binary.NativeEndian.PutUint64(word[:], r.UeIp6)
	m := t.rule(r)
	m.TEID = networkOrder(r.UeIp4)
	m.QFI = word[2]
	if r.Ctl&ruleDSCP != 0 {
		m.DSCP = int(word[3])
	}
	var peer [4]byte
	slot := binary.NativeEndian.Uint16(word[:])
	binary.NativeEndian.PutUint32(peer[:], atomic.LoadUint32(&t.hops.slots[slot].Ip4))
	m.Peer = netip.AddrFrom4(peer)
	return m
}

// ueKey is the key of the rule for packets to ue, as in bpf/rules.h.
func ueKey(ue netip.Addr) uint64 {
	if ue.Is4() {
		a := ue.As4()
		return 1<<32 | uint64(binary.BigEndian.Uint32(a[:]))
	}
	a := ue.As16()
	return binary.BigEndian.Uint64(a[:])
}

func (t *table) rule(key uint64) *upfRule {
	if t.slots == nil {
		return nil // closed
	}
	slot, ok := t.find(key)
	if !ok {
		return nil
	}
	return &t.slots[slot]
}

// rule returns what both directions have. Meters and counters are those of the
// programs.
func (t slowTables) rule(r *upfRule) *model.Rule {
	m := &model.Rule{
		Forward:  r.Ctl&ruleForw != 0,
		Gate:     r.Ctl&ruleGate != 0,
		DSCP:     -1,
		Counters: (*model.Counters)(unsafe.Pointer(&r.Packets)),
	}
	for _, slot := range r.Meter {
		if slot != 0 {
			m.Meters = append(m.Meters, t.meters.meter(slot))
		}
	}
	return m
}
