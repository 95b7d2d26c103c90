package move

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/afxdp"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/datapath/tun"
	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
)

// idle is those sessions of the conformance tests of which downlink packets wait.
func idle(forward func(*api.Rule)) []*api.Session {
	all := sessions(unlimited)
	for _, s := range all {
		for _, r := range s.Rules {
			if r.GetPdrId() == 2 && r.GetForward().GetAction() == api.Action_FORW {
				forward(r)
			}
		}
	}
	return all
}

func buffers(r *api.Rule) {
	r.Forward = &api.Forward{Action: api.Action_BUFF, Notify: true, NotifyDiscarded: true}
}

// sender is a model, and the packets that have left it of their own accord.
func sender(paused bool, limits stages.BufferLimits, sent *[][]byte) *stages.UPF {
	return stages.New(stages.Config{
		Endpoints: conformance.Endpoints, N6: conformance.DataNetworks, MaxSessions: conformance.MaxSessions,
		MTU: conformance.MTU, Now: func() uint64 { return 1 }, Secret: conformance.Secret, Paused: paused, Buffer: limits,
		Send: func(packet []byte) { *sent = append(*sent, slices.Clone(packet)) },
	})
}

// told is the events of a datapath that there are now, by kind.
func told(t *testing.T, d datapath.Driver) map[api.EventKind]int {
	t.Helper()
	all := map[api.EventKind]int{}
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		e, err := d.Next(ctx)
		cancel()
		if err != nil {
			return all
		}
		all[e.GetKind()]++
	}
}

// TestMoveKeepsBuffered: packets that wait for UEs go over and leave, when their FARs
// forward, as they would have left the first datapath: whole, in their order, once, the
// later ones behind them. The control plane is told of them once, and nothing is dropped.
func TestMoveKeepsBuffered(t *testing.T) {
	waiting, active := idle(buffers), idle(func(*api.Rule) {})
	var want, before, got [][]byte
	one, first := sender(false, stages.BufferLimits{}, &want), sender(false, stages.BufferLimits{}, &before)
	second := sender(true, stages.BufferLimits{}, &got)
	apply(t, one, waiting)
	m := New(first, nil)
	defer m.Close()
	apply(t, m, waiting)
	traffic(one)
	traffic(first)
	held := first.Buffered()
	notices := told(t, m)
	r, err := m.Move(t.Context(), opening(second), filling(waiting))
	if err != nil || held.Packets == 0 || r.Learnt.Packets != held.Packets || r.Learnt.Dropped != 0 {
		t.Fatalf("%d packets waited, %+v, %v: want some, and that all went over", held.Packets, r.Learnt, err)
	}
	if diff := cmp.Diff(held, m.Buffered()); diff != "" {
		t.Errorf("what waits, -before +now\n%s", diff)
	}
	traffic(one)
	traffic(second)
	again, answered := told(t, m), len(before)
	want, got = nil, nil // answers to what came
	if notices[api.EventKind_DOWNLINK_DATA] == 0 || again[api.EventKind_DOWNLINK_DATA] != 0 {
		t.Errorf("%v before the move, %v after it: want that DOWNLINK_DATA is told before it alone", notices, again)
	}
	apply(t, one, active)
	apply(t, m, active)
	if diff := cmp.Diff(want, got); diff != "" || len(before) != answered || len(got) == 0 {
		t.Errorf("%d packets left the first one, want none; %d the second one, -want +got\n%s", len(before)-answered, len(got), diff)
	}
	if b := m.Buffered(); b.Packets != 0 || b.Octets != 0 {
		t.Errorf("%+v wait still", b)
	}
	wantDrops, _ := one.Drops()
	drops, err := m.Drops()
	if diff := cmp.Diff(wantDrops, drops); diff != "" || err != nil {
		t.Errorf("drops: %v, -want +got\n%s", err, diff)
	}
}

// TestMoveFailsKeepsBuffered: if the next datapath does not start, what waits is where it
// was.
func TestMoveFailsKeepsBuffered(t *testing.T) {
	waiting, active := idle(buffers), idle(func(*api.Rule) {})
	var want, got [][]byte
	one, first := sender(false, stages.BufferLimits{}, &want), sender(false, stages.BufferLimits{}, &got)
	apply(t, one, waiting)
	m := New(first, nil)
	defer m.Close()
	apply(t, m, waiting)
	traffic(one)
	traffic(first)
	held := first.Buffered()
	if _, err := m.Move(t.Context(), opening(&broken{UPF: newModel(true)}), filling(waiting)); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want %v", err, errBroken)
	}
	if diff := cmp.Diff(held, m.Buffered()); diff != "" {
		t.Errorf("what waits, -before +now\n%s", diff)
	}
	want, got = nil, nil // answers to what came
	apply(t, one, active)
	apply(t, m, active)
	if diff := cmp.Diff(want, got); diff != "" || len(got) == 0 {
		t.Errorf("%d packets left, -want +got\n%s", len(got), diff)
	}
}

// TestMoveNoRoom: what the next datapath has no room for is dropped with the reason, the
// last ones of each session, and the control plane is told.
func TestMoveNoRoom(t *testing.T) {
	const octets = 1 << 20
	waiting, active := idle(buffers), idle(func(*api.Rule) {})
	for name, tc := range map[string]struct {
		limits stages.BufferLimits
		reason datapath.Reason
	}{
		"of a session": {stages.BufferLimits{Packets: 1, Octets: octets, TotalPackets: octets, TotalOctets: octets, Age: time.Minute}, datapath.DropBufferFull},
		"in all":       {stages.BufferLimits{Packets: 256, Octets: octets, TotalPackets: 1, TotalOctets: octets, Age: time.Minute}, datapath.DropBufferTotal},
		"none at all":  {stages.BufferLimits{Packets: 256, Octets: octets, TotalPackets: 9, TotalOctets: 1, Age: time.Minute}, datapath.DropBufferTotal},
	} {
		t.Run(name, func(t *testing.T) {
			var lost, got [][]byte
			first, second := sender(false, stages.BufferLimits{}, &lost), sender(true, tc.limits, &got)
			m := New(first, nil)
			defer m.Close()
			apply(t, m, waiting)
			traffic(first)
			held := first.Buffered().Packets
			before, _ := m.Drops()
			r, err := m.Move(t.Context(), opening(second), filling(waiting))
			if err != nil || r.Learnt.Dropped == 0 || r.Learnt.Packets+r.Learnt.Dropped != held {
				t.Fatalf("%d packets waited, %+v, %v: want that some were dropped", held, r.Learnt, err)
			}
			after, err := m.Drops()
			if n := after[tc.reason.String()] - before[tc.reason.String()]; err != nil || n != uint64(r.Learnt.Dropped) {
				t.Errorf("%d packets counted as %v, want %d: %v", n, tc.reason, r.Learnt.Dropped, err)
			}
			answered := len(lost)
			apply(t, m, active)
			if len(got) != r.Learnt.Packets || len(lost) != answered {
				t.Errorf("%d packets left, want %d; %d left the first one, want none", len(got), r.Learnt.Packets, len(lost)-answered)
			}
		})
	}
}

// All datapaths are learners: what is rare is done by the stages of the model.
var _ = []stages.Inheritor{&stages.UPF{}, &vector.Engine{}, &xdp.Driver{}, &tun.Driver{}, &afxdp.Driver{}}
