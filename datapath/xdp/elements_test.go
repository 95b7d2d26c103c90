package xdp

import (
	"errors"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// TestElements: the column of docs/rules.md. What is not refused is done by the
// slow path if one of an uplink and a downlink packet of the session gets there.
func TestElements(t *testing.T) {
	for name, hook := range map[string]Hook{"xdp": HookXDP, "tc": HookTC} {
		t.Run(name, func(t *testing.T) {
			testElements(t, openConfig(t, Config{Hook: hook, MaxSessions: conformance.MaxSessions}, bedPorts()))
		})
	}
}

func testElements(t *testing.T, b *bed) {
	t.Helper()
	up, down := conformance.BenchFrames()
	for _, e := range datapath.Elements {
		s := conformance.Sessions()[0]
		e.Use(s)
		got := datapath.Program
		err := b.Apply(t.Context(), &api.Change{Seid: s.GetSeid(), Session: s})
		switch {
		case errors.Is(err, datapath.ErrUnsupported):
			got = datapath.Refused
		case err != nil:
			t.Errorf("%s, %s: %v", e.Rule, e.Name, err)
			continue
		default:
			before := b.slowFrames
			if s.GetPduType() == api.PDUType_ETHERNET {
				frameUp, frameDown := conformance.BenchEtherFrames(64)
				b.Frame(t, conformance.N3, frameUp) // of which the bridge learns
				b.Frame(t, conformance.N6LAN, frameDown)
				before = b.slowFrames
				b.Frame(t, conformance.N3, frameUp)
				b.Frame(t, conformance.N6LAN, frameDown)
			} else {
				b.Frame(t, conformance.N3, up)
				b.Frame(t, conformance.N6, down)
			}
			if b.slowFrames != before {
				got = datapath.SlowPath
			}
			if err := b.Apply(t.Context(), &api.Change{Seid: s.GetSeid(), DropBuffered: true}); err != nil {
				t.Fatal(err)
			}
		}
		if got != e.XDP {
			t.Errorf("%s, %s: is %q in datapath/elements.go, but the way is %q: %v", e.Rule, e.Name, e.XDP, got, err)
		}
	}
}
