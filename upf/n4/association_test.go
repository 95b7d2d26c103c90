package n4

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
)

func octets(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestNodeProcedures: octet for octet, in this order.
func TestNodeProcedures(t *testing.T) {
	b := newBed(t, Config{Sockets: 1})
	c := b.client(t, "127.0.0.1")
	recovery := fmt.Sprintf("0060 0004 %08x", uint32(pfcp.NewTimeStamp(recoveryTime)))
	const smf, upf = "003c 0005 00 c0a80e6f", "003c 0005 00 7f000001"
	for _, tc := range []struct {
		name, in, want string
	}{
		{"heartbeat of a stranger", "2001 000c 000007 00 0060 0004 00000001", "2002 000c 000007 00" + recovery},
		{"session of a stranger", "2134 000c 0000000000000001 000008 00", "2135 0011 0000000000000000 000008 00 0013 0001 48"},
		{"release of a stranger", "2009 000d 000009 00" + smf, "200a 0012 000009 00" + upf + "0013 0001 48"},
		{"update of a stranger", "2007 000d 00000a 00" + smf, "2008 0012 00000a 00" + upf + "0013 0001 48"},
		{"setup", "2005 0015 00000b 00" + smf + "0060 0004 e0000000",
			"2006 0022 00000b 00" + upf + "0013 0001 01" + recovery + "002b 0004 10024801"},
		{"update", "2007 000d 00000c 00" + smf, "2008 001a 00000c 00" + upf + "0013 0001 01 002b 0004 10024801"},
		{"no such session", "2136 000c 0000000000000001 00000d 00", "2137 0011 0000000000000000 00000d 00 0013 0001 41"},
		{"PFD management, none", "2003 0004 00000e 00", "2004 0009 00000e 00 0013 0001 01"},
		{"session set deletion without a set", "200e 000d 00000f 00" + smf, "200f 0018 00000f 00" + upf + "0013 0001 43 0028 0002 0041"},
		{"node report, which only UP functions send", "200c 000d 00001000" + smf + "", ""},
		{"version 2", "4005 0004 000010 00", "200b 0004 000010 00"},
		{"release", "2009 000d 000011 00" + smf, "200a 0012 000011 00" + upf + "0013 0001 01"},
		// A repetition is answered from the cache: not "no association".
		{"release again", "2009 000d 000011 00" + smf, "200a 0012 000011 00" + upf + "0013 0001 01"},
	} {
		if got, want := c.answerTo(octets(t, tc.in)), octets(t, tc.want); !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %x\nwant %x", tc.name, got, want)
		}
	}
	if got := b.Counters().Duplicates.Load(); got != 1 {
		t.Errorf("%d duplicates, want 1", got)
	}
	if got := len(b.Associations()); got != 0 {
		t.Errorf("%d associations, want 0", got)
	}
}

// TestRepetition: the same request gets the same answer, and makes one session;
// the same sequence number with other octets is another request.
func TestRepetition(t *testing.T) {
	b := newBed(t, Config{})
	c := b.client(t, "127.0.0.1")
	c.associate("127.0.0.1", recoveryTime)
	request, err := pfcp.Append(nil, pfcp.Header{Sequence: 77}, usual("127.0.0.1", "10.45.0.2"))
	if err != nil {
		t.Fatal(err)
	}
	first := c.ask(request)
	for range 3 {
		if got := c.ask(request); !bytes.Equal(got, first) {
			t.Errorf("repetition:\n got %x\nwant %x", got, first)
		}
	}
	other, err := pfcp.Append(nil, pfcp.Header{Sequence: 77}, usual("127.0.0.1", "10.45.0.3"))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.ask(other); bytes.Equal(got, first) {
		t.Error("another request of the same sequence number got the same answer")
	}
	// From another port it is another request: the CP function did not hear the
	// first answer, and gets a session in place of that.
	var r pfcp.SessionEstablishmentResponse
	elsewhere := b.client(t, "127.0.0.1")
	elsewhere.seq = 77
	if got := elsewhere.ask(request); bytes.Equal(got, first) {
		t.Error("the same request from another port got the same answer")
	} else if elsewhere.decode(got, &r); r.Cause != pfcp.CauseRequestAccepted {
		t.Errorf("the same request from another port: %v", r.Cause)
	}
	if n, d := b.sessions.Len(), b.Counters().Duplicates.Load(); n != 2 || d != 3 {
		t.Errorf("%d sessions, %d duplicates; want 2 and 3", n, d)
	}
}

// TestRestartedPeer: a CP function that associates again has no sessions, and
// can have their addresses at once, even if it does not wait for responses.
func TestRestartedPeer(t *testing.T) {
	b := newBed(t, Config{Sockets: 1})
	c := b.client(t, "127.0.0.1")
	c.associate("10.4.0.2", recoveryTime)
	for i := range 50 {
		c.establish(usual("10.4.0.2", fmt.Sprint("10.45.0.", i)))
	}
	first := b.Associations()[0]
	setup, err := pfcp.Append(nil, pfcp.Header{Sequence: 900}, &pfcp.AssociationSetupRequest{
		NodeID: pfcp.NodeID{Addr: netip.MustParseAddr("10.4.0.2")}, RecoveryTimeStamp: 5,
	})
	if err != nil {
		t.Fatal(err)
	}
	establishment, err := pfcp.Append(nil, pfcp.Header{Sequence: 901}, usual("10.4.0.2", "10.45.0.7"))
	if err != nil {
		t.Fatal(err)
	}
	c.send(setup)
	c.send(establishment)
	var a pfcp.AssociationSetupResponse
	var e pfcp.SessionEstablishmentResponse
	c.seq = 900
	c.decode(c.receive(5*time.Second), &a)
	c.seq = 901
	c.decode(c.receive(5*time.Second), &e)
	if a.Cause != pfcp.CauseRequestAccepted || e.Cause != pfcp.CauseRequestAccepted {
		t.Errorf("setup %v, establishment %v", a.Cause, e.Cause)
	}
	if n := len(b.driver.held()); n != 1 || b.sessions.Len() != 1 {
		t.Errorf("%d sessions in the datapath, %d here; want 1", n, b.sessions.Len())
	}
	list := b.Associations()
	if len(list) != 1 || list[0].Owner == first.Owner || list[0].NodeID != "10.4.0.2" {
		t.Errorf("associations %+v, want one and not %+v", list, first)
	}
}

// TestSameOctetsAgain: a client whose octets are always the same can release and
// begin anew at once: it gets a session and not what it was answered before.
func TestSameOctetsAgain(t *testing.T) {
	b := newBed(t, Config{Sockets: 1})
	c := b.client(t, "127.0.0.1")
	for round := range 3 {
		for _, step := range []string{"simple-client-association", "simple-client-establishment"} {
			if cause, _ := causeOf(t, c.ask(pfcptest.Get(t, step).Octets)); cause != pfcp.CauseRequestAccepted {
				t.Errorf("round %d: %s: %v", round, step, cause)
			}
		}
		if n := len(b.driver.held()); n != 1 {
			t.Errorf("round %d: %d sessions, want 1", round, n)
		}
		c.ask(pfcptest.Get(t, "simple-client-release").Octets)
	}
}

// TestPriority: a response has the message priority of its request.
// Source: TS 29.244 V18.6.0, 7.2.2.
func TestPriority(t *testing.T) {
	b := newBed(t, Config{})
	got := b.client(t, "127.0.0.1").ask(octets(t, "2201 000c 000007 50 0060 0004 00000001"))
	if h, _, _, err := pfcp.Parse(got); err != nil || !h.MP || h.Priority != 5 {
		t.Errorf("response %x: %+v, %v; want priority 5", got, h, err)
	}
}

// TestSlowRelease: while many sessions are deleted other peers are answered,
// requests of this one are dropped, and in the end it is answered.
func TestSlowRelease(t *testing.T) {
	b := newBedWith(t, Config{Sockets: 1}, time.Millisecond)
	c, other := b.client(t, "127.0.0.1"), b.client(t, "127.0.0.2")
	c.associate("127.0.0.1", recoveryTime)
	for i := range 5 {
		c.establish(usual("127.0.0.1", fmt.Sprint("10.45.0.", i)))
	}
	hold := make(chan struct{})
	b.driver.mu.Lock()
	b.driver.hold = hold
	b.driver.mu.Unlock()
	release, err := pfcp.Append(nil, pfcp.Header{Sequence: 700},
		&pfcp.AssociationReleaseRequest{NodeID: pfcp.NodeID{Addr: netip.MustParseAddr("127.0.0.1")}})
	if err != nil {
		t.Fatal(err)
	}
	c.send(release)
	c.send(release)
	request, err := pfcp.Append(nil, pfcp.Header{Sequence: 701}, usual("127.0.0.1", "10.45.0.99"))
	if err != nil {
		t.Fatal(err)
	}
	c.send(request)
	other.heartbeat()
	if got := b.sessions.Len(); got != 5 {
		t.Errorf("%d sessions, want 5: none can be deleted yet", got)
	}
	close(hold)
	var r pfcp.AssociationReleaseResponse
	c.seq = 700
	if c.decode(c.receive(5*time.Second), &r); r.Cause != pfcp.CauseRequestAccepted {
		t.Errorf("release: %v", r.Cause)
	}
	dropped := &b.Counters().Dropped
	if n, again, busy := b.sessions.Len(), dropped[DropInProgress].Load(), dropped[DropBusy].Load(); n != 0 || again != 1 || busy != 1 {
		t.Errorf("%d sessions, dropped %d repetitions and %d requests; want 0, 1 and 1", n, again, busy)
	}
	if got := c.ask(release); !bytes.Contains(got, octets(t, "0013 0001 01")) {
		t.Errorf("release again: %x, want the same answer", got)
	}
}

// TestOwnership: a peer can do nothing to another's sessions and association.
func TestOwnership(t *testing.T) {
	b := newBed(t, Config{})
	owner, thief := b.client(t, "127.0.0.1"), b.client(t, "127.0.0.2")
	owner.associate("10.4.0.2", recoveryTime)
	thief.associate("10.4.0.66", recoveryTime)
	seid := owner.establish(usual("10.4.0.2", "10.45.0.2")).UPFSEID.Value.SEID
	before := b.sessions.Get(seid)

	if got := thief.associate("10.4.0.2", recoveryTime.Add(time.Hour)); got != pfcp.CauseRequestRejected {
		t.Errorf("setup in another's name: %v, want %v", got, pfcp.CauseRequestRejected)
	}
	var release pfcp.AssociationReleaseResponse
	if thief.do(0, &pfcp.AssociationReleaseRequest{NodeID: pfcp.NodeID{Addr: netip.MustParseAddr("10.4.0.2")}}, &release); release.Cause != pfcp.CauseNoEstablishedPFCPAssociation {
		t.Errorf("release in another's name: %v", release.Cause)
	}
	var est pfcp.SessionEstablishmentResponse
	if thief.do(0, usual("10.4.0.2", "10.45.0.3"), &est); est.Cause != pfcp.CauseNoEstablishedPFCPAssociation {
		t.Errorf("establishment in another's name: %v", est.Cause)
	}
	var mod pfcp.SessionModificationResponse
	if h := thief.do(seid, &pfcp.SessionModificationRequest{RemovePDRs: []uint16{1}}, &mod); mod.Cause != pfcp.CauseSessionContextNotFound || h.SEID != 0 {
		t.Errorf("modification of another's session: %v, SEID %#x", mod.Cause, h.SEID)
	}
	var del pfcp.SessionDeletionResponse
	if h := thief.do(seid, &pfcp.SessionDeletionRequest{}, &del); del.Cause != pfcp.CauseSessionContextNotFound || h.SEID != 0 {
		t.Errorf("deletion of another's session: %v, SEID %#x", del.Cause, h.SEID)
	}
	if got := b.sessions.Get(seid); !reflect.DeepEqual(got, before) || len(b.Associations()) != 2 {
		t.Errorf("the thief changed something:\n got %+v\nwant %+v", got, before)
	}
}

// TestLimits: associations of CP functions that have been heard give no way.
func TestLimits(t *testing.T) {
	b := newBed(t, Config{MaxAssociations: 3, MaxAssociationsPerAddress: 2})
	c, d := b.client(t, "127.0.0.1"), b.client(t, "127.0.0.2")
	for i, tc := range []struct {
		from *client
		node string
		want pfcp.Cause
	}{
		{c, "10.4.0.1", pfcp.CauseRequestAccepted},
		{c, "10.4.0.2", pfcp.CauseRequestAccepted},
		{c, "10.4.0.3", pfcp.CauseNoResourcesAvailable}, // from one address
		{d, "10.4.0.4", pfcp.CauseRequestAccepted},
		{d, "10.4.0.5", pfcp.CauseNoResourcesAvailable}, // in all
		{c, "10.4.0.2", pfcp.CauseRequestAccepted},      // again, and not heard yet
		{d, "10.4.0.6", pfcp.CauseRequestAccepted},      // in its place
	} {
		if got := tc.from.associate(tc.node, recoveryTime); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.node, got, tc.want)
		}
		if tc.node != "10.4.0.2" || i < 2 {
			for _, a := range b.peers.list() {
				a.proven.Store(true)
			}
		}
	}
}

// TestPeers: who is not on the list gets no answer to anything.
func TestPeers(t *testing.T) {
	b := newBed(t, Config{Peers: []netip.Prefix{netip.MustParsePrefix("127.0.0.2/31")}})
	stranger, peer := b.client(t, "127.0.0.1"), b.client(t, "127.0.0.2")
	stranger.send(octets(t, "2001 000c 000007 00 0060 0004 00000001"))
	stranger.send(octets(t, "4005 0004 000010 00"))
	eventually(t, "two drops", func() bool { return b.Counters().Dropped[DropNotAllowed].Load() == 2 })
	peer.heartbeat()
	if got := peer.associate("10.4.0.2", recoveryTime); got != pfcp.CauseRequestAccepted {
		t.Error(got)
	}
	if err := stranger.conn.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if n, err := stranger.conn.Read(make([]byte, 100)); err == nil {
		t.Errorf("the stranger got %d octets", n)
	}
}

// TestPortInUse: a second endpoint does not share the port of the first.
func TestPortInUse(t *testing.T) {
	b := newBed(t, Config{Sockets: 2})
	m, _ := newManager(t, 1)
	for _, n := range []int{1, 2} {
		if e, err := Listen(Config{Listen: b.Addr(), Sockets: n}, m); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("second endpoint of %d sockets: %v, want address in use", n, err)
			if err == nil {
				e.Close()
			}
		}
	}
	if _, err := Listen(Config{Listen: netip.MustParseAddrPort("0.0.0.0:0")}, m); err == nil {
		t.Error("listening on 0.0.0.0: no error, though an F-SEID needs an address")
	}
}

// TestIPv6 answers over IPv6, with an IPv6 F-SEID.
func TestIPv6(t *testing.T) {
	b := newBed(t, Config{Listen: netip.MustParseAddrPort("[::1]:0")})
	c := b.client(t, "::1")
	c.heartbeat()
	c.associate("::1", recoveryTime)
	m := usual("10.4.0.2", "10.45.0.2")
	m.NodeID.Addr, m.CPFSEID.IPv4, m.CPFSEID.IPv6 = netip.IPv6Loopback(), netip.Addr{}, netip.IPv6Loopback()
	if got := c.establish(m).UPFSEID.Value; got.IPv6 != netip.IPv6Loopback() || got.IPv4.IsValid() {
		t.Errorf("UP F-SEID %+v", got)
	}
}

// TestSeveralAddresses: a CP function speaks from another of its addresses, with its Node ID,
// where the operator has named that as a peer's; elsewhere nobody does.
func TestSeveralAddresses(t *testing.T) {
	for _, tc := range []struct {
		name  string
		peers []netip.Prefix
		want  pfcp.Cause
	}{
		{"named", []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32"), netip.MustParsePrefix("127.0.0.3/32")}, pfcp.CauseRequestAccepted},
		{"anybody", nil, pfcp.CauseNoEstablishedPFCPAssociation},
	} {
		b := newBed(t, Config{Peers: tc.peers})
		first, other := b.client(t, "127.0.0.2"), b.client(t, "127.0.0.3")
		first.associate("10.4.0.2", recoveryTime)
		seid := first.establish(usual("10.4.0.2", "10.45.0.1")).UPFSEID.Value.SEID
		var mod pfcp.SessionModificationResponse
		other.do(seid, &pfcp.SessionModificationRequest{}, &mod)
		if mod.Cause.Accepted() {
			t.Errorf("%s: modification without Node ID before anything else: %v", tc.name, mod.Cause)
		}
		other.do(seid, &pfcp.SessionModificationRequest{NodeID: pfcp.Some(pfcp.NodeID{Addr: netip.MustParseAddr("10.4.0.2")})}, &mod)
		if mod.Cause != tc.want {
			t.Errorf("%s: modification: %v, want %v", tc.name, mod.Cause, tc.want)
		}
		var est pfcp.SessionEstablishmentResponse
		other.do(0, usual("10.4.0.2", "10.45.0.2"), &est)
		if est.Cause != tc.want {
			t.Errorf("%s: establishment: %v, want %v", tc.name, est.Cause, tc.want)
		}
		if !tc.want.Accepted() {
			continue
		}
		other.do(est.UPFSEID.Value.SEID, &pfcp.SessionModificationRequest{}, &mod)
		if mod.Cause != tc.want {
			t.Errorf("%s: modification without Node ID afterwards: %v", tc.name, mod.Cause)
		}
		other.do(0, usual("10.4.0.9", "10.45.0.3"), &est)
		if est.Cause != pfcp.CauseNoEstablishedPFCPAssociation {
			t.Errorf("%s: establishment of another Node ID: %v", tc.name, est.Cause)
		}
	}
}
