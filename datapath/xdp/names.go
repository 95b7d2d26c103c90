package xdp

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/cilium/ebpf"

	"github.com/plumbline-upf/plumbline/datapath/stages"
	traces "github.com/plumbline-upf/plumbline/datapath/trace"
)

// maxVerdicts is how many combinations of hosts of a session the flow cache can
// tell apart. What is beyond does without it.
const maxVerdicts = 1 << 10

// hostName is what a filter with a host asks for.
type hostName struct{ host, path string }

// hostBits says which hosts of a set a flow has.
type hostBits [listMax / 64]uint64

// hostSet is the hosts that the filters of a session name. Programs know them by
// their places here. It is never changed.
type hostSet struct {
	number   uint64 // that no other set, and no list, ever had
	hosts    []hostName
	verdicts map[hostBits]uint16 // by the learner
}

// place returns the number of what a filter asks for.
func (h *hostSet) place(f *stages.Filter) (uint32, bool) {
	if h == nil {
		return 0, false
	}
	i := slices.Index(h.hosts, hostName{f.Host, f.Path})
	return uint32(i), i >= 0
}

// of returns which hosts a flow has.
func (h *hostSet) of(s stages.Said) (bits hostBits) {
	for i, name := range h.hosts {
		if s.Match(name.host, name.path) {
			bits[i/64] |= 1 << (i % 64)
		}
	}
	return bits
}

// verdict returns the number of a combination of hosts, from 1 on; 0: it has none.
func (h *hostSet) verdict(bits hostBits) uint16 {
	v, ok := h.verdicts[bits]
	if !ok && len(h.verdicts) < maxVerdicts {
		v = uint16(len(h.verdicts) + 1)
		h.verdicts[bits] = v
	}
	return v
}

// hostsOf returns the set of the hosts that rules of the slow path name: the one
// that the session has, if it is the same; nil: they name none.
func (c *change) hostsOf() *hostSet {
	var hosts []hostName
	for i := range c.slow {
		if c.slow[i].rule == nil {
			continue
		}
		for _, f := range c.slow[i].rule.Filters {
			if name := (hostName{f.Host, f.Path}); f.Named() && len(hosts) < listMax && !slices.Contains(hosts, name) {
				hosts = append(hosts, name)
			}
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	if had := c.d.names.sets[c.in.GetSeid()]; had != nil && slices.Equal(had.hosts, hosts) {
		return had
	}
	return &hostSet{number: c.d.lists.next(), hosts: hosts, verdicts: map[hostBits]uint16{}}
}

// learntNames is the [stages.Learner] of the programs.
type learntNames struct {
	table  *ebpf.Map
	sets   map[uint64]*hostSet // by SEID; under the driver's lock
	failed func(error)
}

// bind says what hosts a session has from now on. The driver's lock is held.
func (l *learntNames) bind(seid uint64, h *hostSet) {
	if h == nil {
		delete(l.sets, seid)
		return
	}
	l.sets[seid] = h
}

// Learns implements [stages.Learner].
func (l *learntNames) Learns(seid uint64) uint64 {
	if h := l.sets[seid]; h != nil {
		return h.number
	}
	return 0
}

// Learn implements [stages.Learner].
func (l *learntNames) Learn(number uint64, f stages.NamedFlow, s stages.Said, nowNs uint64) bool {
	h := l.sets[f.SEID]
	v := upfNamed{Hosts: h.of(s), Last: nowNs}
	v.Verdict = h.verdict(v.Hosts)
	if s.Shows() {
		v.Shows = nameHello | nameUplink | nameDownlink
	}
	if s.Stream {
		v.Until = s.Until
		if s.Uplink {
			v.Shows |= nameStreamUplink
		} else {
			v.Shows |= nameStreamDownlink
		}
	}
	if err := l.table.Put(namedKey(number, f), v); err != nil {
		l.failed(err) // and its packets stay in the slow path
		return false
	}
	return true
}

// Forget implements [stages.Learner].
func (l *learntNames) Forget(number uint64, f stages.NamedFlow) {
	if err := l.table.Delete(namedKey(number, f)); err != nil {
		l.failed(err)
	}
}

// UsedNs implements [stages.Learner].
func (l *learntNames) UsedNs(number uint64, f stages.NamedFlow) uint64 {
	var v upfNamed
	if l.table.Lookup(namedKey(number, f), &v) != nil {
		return 0
	}
	return v.Last
}

// namedKey is struct named_key.
func namedKey(number uint64, f stages.NamedFlow) upfNamedKey {
	k := upfNamedKey{Set: number, Ports: uint32(f.RemotePort)<<16 | uint32(f.LocalPort)}
	k.Remote, k.Local = wideAddress(f.Remote), wideAddress(f.Local)
	if f.Local.Is6() {
		k.Kind = flowIP6
	}
	if f.UDP {
		k.Kind |= nameUDP
	}
	return k
}

// flowIP6 is FLOW_IP6 of bpf/flow.h.
const flowIP6 = 0x10

// wideAddress returns an address in host order, high half first, as in struct flow.
func wideAddress(a netip.Addr) (w [2]uint64) {
	if a.Is4() {
		w[1] = uint64(traces.Number4(a))
		return w
	}
	b := a.As16()
	return [2]uint64{binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:])}
}
