package conformance

import (
	"testing"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// TestPNF: ours passes all cases, in each profile; those of the window, which waits for
// the SFN to come round, are the same in all.
func TestPNF(t *testing.T) {
	for _, p := range nfapi.Profiles() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			var skipped []string
			c := Config{Profile: p, Seed: 1}
			if p != nfapi.OAI2025 {
				c.Cases = "[^w]*"
			}
			switch p {
			case nfapi.Aerial:
				skipped = []string{"checksum/*", "segments/*", "request/unknown-phy"}
			case nfapi.OAI2024:
				skipped = []string{"segments/65000", "broken/long"}
			}
			r := testPNF(t, c, silentPHY{})
			wholly(t, r, skipped...)
			if c.Cases == "" && len(r.Results) != len(Cases(PNF)) {
				t.Errorf("%d cases were run of %d", len(r.Results), len(Cases(PNF)))
			}
		})
	}
}
