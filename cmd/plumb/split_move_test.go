package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/upf"
)

// TestSplitElsewhere: a datapath that is a process of its own is killed and started
// again as another one: its sessions come from Redis, and what it had counted from the
// tables that it left pinned.
func TestSplitElsewhere(t *testing.T) {
	b := newSplitBed(t, "plt-elsewhere-split")
	b.establish(20)
	b.checkHeld("established")
	received := b.sent
	for _, to := range []string{upf.DatapathTUN, upf.DatapathAFXDP} {
		b.agent.kill()
		c, err := upf.Load(b.agentFile)
		if err != nil {
			t.Fatal(err)
		}
		c.Datapath, c.TUN.Routes = to, b.Config.UEPools
		if to != upf.DatapathTUN { // whose counts nobody has
			received = 0
		}
		b.agentFile = b.file("datapath.yaml", c)
		b.startAgent()
		for end := time.Now().Add(patience); b.held() != len(b.sessions); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s holds %d sessions, want %d:\n%s", to, b.held(), len(b.sessions), b.agent.log())
			}
		}
		_, got := b.uplink(b.sessions, generator.Load{Rate: 10_000, Frames: 2000, CPU: -1}, nil)
		received += got.Received
		counted := uint64(0)
		api := upf.NewClient(filepath.Join(b.dir, "api"))
		for _, x := range b.sessions {
			s, err := api.Session(t.Context(), upf.SEID(x.RemoteSEID))
			if err != nil || len(s.Rules.URRs) != 1 {
				t.Fatalf("usage: %+v, %v", s, err)
			}
			counted += s.Rules.URRs[0].UplinkPackets
		}
		if counted != received || got.Received == 0 {
			t.Errorf("%s: %d packets counted, %d arrived:\n%s", to, counted, received, b.agent.log())
		}
	}
}
