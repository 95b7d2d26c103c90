package stages_test

import (
	"errors"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// TestElements: the column of docs/rules.md.
func TestElements(t *testing.T) {
	for _, e := range datapath.Elements {
		u := stages.New(stages.Config{
			Endpoints: conformance.Endpoints, N6: conformance.DataNetworks, MaxSessions: 1, Now: func() uint64 { return 1e9 },
		})
		s := conformance.Sessions()[0]
		e.Use(s)
		err := u.Apply(t.Context(), &api.Change{Seid: s.GetSeid(), Session: s})
		switch got := errors.Is(err, datapath.ErrUnsupported); {
		case err != nil && !got, got != (e.Model == datapath.Refused):
			t.Errorf("%s, %s: is %s in datapath/elements.go, but: %v", e.Rule, e.Name, e.Model, err)
		}
	}
}
