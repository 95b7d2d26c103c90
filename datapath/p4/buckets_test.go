package p4

import (
	"math/rand/v2"
	"slices"
	"testing"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// withQERs gives a session QERs, all of them to each rule.
func withQERs(s *api.Session, qers ...*api.QER) *api.Session {
	var ids []uint32
	for i, q := range qers {
		q.Id = uint32(1 + i)
		ids = append(ids, q.Id)
	}
	s.Qers = qers
	for _, r := range s.Rules {
		r.QerIds = ids
	}
	return s
}

func mbr(up, down uint64) *api.QER { return &api.QER{UplinkMbrBps: up, DownlinkMbrBps: down} }

func sharedMBR(n uint32, up, down uint64) *api.QER {
	return &api.QER{UplinkMbrBps: up, DownlinkMbrBps: down, Shared: n}
}

// TestMeters: gates and MBRs of sessions, and those that sessions share, drop the packets that package model drops.
func TestMeters(t *testing.T) {
	const kbit = 1000
	for _, tt := range []struct {
		name     string
		sessions [][]*api.QER // of sessions 1, 2 ...
		reason   datapath.Reason
	}{
		{"uplink gate", [][]*api.QER{{{UplinkGateClosed: true}, mbr(64*kbit, 64*kbit)}}, datapath.DropGate},
		{"downlink gate", [][]*api.QER{{{DownlinkGateClosed: true}}}, datapath.DropGate},
		{"one MBR", [][]*api.QER{{mbr(64*kbit, 96*kbit)}, {mbr(128*kbit, 0)}}, datapath.DropMBR},
		{"MBRs of flow and session", [][]*api.QER{{mbr(64*kbit, 128*kbit), mbr(80*kbit, 100*kbit)}, {mbr(0, 60*kbit), mbr(90*kbit, 70*kbit)}}, datapath.DropMBR},
		{"MBR of a slice", [][]*api.QER{{sharedMBR(7, 100*kbit, 120*kbit)}, {sharedMBR(7, 100*kbit, 120*kbit)}}, datapath.DropMBR},
		{"flow, session and slice", [][]*api.QER{
			{mbr(64*kbit, 128*kbit), mbr(80*kbit, 100*kbit), sharedMBR(1, 90*kbit, 150*kbit)},
			{sharedMBR(1, 90*kbit, 150*kbit), mbr(70*kbit, 0)},
			{sharedMBR(2, 40*kbit, 0)},
		}, datapath.DropMBR},
	} {
		t.Run(tt.name, func(t *testing.T) {
			draw := rand.New(rand.NewPCG(1, 2))
			b, judge := newBed(t), newHost(place{bedEndpoints, &bedN6, bedPorts})
			for i, qers := range tt.sessions {
				seid := uint64(1 + i)
				s := withQERs(plainSession(seid), qers...)
				b.set(s)
				if err := judge.apply(b, s); err != nil {
					t.Fatal(err)
				}
			}
			b.settle()
			before := b.drops()
			want := map[datapath.Reason]uint64{}
			passed := 0
			for range 3000 {
				b.host.now += uint64(draw.IntN(20_000)) * 1000 // the target's clock counts microseconds
				judge.now = b.host.now
				seid, size, device := 1+draw.Uint64N(uint64(len(tt.sessions))), 40+draw.IntN(1400), draw.IntN(2)
				frame := uplink(seid, size)
				if device == 1 {
					frame = downlink(seid, 0, size)
				}
				rules, _ := judge.sessions.Rules(seid)
				reason := judge.stages.Admit(rules[device], size, judge.now)
				f := b.send(device, frame)
				if f.cpu || f.dropped != (reason != datapath.ReasonNone) {
					t.Fatalf("session %d, %d octets at %d: %+v, want %v", seid, size, judge.now, f, reason)
				}
				if reason == datapath.ReasonNone {
					passed++
				} else {
					want[reason]++
				}
			}
			got := b.drops()
			for r := range got {
				if got[r] -= before[r]; got[r] != want[r] {
					t.Errorf("%v: %d, want %d", r, got[r], want[r])
				}
			}
			if want[tt.reason] < 100 || passed < 100 || len(want) > 2 {
				t.Errorf("%d passed, dropped %v: this shows nothing", passed, want)
			}
			for i := range tt.sessions {
				b.set(&api.Session{Seid: uint64(1 + i)})
			}
			b.settle()
			b.wantEmpty()
			b.link()
			if n := len(b.offload.shares.of) + len(b.offload.buckets.of); n != 0 {
				t.Errorf("%d meters are kept", n)
			}
			for k, e := range b.links.has {
				if e.GetTableId() == b.schema.tables[tableSlices].id {
					t.Errorf("the target has the rate %x still", k)
				}
			}
		})
	}
}

// drops returns what the target has dropped, by reason.
func (b *bed) drops() map[datapath.Reason]uint64 {
	b.Helper()
	b.check(b.Driver.dropped.read(b.ctx, b.connection))
	return b.Driver.dropped.all()
}

// apply makes a host have a session, beside the bed's.
func (h *host) apply(b *bed, s *api.Session) error {
	return h.sessions.Apply(&api.Change{Seid: s.GetSeid(), Session: s}, b.can, func(stages.Out) {}, func(stages.Datagram) {})
}

// TestSharedRate: the rate of a meter that sessions share follows the QER; one more than there is room for is the CPU's.
func TestSharedRate(t *testing.T) {
	b := newBed(t)
	b.set(withQERs(plainSession(1), sharedMBR(1, 8e9, 8e9)))
	b.settle()
	rates := func() (all []string) {
		for _, e := range b.links.has {
			if e.GetTableId() == b.schema.tables[tableSlices].id {
				all = append(all, e.String())
			}
		}
		return all
	}
	before := rates()
	if len(before) != 2 {
		t.Fatalf("%d rates, want one each way: %v", len(before), before)
	}
	b.set(withQERs(plainSession(1), sharedMBR(1, 4e9, 4e9)))
	b.settle()
	after := rates()
	for _, r := range before {
		if slices.Contains(after, r) {
			t.Errorf("%s is there still", r)
		}
	}
	b.offload.shares.most = 2
	b.set(withQERs(plainSession(2), sharedMBR(2, 8e9, 8e9)))
	b.settle()
	b.wantCPU(0, uplink(2, 100))
	b.wantTarget(0, uplink(1, 100), pdr{1, 1})

	// A target that does not know the rate asks the CPU.
	for k, e := range b.links.has {
		if e.GetTableId() == b.schema.tables[tableSlices].id {
			_, err := b.connection.write(b.ctx, []*p4rt.Update{update(p4rt.Update_DELETE, &p4rt.TableEntry{TableId: e.TableId, Match: e.Match})})
			b.check(err)
			delete(b.links.has, k)
		}
	}
	b.wantCPU(0, uplink(1, 100))
	b.link()
	b.wantTarget(0, uplink(1, 100), pdr{1, 1})
	for seid := range uint64(2) {
		b.set(&api.Session{Seid: 1 + seid})
	}
	b.settle()
	b.wantEmpty()
}
