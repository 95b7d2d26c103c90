package p4

import (
	"errors"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// TestElements: the column of docs/rules.md. What is not refused is done by the stages if a key
// of the session is not in the target.
func TestElements(t *testing.T) {
	r := newRig(t, conformance.Endpoints, conformance.DataNetworks, conformance.MaxSessions)
	for _, e := range datapath.Elements {
		s := conformance.Sessions()[0]
		e.Use(s)
		for _, u := range s.GetUrrs() { // far from where they are the stages'
			for _, v := range []*api.Volume{u.GetThreshold(), u.GetQuota()} {
				if v != nil {
					v.Total += 1 << 40
				}
			}
		}
		got := datapath.Pipeline
		err := r.apply(t.Context(), &api.Change{Seid: s.GetSeid(), Session: s})
		r.offload.flush()
		switch {
		case errors.Is(err, datapath.ErrUnsupported):
			got = datapath.Refused
		case err != nil:
			t.Errorf("%s, %s: %v", e.Rule, e.Name, err)
			continue
		default:
			keys, err := r.Keys(s.GetSeid())
			if err != nil {
				t.Fatal(err)
			}
			if len(r.offload.sessions[s.GetSeid()].keys) < len(keys) || len(keys) == 0 {
				got = datapath.SlowPath
			}
			if err := r.apply(t.Context(), &api.Change{Seid: s.GetSeid()}); err != nil {
				t.Fatal(err)
			}
			r.offload.flush()
		}
		if got != e.P4 {
			t.Errorf("%s, %s: is %q in datapath/elements.go, but the way is %q: %v", e.Rule, e.Name, e.P4, got, err)
		}
	}
}
