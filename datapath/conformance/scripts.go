package conformance

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// script is a case of several steps: rules change, packets flow.
type script struct {
	name  string // with prefix unsettled: runs before Settle
	steps []step
}

func (s script) run(t *testing.T, d Datapath, fast bool) {
	for _, step := range s.steps {
		step(t, d, fast)
	}
}

const unsettled = "before Settle, "

type step func(t *testing.T, d Datapath, fast bool)

// install applies a session.
func install(s *api.Session) step {
	return func(t *testing.T, d Datapath, _ bool) {
		t.Helper()
		mustApply(t, d, s)
	}
}

// remove applies the removal of a session.
func remove(seid uint64) step {
	return func(t *testing.T, d Datapath, _ bool) {
		t.Helper()
		if err := d.Apply(context.Background(), &api.Change{Seid: seid}); err != nil {
			t.Fatalf("remove session %d: %v", seid, err)
		}
	}
}

// refuse applies a session that must be refused, with the rule it is about.
func refuse(s *api.Session, why error, rule api.RuleType, id uint32) step {
	return func(t *testing.T, d Datapath, _ bool) {
		t.Helper()
		err := d.Apply(context.Background(), &api.Change{Seid: s.GetSeid(), Session: s})
		var about *datapath.RuleError
		if !errors.Is(err, why) || !errors.As(err, &about) || about.Type != rule || about.ID != id {
			t.Fatalf("apply session %d: %v; want %v about %v %d", s.GetSeid(), err, why, rule, id)
		}
	}
}

// frames sends a row n times.
func frames(n int, p packet) step {
	return func(t *testing.T, d Datapath, fast bool) {
		t.Helper()
		for range n {
			p.run(t, d, fast)
		}
	}
}

// counted states the counters of a rule.
func counted(seid uint64, pdr uint32, want counters) step {
	return func(t *testing.T, d Datapath, _ bool) {
		t.Helper()
		if got := usage(t, d)[seid].Rules[pdr]; got != want {
			t.Errorf("session %d, PDR %d: counted %+v, want %+v", seid, pdr, got, want)
		}
	}
}

// raised states the events that have come since they were last asked for.
func raised(want ...*api.Event) step {
	return func(t *testing.T, d Datapath, _ bool) {
		t.Helper()
		expectEvents(t, d, want)
	}
}

// left states what has left of its own accord.
func left(want ...[]byte) step {
	return func(t *testing.T, d Datapath, _ bool) {
		t.Helper()
		expectSent(t, d, want)
	}
}

// apply applies a change.
func apply(c *api.Change) step {
	return func(t *testing.T, d Datapath, _ bool) {
		t.Helper()
		if err := d.Apply(context.Background(), c); err != nil {
			t.Fatalf("apply session %d: %v", c.GetSeid(), err)
		}
	}
}

// drops states how many packets were dropped for a reason.
func drops(reason datapath.Reason, want uint64) step {
	return func(t *testing.T, d Datapath, _ bool) {
		t.Helper()
		all, err := d.Drops()
		if err != nil {
			t.Fatal(err)
		}
		if got := all[reason.String()]; got != want {
			t.Errorf("%d packets dropped for %v, want %d", got, reason, want)
		}
	}
}

// change returns a session with a change.
func change(s *api.Session, f func(s *api.Session)) *api.Session {
	f(s)
	return s
}

var (
	upRow   = packet{port: N3, in: onN3(gpdu(pscUL("00000001"), up4)), want: outN6(GatewayMAC, up4x), seid: 1, pdr: 1, octets: size4}
	downRow = packet{
		port: N6, in: onN6(down4), seid: 1, pdr: 2, octets: size4,
		want: outN3(GNBAddress, GNBMAC, portDown4, 0, gpdu(pscDL("00000101"), dn4x)),
	}
	upUnknown   = packet{port: N3, in: upRow.in, reason: datapath.DropNoPDR, sent: errorIndication("00000001")}
	downUnknown = packet{port: N6, in: downRow.in, reason: datapath.PassHost}
)

func switchPath(s *api.Session) {
	s.Rules[1].Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Teid: 0x777, Ipv4: ipv4(GNBAddress2)}
}

func mbr(bps uint64) func(s *api.Session) {
	return func(s *api.Session) { s.Qers[0].UplinkMbrBps, s.Qers[0].DownlinkMbrBps = bps, bps }
}

// big is 1500 octets up: three of them are the burst of a low rate.
var big = packet{
	port: N3, in: onN3(gpdu(pscUL("00000001"), size(up4, 1500))), want: outN6(GatewayMAC, size(up4x, 1500)),
	seid: 1, pdr: 1, octets: 1500,
}

var scripts = slices.Concat(
	sessionScripts, usageScripts, carryScripts, bufferScripts, discardScripts, signalScripts, meterScripts,
	allOwnScripts, fteidScripts, []script{natEnded, fragmentsScript()},
	exceptionScripts,
)

// sessionScripts: sessions come, change and go.
var sessionScripts = []script{
	{"session comes and goes", []step{
		frames(1, upUnknown), frames(1, downUnknown),
		install(session(1, 1, ue1)),
		frames(2, upRow), frames(3, downRow),
		counted(1, 1, counters{2, 2 * size4, 0}), counted(1, 2, counters{3, 3 * size4, 0}),
		remove(1),
		frames(1, upUnknown), frames(1, downUnknown),
		install(session(1, 1, ue1)),
		counted(1, 1, counters{}),
		frames(1, upRow),
	}},
	{"path switch keeps counters", []step{
		install(session(1, 1, ue1)), frames(1, downRow),
		install(change(session(1, 1, ue1), switchPath)),
		frames(1, packet{
			port: N6, in: onN6(down4), seid: 1, pdr: 2, octets: size4,
			want: outN3(GNBAddress2, GNBMAC2, portDown4, 0, gpdu(pscDL("00000777"), dn4x)),
		}),
		counted(1, 2, counters{2, 2 * size4, 0}),
	}},
	{"another session's F-TEID is refused and nothing changes", []step{
		install(session(1, 1, ue1)),
		refuse(session(2, 1, netip.MustParseAddr("10.45.0.2")), datapath.ErrClash, api.RuleType_PDR_RULE, 1),
		frames(1, upRow), frames(1, downRow),
		frames(1, packet{port: N6, in: onN6(to(down4, "10.45.0.2")), reason: datapath.PassHost}),
	}},
	{"another session's UE address is refused and nothing changes", []step{
		install(session(1, 1, ue1)),
		refuse(session(2, 2, ue1), datapath.ErrClash, api.RuleType_PDR_RULE, 2),
		frames(1, packet{port: N3, in: onN3(gpdu(pscUL("00000002"), up4)), reason: datapath.DropNoPDR, sent: errorIndication("00000002")}),
		frames(1, downRow),
	}},
	{"a PDR that names no QER of the session is refused", []step{
		refuse(change(session(1, 1, ue1), func(s *api.Session) { s.Qers = nil }), datapath.ErrNoRule, api.RuleType_PDR_RULE, 1),
		frames(1, upUnknown),
	}},
	{"a refused change leaves the session as it was", []step{
		install(session(1, 1, ue1)), install(session(2, 2, netip.MustParseAddr("10.45.0.2"))),
		refuse(change(session(1, 1, ue1), func(s *api.Session) {
			switchPath(s)
			s.Rules[0].Detect.FTeid.Teid = 2
		}), datapath.ErrClash, api.RuleType_PDR_RULE, 1),
		frames(1, upRow), frames(1, downRow),
	}},
	{"F-TEID changes", []step{
		install(session(1, 5, ue1)),
		install(change(session(1, 1, ue1), func(s *api.Session) {})),
		frames(1, upRow),
		frames(1, packet{port: N3, in: onN3(gpdu(pscUL("00000005"), up4)), reason: datapath.DropNoPDR, sent: errorIndication("00000005")}),
	}},
	{"gate closes and opens", []step{
		install(session(1, 1, ue1)), frames(1, upRow),
		install(change(session(1, 1, ue1), func(s *api.Session) { s.Qers[0].UplinkGateClosed = true })),
		frames(2, packet{port: N3, in: upRow.in, reason: datapath.DropGate, seid: 1, pdr: 1}),
		frames(1, downRow),
		install(session(1, 1, ue1)), frames(1, upRow),
		counted(1, 1, counters{2, 2 * size4, 2}),
	}},
	{"MBR lets the burst through and no more", []step{
		install(change(session(1, 1, ue1), mbr(1000))),
		frames(4, big),
		frames(2, packet{port: N3, in: big.in, reason: datapath.DropMBR, seid: 1, pdr: 1}),
		frames(1, downRow), // has a meter of its own
	}},
	{"MBR of 100 Gbit/s lets all through", []step{
		install(change(session(1, 1, ue1), mbr(100_000_000_000))),
		frames(100, big),
	}},
	{"QFI changes", []step{
		install(session(1, 1, ue1)),
		install(change(session(1, 1, ue1), func(s *api.Session) { s.Qers[0].Qfi = 33 })),
		frames(1, packet{
			port: N6, in: onN6(down4), seid: 1, pdr: 2, octets: size4,
			want: outN3(GNBAddress, GNBMAC, portDown4, 0, gpdu("34ff LEN 00000101 0000 00 85 01 00 21 00", dn4x)),
		}),
	}},
	{"IPv6 comes to a session", []step{
		install(session(1, 1, ue1)), frames(1, downRow),
		install(change(session(1, 1, ue1), func(s *api.Session) {
			s.Rules[1].Detect.UeAddress.Ipv6Prefix = ipv6Prefix(ue16)
		})),
		frames(1, downRow),
		frames(1, packet{
			port: N6, in: onN6(down6), seid: 1, pdr: 2, octets: size6,
			want: outN3(GNBAddress, GNBMAC, portDown6, 0, gpdu(pscDL("00000101"), dn6x)),
		}),
		counted(1, 2, counters{3, 2*size4 + size6, 0}),
	}},
	{"removal of no session is an error", []step{func(t *testing.T, d Datapath, _ bool) {
		if err := d.Apply(context.Background(), &api.Change{Seid: 9}); !errors.Is(err, datapath.ErrNoSession) {
			t.Errorf("got %v, want %v", err, datapath.ErrNoSession)
		}
	}}},
	{"one session more than fit is refused, and room comes back", []step{func(t *testing.T, d Datapath, _ bool) {
		for i := range uint32(MaxSessions) {
			mustApply(t, d, session(uint64(i)+1, 0x1000+i*3, netip.AddrFrom4([4]byte{10, 45, byte(i * 7), byte(i)})))
		}
		s := session(1000, 0x9999, netip.MustParseAddr("10.46.0.1"))
		if err := d.Apply(context.Background(), &api.Change{Seid: 1000, Session: s}); !errors.Is(err, datapath.ErrFull) {
			t.Fatalf("session %d: %v, want %v", MaxSessions+1, err, datapath.ErrFull)
		}
		remove(17)(t, d, false)
		mustApply(t, d, s)
	}}},
}

// named sends a row under its name.
func named(p packet) step {
	return func(t *testing.T, d Datapath, fast bool) {
		t.Helper()
		t.Run(p.name, func(t *testing.T) { p.run(t, d, fast) })
	}
}
