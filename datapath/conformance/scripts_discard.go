package conformance

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// full is a row of a downlink packet for which there is no room.
func full(octets int, events ...*api.Event) packet {
	return packet{port: N6, in: onN6(paged(octets)), reason: datapath.DropBufferFull, seid: 1, pdr: 2, events: events}
}

// unwanted is a row of a downlink packet that the FAR drops.
func unwanted(octets int, events ...*api.Event) packet {
	return packet{port: N6, in: onN6(paged(octets)), reason: datapath.DropFAR, seid: 1, pdr: 2, events: events}
}

// downlinkStatus is an event about the downlink rule of the common session.
func downlinkStatus(kind api.EventKind) *api.Event {
	return &api.Event{Kind: kind, Seid: 1, RuleId: 2, Qfi: 9}
}

var (
	downlinkBuffered  = downlinkStatus(api.EventKind_DOWNLINK_BUFFERED)
	downlinkDiscarded = downlinkStatus(api.EventKind_DOWNLINK_DISCARDED)
	droppedDownlink   = event(api.EventKind_DROPPED_DOWNLINK)
)

// status is the buffering session that asks for BDPN and DDPN, with room for one
// packet.
func status(s *api.Session) {
	bar(0, 1)(s)
	f := s.Rules[1].Forward
	f.Notify, f.NotifyBuffered, f.NotifyDiscarded = false, true, true
}

func dropping(f func(s *api.Session)) *api.Session {
	s := session(1, 1, ue1)
	s.Rules[1].Forward = &api.Forward{}
	f(s)
	return s
}

// droppedLimits is URR 1 on the downlink rule, for what is dropped.
func droppedLimits(packets, octets uint64) func(s *api.Session) {
	return func(s *api.Session) {
		s.Urrs = []*api.URR{{Id: 1, DroppedDownlinkPackets: packets, DroppedDownlinkOctets: octets}}
		s.Rules[1].UrrIds = []uint32{1}
	}
}

func all(list ...func(s *api.Session)) func(s *api.Session) {
	return func(s *api.Session) {
		for _, f := range list {
			f(s)
		}
	}
}

// droppedVolume states what URR 1 has counted of what was dropped.
func droppedVolume(packets, octets uint64) step {
	return func(t *testing.T, d Datapath, _ bool) {
		t.Helper()
		u, err := d.Usage(1)
		if err != nil || len(u.GetUrrs()) != 1 {
			t.Fatalf("usage %v, %v", u, err)
		}
		if r := u.GetUrrs()[0]; r.GetDroppedDownlinkPackets() != packets || r.GetDroppedDownlinkOctets() != octets {
			t.Errorf("URR 1 counted %d packets, %d octets dropped; want %d and %d",
				r.GetDroppedDownlinkPackets(), r.GetDroppedDownlinkOctets(), packets, octets)
		}
	}
}

// pause lets time go by: that of the datapath, if it has one of its own.
func pause(d time.Duration) step {
	return func(_ *testing.T, dp Datapath, _ bool) {
		if clock, ok := dp.(interface{ Pass(time.Duration) }); ok {
			clock.Pass(d)
			return
		}
		time.Sleep(d)
	}
}

// discardScripts: packets that are dropped instead of buffered, and who is told.
// Source: TS 29.244 V18.6.0, 5.2.2.2, 5.2.4 and 8.2.26.
var discardScripts = []script{
	{"the first buffered and the first discarded packet are told of", []step{
		install(buffering(status)),
		frames(1, held(paged(60), downlinkBuffered)),
		frames(1, full(61, downlinkDiscarded)), frames(2, full(61)),
		install(session(1, 1, ue1)), left(released(60)), counted(1, 2, counters{1, 60, 3}),
		install(buffering(status)),
		frames(1, held(paged(60), downlinkBuffered)), frames(1, full(61, downlinkDiscarded)),
	}},
	{"who asks for nothing is told nothing", []step{
		install(buffering(all(bar(0, 1), func(s *api.Session) { s.Rules[1].Forward.Notify = false }))),
		frames(1, held(paged(60))), frames(1, full(61)),
	}},
	{"the first packet that the FAR drops is told of", []step{
		install(dropping(func(s *api.Session) { s.Rules[1].Forward.NotifyDiscarded = true })),
		frames(1, unwanted(60, downlinkDiscarded)), frames(2, unwanted(60)),
		counted(1, 2, counters{0, 0, 3}),
		install(session(1, 1, ue1)), frames(1, downRow),
		install(dropping(func(s *api.Session) { s.Rules[1].Forward.NotifyDiscarded = true })),
		frames(1, unwanted(60, downlinkDiscarded)),
		remove(1),
	}},
	{"packets that wait too long are dropped, and told of", []step{
		install(buffering(all(status, func(s *api.Session) { s.Bars[0].Packets, s.Bars[0].DurationMs = 0, 20 }))),
		frames(1, held(paged(60), downlinkBuffered)),
		pause(25 * time.Millisecond),
		install(buffering(status)), raised(downlinkDiscarded), drops(datapath.DropBufferAge, 1),
		frames(1, held(paged(61), downlinkBuffered)),
		install(session(1, 1, ue1)), left(released(61)), counted(1, 2, counters{1, 61, 1}),
	}},
	{"what waited too long does not leave", []step{
		install(buffering(all(bar(0, 0), func(s *api.Session) { s.Bars[0].DurationMs = 20 }))),
		frames(1, held(paged(60), downlinkData(0))), pause(25 * time.Millisecond),
		install(session(1, 1, ue1)), left(), drops(datapath.DropBufferAge, 1),
	}},
	{"dropped DL traffic, by BUFF", []step{
		install(buffering(all(bar(0, 1), droppedLimits(2, 0)))),
		frames(1, held(paged(60), downlinkData(0))),
		frames(1, full(61)), droppedVolume(1, 61),
		frames(1, full(62, droppedDownlink)), frames(1, full(63)), droppedVolume(3, 61+62+63),
		install(buffering(all(bar(0, 1), droppedLimits(5, 0)))),
		frames(1, full(64)), frames(1, full(65, droppedDownlink)),
		install(change(session(1, 1, ue1), droppedLimits(5, 0))), left(released(60)), raised(),
		frames(1, with(downRow)), droppedVolume(5, 61+62+63+64+65),
	}},
	{"dropped DL traffic, by DROP", []step{
		install(dropping(droppedLimits(0, 121))),
		frames(1, unwanted(60)), frames(1, unwanted(61, droppedDownlink)), frames(1, unwanted(62)),
		droppedVolume(3, 60+61+62), counted(1, 2, counters{0, 0, 3}),
	}},
	{"dropped DL traffic, by the control plane", []step{
		install(buffering(droppedLimits(2, 0))),
		frames(1, held(paged(60), downlinkData(0))), frames(1, held(paged(61))),
		apply(&api.Change{Seid: 1, Session: buffering(droppedLimits(2, 0)), DropBuffered: true}),
		raised(droppedDownlink), droppedVolume(2, 121),
	}},
	{"a limit of dropped DL traffic that is reached already is told at once", []step{
		install(dropping(droppedLimits(100, 0))), frames(3, unwanted(60)),
		install(dropping(droppedLimits(3, 0))), raised(droppedDownlink),
		install(dropping(droppedLimits(3, 0))), raised(),
	}},
	{"what is dropped for another reason is not dropped DL traffic", []step{
		install(buffering(all(droppedLimits(1, 0), func(s *api.Session) { s.Qers[0].DownlinkGateClosed = true }))),
		frames(1, packet{port: N6, in: onN6(paged(60)), reason: datapath.DropGate, seid: 1, pdr: 2}),
		droppedVolume(0, 0),
	}},
}
