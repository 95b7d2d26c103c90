package stages

import (
	"fmt"
	"net/netip"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Apply makes the session of c what c says, or changes nothing. What was buffered
// and leaves goes to out, in its order, and End Markers behind it to marker.
//
// Errors: as [datapath.Driver].
func (s *Sessions) Apply(c *api.Change, can *api.Capabilities, out func(Out), marker func(Datagram)) error {
	if err := s.check(c, can); err != nil {
		return err
	}
	seid, stages := c.GetSeid(), s.cfg.Stages
	old := s.all[seid]
	s.unbind(old)
	delete(s.all, seid)
	if c.GetSession() == nil {
		stages.Forget(seid)
	}
	var rules []*Rule
	if in := c.GetSession(); in != nil {
		made := s.compile(in, old)
		s.bind(made, in)
		s.all[seid] = made
		rules = made.rules
	}
	stages.Bridge.Bind(seid, rules)
	s.giveUp(old, s.all[seid])
	s.leave(old)
	stages.Release(seid, rules, c.GetDropBuffered(), out)
	for _, m := range c.GetEndMarkers() {
		marker(EndMarker(m, s.localOf(old, Ended(m))))
	}
	return nil
}

// check says why c cannot be applied.
func (s *Sessions) check(c *api.Change, can *api.Capabilities) error {
	if err := datapath.Check(c, can); err != nil {
		return err
	}
	if err := s.cfg.N6.Check(c.GetSession()); err != nil {
		return err
	}
	old := s.all[c.GetSeid()]
	switch {
	case c.GetSession() == nil && old == nil:
		return s.noSession(c.GetSeid())
	case old == nil && uint64(len(s.all)) >= s.cfg.Max:
		return fmt.Errorf("%s: %d sessions: %w", s.cfg.Name, len(s.all), datapath.ErrFull)
	}
	var room [roomForKeys]datapath.Key
	for _, r := range c.GetSession().GetRules() {
		for _, k := range datapath.AppendKeys(room[:0], r) {
			if held := s.cfg.Index.Candidates(k); len(held) > 0 && held[0].SEID != c.GetSeid() {
				return &datapath.RuleError{Type: api.RuleType_PDR_RULE, ID: r.GetPdrId(), Err: datapath.ErrClash}
			}
		}
	}
	return nil
}

// roomForKeys is how many keys rules have that are usual.
const roomForKeys = 4

// compile makes the session as it will be, with counters, meters and URRs of
// old, which may be nil.
func (s *Sessions) compile(in *api.Session, old *session) *session {
	if old == nil {
		old = &session{}
	}
	made := &session{slice: in.GetSlice()}
	state := &state{Sessions: s, in: in, made: made, old: old}
	for _, urr := range in.GetUrrs() {
		state.newURR(urr)
	}
	made.keep(in)
	for _, r := range in.GetRules() {
		rule := Compile(in, r, state)
		rule.keep()
		made.rules = append(made.rules, rule)
	}
	return made
}

// keep makes the keys those of in.
func (s *session) keep(in *api.Session) {
	var room [roomForKeys]datapath.Key
	for _, r := range in.GetRules() {
		first := -1
		for i, k := range datapath.AppendKeys(room[:0], r) {
			at := slices.Index(s.keys, k)
			if at < 0 {
				at = len(s.keys)
				s.keys = append(s.keys, k)
			}
			if i == 0 {
				first = at
			}
		}
		s.first = append(s.first, int32(first))
	}
}

// keep makes the rule have nothing of the Change, which is its sender's.
func (r *Rule) keep() {
	if r.BAR != nil {
		r.BAR = proto.CloneOf(r.BAR)
	}
	if r.Ethernet != nil {
		for i := range r.Ethernet.Filters {
			f := &r.Ethernet.Filters[i]
			f.in = proto.CloneOf(f.in)
		}
	}
}

// bind lets the rules of made, which in says, be found.
func (s *Sessions) bind(made *session, in *api.Session) {
	for _, k := range made.keys {
		var rules []*Rule
		for i, r := range in.GetRules() {
			if datapath.Covers(r, k) {
				rules = append(rules, made.rules[i])
			}
		}
		s.cfg.Index.Bind(k, rules)
	}
}

// unbind takes the rules of old, which may be nil, out of the table.
func (s *Sessions) unbind(old *session) {
	if old == nil {
		return
	}
	for _, k := range old.keys {
		s.cfg.Index.Unbind(k)
	}
}

// giveUp ends what NATs have for UE addresses that old had and made has not; either may be
// nil.
func (s *Sessions) giveUp(old, made *session) {
	if old == nil {
		return
	}
	for _, k := range old.keys {
		if made != nil && slices.Contains(made.keys, k) {
			continue
		}
		s.cfg.Stages.N6.Release(k, s.cfg.Stages.Now(), func(addr uint32) bool {
			return len(s.cfg.Index.Candidates(datapath.Key{IPv4: addr})) > 0
		})
	}
}

// leave gives up the shared meters of old, which may be nil. Those that a new
// session of the same SEID uses have been taken before.
func (s *Sessions) leave(old *session) {
	if old == nil {
		return
	}
	for _, h := range old.meters {
		if h.seid != 0 {
			continue
		}
		m := s.shared[h.meterKey]
		if m.users--; m.users == 0 {
			delete(s.shared, h.meterKey)
		}
	}
}

// state is the [State] of a session that is made anew.
type state struct {
	*Sessions
	in        *api.Session
	made, old *session
	rooms     rooms
}

// N6 implements [State].
func (s *state) N6() *datapath.N6 { return s.cfg.N6 }

// Local implements [State].
func (s *state) Local(to datapath.Direction, peer netip.Addr) netip.Addr {
	return s.local(to, peer)
}

// Counters implements [State]. A rule is the same one after a change, and its counts
// go on, if the PDR ID and its first key are.
func (s *state) Counters(r *api.Rule) *Counters {
	var key datapath.Key
	var room [roomForKeys]datapath.Key
	if keys := datapath.AppendKeys(room[:0], r); len(keys) > 0 { // those of bare frames have none
		key = keys[0]
	}
	for i, old := range s.old.rules {
		if old.PDRID == r.GetPdrId() && s.old.firstKey(i) == key {
			return old.Counters
		}
	}
	return s.rooms.newCounters(directionOf(datapath.Uplink(r.GetDetect().GetSourceInterface())))
}

// firstKey returns the first key of rule i; zero: it has none.
func (s *session) firstKey(i int) datapath.Key {
	if at := s.first[i]; at >= 0 {
		return s.keys[at]
	}
	return datapath.Key{}
}

// Meter implements [State]. The rate of a shared meter is what the last session
// says.
func (s *state) Meter(q *api.QER, kind MeterKind, uplink bool) *Meter {
	k := meterKey{seid: s.in.GetSeid(), id: q.GetId(), kind: kind, uplink: uplink}
	if q.GetShared() != 0 {
		k = meterKey{id: q.GetShared(), kind: kind, uplink: uplink}
	}
	if m := s.made.meter(k); m != nil {
		return m
	}
	m := s.old.meter(k)
	if k.seid == 0 {
		m = s.share(k)
	}
	if m == nil {
		m = s.rooms.newMeter(directionOf(uplink))
	}
	m.Set(q, kind, uplink, s.cfg.MeterBurst, s.cfg.Now())
	s.made.meters = append(s.made.meters, heldMeter{k, m})
	return m
}

// meter returns the meter that s has of this key, or nil.
func (s *session) meter(k meterKey) *Meter {
	for i := range s.meters {
		if s.meters[i].meterKey == k {
			return s.meters[i].meter
		}
	}
	return nil
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
func (s *state) URR(in *api.URR) URR {
	u, _ := s.made.urr(in.GetId())
	return u
}

func (s *session) urr(id uint32) (URR, bool) {
	for _, u := range s.urrs {
		if u.Volume.ID == id {
			return u, true
		}
	}
	return URR{}, false
}

// newURR takes over the URR of the old session or makes one.
func (s *state) newURR(in *api.URR) {
	urr, ok := s.old.urr(in.GetId())
	if !ok {
		urr = URR{s.rooms.newVolume(in.GetId()), &Owner{SEID: s.in.GetSeid()}, &DroppedDownlink{}}
	}
	s.made.urrs = append(s.made.urrs, urr)
	for _, kind := range urr.SetLimits(in) {
		s.cfg.Stages.post(kind, urr)
	}
}
