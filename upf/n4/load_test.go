package n4

import (
	"net/netip"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// TestLoad: sequence numbers and values of what is told, from what is measured.
func TestLoad(t *testing.T) {
	m, _ := newManager(t, 64)
	c, err := Config{Listen: netip.MustParseAddrPort("10.4.0.1:8805")}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	e := newEndpoint(c, m)
	at := time.Unix(1000, 0)
	for _, tc := range []struct {
		name                    string
		after                   time.Duration
		sessions, busy, backlog float64
		want                    loadInfo
		reduction               uint32 // of our own
	}{
		{"first", 0, 10, 20, 0, loadInfo{1000, 20, 0}, 0},
		{"hardly another", time.Second, 10, 22, 0, loadInfo{1000, 20, 0}, 0},
		{"another", time.Second, 40, 22, 0, loadInfo{1001, 40, 0}, 0},
		{"too soon", time.Second / 2, 80, 22, 75, loadInfo{1001, 40, 0}, 50},
		{"overload", time.Second, 80, 120, 75, loadInfo{1002, 100, 50}, 50},
		{"full", time.Second, 80, 20, 100, loadInfo{1003, 100, 95}, 95},
		{"idle", time.Second, 0, 0, 0, loadInfo{1004, 0, 0}, 0},
	} {
		at = at.Add(tc.after)
		e.setLoad(tc.sessions, tc.busy, tc.backlog, at)
		if got := *e.load.told.Load(); got != tc.want || e.load.reduction.Load() != tc.reduction {
			t.Errorf("%s: %+v, own reduction %d; want %+v, %d", tc.name, got, e.load.reduction.Load(), tc.want, tc.reduction)
		}
	}
}

// TestTellLoad: only a CP function that knows Load or Overload Control
// Information, and can read it, gets it, when it is new, and again after a while.
func TestTellLoad(t *testing.T) {
	b := newBed(t, Config{Sockets: 1, Forms: []PeerForm{{Prefix: netip.MustParsePrefix("127.0.0.6/32"), LeaveOut: LeaveOutLoadControl}}})
	b.setLoad(0, 0, 0, time.Now())                  // as the endpoint measures, which may have begun
	b.setLoad(30, 0, 60, time.Now().Add(time.Hour)) // a change so late that what is measured changes nothing
	setup := func(from string, f pfcp.CPFunctionFeatures) *client {
		c := b.client(t, from)
		var r pfcp.AssociationSetupResponse
		c.do(0, &pfcp.AssociationSetupRequest{
			NodeID: pfcp.NodeID{Addr: netip.MustParseAddr(from)}, CPFunctionFeatures: pfcp.Some(f)}, &r)
		return c
	}
	ask := func(c *client) (load, overload bool) {
		t.Helper()
		var r pfcp.SessionEstablishmentResponse
		m := usual(c.node(), netip.AddrFrom4([4]byte{10, 45, byte(c.seq), c.conn.LocalAddr().(interface{ AddrPort() netip.AddrPort }).AddrPort().Addr().As4()[3]}).String())
		c.do(0, m, &r)
		if r.LoadControl.Present && r.LoadControl.Value.Metric == 0 || r.OverloadControl.Present && r.OverloadControl.Value.PeriodOfValidity.Duration() != overloadValidity {
			t.Errorf("told %+v, %+v", r.LoadControl, r.OverloadControl)
		}
		return r.LoadControl.Present, r.OverloadControl.Present
	}
	for _, tc := range []struct {
		from           string
		features       pfcp.CPFunctionFeatures
		load, overload bool
	}{
		{"127.0.0.2", 0, false, false},
		{"127.0.0.3", pfcp.CPFeatureLOAD, true, false},
		{"127.0.0.4", pfcp.CPFeatureOVRL, false, true},
		{"127.0.0.5", pfcp.CPFeatureLOAD | pfcp.CPFeatureOVRL, true, true},
		{"127.0.0.6", pfcp.CPFeatureLOAD | pfcp.CPFeatureOVRL, false, false},
	} {
		c := setup(tc.from, tc.features)
		if l, o := ask(c); l != tc.load || o != tc.overload {
			t.Errorf("%s, features %#x: load %v, overload %v", tc.from, tc.features, l, o)
		}
		if l, o := ask(c); l || o {
			t.Errorf("features %#x: told twice at once", tc.features)
		}
	}
}

// TestThrottle: the part of new sessions that is to be refused is refused, those
// of high priority are not, and who has sessions is served.
func TestThrottle(t *testing.T) {
	var l load
	l.reduction.Store(30)
	refused := 0
	for range 1000 {
		if l.throttle(pfcp.Header{}) {
			refused++
		}
		if l.throttle(pfcp.Header{MP: true, Priority: 1}) {
			t.Fatal("a request of high priority is refused")
		}
	}
	if refused != 300 {
		t.Errorf("%d of 1000 refused, want 300", refused)
	}
	q := newQuiet(t)
	defer func() { q.stop(); q.background.Wait() }()
	q.associateQuiet(t, 100)
	q.load.reduction.Store(100)
	if cause, _ := causeOf(t, q.receive(smfPort, mustAppend(t, 3, usual("10.4.0.2", "10.45.0.3")))); cause != pfcp.CausePFCPEntityInCongestion {
		t.Errorf("a new session: %v, want %v", cause, pfcp.CausePFCPEntityInCongestion)
	}
	for s := range q.sessions.All() {
		b, err := pfcp.Append(nil, pfcp.Header{SEID: s.SEID, Sequence: 4}, &pfcp.SessionModificationRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if cause, _ := causeOf(t, q.receive(smfPort, b)); cause != pfcp.CauseRequestAccepted {
			t.Errorf("modification of a session: %v", cause)
		}
	}
}
