package n4

import (
	"net/netip"
	"testing"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// TestRecover: what was lost with the store is told, by a newer Recovery Time Stamp, to
// those whose it was, and to nobody else; it is told once. Sessions whose association
// is lost are deleted, and their UE addresses are free.
func TestRecover(t *testing.T) {
	own := pfcp.NewTimeStamp(recoveryTime)
	const nobody = "127.0.0.4" // has sessions, but no association
	for _, tc := range []struct {
		name     string
		lost     Lost
		meta     bool // the Recovery Time Stamp is there
		orphan   bool // there is a session without an association
		newer    []string
		sessions int
	}{
		{"nothing", Lost{}, true, false, nil, 1},
		{"a session of one", Lost{Owners: []uint32{1, 1}}, true, false, []string{"127.0.0.2"}, 1},
		{"it is not known what", Lost{Unknown: true}, true, false, []string{"127.0.0.2", "127.0.0.3", nobody}, 1},
		{"a session of a lost association", Lost{Owners: []uint32{7}}, true, false, []string{"127.0.0.2", "127.0.0.3", nobody}, 1},
		{"the Recovery Time Stamp", Lost{}, false, false, []string{"127.0.0.2", "127.0.0.3", nobody}, 1},
		{"an association", Lost{}, true, true, []string{nobody}, 1},
		{"an association and more", Lost{Owners: []uint32{7}}, true, true, []string{nobody}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			store := newMemoryStore()
			b := newBed(t, Config{Store: store})
			for _, from := range []string{"127.0.0.2", "127.0.0.3"} {
				b.client(t, from).associate(from, recoveryTime)
			}
			b.Close()
			if !tc.meta {
				store.Drop(KindMeta, 0)
				if err := store.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			lost := tc.lost
			var stamps [2]map[string]pfcp.TimeStamp
			for i := range stamps {
				store = store.after()
				b := newBedFrom(t, Config{Store: store}, defaultPatience, func(e *Endpoint) {
					for k, record := range store.after().kept {
						if err := e.Restore(k.kind, k.id, record); err != nil {
							t.Error(err)
						}
					}
					restoreSession(t, e, 1, "127.0.0.2", 2)
					if tc.orphan && i == 0 {
						restoreSession(t, e, 7, nobody, 3)
					}
					if err := e.Recover(t.Context(), lost); err != nil {
						t.Error(err)
					}
				})
				lost = Lost{}
				stamps[i] = map[string]pfcp.TimeStamp{}
				for _, from := range []string{"127.0.0.2", "127.0.0.3", nobody} {
					var r pfcp.HeartbeatResponse
					b.client(t, from).do(0, &pfcp.HeartbeatRequest{RecoveryTimeStamp: 1}, &r)
					stamps[i][from] = r.RecoveryTimeStamp
				}
				if n := b.sessions.Len(); n != tc.sessions {
					t.Errorf("start %d: %d sessions, want %d", i, n, tc.sessions)
				}
				if !tc.orphan {
					continue
				}
				c := b.client(t, nobody)
				c.associate(nobody, recoveryTime)
				if r := c.establish(usual(nobody, "10.45.0.3")); r.Cause != pfcp.CauseRequestAccepted {
					t.Errorf("its UE address again: %v", r.Cause)
				}
				if n := b.peers.spokenFor(pfcp.NodeID{Addr: netip.MustParseAddr(nobody)}, netip.MustParseAddr(nobody)).owner; n == 7 {
					t.Error("the owner number is given again")
				}
				break // with another session
			}
			want := map[string]bool{}
			for _, from := range tc.newer {
				want[from] = true
			}
			for from, stamp := range stamps[0] {
				if newer(stamp, own) != want[from] || stamp != own && !want[from] {
					t.Errorf("%s is sent %v, own is %v; newer %v", from, stamp.Time(), own.Time(), want[from])
				}
				if again, ok := stamps[1][from]; ok && again != stamp {
					t.Errorf("%s is sent %v after another start, %v before", from, again.Time(), stamp.Time())
				}
			}
		})
	}
}

// restoreSession makes a session be there before the endpoint serves.
func restoreSession(t *testing.T, e *Endpoint, owner uint32, cp string, ue byte) {
	t.Helper()
	addr := session.UEAddress{IPv4: session.IPv4{10, 45, 0, ue}}
	err := e.sessions.Establish(t.Context(), &session.Establishment{
		Owner: owner, CP: session.FSEID{SEID: uint64(ue), IPv4: netip.MustParseAddr(cp).As4()},
		CreatePDRs: []session.PDR{{ID: 1, FARID: 1, PDI: session.PDI{SourceInterface: session.Core, UEAddress: addr}}},
		CreateFARs: []session.FAR{{ID: 1, ApplyAction: session.Drop}},
	}, new(session.Result))
	if err != nil {
		t.Fatal(err)
	}
}
