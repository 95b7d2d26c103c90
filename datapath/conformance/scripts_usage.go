package conformance

import (
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// measured is the common session with URR 1 on both rules.
func measured(f func(u *api.URR)) *api.Session {
	s := session(1, 1, ue1)
	u := &api.URR{Id: 1}
	f(u)
	s.Urrs = []*api.URR{u}
	for _, r := range s.Rules {
		r.UrrIds = []uint32{1}
	}
	return s
}

func threshold(total, uplink, downlink uint64) func(u *api.URR) {
	return func(u *api.URR) { u.Threshold = &api.Volume{Total: total, Uplink: uplink, Downlink: downlink} }
}

func quota(total, uplink, downlink uint64) func(u *api.URR) {
	return func(u *api.URR) { u.Quota = &api.Volume{Total: total, Uplink: uplink, Downlink: downlink} }
}

// spend has the quota of the session's rules be used up.
func spend(s *api.Session) {
	for _, r := range s.Rules {
		r.Forward = &api.Forward{Spent: true}
	}
}

func both(a, b func(u *api.URR)) func(u *api.URR) {
	return func(u *api.URR) { a(u); b(u) }
}

func startOfTraffic(u *api.URR) { u.StartOfTraffic = true }

func event(kind api.EventKind) *api.Event { return &api.Event{Kind: kind, Seid: 1, RuleId: 1} }

// with states that URRs count the row, and what events it raises.
func with(p packet, events ...*api.Event) packet {
	p.urrs, p.events = []uint32{1}, events
	return p
}

var (
	thresholdReached = event(api.EventKind_VOLUME_THRESHOLD)
	quotaReached     = event(api.EventKind_VOLUME_QUOTA)
	trafficStarted   = event(api.EventKind_START_OF_TRAFFIC)

	upSpent   = packet{port: N3, in: upRow.in, reason: datapath.DropQuota, seid: 1, pdr: 1}
	downSpent = packet{port: N6, in: downRow.in, reason: datapath.DropQuota, seid: 1, pdr: 2}
)

// measuredVolume states the usage of URR id of session 1.
func measuredVolume(id uint32, want volume) step {
	return func(t *testing.T, d Datapath, _ bool) {
		t.Helper()
		got, ok := usage(t, d)[1].URRs[id]
		if !ok || got != want {
			t.Errorf("URR %d measured %+v (there: %v), want %+v", id, got, ok, want)
		}
	}
}

var usageScripts = []script{
	{"a URR counts both directions", []step{
		install(measured(func(*api.URR) {})),
		frames(2, with(upRow)), frames(3, with(downRow)),
		measuredVolume(1, volume{2 * size4, 3 * size4, 2, 3}),
	}},
	{"volume threshold is raised once, by the packet that reaches it", []step{
		install(measured(threshold(3*size4, 0, 0))),
		frames(1, with(upRow)), frames(1, with(downRow)),
		frames(1, with(upRow, thresholdReached)),
		frames(2, with(upRow)), frames(2, with(downRow)),
	}},
	{"uplink volume threshold", []step{
		install(measured(threshold(0, size4+1, 0))),
		frames(3, with(downRow)), frames(1, with(upRow)), frames(1, with(upRow, thresholdReached)), frames(1, with(upRow)),
	}},
	{"downlink volume threshold", []step{
		install(measured(threshold(0, 0, size4))),
		frames(3, with(upRow)), frames(1, with(downRow, thresholdReached)), frames(1, with(downRow)),
	}},
	{"two volume thresholds", []step{
		install(measured(threshold(3*size4, size4, 0))),
		frames(1, with(upRow, thresholdReached)), frames(1, with(downRow)), frames(1, with(downRow, thresholdReached)),
		frames(1, with(upRow)),
	}},
	{"the next threshold is raised again", []step{
		install(measured(threshold(size4, 0, 0))), frames(1, with(upRow, thresholdReached)),
		install(measured(threshold(2*size4, 0, 0))), frames(1, with(upRow, thresholdReached)), frames(1, with(upRow)),
	}},
	{"a threshold that is reached already is raised at once", []step{
		install(measured(func(*api.URR) {})), frames(2, with(upRow)),
		install(measured(threshold(size4, 0, 0))), raised(thresholdReached), frames(1, with(upRow)),
	}},
	{"the packet that reaches the volume quota is the last one", []step{
		install(measured(quota(2*size4+1, 0, 0))),
		frames(1, with(upRow)), frames(1, with(downRow)),
		frames(1, with(upRow, quotaReached)),
		frames(2, upSpent), frames(2, downSpent),
		measuredVolume(1, volume{2 * size4, size4, 2, 1}),
		drops(datapath.DropQuota, 4),
	}},
	{"more quota lets packets through again", []step{
		install(measured(quota(size4, 0, 0))), frames(1, with(upRow, quotaReached)), frames(1, upSpent),
		install(measured(quota(2*size4, 0, 0))), frames(1, with(upRow, quotaReached)), frames(1, upSpent),
		install(measured(func(*api.URR) {})), frames(2, with(upRow)),
	}},
	{"an uplink quota that is used up stops uplink packets only", []step{
		install(measured(quota(0, size4, 0))), frames(2, with(downRow)), frames(1, with(upRow, quotaReached)),
		frames(1, upSpent), frames(1, with(downRow)),
	}},
	{"a downlink quota that is used up stops downlink packets only", []step{
		install(measured(quota(0, 0, size4))), frames(2, with(upRow)), frames(1, with(downRow, quotaReached)),
		frames(1, downSpent), frames(1, with(upRow)),
	}},
	{"a quota that is used up already is raised at once", []step{
		install(measured(func(*api.URR) {})), frames(2, with(upRow)),
		install(measured(quota(size4, 0, 0))), raised(quotaReached), frames(1, upSpent),
	}},
	{"a quota that the datapath does not count is why packets are dropped", []step{
		install(measured(func(*api.URR) {})), frames(1, with(upRow)), frames(1, with(downRow)),
		install(change(measured(func(*api.URR) {}), spend)), frames(2, upSpent), frames(2, downSpent),
		drops(datapath.DropQuota, 4), drops(datapath.DropFAR, 0),
		install(measured(func(*api.URR) {})), frames(1, with(upRow)), frames(1, with(downRow)),
	}},
	{"packets are dropped for a quota when the control plane has stopped them, too", []step{
		install(measured(quota(size4, 0, 0))), frames(1, with(upRow, quotaReached)), frames(1, upSpent),
		install(change(measured(quota(size4, 0, 0)), spend)), raised(quotaReached), frames(2, upSpent), frames(2, downSpent),
		drops(datapath.DropQuota, 5), drops(datapath.DropFAR, 0),
	}},
	{"a quota is why packets are dropped by a rule with many QFIs, too", []step{
		install(change(measured(func(*api.URR) {}), all(spend, func(s *api.Session) { s.Rules[0].Detect.Qfis = []uint32{1, 2, 3, 4, 5, 9} }))),
		frames(2, upSpent), frames(2, downSpent), drops(datapath.DropQuota, 4), drops(datapath.DropFAR, 0),
	}},
	{"threshold, then quota", []step{
		install(measured(both(threshold(size4, 0, 0), quota(2*size4, 0, 0)))),
		frames(1, with(upRow, thresholdReached)), frames(1, with(downRow, quotaReached)), frames(1, upSpent),
	}},
	{"threshold and quota by the same packet", []step{
		install(measured(both(threshold(size4, 0, 0), quota(size4, 0, 0)))),
		frames(1, with(upRow, thresholdReached, quotaReached)), frames(1, upSpent),
	}},
	{"a packet beyond both raises both", []step{
		install(measured(both(threshold(1, 0, 0), quota(2, 0, 0)))),
		frames(1, with(upRow, thresholdReached, quotaReached)), frames(1, upSpent),
	}},
	{"a quota below the threshold", []step{
		install(measured(both(threshold(3*size4, 0, 0), quota(size4, 0, 0)))),
		frames(1, with(upRow, quotaReached)), frames(1, upSpent),
	}},
	{"start of traffic is raised once, by the next packet", []step{
		install(measured(startOfTraffic)), frames(1, with(downRow, trafficStarted)), frames(1, with(upRow)), frames(1, with(downRow)),
		install(measured(startOfTraffic)), frames(1, with(upRow)),
		install(measured(func(*api.URR) {})), frames(1, with(upRow)),
		install(measured(startOfTraffic)), frames(1, with(upRow, trafficStarted)), frames(1, with(upRow)),
	}},
	{"a packet that a gate stops is no start of traffic, and is not counted", []step{
		install(change(measured(startOfTraffic), func(s *api.Session) { s.Qers[0].UplinkGateClosed = true })),
		frames(1, packet{port: N3, in: upRow.in, reason: datapath.DropGate, seid: 1, pdr: 1}),
		frames(1, with(downRow, trafficStarted)),
		measuredVolume(1, volume{DownlinkOctets: size4, DownlinkPackets: 1}),
	}},
	{"a URR goes on while its rules change", []step{
		install(measured(func(*api.URR) {})), frames(1, with(upRow)), frames(1, with(downRow)),
		install(change(measured(func(*api.URR) {}), func(s *api.Session) { s.Rules = s.Rules[:1] })), frames(1, with(upRow)),
		install(change(measured(func(*api.URR) {}), func(s *api.Session) { s.Rules[0].UrrIds = nil })),
		frames(1, upRow), frames(1, with(downRow)),
		measuredVolume(1, volume{2 * size4, 2 * size4, 2, 2}),
	}},
	{"a URR that was removed begins anew", []step{
		install(measured(func(*api.URR) {})), frames(1, with(upRow)),
		install(session(1, 1, ue1)), frames(1, upRow),
		install(measured(func(*api.URR) {})), measuredVolume(1, volume{}), frames(1, with(upRow)),
	}},
	{"two URRs of a rule", []step{
		install(change(measured(threshold(2*size4, 0, 0)), func(s *api.Session) {
			s.Urrs = append(s.Urrs, &api.URR{Id: 7, Quota: &api.Volume{Total: size4}})
			s.Rules[0].UrrIds = []uint32{1, 7}
		})),
		frames(1, with(downRow)),
		frames(1, packet{
			port: N3, in: upRow.in, want: upRow.want, seid: 1, pdr: 1, octets: size4, urrs: []uint32{1, 7},
			events: []*api.Event{thresholdReached, {Kind: api.EventKind_VOLUME_QUOTA, Seid: 1, RuleId: 7}},
		}),
		frames(1, upSpent), frames(1, with(downRow)),
	}},
	{"sessions with a shared meter have one rate together", []step{
		install(change(session(1, 1, ue1), shared(1000))), install(change(session(2, 2, ue2), shared(1000))),
		frames(4, big),
		frames(1, big2),
		remove(1),
		frames(1, big2),
		remove(2), install(change(session(1, 1, ue1), shared(1000))),
		frames(4, big), // nobody had the meter, so it began anew
	}},
	{"three metered QERs of a rule", []step{
		install(change(session(1, 1, ue1), func(s *api.Session) {
			s.Qers = append(s.Qers, &api.QER{Id: 2, UplinkMbrBps: 1e9}, &api.QER{Id: 3, UplinkMbrBps: 1e9}, &api.QER{Id: 4, UplinkMbrBps: 1000})
			s.Rules[0].QerIds = []uint32{1, 2, 3, 4}
		})),
		frames(4, big),
		frames(1, packet{port: N3, in: big.in, reason: datapath.DropMBR, seid: 1, pdr: 1}),
	}},
}

// big2 is as long as big, so that it takes the same way: what a fast path forwards and what is
// left to the slow path may be held against two meters.
var big2 = packet{port: N3, in: onN3(gpdu(pscUL("00000002"), from(size(up4, 1500), ue2.String()))), reason: datapath.DropMBR, seid: 2, pdr: 1}

func shared(bps uint64) func(s *api.Session) {
	return func(s *api.Session) {
		mbr(bps)(s)
		s.Qers[0].Shared = 77
	}
}
