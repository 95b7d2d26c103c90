package session

import (
	"errors"
	"fmt"
	"math/rand/v2"
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
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			m, dp := newManager(t, 24)
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
	if r.IntN(4) == 0 { // one more, of which some clash within the session
		more := e.CreatePDRs[1]
		more.ID = 3
		e.CreatePDRs = append(e.CreatePDRs, more)
	}
	return e
}

func randomModification(r *rand.Rand, seid uint64) *Modification {
	from := randomEstablishment(r)
	m := &Modification{SEID: seid, Owner: 1}
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
