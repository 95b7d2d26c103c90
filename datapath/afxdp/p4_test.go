package afxdp_test

import (
	"context"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/afxdp"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/p4"
)

// flushed is the datapath p4 of which every session is in the target when Apply returns.
type flushed struct{ *p4.Driver }

func (d flushed) Apply(ctx context.Context, c *api.Change) error {
	err := d.Driver.Apply(ctx, c)
	d.Flush()
	return err
}

func (d flushed) Under() *afxdp.Driver { return d.Driver.Driver }

// TestP4Conformance: the whole suite on the datapath p4, whose target is the executor in the process.
func TestP4Conformance(t *testing.T) {
	for name, stick := range map[string]bool{"two devices": false, "one device": true} {
		t.Run(name, func(t *testing.T) {
			var all []*p4.Driver
			afxdp.RunConformance(t, stick, func(cfg afxdp.Config) (afxdp.Over, error) {
				d, err := p4.New(p4.Config{Config: cfg})
				if err != nil {
					return nil, err
				}
				all = append(all, d)
				return flushed{d}, nil
			})
			sent := uint64(0)
			for _, d := range all {
				sent += d.Forwarded()
			}
			t.Logf("%d frames left by the target", sent)
			if sent == 0 {
				t.Error("no frame left by the target")
			}
		})
	}
}
