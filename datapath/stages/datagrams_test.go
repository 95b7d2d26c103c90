package stages

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// fragmentOfUDP is a fragment of an IPv4 datagram between two ports.
func fragmentOfUDP(id uint16, later bool) user {
	u := natPacket(inet.ProtoUDP, insideUE, outsideHost, 700, 9, 0)
	binary.BigEndian.PutUint16(u[4:], id)
	binary.BigEndian.PutUint16(u[6:], flagMF)
	if later {
		binary.BigEndian.PutUint16(u[6:], 3)
	}
	return u
}

// TestDatagrams: what is remembered of first fragments is bounded, in time and by session:
// one session's packets push out its own only, and nothing stays of one that is gone.
func TestDatagrams(t *testing.T) {
	var d datagrams
	now := uint64(time.Hour)
	known := func(seid uint64, id uint16) bool {
		f := fieldsOf(fragmentOfUDP(id, true), true)
		d.complete(&f, fragmentOfUDP(id, true), true, seid, func() uint64 { return now })
		if f.hasPorts && (f.localPort != 700 || f.remotePort != 9) {
			t.Errorf("ports %d and %d, want 700 and 9", f.localPort, f.remotePort)
		}
		return f.hasPorts
	}
	comes := func(seid uint64, id uint16) {
		f := fieldsOf(fragmentOfUDP(id, false), true)
		d.complete(&f, fragmentOfUDP(id, false), true, seid, func() uint64 { return now })
	}
	comes(1, 1)
	for id := range uint16(maxDatagramsOfSession + 1) {
		comes(2, id)
	}
	if !known(1, 1) || known(1, 2) || known(2, 0) || !known(2, 1) || !known(2, maxDatagramsOfSession) {
		t.Errorf("known: %v %v %v %v %v", known(1, 1), known(1, 2), known(2, 0), known(2, 1), known(2, maxDatagramsOfSession))
	}
	now += datagramTime - 1
	comes(3, 1)
	if !known(1, 1) {
		t.Error("forgotten too early")
	}
	now++
	if known(1, 1) || !known(3, 1) {
		t.Errorf("after the time: %v, of a later one %v", known(1, 1), known(3, 1))
	}
	for seid := range uint64(maxDatagrams + 10) {
		comes(1000+seid, 7)
	}
	if len(d.known) != maxDatagrams || known(1, 1) || !known(3, 1) || !known(1000, 7) || known(1000+maxDatagrams+9, 7) {
		t.Errorf("%d are known, want %d, those that were there", len(d.known), maxDatagrams)
	}
	comes(3, 2) // a session that has some may go on, at its own cost
	if known(3, 1) || !known(3, 2) {
		t.Errorf("of a session when all are taken: %v, %v", known(3, 1), known(3, 2))
	}
	for seid := range uint64(maxDatagrams + 2000) {
		d.forget(seid)
	}
	if len(d.known)+len(d.sessions) != 0 {
		t.Errorf("%d of %d sessions are left", len(d.known), len(d.sessions))
	}
}

// TestFragment: what of a packet it is, of both versions of IP.
func TestFragment(t *testing.T) {
	six := func(next byte, extensions ...byte) user {
		u := make(user, 40, 80)
		u[0], u[6] = 0x60, next
		copy(u[8:], netip.MustParseAddr("2001:db8::1").AsSlice())
		return append(u, extensions...)
	}
	for name, tc := range map[string]struct {
		u            user
		id           uint32
		first, later bool
	}{
		"whole":                         {natPacket(inet.ProtoUDP, insideUE, outsideHost, 1, 2, 0), 0, false, false},
		"first":                         {fragmentOfUDP(5, false), 5, true, false},
		"later":                         {fragmentOfUDP(6, true), 6, false, true},
		"IPv6, whole":                   {six(inet.ProtoUDP, 0, 1, 0, 2, 0, 8, 0, 0), 0, false, false},
		"IPv6, atomic":                  {six(extFragment, inet.ProtoUDP, 0, 0, 0, 0, 0, 0, 9), 9, false, false},
		"IPv6, first":                   {six(extFragment, inet.ProtoUDP, 0, 0, 1, 0, 0, 0, 9), 9, true, false},
		"IPv6, later":                   {six(extFragment, inet.ProtoUDP, 0, 1, 1, 0, 0, 0, 9), 9, false, true},
		"IPv6, behind other extensions": {six(extHopByHop, append([]byte{extFragment, 0, 1, 4, 0, 0, 0, 0}, inet.ProtoUDP, 0, 1, 1, 0, 0, 0, 9)...), 9, false, true},
		"IPv6, cut":                     {six(extFragment, inet.ProtoUDP, 0, 1), 0, false, false},
	} {
		if id, first, later := tc.u.fragment(); id != tc.id && (first || later) || first != tc.first || later != tc.later {
			t.Errorf("%s: %d, first %v, later %v", name, id, first, later)
		}
	}
}
