package move

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// newModel returns a model in the bed of the conformance tests.
func newModel(paused bool) *stages.UPF {
	return stages.New(stages.Config{
		Endpoints: conformance.Endpoints, N6: conformance.DataNetworks, MaxSessions: conformance.MaxSessions,
		MTU: conformance.MTU, Now: func() uint64 { return 1 }, Secret: conformance.Secret, Paused: paused,
	})
}

// sessions are those of the conformance tests, each of their rules with a URR; limits
// says what of.
func sessions(limits func(u *api.URR)) []*api.Session {
	all := conformance.Sessions()
	for _, s := range all {
		u := &api.URR{Id: 4000}
		limits(u)
		s.Urrs = append(s.Urrs, u)
		for _, r := range s.Rules {
			r.UrrIds = append(r.UrrIds, 4000)
		}
	}
	return all
}

func unlimited(*api.URR) {}

func apply(t *testing.T, d datapath.Driver, all []*api.Session) {
	t.Helper()
	for _, s := range all {
		if err := d.Apply(t.Context(), &api.Change{Seid: s.GetSeid(), Session: s}); err != nil {
			t.Fatal(err)
		}
	}
}

// traffic lets every frame of the conformance tests arrive.
func traffic(u *stages.UPF) {
	for _, f := range conformance.Frames(conformance.N3) {
		u.FromN3(f)
	}
	for _, f := range conformance.Frames(conformance.N6) {
		u.FromN6(f)
	}
}

// filling gives all sessions, as a control plane does.
func filling(all []*api.Session) func(context.Context, datapath.Driver) error {
	return func(ctx context.Context, d datapath.Driver) error {
		for _, s := range all {
			_ = d.Apply(ctx, &api.Change{Seid: s.GetSeid(), Session: s})
		}
		return nil
	}
}

func opening(d datapath.Movable) func() (datapath.Movable, error) {
	return func() (datapath.Movable, error) { return d, nil }
}

// TestMoveKeepsUsage: what is counted on two datapaths one behind the other is what
// is counted on one, of every session, every PDR and every URR, octet by octet; drops
// too.
func TestMoveKeepsUsage(t *testing.T) {
	all := sessions(unlimited)
	one := newModel(false)
	apply(t, one, all)
	first, second := newModel(false), newModel(true)
	m := New(first, nil)
	defer m.Close()
	apply(t, m, all)
	traffic(one)
	traffic(first)
	waiting := first.Buffered().Packets
	r, err := m.Move(t.Context(), opening(second), filling(all))
	if err != nil || r.Sessions != len(all) || r.Learnt.Packets != waiting {
		t.Fatalf("moved %d sessions, %d buffered packets: %v, want %d and %d", r.Sessions, r.Learnt.Packets, err, len(all), waiting)
	}
	traffic(first) // which is paused: nothing of it counts
	traffic(one)
	traffic(second)
	for _, s := range all {
		want, err := one.Usage(s.GetSeid())
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Usage(s.GetSeid())
		if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" || err != nil {
			t.Errorf("session %#x: %v, -want +got\n%s", s.GetSeid(), err, diff)
		}
	}
	want, _ := one.Drops()
	got, err := m.Drops()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("drops: %v, -want +got\n%s", err, diff)
	}
	if now, since := m.Current(); now != datapath.Movable(second) || time.Since(since) > time.Minute {
		t.Errorf("%T of %v forwards, want the second one", now, since)
	}
}

// TestMoveQuota: a quota that two datapaths use together lets through what it does
// on one, to the packet.
func TestMoveQuota(t *testing.T) {
	for _, total := range []uint64{1, 100, 500, 2000} {
		all := sessions(func(u *api.URR) { u.Quota = &api.Volume{Total: total} })
		one, first, second := newModel(false), newModel(false), newModel(true)
		apply(t, one, all)
		m := New(first, nil)
		apply(t, m, all)
		traffic(one)
		traffic(first)
		if _, err := m.Move(t.Context(), opening(second), filling(all)); err != nil {
			t.Fatal(err)
		}
		traffic(one)
		traffic(second)
		for _, s := range all {
			want, _ := one.Usage(s.GetSeid())
			got, err := m.Usage(s.GetSeid())
			if diff := cmp.Diff(want.GetUrrs(), got.GetUrrs(), protocmp.Transform()); diff != "" || err != nil {
				t.Errorf("quota %d, session %#x: %v, -want +got\n%s", total, s.GetSeid(), err, diff)
			}
		}
		m.Close()
	}
}

// lesser is a datapath that knows no URRs.
type lesser struct{ *stages.UPF }

func (l lesser) Capabilities() *api.Capabilities { return &api.Capabilities{Name: "lesser"} }

func (l lesser) Apply(ctx context.Context, c *api.Change) error {
	if err := datapath.Check(c, l.Capabilities()); err != nil {
		return err
	}
	return l.UPF.Apply(ctx, c)
}

// broken is a datapath that does not start.
type broken struct {
	*stages.UPF
	closed bool
}

var errBroken = errors.New("out of order")

func (*broken) Resume() error { return errBroken }

func (b *broken) Close() error {
	b.closed = true
	return b.UPF.Close()
}

// TestMoveFails: after a move that fails the datapath of before goes on, with all that
// it has.
func TestMoveFails(t *testing.T) {
	all := sessions(unlimited)
	noDevice := errors.New("no device")
	for name, tc := range map[string]struct {
		open func() (datapath.Movable, error)
		fill func(context.Context, datapath.Driver) error
		want error
	}{
		"it cannot be opened":        {func() (datapath.Movable, error) { return nil, noDevice }, filling(all), noDevice},
		"it cannot do what is asked": {opening(lesser{newModel(true)}), filling(all), ErrRefused},
		"it does not start":          {opening(&broken{UPF: newModel(true)}), filling(all), errBroken},
		"sessions cannot be read":    {opening(newModel(true)), func(context.Context, datapath.Driver) error { return noDevice }, noDevice},
		"who asked for it has gone":  {opening(newModel(true)), nil, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			first := newModel(false)
			m := New(first, nil)
			defer m.Close()
			apply(t, m, all)
			traffic(first)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tc.fill == nil {
				tc.fill = func(context.Context, datapath.Driver) error { cancel(); return nil }
			}
			_, err := m.Move(ctx, tc.open, tc.fill)
			if !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			var refused *RefusedError
			if errors.As(err, &refused) && (refused.Sessions != len(all) || len(refused.Refusals) == 0 || refused.Refusals[0].Err == nil) {
				t.Errorf("refused %+v, want %d sessions, and why", refused, len(all))
			}
			before, _ := m.Usage(all[0].GetSeid())
			traffic(first)
			after, err := m.Usage(all[0].GetSeid())
			if err != nil || after.GetUrrs()[0].GetUplinkOctets() <= before.GetUrrs()[0].GetUplinkOctets() {
				t.Errorf("before %v, after %v (%v): want that it goes on", before.GetUrrs(), after.GetUrrs(), err)
			}
			if _, err := m.Move(t.Context(), opening(newModel(true)), filling(all)); err != nil {
				t.Errorf("the next move: %v", err)
			}
			select {
			case <-m.Ended():
				t.Errorf("ended: %v", m.Err())
			default:
			}
		})
	}
}

// TestMoveWhileSessionsChange: sessions come, change and go during a move, by several
// callers; the next datapath has those that there are, and refuses none.
func TestMoveWhileSessionsChange(t *testing.T) {
	all := sessions(unlimited)
	m := New(newModel(false), nil)
	defer m.Close()
	apply(t, m, all)
	stop := make(chan struct{})
	var callers sync.WaitGroup
	var locks [64]sync.Mutex // as a control plane has one for each session
	for i := range 4 {
		callers.Go(func() {
			for n := i; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				s := all[n%len(all)]
				locks[n%len(all)].Lock()
				var errs []error
				if n%3 == 0 {
					errs = append(errs, m.Apply(context.Background(), &api.Change{Seid: s.GetSeid()}))
				}
				errs = append(errs, m.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s}))
				if _, err := m.Usage(s.GetSeid()); err != nil {
					errs = append(errs, err)
				}
				locks[n%len(all)].Unlock()
				if err := errors.Join(errs...); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range 20 {
		_, err := m.Move(t.Context(), opening(newModel(true)), func(ctx context.Context, d datapath.Driver) error {
			for i, s := range all {
				locks[i].Lock()
				err := d.Apply(ctx, &api.Change{Seid: s.GetSeid(), Session: s})
				locks[i].Unlock()
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("move %d: %v", n, err)
		}
	}
	close(stop)
	callers.Wait()
	for _, s := range all {
		if _, err := m.Usage(s.GetSeid()); err != nil {
			t.Error(err)
		}
	}
}

// TestInherit: usage of before the start is told at once, goes on while the old
// datapath still counts, and is carried over when all sessions are there.
func TestInherit(t *testing.T) {
	all := sessions(unlimited)
	before, now := newModel(false), newModel(true)
	apply(t, before, all)
	traffic(before)
	m := New(now, nil)
	defer m.Close()
	m.Inherit(before)
	apply(t, m, all)
	same := func(when string, want datapath.Driver) {
		t.Helper()
		for _, s := range all {
			w, err := want.Usage(s.GetSeid())
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.Usage(s.GetSeid())
			if diff := cmp.Diff(w, got, protocmp.Transform()); diff != "" || err != nil {
				t.Errorf("%s, session %#x: %v, -want +got\n%s", when, s.GetSeid(), err, diff)
			}
		}
	}
	same("at the start", before)
	traffic(before)
	same("later", before)
	if _, err := m.Move(t.Context(), opening(newModel(true)), filling(all)); !errors.Is(err, ErrBusy) {
		t.Errorf("a move before Settle: %v, want %v", err, ErrBusy)
	}
	one := newModel(false)
	apply(t, one, all)
	traffic(one)
	traffic(one)
	if err := m.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	same("after Settle", one)
	traffic(one)
	traffic(now)
	same("and then", one)
}

// TestEvents: what a datapath had to tell is told, also when another one has taken
// its place.
func TestEvents(t *testing.T) {
	all := sessions(func(u *api.URR) { u.Threshold = &api.Volume{Total: 1} })
	first := newModel(false)
	m := New(first, nil)
	defer m.Close()
	apply(t, m, all)
	traffic(first)
	if _, err := m.Move(t.Context(), opening(newModel(true)), filling(all)); err != nil {
		t.Fatal(err)
	}
	reached := map[uint64]bool{}
	for _, s := range all {
		if u, _ := m.Usage(s.GetSeid()); u.GetUrrs()[len(u.GetUrrs())-1].GetUplinkPackets()+u.GetUrrs()[len(u.GetUrrs())-1].GetDownlinkPackets() > 0 {
			reached[s.GetSeid()] = true
		}
	}
	if len(reached) == 0 {
		t.Fatal("no session has counted anything")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for len(reached) > 0 {
		e, err := m.Next(ctx)
		if err != nil {
			t.Fatalf("%v; not told of: %v", err, fmt.Sprint(reached))
		}
		if e.GetKind() == api.EventKind_VOLUME_THRESHOLD {
			delete(reached, e.GetSeid())
		}
	}
}
