package session

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// storm is a store that forgets and a source of events about any session.
type storm struct {
	mu    sync.Mutex
	seids map[uint64]bool
}

func (*storm) Save(byte, uint64, []byte)   {}
func (*storm) Drop(byte, uint64)           {}
func (*storm) Flush(context.Context) error { return nil }

func (s *storm) note(seid uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seids[seid] = true
}

func (s *storm) Next(ctx context.Context) (Event, error) {
	select {
	case <-ctx.Done():
		return Event{}, ctx.Err()
	case <-time.After(50 * time.Microsecond):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for seid := range s.seids {
		return Event{Kind: StartOfTraffic + EventKind(rand.IntN(2)), SEID: seid, RuleID: 1}, nil
	}
	return Event{Kind: PathUp}, nil
}

// TestUsageParallel changes sessions with URRs from several goroutines while they
// are looked at, told and acknowledged; run it with the race detector. In the end
// nothing is left anywhere.
func TestUsageParallel(t *testing.T) {
	s := &storm{seids: map[uint64]bool{}}
	m, dp := newManagerOf(t, Config{MaxSessions: 256, Endpoints: []Endpoint{{Name: "n3", IPv4: n3}}, Store: s})
	dp.usage = Usage{Packets: 5, URRs: []URRCounts{{URRID: 1, Counts: octets(500, 0)}, {URRID: 2, Counts: octets(0, 200)}}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var told sync.WaitGroup
	go func() {
		done <- m.Run(ctx, s, func(n Notice) {
			told.Go(func() {
				var w Waiting
				if n.SEID != 0 && m.Waiting(ctx, n.SEID, &w) == nil {
					m.Acknowledge(n.SEID, w.Reports)
				}
			})
		})
	}()
	var work sync.WaitGroup
	for g := range uint64(4) {
		work.Go(func() {
			random := rand.New(rand.NewPCG(g, 4))
			r := new(Result)
			for i := range 150 {
				req := usual()
				req.CP.SEID = g<<32 | uint64(i)
				setUE(req, int(g)<<16|i)
				req.CreateURRs[0].Triggers |= ReportPERIO | ReportSTART
				req.CreateURRs[0].MeasurementPeriod = 1
				if err := m.Establish(ctx, req, r); err != nil {
					t.Error(err)
					return
				}
				seid := r.Session.SEID
				s.note(seid)
				for range random.IntN(4) {
					changeURRs(t, m, seid, random, r)
				}
				if err := m.Delete(ctx, seid, 1, r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	for range 1000 { // what was deleted is taken out behind the answers
		dp.mu.Lock()
		n := len(dp.sessions)
		dp.mu.Unlock()
		if n == 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	<-done
	told.Wait()
	if len(dp.sessions) != 0 || m.Len() != 0 || len(m.usages.rests) != 0 {
		t.Errorf("%d sessions in the datapath, %d in the manager, %d to be taken out; want none",
			len(dp.sessions), m.Len(), len(m.usages.rests))
	}
}

// changeURRs removes, creates, changes and queries URRs of a session.
func changeURRs(t *testing.T, m *Manager, seid uint64, random *rand.Rand, r *Result) {
	t.Helper()
	had := m.Get(seid).URR(2) != nil
	req := &Modification{SEID: seid, Owner: 1, QueryAll: random.IntN(2) == 0}
	if had {
		req.RemoveURRs = []uint32{2}
	}
	if !had || random.IntN(2) == 0 {
		req.CreateURRs = []URR{{ID: 2, Method: MeasureVolume, Triggers: ReportVOLTH, VolumeThreshold: total(100)}}
	}
	req.UpdateURRs = []UpdateURR{{ID: 1, VolumeQuota: Some(total(random.Uint64N(1000)))}}
	if err := m.Modify(context.Background(), req, r); err != nil {
		t.Error(err)
	}
}
