package model

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	"google.golang.org/protobuf/proto"

	"plumbline/api"
	"plumbline/datapath"
	"plumbline/gtpu"
)

// session is what the UPF holds of a PFCP session.
type session struct {
	in       *api.Session
	rules    []*Rule // in the order of in.Rules
	keys     []datapath.Key
	counters map[counterKey]*Counters
	meters   map[meterKey]*Meter
	urrs     map[uint32]URR
}

// counterKey is what makes a rule the same one after a change: counts go on if
// the PDR ID and its first key do.
type counterKey struct {
	pdr uint32
	key datapath.Key
}

// meterKey is a meter of a QER of a session, or, with seid 0, of the number under
// which QERs of several sessions share.
type meterKey struct {
	seid   uint64
	id     uint32
	kind   MeterKind
	uplink bool
}

// sharedMeter is there as long as a session uses it.
type sharedMeter struct {
	Meter
	users int
}

// Apply implements [datapath.Driver].
func (u *UPF) Apply(_ context.Context, c *api.Change) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err := u.check(c); err != nil {
		return err
	}
	old := u.sessions[c.GetSeid()]
	u.unbind(old)
	delete(u.sessions, c.GetSeid())
	if c.GetSession() == nil {
		u.stages.Names.Forget(c.GetSeid())
	}
	var rules []*Rule
	if in := c.GetSession(); in != nil {
		s := u.compile(in, old)
		u.bind(s)
		u.sessions[c.GetSeid()] = s
		rules = s.rules
	}
	u.stages.Bridge.Bind(c.GetSeid(), rules)
	u.leave(old)
	u.stages.Release(c.GetSeid(), rules, c.GetDropBuffered(), func(o Out) {
		if o.Reason == datapath.ReasonNone {
			u.cfg.Send(o.Packet)
		}
		u.finish(o)
	})
	for _, m := range c.GetEndMarkers() {
		to := gtpu.Tunnel{TEID: m.GetTeid(), Peer: peer(m)}
		d := EndMarker(to, u.localOf(old, to))
		u.cfg.Send(d.Packet())
	}
	return nil
}

// check says why c cannot be applied.
func (u *UPF) check(c *api.Change) error {
	if err := datapath.Check(c, u.Capabilities()); err != nil {
		return err
	}
	if err := u.cfg.N6.Check(c.GetSession()); err != nil {
		return err
	}
	old := u.sessions[c.GetSeid()]
	switch {
	case c.GetSession() == nil && old == nil:
		return fmt.Errorf("model: SEID %#x: %w", c.GetSeid(), datapath.ErrNoSession)
	case old == nil && uint64(len(u.sessions)) >= u.cfg.MaxSessions:
		return fmt.Errorf("model: %d sessions: %w", len(u.sessions), datapath.ErrFull)
	}
	for _, r := range c.GetSession().GetRules() {
		for _, k := range datapath.Keys(r) {
			if held := u.rules[k]; len(held) > 0 && held[0].SEID != c.GetSeid() {
				return &datapath.RuleError{Type: api.RuleType_PDR_RULE, ID: r.GetPdrId(), Err: datapath.ErrClash}
			}
		}
	}
	return nil
}

// compile makes the session as it will be, with counters, meters and URRs of
// old, which may be nil.
func (u *UPF) compile(in *api.Session, old *session) *session {
	s := &session{
		in: proto.CloneOf(in), counters: map[counterKey]*Counters{}, meters: map[meterKey]*Meter{}, urrs: map[uint32]URR{},
	}
	if old == nil {
		old = &session{}
	}
	state := &state{u, s, old}
	for _, urr := range s.in.GetUrrs() {
		state.newURR(urr)
	}
	for _, r := range s.in.GetRules() {
		s.rules = append(s.rules, Compile(s.in, r, state))
	}
	return s
}

// bind puts the rules of s into the table.
func (u *UPF) bind(s *session) {
	for _, r := range s.in.GetRules() {
		for _, k := range datapath.Keys(r) {
			if !slices.Contains(s.keys, k) {
				s.keys = append(s.keys, k)
			}
		}
	}
	for _, k := range s.keys {
		for i, r := range s.in.GetRules() {
			if datapath.Covers(r, k) {
				u.rules[k] = append(u.rules[k], s.rules[i])
			}
		}
	}
}

// unbind takes the rules of s, which may be nil, out of the table.
func (u *UPF) unbind(s *session) {
	if s == nil {
		return
	}
	for _, k := range s.keys {
		delete(u.rules, k)
	}
}

// leave gives up the shared meters of s, which may be nil. Those that a new
// session of the same SEID uses have been taken before.
func (u *UPF) leave(s *session) {
	if s == nil {
		return
	}
	for k := range s.meters {
		if k.seid != 0 {
			continue
		}
		m := u.shared[k]
		if m.users--; m.users == 0 {
			delete(u.shared, k)
		}
	}
}

// Local returns the source of packets to peer.
func (u *UPF) Local(networkInstance string, to api.Interface, peer netip.Addr) netip.Addr {
	return datapath.Local(u.cfg.Endpoints, networkInstance, to, peer)
}

// localOf returns the address from which old, which may be nil, sent into a
// tunnel.
func (u *UPF) localOf(old *session, to gtpu.Tunnel) netip.Addr {
	if old != nil {
		for _, r := range old.rules {
			if r.Outer != nil && r.Outer.TEID == to.TEID && r.Outer.Peer == to.Peer {
				return r.Outer.Local
			}
		}
	}
	return u.Local("", api.Interface_ACCESS, to.Peer)
}

// state is the [State] of a session that is made anew.
type state struct {
	*UPF
	made, old *session
}

// Counters implements [State].
func (s *state) Counters(r *api.Rule) *Counters {
	k := counterKey{pdr: r.GetPdrId()}
	if keys := datapath.Keys(r); len(keys) > 0 { // those of bare frames have none
		k.key = keys[0]
	}
	c := s.old.counters[k]
	if c == nil {
		c = &Counters{}
	}
	s.made.counters[k] = c
	return c
}

// Meter implements [State]. The rate of a shared meter is what the last session
// says.
func (s *state) Meter(q *api.QER, kind MeterKind, uplink bool) *Meter {
	k := meterKey{seid: s.made.in.GetSeid(), id: q.GetId(), kind: kind, uplink: uplink}
	if q.GetShared() != 0 {
		k = meterKey{id: q.GetShared(), kind: kind, uplink: uplink}
	}
	if m := s.made.meters[k]; m != nil {
		return m
	}
	m := s.old.meters[k]
	if k.seid == 0 {
		m = s.share(k)
	}
	if m == nil {
		m = &Meter{}
	}
	m.Set(q, kind, uplink, s.cfg.MeterBurst, s.cfg.Now())
	s.made.meters[k] = m
	return m
}

func (s *state) share(k meterKey) *Meter {
	m := s.shared[k]
	if m == nil {
		m = &sharedMeter{}
		s.shared[k] = m
	}
	m.users++
	return &m.Meter
}

// URR implements [State].
func (s *state) URR(in *api.URR) URR { return s.made.urrs[in.GetId()] }

// newURR takes over the URR of the old session or makes one.
func (s *state) newURR(in *api.URR) {
	urr, ok := s.old.urrs[in.GetId()]
	if !ok {
		urr = URR{&Volume{ID: in.GetId()}, &Owner{SEID: s.made.in.GetSeid()}, &DroppedDownlink{}}
	}
	s.made.urrs[in.GetId()] = urr
	for _, kind := range urr.SetLimits(in) {
		s.stages.post(kind, urr)
	}
}

// tables is the [Tables] of the UPF, which is locked.
type tables struct{ *UPF }

// Candidates implements [Tables].
func (t tables) Candidates(k datapath.Key) []*Rule { return t.rules[k] }

// Towards implements [Tables].
func (t tables) Towards(to gtpu.Tunnel) []*Rule {
	var found []*Rule
	for _, s := range t.sessions {
		for _, r := range s.rules {
			if r.Action == api.Action_FORW && r.Outer != nil && r.Outer.TEID == to.TEID && r.Outer.Peer == to.Peer {
				found = append(found, r)
			}
		}
	}
	slices.SortFunc(found, func(a, b *Rule) int { return cmp.Compare(a.SEID, b.SEID) })
	return found
}
