package stages

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// Sessions are the PFCP sessions of a UPF whose rules are in this process: of the
// model, and of the datapaths in user space. Who calls it holds the UPF's lock: for
// writing where sessions change, else for reading.
type Sessions struct {
	cfg    SessionsConfig
	all    map[uint64]*session
	shared map[meterKey]*sharedMeter
}

// SessionsConfig says what sessions stand in.
type SessionsConfig struct {
	Name       string // of the datapath, for errors
	Endpoints  []datapath.Endpoint
	N6         *datapath.N6
	Max        uint64
	MeterBurst time.Duration
	Now        func() (ns uint64)
	Index      Index
	Stages     *Stages // by which buffered packets leave
}

// Index finds rules by keys.
type Index interface {
	// Candidates returns the rules of a key, in Precedence order.
	Candidates(k datapath.Key) []*Rule
	// Bind lets the rules of a key be found: it has had none since Unbind.
	Bind(k datapath.Key, rules []*Rule)
	Unbind(k datapath.Key)
}

// session is what there is of a PFCP session.
type session struct {
	rules  []*Rule // in the order of the Change
	keys   []datapath.Key
	first  []int32 // index in keys of each rule's own first one; -1: it has none
	urrs   []URR   // in the order of the Change
	meters []heldMeter
	slice  uint32
}

// meterKey is a meter of a QER of a session, or, with seid 0, of the number under
// which QERs of several sessions share.
type meterKey struct {
	seid   uint64
	id     uint32
	kind   MeterKind
	uplink bool
}

type heldMeter struct {
	meterKey
	meter *Meter
}

// sharedMeter is there as long as a session uses it.
type sharedMeter struct {
	Meter
	users int
}

// NewSessions returns none.
func NewSessions(cfg SessionsConfig) *Sessions {
	return &Sessions{cfg: cfg, all: map[uint64]*session{}, shared: map[meterKey]*sharedMeter{}}
}

var _ Tables = (*Sessions)(nil)

// Candidates implements [Tables].
func (s *Sessions) Candidates(k datapath.Key) []*Rule { return s.cfg.Index.Candidates(k) }

// Towards implements [Tables].
func (s *Sessions) Towards(to gtpu.Tunnel) []*Rule {
	var found []*Rule
	for _, one := range s.all {
		for _, r := range one.rules {
			if r.Sends() && (gtpu.Tunnel{TEID: r.Outer.TEID, Peer: r.Outer.Peer}) == to {
				found = append(found, r)
			}
		}
	}
	slices.SortFunc(found, func(a, b *Rule) int { return cmp.Compare(a.SEID, b.SEID) })
	return found
}

// Sends reports whether packets of r go into a tunnel.
func (r *Rule) Sends() bool { return r.Action == api.Action_FORW && r.Outer != nil }

// Len returns how many sessions there are.
func (s *Sessions) Len() int { return len(s.all) }

// All yields the sessions: the SEID, the number of the slice, and the rules.
func (s *Sessions) All() iter.Seq2[Owned, []*Rule] {
	return func(yield func(Owned, []*Rule) bool) {
		for seid, one := range s.all {
			if !yield(Owned{seid, one.slice}, one.rules) {
				return
			}
		}
	}
}

// Owned names a session.
type Owned struct {
	SEID  uint64
	Slice uint32 // number of its slice; 0: none
}

// Rules returns those of a session, and its slice; nil: there is no such session.
func (s *Sessions) Rules(seid uint64) (rules []*Rule, slice uint32) {
	if one := s.all[seid]; one != nil {
		return one.rules, one.slice
	}
	return nil, 0
}

// Keys returns by which keys packets find the rules of a session.
//
// Errors: [datapath.ErrNoSession].
func (s *Sessions) Keys(seid uint64) ([]datapath.Key, error) {
	one := s.all[seid]
	if one == nil {
		return nil, s.noSession(seid)
	}
	return slices.Clone(one.keys), nil
}

func (s *Sessions) noSession(seid uint64) error {
	return fmt.Errorf("%s: SEID %#x: %w", s.cfg.Name, seid, datapath.ErrNoSession)
}

// Usage is that of [datapath.Driver].
func (s *Sessions) Usage(seid uint64) (*api.SessionUsage, error) {
	one := s.all[seid]
	if one == nil {
		return nil, s.noSession(seid)
	}
	usage := &api.SessionUsage{}
	for _, r := range one.rules {
		t := r.Counters.Total()
		usage.Rules = append(usage.Rules, &api.Usage{
			PdrId: r.PDRID, Packets: t.Packets, Octets: t.Octets, DroppedPackets: t.Dropped,
		})
	}
	for _, u := range one.urrs {
		usage.Urrs = append(usage.Urrs, u.Count())
	}
	return usage, nil
}

// localOf returns the address from which old, which may be nil, sent into a
// tunnel.
func (s *Sessions) localOf(old *session, to gtpu.Tunnel) netip.Addr {
	if old != nil {
		for _, r := range old.rules {
			if r.Outer != nil && r.Outer.TEID == to.TEID && r.Outer.Peer == to.Peer {
				return r.Outer.Local
			}
		}
	}
	return s.local(datapath.Direction{}, to.Peer)
}

// local returns the source of packets to peer.
func (s *Sessions) local(to datapath.Direction, peer netip.Addr) netip.Addr {
	return datapath.Local(s.cfg.Endpoints, to, peer)
}
