package n4

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Messages of go-pfcp.
func heartbeat(t *testing.T, sequence uint32, started int64) []byte {
	return octets(t, message.NewHeartbeatRequest(sequence, ie.NewRecoveryTimeStamp(time.Unix(started, 0)), nil))
}

func heartbeatResponse(t *testing.T, sequence uint32) []byte {
	return octets(t, message.NewHeartbeatResponse(sequence, ie.NewRecoveryTimeStamp(time.Unix(1, 0))))
}

func deletion(t *testing.T, sequence uint32, seid uint64) []byte {
	return octets(t, message.NewSessionDeletionRequest(0, 0, seid, sequence, 0))
}

func deletionResponse(t *testing.T, sequence uint32, cause uint8) []byte {
	return octets(t, message.NewSessionDeletionResponse(0, 0, 7, sequence, 0, ie.NewCause(cause)))
}

func report(t *testing.T, sequence uint32) []byte {
	return octets(t, message.NewSessionReportRequest(0, 0, 7, sequence, 0, ie.NewReportType(0, 0, 0, 1)))
}

func reportResponse(t *testing.T, sequence uint32) []byte {
	return octets(t, message.NewSessionReportResponse(0, 0, 9, sequence, 0, ie.NewCause(ie.CauseRequestAccepted)))
}

// TestPairing has scripts of datagrams, and what they come to.
func TestPairing(t *testing.T) {
	const hb, del, rep = "Heartbeat Request", "Session Deletion Request", "Session Report Request"
	other := netip.MustParseAddrPort("10.4.0.2:40000")
	for _, tc := range []struct {
		name   string
		config Config
		run    func(t *testing.T, w *wire)
		want   map[string]Account
		points PointCount // without Datagrams and Octets
		delays []int      // ms, of those that ended; -1: unanswered
	}{
		{"a request and its response", Config{}, func(t *testing.T, w *wire) {
			w.cp(0, deletion(t, 1, 5))
			w.up(3, deletionResponse(t, 1, ie.CauseRequestAccepted))
		}, map[string]Account{"CP " + del: {Requests: 1, Answered: 1}}, PointCount{Messages: 2}, []int{3}},

		{"responses overtake each other", Config{}, func(t *testing.T, w *wire) {
			for i := range 3 {
				w.cp(i, deletion(t, uint32(i), 5))
			}
			for i := range 3 {
				w.up(10+i, deletionResponse(t, uint32(2-i), ie.CauseRequestAccepted))
			}
		}, map[string]Account{"CP " + del: {Requests: 3, Answered: 3}}, PointCount{Messages: 6}, []int{8, 10, 12}},

		{"both ask with the same sequence number", Config{}, func(t *testing.T, w *wire) {
			w.cp(0, deletion(t, 1, 5))
			w.up(1, report(t, 1))
			w.up(2, deletionResponse(t, 1, ie.CauseRequestAccepted))
			w.cp(4, reportResponse(t, 1))
		}, map[string]Account{"CP " + del: {Requests: 1, Answered: 1}, "UP " + rep: {Requests: 1, Answered: 1}}, PointCount{Messages: 4}, []int{2, 3}},

		{"types with the same sequence number", Config{}, func(t *testing.T, w *wire) {
			w.cp(0, deletion(t, 1, 5))
			w.cp(1, heartbeat(t, 1, 1))
			w.up(5, heartbeatResponse(t, 1))
			w.up(9, deletionResponse(t, 1, ie.CauseRequestAccepted))
		}, map[string]Account{"CP " + del: {Requests: 1, Answered: 1}, "CP " + hb: {Requests: 1, Answered: 1}}, PointCount{Messages: 4}, []int{4, 9}},

		{"ports tell requesters apart", Config{}, func(t *testing.T, w *wire) {
			w.cp(0, deletion(t, 1, 5))
			w.at(1, other, upEnd, deletion(t, 1, 5))
			w.at(3, upEnd, other, deletionResponse(t, 1, ie.CauseRequestAccepted))
			w.up(6, deletionResponse(t, 1, ie.CauseRequestAccepted))
		}, map[string]Account{"CP " + del: {Requests: 2, Answered: 2}}, PointCount{Messages: 4}, []int{2, 6}},

		{"the first transmission keeps the clock", Config{}, func(t *testing.T, w *wire) {
			w.cp(0, deletion(t, 1, 5))
			w.cp(100, deletion(t, 1, 5))
			w.up(101, deletionResponse(t, 1, ie.CauseRequestAccepted))
			w.up(102, deletionResponse(t, 1, ie.CauseRequestAccepted))
			w.cp(200, deletion(t, 1, 5)) // the response was lost behind the tap
			w.up(201, deletionResponse(t, 1, ie.CauseRequestAccepted))
		}, map[string]Account{"CP " + del: {Requests: 1, Answered: 1, Retransmissions: 2, Repeated: 2}}, PointCount{Messages: 6}, []int{101}},

		{"a sequence number begins anew", Config{}, func(t *testing.T, w *wire) {
			w.cp(0, deletion(t, 1, 5))
			w.up(1, deletionResponse(t, 1, ie.CauseRequestAccepted))
			w.cp(2, deletion(t, 1, 6))
			w.cp(3, deletion(t, 1, 7))
			w.up(5, deletionResponse(t, 1, ie.CauseSessionContextNotFound))
		}, map[string]Account{"CP " + del: {Requests: 3, Answered: 2, Unanswered: 1, Rejected: 1}}, PointCount{Messages: 5}, []int{1, -1, 2}},

		{"no response in time", Config{Timeout: time.Second}, func(t *testing.T, w *wire) {
			w.cp(0, deletion(t, 1, 5))
			w.cp(999, deletion(t, 1, 5))
			w.cp(1001, deletion(t, 2, 5))
			w.up(1002, deletionResponse(t, 1, ie.CauseRequestAccepted))
		}, map[string]Account{"CP " + del: {Requests: 2, Unanswered: 1, Outstanding: 1, Retransmissions: 1}}, PointCount{Messages: 4, Orphans: 1}, []int{-1}},

		{"no room", Config{Transactions: 2}, func(t *testing.T, w *wire) {
			for i := range 3 { // the second is answered and goes first
				w.cp(i, deletion(t, uint32(i), 5))
				if i == 1 {
					w.up(1, deletionResponse(t, 1, ie.CauseRequestAccepted))
				}
			}
			w.cp(3, deletion(t, 3, 5)) // the first one goes
			w.up(4, deletionResponse(t, 0, ie.CauseRequestAccepted))
			w.up(5, deletionResponse(t, 2, ie.CauseRequestAccepted))
		}, map[string]Account{"CP " + del: {Requests: 4, Answered: 2, Outstanding: 1, Evicted: 1}}, PointCount{Messages: 7, Orphans: 1}, []int{0, 3}},

		{"a bundle", Config{}, func(t *testing.T, w *wire) {
			first := octets(t, message.NewSessionDeletionRequest(0, 1, 5, 1, 0))
			first[0] |= 0x04 // FO
			w.cp(0, append(first, heartbeat(t, 2, 1)...))
			w.up(1, heartbeatResponse(t, 2))
			w.up(2, deletionResponse(t, 1, ie.CauseRequestAccepted))
		}, map[string]Account{"CP " + del: {Requests: 1, Answered: 1}, "CP " + hb: {Requests: 1, Answered: 1}}, PointCount{Messages: 4, Bundles: 1}, []int{1, 2}},

		{"another version", Config{}, func(t *testing.T, w *wire) {
			request := deletion(t, 1, 5)
			request[0] = request[0]&0x1f | 2<<5
			w.cp(0, request)
			w.up(1, pfcp.AppendVersionNotSupported(nil, 1))
			w.up(2, pfcp.AppendVersionNotSupported(nil, 9))
		}, map[string]Account{"CP " + del: {Requests: 1, Answered: 1}}, PointCount{Messages: 3, Malformed: 1, Orphans: 1}, []int{1}},

		{"what is no PFCP", Config{}, func(t *testing.T, w *wire) {
			w.cp(0, []byte("GET / HTTP/1.1"))       // version 2, type 'E'
			w.cp(1, []byte{0x20, 1, 0})             // ends in the header
			w.cp(2, []byte{0x20, 0, 0, 4, 0, 0, 1}) // and once more
			w.cp(3, []byte{0x20, 99, 0, 4, 0, 0, 1, 0})
			w.up(4, heartbeatResponse(t, 1))
		}, map[string]Account{}, PointCount{Messages: 2, Malformed: 4, Orphans: 1}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWire(t, tc.config)
			tc.run(t, w)
			if diff := cmp.Diff(tc.want, w.accounts()); diff != "" {
				t.Errorf("accounts (-want +got):\n%s", diff)
			}
			got := w.tap.count
			got.Datagrams, got.Octets = 0, 0
			if diff := cmp.Diff(tc.points, got); diff != "" {
				t.Errorf("point (-want +got):\n%s", diff)
			}
			var delays []int
			for _, x := range w.ended {
				delays = append(delays, delayMs(x))
			}
			slices.Sort(delays)
			slices.Sort(tc.delays)
			if diff := cmp.Diff(tc.delays, delays); diff != "" {
				t.Errorf("delays (-want +got):\n%s", diff)
			}
		})
	}
}

func delayMs(x Transaction) int {
	if x.ResponseNs == 0 {
		return -1
	}
	return int(time.Duration(x.ResponseNs-x.RequestNs) / time.Millisecond)
}

// TestTransaction wants all that is told of one.
func TestTransaction(t *testing.T) {
	w := newWire(t, Config{})
	w.cp(5, deletion(t, 0xabcdef, 0x1122334455667788))
	w.cp(6, deletion(t, 0xabcdef, 0x1122334455667788))
	w.up(8, deletionResponse(t, 0xabcdef, ie.CauseNoResourcesAvailable))
	want := []Transaction{{
		Role: CP, Type: pfcp.MsgSessionDeletionRequest, Requester: cpEnd, Responder: upEnd, Sequence: 0xabcdef, SEID: 0x1122334455667788,
		RequestNs: msNs(5), ResponseNs: msNs(8), Cause: pfcp.CauseNoResourcesAvailable, Retransmissions: 1,
	}}
	if diff := cmp.Diff(want, w.ended, cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s := w.snapshot(make([]UPF, 1))
	if diff := cmp.Diff(map[pfcp.Cause]uint64{pfcp.CauseNoResourcesAvailable: 1}, s[0].Causes); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// TestFragment pairs by what the first fragment has.
func TestFragment(t *testing.T) {
	w := newWire(t, Config{})
	whole := deletionResponse(t, 1, ie.CauseRequestAccepted)
	w.cp(0, deletion(t, 1, 5))
	w.take(&datagram{tap: w.tap, ns: msNs(4), from: end(upEnd), to: end(cpEnd), payload: whole[:len(whole)-2], fragment: true})
	want := map[string]Account{"CP Session Deletion Request": {Requests: 1, Answered: 1}}
	if diff := cmp.Diff(want, w.accounts()); diff != "" {
		t.Errorf("accounts (-want +got):\n%s", diff)
	}
	if c := w.tap.count; c.Fragments != 1 || c.Malformed != 0 || c.Datagrams != 2 || c.Messages != 2 {
		t.Errorf("got %+v, want 1 fragment of 2 datagrams", c)
	}
}

// TestMalformed wants a datagram counted once, whatever is wrong with it.
func TestMalformed(t *testing.T) {
	w := newWire(t, Config{})
	version, unknown := deletion(t, 1, 5), deletion(t, 2, 5)
	version[0], version[1] = 0x41, 99
	unknown[0], unknown[1] = 0x25, 99 // FO: more follow
	w.cp(0, version)
	w.cp(1, slices.Concat(unknown, unknown, []byte{0x20}))
	if c := w.tap.count; c.Malformed != 2 || c.Messages != 3 || c.Bundles != 1 || c.Datagrams != 2 {
		t.Errorf("got %+v, want 2 malformed datagrams of 3 messages", c)
	}
}

// TestRole asks who sends heartbeats, by what is known before.
func TestRole(t *testing.T) {
	association := func(t *testing.T, features ...*ie.IE) []byte {
		return octets(t, message.NewAssociationSetupRequest(1, append(features, ie.NewNodeID("10.4.0.2", "", ""), ie.NewRecoveryTimeStamp(time.Unix(1, 0)))...))
	}
	for _, tc := range []struct {
		name     string
		n4       []string // of the UPF
		before   func(t *testing.T, w *wire)
		cpd, upd string // role of the heartbeat from each
	}{
		{"nothing", nil, func(*testing.T, *wire) {}, "-", "-"},
		{"the UPF's address", []string{"10.4.0.1"}, func(*testing.T, *wire) {}, "CP", "UP"},
		{"both are the UPF's", []string{"10.4.0.1", "10.4.0.2"}, func(*testing.T, *wire) {}, "-", "-"},
		{"a request of the CP function", nil, func(t *testing.T, w *wire) { w.cp(0, deletion(t, 1, 5)) }, "CP", "UP"},
		{"a request of the UP function", nil, func(t *testing.T, w *wire) { w.up(0, report(t, 1)) }, "CP", "UP"},
		{"CP Function Features", nil, func(t *testing.T, w *wire) { w.cp(0, association(t, ie.NewCPFunctionFeatures(1))) }, "-", "-"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWire(t, Config{})
			for _, a := range tc.n4 {
				w.tap.n4 = append(w.tap.n4, addr16(netip.MustParseAddr(a)))
			}
			tc.before(t, w)
			for _, from := range []struct {
				put  func(int, []byte)
				role string
			}{{w.cp, tc.cpd}, {w.up, tc.upd}} {
				before := w.accounts()[from.role+" Heartbeat Request"].Requests
				from.put(1, heartbeat(t, 77, 1))
				if got := w.accounts()[from.role+" Heartbeat Request"].Requests; got != before+1 {
					t.Errorf("got %v, want one more of %q", w.accounts(), from.role)
				}
			}
		})
	}
	w := newWire(t, Config{})
	w.cp(0, association(t, ie.NewCPFunctionFeatures(1)))
	w.up(0, association(t, ie.NewUPFunctionFeatures(1, 0)))
	w.at(0, netip.MustParseAddrPort("10.4.0.9:8805"), upEnd, association(t))
	want := map[string]Account{}
	for _, role := range []string{"CP", "UP", "-"} {
		want[role+" Association Setup Request"] = Account{Requests: 1, Outstanding: 1}
	}
	if diff := cmp.Diff(want, w.accounts()); diff != "" {
		t.Errorf("association (-want +got):\n%s", diff)
	}
}

// TestRoleBound fills the memory of endpoints.
func TestRoleBound(t *testing.T) {
	r := &roles{byEndpoint: map[roleKey]Role{}}
	for i := range 3 * maxRoles {
		r.remember(roleKey{end: endpoint{port: uint16(i)}, upf: i >> 16}, CP)
	}
	if len(r.byEndpoint) != maxRoles {
		t.Errorf("got %d endpoints, want %d", len(r.byEndpoint), maxRoles)
	}
}
