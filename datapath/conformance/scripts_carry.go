package conformance

import (
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// carry gives the datapath what another one has counted for a session.
func carry(seid uint64, u *api.SessionUsage) step {
	return func(t *testing.T, d Datapath, _ bool) {
		t.Helper()
		if l, ok := d.(*lent); ok {
			d = l.Shared
		}
		m, ok := d.(interface { // of datapath.Movable
			Carry(seid uint64, u *api.SessionUsage) error
		})
		if !ok {
			t.Fatalf("%T takes no session over: it has no Carry", d)
		}
		if err := m.Carry(seid, u); err != nil {
			t.Fatalf("carry session %d: %v", seid, err)
		}
	}
}

// counts is what another datapath has counted for URR 1 and PDR 1.
func counts(uplink, downlink uint64) *api.SessionUsage {
	return &api.SessionUsage{
		Rules: []*api.Usage{{PdrId: 1, Packets: 10, Octets: uplink, DroppedPackets: 3}, {PdrId: 99, Packets: 1}},
		Urrs: []*api.URRUsage{
			{UrrId: 1, UplinkOctets: uplink, DownlinkOctets: downlink, UplinkPackets: 10, DownlinkPackets: 20},
			{UrrId: 99, UplinkOctets: 1},
		},
	}
}

// carryScripts: a session comes from another datapath.
var carryScripts = []script{
	{"what another datapath has counted is added", []step{
		install(measured(func(*api.URR) {})), carry(1, counts(1000, 500)),
		measuredVolume(1, volume{1000, 500, 10, 20}), counted(1, 1, counters{10, 1000, 3}),
		frames(1, with(upRow)), frames(1, with(downRow)),
		measuredVolume(1, volume{1000 + size4, 500 + size4, 11, 21}), counted(1, 1, counters{11, 1000 + size4, 3}),
	}},
	{"it is added to what was counted meanwhile", []step{
		install(measured(func(*api.URR) {})), frames(2, with(upRow)), carry(1, counts(1000, 500)),
		measuredVolume(1, volume{1000 + 2*size4, 500, 12, 20}), counted(1, 1, counters{12, 1000 + 2*size4, 3}),
	}},
	{"a threshold holds for both together", []step{
		install(measured(threshold(1500+size4, 0, 0))), carry(1, counts(1000, 500)),
		frames(1, with(upRow, thresholdReached)), frames(1, with(upRow)),
	}},
	{"a quota holds for both together", []step{
		install(measured(quota(0, 1000+2*size4, 0))), carry(1, counts(1000, 500)),
		frames(1, with(upRow)), frames(1, with(upRow, quotaReached)), frames(1, upSpent), frames(1, with(downRow)),
	}},
	{"a limit that both together have reached is raised", []step{
		install(measured(both(threshold(1000+size4, 0, 0), quota(1500+size4, 0, 0)))), frames(1, with(upRow)),
		carry(1, counts(1000, 500)), raised(thresholdReached, quotaReached), frames(1, upSpent),
	}},
	{"counts of a rule with SDF filters", []step{
		install(change(session(1, 1, ue1), func(s *api.Session) {
			s.Rules[0].Detect.Filters = []*api.Filter{{Remote: prefix("203.0.113.0/24")}, {Remote: prefix("198.51.0.0/16")}, {}}
		})),
		frames(1, upRow), carry(1, counts(1000, 0)), frames(1, upRow), counted(1, 1, counters{12, 1000 + 2*size4, 3}),
	}},
}
