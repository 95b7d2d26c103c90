package stages

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// proxies is the local cache from which ARP requests and Neighbour Solicitations
// are answered: which IP address has which MAC address, on each Ethernet data
// network. It is a part of [Bridge], under its lock.
//
// It learns from ARP and Neighbour Discovery, of UEs and of the data network, as
// long as a session asks for proxying. What a session or the data network has shown
// stays so until nothing has been heard of it for as long as of a station; only the
// data network may take an address from a UE, so that no UE takes that of another, or of a
// router.
//
// Source: TS 23.501 V18.8.0, 5.6.10.2; TS 29.244 V18.6.0, 8.2.97.
type proxies struct {
	bindings map[bindingKey]binding
	asked    map[uint64]bool // sessions that ask for proxying
	owned    map[uint64]int  // bindings, by SEID
}

type bindingKey struct {
	network int
	address netip.Addr
}

type binding struct {
	mac    mac
	seid   uint64 // 0: on the data network
	seenNs uint64
}

// Bindings that are remembered: of a session, of the data networks, and in all.
const (
	bindingsPerSession = 64
	bindingsOfNetworks = 1 << 12
	bindingsInAll      = 1 << 16
)

func newProxies() proxies {
	return proxies{bindings: map[bindingKey]binding{}, asked: map[uint64]bool{}, owned: map[uint64]int{}}
}

// bind takes note of whether a session asks for proxying, and forgets what is of
// one that has gone.
func (p *proxies) bind(seid uint64, rules []*Rule) {
	delete(p.asked, seid)
	if slices.ContainsFunc(rules, func(r *Rule) bool { return r.Ethernet != nil && (r.Ethernet.ProxyARP || r.Ethernet.ProxyND) }) {
		p.asked[seid] = true
	}
	for k, b := range p.bindings {
		if len(p.asked) == 0 || len(rules) == 0 && b.seid == seid {
			p.forget(k, b)
		}
	}
}

func (p *proxies) forget(k bindingKey, b binding) {
	delete(p.bindings, k)
	if p.owned[b.seid]--; p.owned[b.seid] == 0 {
		delete(p.owned, b.seid)
	}
}

// learn takes note of a binding that was heard from a session; 0: from the data
// network.
func (p *proxies) learn(now uint64, k bindingKey, m mac, seid uint64, tentative bool) {
	if had, ok := p.bindings[k]; ok {
		same := had.mac == m && had.seid == seid
		if !same && (seid != 0 || tentative) && !aged(had.seenNs, now) {
			return
		}
		p.forget(k, had)
	}
	most := bindingsPerSession
	if seid == 0 {
		most = bindingsOfNetworks
	}
	if p.owned[seid] >= most || len(p.bindings) >= bindingsInAll {
		p.expire(now, seid)
		if p.owned[seid] >= most || len(p.bindings) >= bindingsInAll {
			return
		}
	}
	p.bindings[k] = binding{m, seid, now}
	p.owned[seid]++
}

// expire forgets bindings of a session that have not been heard of for long.
func (p *proxies) expire(now, seid uint64) {
	for k, b := range p.bindings {
		if b.seid == seid && aged(b.seenNs, now) {
			p.forget(k, b)
		}
	}
}

// heard takes note of what a frame from a session, or from the data network, shows
// of who has which IP address.
func (b *Bridge) heard(now uint64, network int, seid uint64, f *etherFrame) {
	if f.ethertype != inet.EtherARP && (f.inner == nil || !f.inner.isIPv6()) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.proxies.asked) == 0 {
		return
	}
	if q := f.question(); q.has.IsValid() && q.hasMAC == f.source {
		b.proxies.learn(now, bindingKey{network, q.has}, f.source, seid, q.tentative)
	}
}

// knows returns who has an address.
func (b *Bridge) knows(now uint64, network int, a netip.Addr) (binding, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found, ok := b.proxies.bindings[bindingKey{network, a}]
	return found, ok && !aged(found.seenNs, now)
}

// proxied answers a frame of a session that asks who has an address, by its FAR,
// if another session or the data network has it.
func (s *Stages) proxied(r *Rule, seid uint64, f *etherFrame) (Out, bool) {
	q, ok := s.asks(r, f)
	if !ok {
		return Out{}, false
	}
	b, ok := s.Bridge.knows(s.Now(), r.LAN, q.asked)
	if !ok || b.seid == seid {
		return Out{}, false
	}
	out := Out{Reason: datapath.DropProxied, Rule: r}
	answer := q.answer(f, b.mac)
	if back, reason := s.answerRule(seid, answer); reason == datapath.ReasonNone && s.Answers.allowShare(s.Now(), share(seid)) {
		out.Others = []Sent{{Packet: back.encapsulate(arrived{user: answer}, answer), Outer: back.Outer}}
	}
	return out, true
}

// proxiedFor answers a frame from a data network that asks who has an address, by
// the FAR of the session that has it.
func (s *Stages) proxiedFor(network int, f *etherFrame) (Out, bool) {
	if !f.destination.isGroup() {
		return Out{}, false
	}
	q := f.question()
	if !q.asked.IsValid() {
		return Out{}, false
	}
	b, ok := s.Bridge.knows(s.Now(), network, q.asked)
	if !ok || b.seid == 0 {
		return Out{}, false
	}
	r, reason := detectEthernet(s.Bridge.rulesOf(b.seid), nil, f)
	if reason != datapath.ReasonNone {
		return Out{}, false
	}
	if _, ok := s.asks(r, f); !ok || r.Action != api.Action_FORW || r.Gate {
		return Out{}, false
	}
	out := Out{Reason: datapath.DropProxied, Rule: r}
	if s.Answers.allowShare(s.Now(), share(b.seid)) {
		out.Others = []Sent{{Packet: q.answer(f, b.mac), Way: network, Ethernet: true}}
	}
	return out, true
}

// answerRule returns the rule by which the UPF's own frame goes to a session.
func (s *Stages) answerRule(seid uint64, frame []byte) (*Rule, datapath.Reason) {
	f, reason := parseEthernet(frame)
	if reason != datapath.ReasonNone {
		return nil, reason
	}
	r, reason := detectEthernet(s.Bridge.rulesOf(seid), nil, &f)
	if reason == datapath.ReasonNone && !r.answersFrames() {
		return nil, datapath.DropFAR
	}
	return r, reason
}

// asks returns what a frame to a group asks for, if r lets that be answered.
func (s *Stages) asks(r *Rule, f *etherFrame) (question, bool) {
	if !f.destination.isGroup() || !r.Ethernet.ProxyARP && !r.Ethernet.ProxyND {
		return question{}, false
	}
	q := f.question()
	return q, q.asked.Is4() && r.Ethernet.ProxyARP || q.asked.Is6() && r.Ethernet.ProxyND
}

// share is the one of a session among those of answers.
func share(seid uint64) uint32 {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], seid)
	return binary.BigEndian.Uint32(b[:]) ^ binary.BigEndian.Uint32(b[4:])
}
