package n4

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// recoveryBed is an endpoint in a bubble, of whose Recovery Time Stamps a test is.
type recoveryBed struct {
	*quiet
	t        *testing.T
	sequence uint32
}

func newRecoveryBed(t *testing.T) *recoveryBed {
	t.Helper()
	b := &recoveryBed{quiet: newQuiet(t), t: t, sequence: 100}
	b.answerWith(func(_ int, request []byte) []byte { return heartbeatResponse(request, 100) })
	return b
}

func (b *recoveryBed) end() {
	b.stop()
	b.background.Wait()
}

// do sends a request and decodes the response.
func (b *recoveryBed) do(from netip.AddrPort, request, response pfcp.Message) {
	b.t.Helper()
	b.sequence++
	_, body, _, err := pfcp.Parse(b.receive(from, mustAppend(b.t, b.sequence, request)))
	if err != nil || response.Decode(body) != nil {
		b.t.Fatalf("%v: %v", request.MessageType(), err)
	}
}

// setup sets up an association of the node of that address.
func (b *recoveryBed) setup(from netip.AddrPort, recovery pfcp.TimeStamp, alternatives ...netip.Addr) pfcp.TimeStamp {
	b.t.Helper()
	m := &pfcp.AssociationSetupRequest{NodeID: pfcp.NodeID{Addr: from.Addr()}, RecoveryTimeStamp: recovery}
	for _, a := range alternatives {
		m.Alternatives = append(m.Alternatives, pfcp.CPAddress{IPv4: a})
	}
	var r pfcp.AssociationSetupResponse
	if b.do(from, m, &r); r.Cause != pfcp.CauseRequestAccepted {
		b.t.Fatalf("setup from %v: %v", from, r.Cause)
	}
	return r.RecoveryTimeStamp
}

func (b *recoveryBed) establish(from netip.AddrPort, ue string) {
	b.t.Helper()
	var r pfcp.SessionEstablishmentResponse
	if b.do(from, usual(from.Addr().String(), ue), &r); r.Cause != pfcp.CauseRequestAccepted {
		b.t.Fatalf("establishment from %v: %v", from, r.Cause)
	}
}

// lose sets up an association, a session, and the association again.
func (b *recoveryBed) lose(from netip.AddrPort, ue string) pfcp.TimeStamp {
	b.t.Helper()
	b.setup(from, 100)
	b.establish(from, ue)
	return b.setup(from, 100)
}

func (b *recoveryBed) release(from netip.AddrPort) {
	b.t.Helper()
	var r pfcp.AssociationReleaseResponse
	if b.do(from, &pfcp.AssociationReleaseRequest{NodeID: pfcp.NodeID{Addr: from.Addr()}}, &r); r.Cause != pfcp.CauseRequestAccepted {
		b.t.Fatalf("release from %v: %v", from, r.Cause)
	}
}

// heartbeat is what a Heartbeat Request is answered with.
func (b *recoveryBed) heartbeat(from netip.AddrPort) pfcp.TimeStamp {
	b.t.Helper()
	var r pfcp.HeartbeatResponse
	b.do(from, &pfcp.HeartbeatRequest{RecoveryTimeStamp: 1}, &r)
	return r.RecoveryTimeStamp
}

// otherPort is where another CP function is.
var otherPort = netip.MustParseAddrPort("10.4.0.3:8805")

// TestRecoveryOfAnother: that a CP function has lost sessions is not told to another
// one whose address it names as an alternative one of its own; only where nobody else
// is associated it is told there, too.
func TestRecoveryOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newRecoveryBed(t)
		defer b.end()
		b.associateQuiet(t, 100)
		own, third := b.heartbeat(smfPort), netip.MustParseAddrPort("10.4.0.4:8805")
		names := []netip.Addr{smfPort.Addr(), third.Addr()}
		b.setup(otherPort, 100, names...)
		b.establish(otherPort, "10.45.0.9")
		lost := b.setup(otherPort, 100, names...)
		for _, tc := range []struct {
			name string
			from netip.AddrPort
			want pfcp.TimeStamp
		}{{"who has lost", otherPort, lost}, {"another one", smfPort, own}, {"where nobody else is", third, lost}} {
			if got := b.heartbeat(tc.from); got != tc.want || !newer(lost, own) {
				t.Errorf("%s: %v, want %v", tc.name, got.Time(), tc.want.Time())
			}
		}
	})
}

// TestRecoveryNotBack: the Recovery Time Stamp that an address is sent does not go back
// when an association ends, however that is, nor when there is another one, nor after a
// restart; who is elsewhere is sent the endpoint's own.
func TestRecoveryNotBack(t *testing.T) {
	for _, tc := range []struct {
		name string
		end  func(b *recoveryBed)
	}{
		{"released", func(b *recoveryBed) { b.release(smfPort) }},
		{"the peer has restarted", func(b *recoveryBed) {
			b.answerWith(func(_ int, request []byte) []byte { return heartbeatResponse(request, 101) })
			time.Sleep(20 * time.Second)
			synctest.Wait()
		}},
		{"it gave way", func(b *recoveryBed) {
			b.config.MaxAssociations = 1
			b.answerWith(nil)
			time.Sleep(20 * time.Second)
			synctest.Wait()
			b.setup(otherPort, 100)
			b.release(otherPort)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newRecoveryBed(t)
				defer b.end()
				store := newMemoryStore()
				b.store = store
				own, lost := b.recovery, b.lose(smfPort, "10.45.0.2")
				tc.end(b)
				if n := len(b.Associations()); n != 0 || !newer(lost, own) {
					t.Fatalf("%d associations; %v after %v", n, lost.Time(), own.Time())
				}
				if got := b.heartbeat(smfPort); got != lost {
					t.Errorf("without an association %v, want %v", got.Time(), lost.Time())
				}
				if err := b.flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				again := newRecoveryBed(t)
				defer again.end()
				for k, record := range store.after().kept {
					if err := again.Restore(k.kind, k.id, record); err != nil {
						t.Error(err)
					}
				}
				for _, b := range []*recoveryBed{b, again} {
					if got := b.heartbeat(smfPort); got != lost {
						t.Errorf("%v, want %v", got.Time(), lost.Time())
					}
					if got := b.setup(smfPort, 101); got != lost || len(b.losses.list) != 0 {
						t.Errorf("associated again %v, want %v; %d remembered besides", got.Time(), lost.Time(), len(b.losses.list))
					}
					if got := b.heartbeat(otherPort); got != own {
						t.Errorf("elsewhere %v, want %v", got.Time(), own.Time())
					}
				}
				if list := store.of(KindLoss); b.flush(t.Context()) != nil || len(store.of(KindLoss)) != 0 {
					t.Errorf("%d records remain", len(list))
				}
			})
		})
	}
}

// TestRecoveryRemembered: no more stamps are remembered than there may be associations;
// the oldest goes, here and in the store.
func TestRecoveryRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newRecoveryBed(t)
		defer b.end()
		store := newMemoryStore()
		b.store, b.config.MaxAssociations = store, 3
		var ports []netip.AddrPort
		var lost []pfcp.TimeStamp
		for i := range byte(5) {
			from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 4, 1, i}), 8805)
			ports, lost = append(ports, from), append(lost, b.lose(from, netip.AddrFrom4([4]byte{10, 45, 1, i}).String()))
			b.release(from)
			time.Sleep(2 * time.Second)
		}
		for i, from := range ports {
			want := lost[i]
			if i < 2 {
				want = b.recovery
			}
			if got := b.heartbeat(from); got != want {
				t.Errorf("address %d: %v, want %v", i, got.Time(), want.Time())
			}
		}
		if err := b.flush(t.Context()); err != nil || len(b.losses.list) != 3 || len(store.of(KindLoss)) != 3 {
			t.Errorf("%d remembered, %d records, %v; want 3", len(b.losses.list), len(store.of(KindLoss)), err)
		}
	})
}

// TestRecoveryAdopted: an association that the UP function sets up in place of one at
// another address, whose sessions go, has a newer Recovery Time Stamp; one without a
// loss has that of before.
func TestRecoveryAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newRecoveryBed(t)
		defer b.end()
		lost := b.lose(smfPort, "10.45.0.2")
		adopt := func(addr netip.Addr) pfcp.TimeStamp {
			t.Helper()
			b.answerWith(nil)
			time.Sleep(20 * time.Second) // the path fails
			synctest.Wait()
			err := b.adopt(&pfcp.AssociationSetupResponse{
				NodeID: pfcp.NodeID{Addr: smfPort.Addr()}, Cause: pfcp.CauseRequestAccepted, RecoveryTimeStamp: 100}, addr)
			if list := b.Associations(); err != nil || len(list) != 1 || list[0].Addr != addr || b.sessions.Len() != 0 {
				t.Fatalf("%v, associations %+v, %d sessions", err, list, b.sessions.Len())
			}
			return b.heartbeat(netip.AddrPortFrom(addr, 8805))
		}
		if got := adopt(otherPort.Addr()); got != lost {
			t.Errorf("without sessions %v, want %v", got.Time(), lost.Time())
		}
		var r pfcp.SessionEstablishmentResponse
		if b.do(otherPort, usual("10.4.0.2", "10.45.0.2"), &r); r.Cause != pfcp.CauseRequestAccepted {
			t.Fatal(r.Cause)
		}
		if got := adopt(smfPort.Addr()); !newer(got, lost) {
			t.Errorf("with a session %v after %v, want a newer one", got.Time(), lost.Time())
		}
	})
}
