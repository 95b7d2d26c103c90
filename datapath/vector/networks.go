package vector

import (
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// networks is the side of N6 for the model.
func (e *Engine) networks() stages.Networks {
	n := stages.Networks{N6: &e.cfg.N6}
	clamps := false
	for i := range e.cfg.N6.Networks {
		d := &e.cfg.N6.Networks[i]
		clamps = clamps || d.MSSClamp != 0
		var nat *stages.NAT
		if d.NAT != nil {
			nat = stages.NewNAT(d.NAT, &e.mappings, e.cfg.ChoosePort, teller(e.cfg.Log, d.Name))
		}
		n.NATs = append(n.NATs, nat)
	}
	if clamps {
		n.MSS = e.mss
	}
	return n
}

// mss is what the MSS of a data network's TCP is clamped to.
func (e *Engine) mss(network int, v6 bool) int {
	n6, tunnel := e.cfg.Links.MTUs(network)
	return e.cfg.N6.Networks[network].MSS(n6, tunnel-datapath.OuterOctets(e.cfg.Endpoints), v6)
}

// isEthernet reports whether what comes from the data network with this number are
// frames.
func (e *Engine) isEthernet(network int) bool {
	return network <= len(e.cfg.N6.Networks) && e.cfg.N6.Networks[network-1].Ethernet
}

// teller logs which UE has which ports of a NAT, which RFC 6888, 4 asks for.
func teller(log *slog.Logger, network string) func(b stages.PortBlock, given bool) {
	return func(b stages.PortBlock, given bool) {
		what := "ports returned"
		if given {
			what = "ports given"
		}
		log.Info(what, "network", network, "ue", b.UE, "address", b.Outside, "first", b.First, "last", b.Last)
	}
}

// mappings is the [stages.NATStore] of all NATs: it counts them.
type mappings struct {
	mu       sync.Mutex
	max, use int
}

// Add implements [stages.NATStore].
func (m *mappings) Add(one stages.Mapping) *stages.Mapping {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.use >= m.max {
		return nil
	}
	m.use++
	return &one
}

// Remove implements [stages.NATStore].
func (m *mappings) Remove(*stages.Mapping) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.use--
}

// newSecret returns what makes sequence numbers of ours hard to guess.
func newSecret() []byte {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails: package crypto/rand
	return b
}

// Monotonic is a clock of this process: the runtime reads it without a system call.
func Monotonic() uint64 { return uint64(time.Since(begin)) }

var begin = time.Now()

// occupancy is how many mappings there are.
func (m *mappings) occupancy() datapath.TableUse {
	m.mu.Lock()
	defer m.mu.Unlock()
	return datapath.TableUse{Name: "nat_mappings", Used: m.use, Max: m.max}
}
