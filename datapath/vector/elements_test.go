package vector

import (
	"errors"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// TestElements: the column of docs/rules.md. What is not refused is done by the slow
// path if one of an uplink and a downlink packet of the session gets there.
func TestElements(t *testing.T) {
	for _, e := range datapath.Elements {
		b := openBed(t)
		s := conformance.Sessions()[0]
		e.Use(s)
		got := datapath.Vectors
		err := b.Apply(t.Context(), &api.Change{Seid: s.GetSeid(), Session: s})
		switch {
		case errors.Is(err, datapath.ErrUnsupported):
			got = datapath.Refused
		case err != nil:
			t.Errorf("%s, %s: %v", e.Rule, e.Name, err)
			continue
		default:
			up, down, port := []byte(nil), []byte(nil), conformance.N6
			if up, down = conformance.BenchFrames(); s.GetPduType() == api.PDUType_ETHERNET {
				up, down = conformance.BenchEtherFrames(64)
				port = conformance.N6LAN
			}
			b.Frame(t, conformance.N3, up)
			b.Frame(t, port, down)
			if b.worker.slow > 0 {
				got = datapath.SlowPath
			}
		}
		if got != e.Vector {
			t.Errorf("%s, %s: is %q in datapath/elements.go, but the way is %q: %v", e.Rule, e.Name, e.Vector, got, err)
		}
	}
}
