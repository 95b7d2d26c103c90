package n4load

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/pfcp"
)

var template = Template{
	UE: netip.MustParseAddr("10.64.255.254"), UEPrefix: netip.MustParsePrefix("2001:db8:0:ffff::/64"),
	GNB: netip.MustParseAddr("10.3.0.2"), DLTEID: 100, QFI: 9, MBR: pfcp.BitRates{UplinkKbps: 1000, DownlinkKbps: 2000},
	NetworkInstance: "internet", DNN: "internet",
}

func dial(t testing.TB, c Config) *Client {
	t.Helper()
	c.Local = netip.MustParseAddrPort("127.0.0.1:0")
	client, err := Dial(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestSessions takes sessions through their life over a good and over a bad
// network: every request is executed once and everything that the UP function
// says is kept.
func TestSessions(t *testing.T) {
	const n = 500
	for name, network := range map[string]struct{ loss, double float64 }{
		"good": {}, "lossy": {loss: 0.1}, "doubling": {double: 0.3}, "both": {loss: 0.1, double: 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			r := newResponder(t)
			r.loss, r.double = network.loss, network.double
			config := Config{Remote: r.start(t)}
			if network.loss > 0 {
				config.T1, config.N1 = 20*time.Millisecond, 20
			}
			c := dial(t, config)
			ctx := deadline(t)
			if features, err := c.Associate(ctx); err != nil || features != pfcp.UPFeatureFTUP {
				t.Fatalf("Associate = %#x, %v; want FTUP", features, err)
			}
			sessions := template.Sessions(0, n)
			report, err := c.Establish(ctx, &template, sessions)
			check(t, report, err, n, network.loss, network.double)
			for i, s := range sessions {
				seid := uint64(i + 1)
				if s.LocalSEID != seid || s.RemoteSEID != 1<<40|seid || s.ULTEID != 0x80000000|uint32(seid) || s.N3.String() != "10.3.0.1" {
					t.Fatalf("session %d: %+v", i, s)
				}
				sessions[i].DLTEID += 1000
			}
			report, err = c.Modify(ctx, &template, sessions)
			check(t, report, err, n, network.loss, network.double)
			r.mu.Lock()
			for i, s := range sessions {
				if got := r.tunnels[s.RemoteSEID]; got != uint32(1100+i) {
					t.Errorf("session %d: tunnel TEID %d, want %d", i, got, 1100+i)
				}
			}
			r.mu.Unlock()
			report, err = c.Delete(ctx, sessions)
			check(t, report, err, n, network.loss, network.double)
			if err := c.Release(ctx); err != nil {
				t.Fatal(err)
			}
			want := map[pfcp.MessageType]int{
				pfcp.MsgAssociationSetupRequest: 1, pfcp.MsgSessionEstablishmentRequest: n, pfcp.MsgSessionModificationRequest: n,
				pfcp.MsgSessionDeletionRequest: n, pfcp.MsgAssociationReleaseRequest: 1,
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if diff := cmp.Diff(want, r.requests); diff != "" || len(r.sessions) != 0 {
				t.Errorf("%d sessions left; requests -want +got\n%s", len(r.sessions), diff)
			}
		})
	}
}

// check says that a bulk call went through, and that the report tells of a bad
// network.
func check(t *testing.T, r *Report, err error, n int, loss, double float64) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if r.Sent != n || r.Accepted != n || r.Lost != 0 || len(r.Refused) != 0 || int(r.Latency.TotalCount()) != n || r.Duration <= 0 {
		t.Errorf("%+v, %d latencies", r, r.Latency.TotalCount())
	}
	if (r.Repeated > 0) != (loss > 0) {
		t.Errorf("%d repeated with a loss of %v", r.Repeated, loss)
	}
	if double > 0 && r.Duplicates == 0 || double == 0 && loss == 0 && r.Duplicates > 0 || loss == 0 && r.Unexpected > 0 || r.Late > 0 {
		t.Errorf("%d duplicates, %d unexpected, %d late with %v doubled", r.Duplicates, r.Unexpected, r.Late, double)
	}
}

// TestTemplate counts addresses, prefixes and TEIDs up, over the borders of
// their octets.
func TestTemplate(t *testing.T) {
	given := template
	given.ULTEID, given.N3 = 0x100, netip.MustParseAddr("10.3.0.1")
	got := given.Sessions(1, 2)
	want := []Session{
		{
			LocalSEID: 2, ULTEID: 0x101, N3: given.N3, DLTEID: 101,
			UE: netip.MustParseAddr("10.64.255.255"), UEPrefix: netip.MustParsePrefix("2001:db8:1::/64"),
		},
		{
			LocalSEID: 3, ULTEID: 0x102, N3: given.N3, DLTEID: 102,
			UE: netip.MustParseAddr("10.65.0.0"), UEPrefix: netip.MustParsePrefix("2001:db8:1:1::/64"),
		},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestRequest reads what is sent for one session, with a chosen and with a
// given F-TEID.
func TestRequest(t *testing.T) {
	given := template
	given.ULTEID, given.N3 = 0x100, netip.MustParseAddr("10.3.0.1")
	for name, tc := range map[string]struct {
		template Template
		want     pfcp.FTEID
	}{
		"chosen": {template, pfcp.FTEID{CH: true, V4: true}},
		"given":  {given, pfcp.FTEID{V4: true, TEID: 0x107, IPv4: given.N3}},
	} {
		m := tc.template.establishment(pfcp.NodeID{Addr: given.N3}, given.N3)
		s := tc.template.Sessions(7, 1)[0]
		s.fill(&m)
		var got pfcp.SessionEstablishmentRequest
		if err := got.Decode(m.AppendBody(nil)); err != nil {
			t.Fatal(err)
		}
		up, down := got.CreatePDRs[0].PDI, got.CreatePDRs[1].PDI
		if up.FTEID.Value != tc.want || up.UEIPAddresses[0].IPv4 != s.UE || up.UEIPAddresses[0].IPv6 != s.UEPrefix.Addr() {
			t.Errorf("%s: uplink %+v", name, up)
		}
		if !down.UEIPAddresses[0].Destination || down.UEIPAddresses[0].IPv4 != s.UE || down.FTEID.Present {
			t.Errorf("%s: downlink %+v", name, down)
		}
		ohc := got.CreateFARs[1].ForwardingParameters.Value.OuterHeaderCreation.Value
		if ohc.TEID != 107 || ohc.IPv4 != template.GNB || got.CPFSEID.SEID != 8 || got.CreateQERs[0].QFI.Value != 9 {
			t.Errorf("%s: tunnel %+v, F-SEID %+v, QER %+v", name, ohc, got.CPFSEID, got.CreateQERs)
		}
	}
}

// TestPDNType: it is that of the session's own addresses, whatever the template's are.
func TestPDNType(t *testing.T) {
	v4, v6 := netip.MustParseAddr("10.45.0.2"), netip.MustParsePrefix("2001:db8:45::/64")
	template := Template{GNB: netip.MustParseAddr("10.3.0.2")}
	m := template.establishment(pfcp.NodeID{Addr: v4}, v4)
	for _, tc := range []struct {
		session Session
		want    pfcp.PDNType
	}{
		{Session{UE: v4, UEPrefix: v6}, pfcp.PDNTypeIPv4v6},
		{Session{UE: v4}, pfcp.PDNTypeIPv4},
		{Session{UEPrefix: v6}, pfcp.PDNTypeIPv6},
	} {
		tc.session.fill(&m)
		if got := m.PDNType.Value; !m.PDNType.Present || got != tc.want {
			t.Errorf("%v, %v: got %v, want %v", tc.session.UE, tc.session.UEPrefix, got, tc.want)
		}
	}
}

// TestRefused stops at the first refusal, says why, and keeps what was
// established.
func TestRefused(t *testing.T) {
	r := newResponder(t)
	r.refuse = 50
	c := dial(t, Config{Remote: r.start(t)})
	sessions := template.Sessions(0, 1000)
	report, err := c.Establish(deadline(t), &template, sessions)
	want := "n4load: establish session 50: Rule creation/modification Failure, Failed Rule ID PDR 1: refused"
	if !errors.Is(err, ErrRefused) || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	established := 0
	for _, s := range sessions {
		if s.RemoteSEID != 0 {
			established++
		}
	}
	if established != report.Accepted || report.Accepted < 49 || report.Sent > 50+DefaultWindow || report.Accepted+1 != report.Sent ||
		report.Refused[pfcp.CauseRuleCreationModificationFail] != 1 {
		t.Errorf("%d established, %+v", established, report)
	}
}

// TestNoResponse gives up after N1 transmissions.
func TestNoResponse(t *testing.T) {
	r := newResponder(t)
	r.loss = 1
	c := dial(t, Config{Remote: r.start(t), T1: 5 * time.Millisecond, N1: 3})
	_, err := c.Associate(deadline(t))
	if !errors.Is(err, ErrNoResponse) || !strings.Contains(err.Error(), "sent 3 times") {
		t.Errorf("got %v, want %v after 3 transmissions", err, ErrNoResponse)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Delete(ctx, template.Sessions(0, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestClose ends a call that is under way.
func TestClose(t *testing.T) {
	r := newResponder(t)
	r.loss = 1
	c := dial(t, Config{Remote: r.start(t), T1: time.Hour})
	time.AfterFunc(10*time.Millisecond, func() { _ = c.Close() })
	if _, err := c.Associate(deadline(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want %v", err, ErrClosed)
	}
}

// TestStranger: nobody but the peer is heard, and a response with another
// type than the request's counts for nothing.
func TestStranger(t *testing.T) {
	r := newResponder(t)
	c := dial(t, Config{Remote: r.start(t)})
	stranger := newResponder(t)
	defer func() { _ = stranger.conn.Close() }()
	for sequence := range uint32(200) {
		b, err := pfcp.Append(nil, pfcp.Header{Sequence: (c.sequence + sequence) & maxSequence},
			&pfcp.AssociationSetupResponse{Cause: pfcp.CauseRequestRejected, NodeID: pfcp.NodeID{Addr: template.GNB}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stranger.conn.WriteToUDPAddrPort(b, c.LocalAddr()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Associate(deadline(t)); err != nil {
		t.Error(err)
	}
}

// ask sends a request of the UP function's and returns what is answered.
func ask(t *testing.T, r *responder, c *Client, h pfcp.Header, m pfcp.Message) (pfcp.Header, []byte) {
	t.Helper()
	b, err := pfcp.Append(nil, h, m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.conn.WriteToUDPAddrPort(b, c.LocalAddr()); err != nil {
		t.Fatal(err)
	}
	for ctx := deadline(t); ; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatalf("no answer to %s", m.MessageType())
		}
		r.mu.Lock()
		answer := r.answers[h.Sequence]
		r.mu.Unlock()
		if answer != nil {
			got, body, _, err := pfcp.Parse(answer)
			if err != nil {
				t.Fatal(err)
			}
			return got, body
		}
	}
}

// TestHeartbeat answers a Heartbeat Request between the calls.
func TestHeartbeat(t *testing.T) {
	r := newResponder(t)
	c := dial(t, Config{Remote: r.start(t)})
	h, _ := ask(t, r, c, pfcp.Header{Sequence: 77}, &pfcp.HeartbeatRequest{RecoveryTimeStamp: 1})
	if h.Type != pfcp.MsgHeartbeatResponse || c.heartbeats.Load() != 1 {
		t.Errorf("answered by %s, %d heartbeats; want a Heartbeat Response, 1", h.Type, c.heartbeats.Load())
	}
}

// TestSessionReport answers with the UP function's SEID, and without a session
// says so.
func TestSessionReport(t *testing.T) {
	r := newResponder(t)
	c := dial(t, Config{Remote: r.start(t)})
	sessions := template.Sessions(40, 3)
	if _, err := c.Establish(deadline(t), &template, sessions); err != nil {
		t.Fatal(err)
	}
	for i, tc := range []struct {
		local, remote uint64
		cause         pfcp.Cause
	}{
		{42, sessions[1].RemoteSEID, pfcp.CauseRequestAccepted},
		{44, 0, pfcp.CauseSessionContextNotFound},
		{1, 0, pfcp.CauseSessionContextNotFound},
	} {
		h, body := ask(t, r, c, pfcp.Header{Sequence: uint32(100 + i), SEID: tc.local}, &pfcp.SessionReportRequest{ReportType: pfcp.ReportTypeUISR})
		var m pfcp.SessionReportResponse
		if err := m.Decode(body); err != nil || h.SEID != tc.remote || m.Cause != tc.cause {
			t.Errorf("SEID %d: answered %s to SEID %#x, %v; want %s, %#x", tc.local, m.Cause, h.SEID, err, tc.cause, tc.remote)
		}
	}
	if c.reports.Load() != 3 {
		t.Errorf("%d reports, want 3", c.reports.Load())
	}
}

func TestConfig(t *testing.T) {
	local, remote := netip.MustParseAddrPort("127.0.0.1:0"), netip.MustParseAddrPort("127.0.0.1:1")
	for name, c := range map[string]Config{
		"no addresses": {}, "IPv6": {Local: netip.MustParseAddrPort("[::1]:0"), Remote: remote},
		"window": {Local: local, Remote: remote, Window: MaxWindow + 1}, "N1": {Local: local, Remote: remote, N1: -1},
	} {
		if client, err := Dial(c); err == nil {
			t.Errorf("%s: no error", name)
			_ = client.Close()
		}
	}
}
