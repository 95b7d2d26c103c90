package session

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRandomSequences establishes, modifies and deletes at random, with a
// datapath that fails at random, requests that clash and requests that make no
// sense. After each step the session is whole or as it was; in the end all is
// free. Clashes are frequent: there are 32 UE addresses and 16 TEIDs to choose.
func TestRandomSequences(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			m, dp := newManagerOf(t, Config{
				MaxSessions: 24, Endpoints: []Endpoint{{IPv4: n3}, {IPv4: IPv4{10, 9, 0, 1}, Interfaces: []Interface{Core}}},
				Pools: []Pool{
					{Name: "a", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.45.0.16/28"), netip.MustParsePrefix("2001:db8::/60")}},
					{Name: "b", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.46.0.0/29")}},
				},
				Slices: []Slice{{Number: 1, DNNs: []string{"internet"}, Pools: []string{"b", "a"}, MaxSessions: 8}},
			})
			dp.fail = func() error {
				if r.IntN(5) == 0 {
					return errFake
				}
				return nil
			}
			var accepted, refused int
			for range 2000 {
				if step(t, r, m) == nil {
					accepted++
				} else {
					refused++
				}
				checkHeld(t, m)
			}
			if accepted < 200 || refused < 200 {
				t.Errorf("%d accepted, %d refused: the test does not test", accepted, refused)
			}
			dp.fail = nil
			if _, err := m.DeleteOwned(t.Context(), 1); err != nil {
				t.Error(err)
			}
			m.flushOnce(t)
			checkEmpty(t, m, dp)
		})
	}
}

// step does one random thing, and checks that a failure changed nothing.
func step(t *testing.T, r *rand.Rand, m *Manager) error {
	t.Helper()
	var s *Session
	if all := slices.Collect(m.All()); len(all) > 0 {
		s = all[r.IntN(len(all))]
	}
	n := m.Len()
	what := r.IntN(4)
	if s == nil || what == 0 {
		res := new(Result)
		err := m.Establish(t.Context(), randomEstablishment(r), res)
		want := n - len(res.Replaced)
		if err == nil {
			want++
		}
		if m.Len() != want {
			t.Errorf("%d sessions after %v, want %d", m.Len(), err, want)
		}
		return err
	}
	var err error
	if what == 1 {
		err = remove(m, s.SEID, 1)
	} else {
		_, err = modify(m, randomModification(r, s.SEID))
	}
	if err != nil {
		if d := cmp.Diff(s, m.Get(s.SEID), equal); d != "" {
			t.Errorf("session %#x changed by a failure: %v (-was +is):\n%s", s.SEID, err, d)
		}
	}
	return err
}

func randomEstablishment(r *rand.Rand) *Establishment {
	e := establishment(IPv4{10, 45, 0, byte(r.IntN(32))})
	if r.IntN(8) == 0 { // it replaces another one, if they clash
		e.CP.SEID = uint64(r.IntN(4))
	}
	d := &e.CreatePDRs[1].PDI
	switch r.IntN(4) {
	case 0:
		d.Choose, d.FTEID = Choose{}, FTEID{TEID: uint32(r.IntN(16)), IPv4: n3}
	case 1:
		d.Choose = Choose{CH: true, CHID: true, ID: uint8(r.IntN(3))}
	}
	if r.IntN(8) == 0 {
		e.CreatePDRs[r.IntN(2)].FARID = 3
	}
	randomAddresses(r, e)
	randomURRs(r, e)
	if r.IntN(4) == 0 { // one more, of which some clash within the session
		more := e.CreatePDRs[1]
		more.ID = 3
		e.CreatePDRs = append(e.CreatePDRs, more)
	}
	return e
}

// randomAddresses has some UE addresses chosen here, and some F-TEIDs in a Traffic
// Endpoint.
func randomAddresses(r *rand.Rand, e *Establishment) {
	if r.IntN(2) == 0 {
		e.DNN = "internet"
	}
	if r.IntN(3) == 0 {
		choose := ChooseUE{V4: r.IntN(2) == 0, V6: r.IntN(2) == 0, Pool: []string{"", "a", "b", "c"}[r.IntN(4)]}
		for i := range e.CreatePDRs {
			e.CreatePDRs[i].PDI.UEAddress, e.CreatePDRs[i].PDI.ChooseUE = UEAddress{}, choose
		}
	}
	if r.IntN(3) == 0 {
		d := &e.CreatePDRs[1].PDI
		e.CreateEndpoints = []TrafficEndpoint{{
			ID: uint8(r.IntN(2)), Choose: d.Choose, FTEID: d.FTEID, UEAddress: d.UEAddress, ChooseUE: d.ChooseUE,
		}}
		*d = PDI{SourceInterface: Access, Endpoint: Some(uint8(r.IntN(2)))}
	}
	if r.IntN(4) == 0 {
		e.CreatePDRs[1].PDI.SourceInterface = Core
	}
}

// randomURRs gives some sessions URRs, which makes changes go to the datapath in
// two steps.
func randomURRs(r *rand.Rand, e *Establishment) {
	for id := range uint32(r.IntN(3)) {
		e.CreateURRs = append(e.CreateURRs, URR{ID: id, Method: MeasureVolume, Triggers: ReportVOLTH})
		p := &e.CreatePDRs[r.IntN(2)]
		p.URRIDs = append(p.URRIDs, id)
	}
}

func randomModification(r *rand.Rand, seid uint64) *Modification {
	from := randomEstablishment(r)
	m := &Modification{SEID: seid, Owner: 1, QueryAll: r.IntN(4) == 0}
	for id := range uint32(2) {
		switch r.IntN(6) {
		case 0:
			m.RemoveURRs = append(m.RemoveURRs, id)
		case 1:
			m.CreateURRs = append(m.CreateURRs, URR{ID: id, Method: MeasureVolume})
		}
	}
	for _, e := range from.CreateEndpoints {
		switch r.IntN(4) {
		case 0:
			m.CreateEndpoints = append(m.CreateEndpoints, e)
		case 1:
			m.RemoveEndpoints = append(m.RemoveEndpoints, e.ID)
		case 2:
			m.UpdateEndpoints = append(m.UpdateEndpoints, UpdateTrafficEndpoint{ID: e.ID, Choose: Choose{CH: true}})
		}
	}
	for i := range from.CreatePDRs {
		p := &from.CreatePDRs[i]
		switch r.IntN(5) {
		case 0:
			m.RemovePDRs = append(m.RemovePDRs, p.ID)
		case 1:
			m.RemovePDRs = append(m.RemovePDRs, p.ID)
			m.CreatePDRs = append(m.CreatePDRs, *p)
		case 2:
			m.CreatePDRs = append(m.CreatePDRs, *p)
		case 3:
			m.UpdatePDRs = append(m.UpdatePDRs, UpdatePDR{ID: p.ID, PDI: Some(p.PDI)})
		}
	}
	return m
}

// checkHeld: what the sessions' PDRs need is held by them, and nothing else is.
func checkHeld(t *testing.T, m *Manager) {
	t.Helper()
	want := 0
	for s := range m.All() {
		for _, res := range s.resources(nil) {
			want++
			if got := m.claims.holder(res); got != holderOf(s.SEID) {
				t.Errorf("%v of session %#x is held by slot %d", res, s.SEID, got)
			}
		}
	}
	got := 0
	for i := range m.claims.shards {
		got += len(m.claims.shards[i].ipv4) + len(m.claims.shards[i].ipv6)
	}
	got += int(m.claims.teids.slots.taken) + len(m.claims.teids.others)
	for _, p := range m.claims.pools.list {
		got += int(p.places.taken)
	}
	if got != want {
		t.Errorf("%d resources held, sessions have %d", got, want)
	}
}

// TestParallel works on many sessions from many goroutines while readers go
// through all of them; run it with the race detector.
func TestParallel(t *testing.T) {
	m, dp := newManager(t, 256)
	done := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for s := range m.All() {
					for i := range s.PDRs {
						if s.FAR(s.PDRs[i].FARID) == nil {
							t.Error("half a session seen")
						}
					}
				}
				m.ByUEAddress(UEAddress{IPv4: IPv4{10, 45, 0, 7}})
				runtime.Gosched()
			}
		})
	}
	for w := range uint64(4) {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(w, 2))
			for range 500 {
				e := randomEstablishment(r)
				s, err := establish(m, e)
				if err != nil {
					continue
				}
				// Success is not certain: the change may clash.
				_, _ = modify(m, randomModification(r, s.SEID))
				if err := remove(m, s.SEID, 1); err != nil && !errors.Is(err, ErrNoSession) { // it may have been replaced
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	checkEmpty(t, m, dp)
}
