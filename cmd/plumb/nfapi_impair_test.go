package main

import (
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/nfapi/impair"
)

// TestNFAPIImpairFile: the example is a configuration, and flags come before it.
func TestNFAPIImpairFile(t *testing.T) {
	const file = "../../deploy/nfapi/impair.yaml"
	c := nfapiImpairCommand{Seed: 7, Loss: 0.5, Delay: time.Millisecond}
	got, err := c.read(file)
	if err != nil {
		t.Fatal(err)
	}
	if got.Seed != 7 || got.AsVNF.String() != "10.0.0.3:50011" || len(got.Rules) != 3 || got.Rules[0].Loss != 0.5 || got.TickDriftMax != 500*time.Microsecond {
		t.Errorf("got %+v", got)
	}
	var alone impair.Config
	if err := yamltext.Load(file, &alone, nil); err != nil {
		t.Fatal(err)
	}
	if r := alone.Rules; len(r) != 2 || r[0].SegmentLoss != 0.001 || r[0].Messages[0] != "TX_DATA" || r[1].Jitter != 20*time.Microsecond {
		t.Errorf("got %+v", r)
	}
}
