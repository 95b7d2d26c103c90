package p4

import (
	"context"
	"sync"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// host is an engine without I/O: the sessions of package model.
type host struct {
	mu       sync.Mutex
	sessions *stages.Sessions
	stages   stages.Stages
	index    byKey
	now      uint64 // ns
	counted  map[*stages.Counters]datapath.Total
	events   []api.EventKind
}

func newHost(at place) *host {
	h := &host{index: byKey{}, now: 1e9, counted: map[*stages.Counters]datapath.Total{}}
	h.sessions = stages.NewSessions(stages.SessionsConfig{
		Name: "test", Endpoints: at.endpoints, N6: at.n6, Max: bedSessions, Now: h.clock, Index: h.index, Stages: &h.stages,
	})
	h.stages = stages.Stages{
		Tables: h.sessions, Now: h.clock, Redirects: stages.NewRedirects(nil), Names: stages.NewNames(nil), Bridge: stages.NewBridge(nil),
		Buffer: stages.NewBuffer(stages.DefaultBufferLimits, h.clock, func(datapath.Reason) {}), Endpoints: at.endpoints,
		Post: func(e *api.Event) { h.events = append(h.events, e.GetKind()) },
	}
	return h
}

func (h *host) clock() uint64 { return h.now }

// byKey is a [stages.Index].
type byKey map[datapath.Key][]*stages.Rule

func (m byKey) Candidates(k datapath.Key) []*stages.Rule  { return m[k] }
func (m byKey) Bind(k datapath.Key, rules []*stages.Rule) { m[k] = rules }
func (m byKey) Unbind(k datapath.Key)                     { delete(m, k) }

// Candidates implements engine.
func (h *host) Candidates(k datapath.Key) []*stages.Rule {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.index[k]
}

// Keys implements engine.
func (h *host) Keys(seid uint64) ([]datapath.Key, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions.Keys(seid)
}

// Count implements engine.
func (h *host) Count(r *stages.Rule, n datapath.Total) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := h.counted[r.Counters]
	sum.Add(n)
	h.counted[r.Counters] = sum
	h.stages.MeasureMany(r, n)
}

// Stages implements engine.
func (h *host) Stages() *stages.Stages { return &h.stages }

// recorder is a target that notes what is written, and may fail.
type recorder struct {
	target
	writes [][]*p4rt.Update
	// refuse says with what an update is refused, fail whether a write is lost; nil: never.
	refuse func(u *p4rt.Update) error
	fail   func(n int) error // n: writes before it
	// after is called when a write has been done.
	after func(updates []*p4rt.Update)
}

func (r *recorder) write(ctx context.Context, updates []*p4rt.Update) (map[int]error, error) {
	if len(updates) == 0 {
		return nil, nil
	}
	n := len(r.writes)
	var kept []*p4rt.Update // the offload uses its memory again
	for _, u := range updates {
		kept = append(kept, proto.CloneOf(u))
	}
	r.writes = append(r.writes, kept)
	if r.fail != nil {
		if err := r.fail(n); err != nil {
			return nil, err
		}
	}
	refused, let := map[int]error{}, []*p4rt.Update(nil)
	var at []int
	for i, u := range updates {
		if r.refuse != nil {
			if err := r.refuse(u); err != nil {
				refused[i] = err
				continue
			}
		}
		let, at = append(let, u), append(at, i)
	}
	more, err := r.target.write(ctx, let)
	for i, why := range more {
		refused[at[i]] = why
	}
	if r.after != nil {
		r.after(updates)
	}
	return refused, err
}
