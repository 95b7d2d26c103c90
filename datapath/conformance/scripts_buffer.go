package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// buffering is the common session whose downlink FAR says BUFF, with notice.
func buffering(f func(s *api.Session)) *api.Session {
	s := session(1, 1, ue1)
	s.Rules[1].Forward = &api.Forward{Action: api.Action_BUFF, Notify: true}
	f(s)
	return s
}

func plainly(*api.Session) {}

// held is a row of downlink packets that are buffered.
func held(in user, events ...*api.Event) packet {
	return packet{port: N6, in: onN6(in), reason: datapath.PassBuffer, seid: 1, pdr: 2, events: events}
}

// paged is a packet to ue1 whose size tells it from others, and released is how
// it leaves.
func paged(octets int) user { return size(down4, octets) }

func released(octets int) []byte {
	return outN3(GNBAddress, GNBMAC, portDown4, 0, gpdu(pscDL("00000101"), hop(paged(octets))))[14:]
}

func downlinkData(dscp uint32) *api.Event {
	return &api.Event{Kind: api.EventKind_DOWNLINK_DATA, Seid: 1, RuleId: 2, Qfi: 9, Dscp: dscp}
}

func bar(delay, packets uint32) func(s *api.Session) {
	return func(s *api.Session) {
		s.Bars = []*api.BAR{{Id: 3, NotificationDelayMs: delay, Packets: packets}}
		s.Rules[1].Forward.BarId = 3
	}
}

// notBefore takes the next event and states that it came at least delay after
// the step before began.
func notBefore(delay time.Duration, before step, want *api.Event) step {
	return func(t *testing.T, d Datapath, fast bool) {
		t.Helper()
		start := time.Now()
		before(t, d, fast)
		ctx, cancel := context.WithTimeout(context.Background(), eventWait)
		defer cancel()
		e, err := d.Next(ctx)
		if took := time.Since(start); err != nil || e.GetKind() != want.GetKind() || took < delay {
			t.Errorf("got %v, %v after %v; want %v after %v", e, err, took, want, delay)
		}
	}
}

var bufferScripts = []script{
	{"buffered packets leave in their order when the FAR forwards", []step{
		install(buffering(plainly)),
		frames(1, held(tos(paged(60), 0xb8), downlinkData(46))),
		frames(1, held(paged(61))), frames(1, held(paged(62))), frames(1, upRow),
		install(session(1, 1, ue1)),
		left(outN3(GNBAddress, GNBMAC, portDown4, 46, gpdu(pscDL("00000101"), hop(tos(paged(60), 0xb8))))[14:], released(61), released(62)),
		counted(1, 2, counters{3, 60 + 61 + 62, 0}),
		frames(1, downRow),
		install(session(1, 1, ue1)), left(),
	}},
	{"without notice, buffering is silent", []step{
		install(buffering(func(s *api.Session) { s.Rules[1].Forward.Notify = false })),
		frames(2, held(paged(60))),
		install(session(1, 1, ue1)), left(released(60), released(60)),
	}},
	{"notice that is asked for later is given at once", []step{
		install(buffering(func(s *api.Session) { s.Rules[1].Forward.Notify = false })),
		frames(1, held(paged(60))),
		install(buffering(plainly)), raised(downlinkData(0)), frames(1, held(paged(61))),
		install(session(1, 1, ue1)), left(released(60), released(61)),
	}},
	{"after a release the next packet raises an event again", []step{
		install(buffering(plainly)), frames(1, held(paged(60), downlinkData(0))),
		install(session(1, 1, ue1)), left(released(60)),
		install(buffering(plainly)), frames(1, held(paged(61), downlinkData(0))), frames(1, held(paged(62))),
		install(session(1, 1, ue1)), left(released(61), released(62)),
	}},
	{"buffered packets go where the FAR now says", []step{
		install(buffering(plainly)), frames(1, held(paged(60), downlinkData(0))),
		install(change(session(1, 1, ue1), switchPath)),
		left(outN3(GNBAddress2, GNBMAC2, portDown4, 0, gpdu(pscDL("00000777"), hop(paged(60))))[14:]),
	}},
	{"buffered packets are dropped when the FAR drops", []step{
		install(buffering(plainly)), frames(1, held(paged(60), downlinkData(0))), frames(1, held(paged(61))),
		install(change(session(1, 1, ue1), func(s *api.Session) { s.Rules[1].Forward = &api.Forward{} })), left(),
		counted(1, 2, counters{0, 0, 2}), drops(datapath.DropFAR, 2),
		install(session(1, 1, ue1)), left(),
	}},
	{"buffered packets are dropped for a quota that is used up", []step{
		install(buffering(plainly)), frames(1, held(paged(60), downlinkData(0))), frames(1, held(paged(61))),
		install(change(session(1, 1, ue1), spend)), left(),
		counted(1, 2, counters{0, 0, 2}), drops(datapath.DropQuota, 2), drops(datapath.DropFAR, 0),
	}},
	{"buffered packets are dropped when the control plane gives them up", []step{
		install(buffering(plainly)), frames(1, held(paged(60), downlinkData(0))),
		apply(&api.Change{Seid: 1, Session: buffering(plainly), DropBuffered: true}), left(),
		counted(1, 2, counters{0, 0, 1}), drops(datapath.DropBufferEnd, 1),
		frames(1, held(paged(61), downlinkData(0))),
		install(session(1, 1, ue1)), left(released(61)),
	}},
	{"buffered packets go with their session", []step{
		install(buffering(plainly)), frames(1, held(paged(60), downlinkData(0))),
		remove(1), drops(datapath.DropBufferEnd, 1),
		install(session(1, 1, ue1)), left(), counted(1, 2, counters{}),
	}},
	{"buffered packets go with their PDR", []step{
		install(buffering(plainly)), frames(1, held(paged(60), downlinkData(0))),
		install(change(session(1, 1, ue1), func(s *api.Session) { s.Rules[1].PdrId = 5 })), left(), drops(datapath.DropBufferEnd, 1),
	}},
	{"a BAR bounds the buffer", []step{
		install(buffering(bar(0, 2))), frames(1, held(paged(60), downlinkData(0))), frames(1, held(paged(61))),
		frames(1, packet{port: N6, in: onN6(paged(62)), reason: datapath.DropBufferFull, seid: 1, pdr: 2}),
		install(session(1, 1, ue1)), left(released(60), released(61)),
		counted(1, 2, counters{2, 60 + 61, 1}),
	}},
	{"notification delay", []step{
		install(buffering(bar(30, 0))),
		notBefore(30*time.Millisecond, frames(1, packet{port: N6, in: onN6(paged(60)), reason: datapath.PassBuffer, seid: 1, pdr: 2}), downlinkData(0)),
		frames(1, held(paged(61))),
	}},
	{"no notice if the FAR forwards within the delay", []step{
		install(buffering(bar(3_600_000, 0))), frames(1, held(paged(60))),
		install(session(1, 1, ue1)), left(released(60)), raised(),
	}},
	{"a packet that a gate stops is not buffered", []step{
		install(buffering(func(s *api.Session) { s.Qers[0].DownlinkGateClosed = true })),
		frames(1, packet{port: N6, in: onN6(paged(60)), reason: datapath.DropGate, seid: 1, pdr: 2}),
	}},
	{"packets are metered when they come, not when they leave", []step{
		install(buffering(mbr(1000))),
		frames(1, held(paged(1400), downlinkData(0))), frames(3, held(paged(1400))),
		frames(1, packet{port: N6, in: onN6(paged(1400)), reason: datapath.DropMBR, seid: 1, pdr: 2}),
		install(change(session(1, 1, ue1), mbr(1000))), left(released(1400), released(1400), released(1400), released(1400)),
	}},
	{"packets are measured when they leave", []step{
		install(change(measured(quota(61, 0, 0)), func(s *api.Session) { s.Rules[1].Forward = &api.Forward{Action: api.Action_BUFF} })),
		frames(1, held(paged(60))), frames(2, held(paged(61))), measuredVolume(1, volume{}),
		install(measured(quota(61, 0, 0))), left(released(60), released(61)), raised(quotaReached),
		measuredVolume(1, volume{DownlinkOctets: 121, DownlinkPackets: 2}), counted(1, 2, counters{2, 121, 1}),
	}},
	{"uplink packets wait, too", []step{
		install(change(session(1, 1, ue1), func(s *api.Session) { s.Rules[0].Forward = &api.Forward{Action: api.Action_BUFF} })),
		frames(1, packet{port: N3, in: upRow.in, reason: datapath.PassBuffer, seid: 1, pdr: 1}),
		install(session(1, 1, ue1)), left(outN6(GatewayMAC, up4x)[14:]), counted(1, 1, counters{1, size4, 0}),
	}},
	{"a relayed packet keeps its container while it waits", []step{
		install(change(relayedSession(), func(s *api.Session) { s.Rules[1].Forward = &api.Forward{Action: api.Action_BUFF} })),
		frames(1, packet{port: N3, in: onN9(gpdu("34ff LEN 00000031 0000 00 85 01 00 49 00", dn9)), reason: datapath.PassBuffer, seid: relayed, pdr: 2}),
		install(relayedSession()),
		left(outN3(GNBAddress, GNBMAC, port9, 0, gpdu("34ff LEN 00000131 0000 00 85 01 00 49 00", dn9))[14:]),
	}},
}
