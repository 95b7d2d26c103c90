package oracle_test

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/conformance/oracle"
	"github.com/plumbline-upf/plumbline/datapath/conformance/random"
)

// TestStages: the slow path does what the oracle says.
func TestStages(t *testing.T) { oracle.Run(t, random.NewStages(t), 600) }

// wrong is the slow path with a fault.
type wrong struct {
	*random.Stages
	rule  func(s *api.Session, r *api.Rule)
	frame func(o conformance.Outcome) conformance.Outcome
}

func (w wrong) Apply(ctx context.Context, c *api.Change) error {
	c = proto.CloneOf(c)
	for _, r := range c.GetSession().GetRules() {
		if w.rule != nil && r.Detect != nil && r.Forward != nil {
			w.rule(c.Session, r)
		}
	}
	return w.Stages.Apply(ctx, c)
}

func (w wrong) Frame(t testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	o := w.Stages.Frame(t, port, frame)
	if w.frame != nil && o.Packet != nil {
		o = w.frame(o)
	}
	return o
}

// TestFindsFaults: the oracle finds each of these within a few hundred scripts. They are in what
// stages and the datapaths share, so that comparing these with each other shows none of them.
func TestFindsFaults(t *testing.T) {
	for name, w := range map[string]wrong{
		"a QFI is forgotten": {rule: func(_ *api.Session, r *api.Rule) {
			if n := len(r.Detect.Qfis); n > 1 {
				r.Detect.Qfis = r.Detect.Qfis[:n-1]
			}
		}},
		"a range of ports ends one early": {rule: func(_ *api.Session, r *api.Rule) {
			for _, f := range r.Detect.Filters {
				for _, p := range f.RemotePorts {
					if p.Last > p.First {
						p.Last--
					}
				}
			}
		}},
		"an MBR is too high": {rule: func(s *api.Session, _ *api.Rule) {
			for _, q := range s.Qers {
				for _, bps := range []*uint64{&q.UplinkMbrBps, &q.DownlinkMbrBps} {
					if *bps != 0 {
						*bps = max(*bps, 1_000_000)
					}
				}
			}
		}},
		"a quota is one octet too much": {rule: func(s *api.Session, r *api.Rule) {
			if r != s.Rules[0] {
				return
			}
			for _, u := range s.Urrs {
				if u.Quota.GetTotal() != 0 {
					u.Quota.Total++
				}
			}
		}},
		"the DSCP of the FAR is forgotten": {rule: func(_ *api.Session, r *api.Rule) { r.Forward.Dscp = nil }},
		"the container goes on":            {rule: func(_ *api.Session, r *api.Rule) { r.DropsContainer = false }},
		"a framed route is forgotten":      {rule: func(_ *api.Session, r *api.Rule) { r.Detect.FramedRoutes = nil }},
		"an octet of the packet changes": {frame: func(o conformance.Outcome) conformance.Outcome {
			if n := len(o.Packet); n > 1000 {
				o.Packet[n-1] ^= 1
			}
			return o
		}},
		"the outer checksum is wrong": {frame: func(o conformance.Outcome) conformance.Outcome {
			if p := o.Packet; len(p) > 48 && p[0]>>4 == 6 && p[6] == 17 {
				p[47] ^= 1
			}
			return o
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w.Stages = random.NewStages(t)
			for seed := range uint64(500) {
				s := oracle.Judged(random.Generate(seed, oracle.Capabilities), w.Capabilities())
				if oracle.Differs(t, s, w) {
					t.Logf("found in script %d", seed)
					return
				}
			}
			t.Error("not found in 500 scripts")
		})
	}
}
