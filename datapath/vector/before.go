package vector

import (
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// What stands before the engine and treats packets by rules of its sessions asks these.

// Traced reports whether anybody traces packets: then all of them are to come here.
func (w *Worker) Traced() bool { return w.e.traces.On() }

// Candidates returns the rules of a key, in Precedence order. They do not change.
func (e *Engine) Candidates(k datapath.Key) []*stages.Rule {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return slices.Clone(e.sessions.Candidates(k))
}

// Count adds what was forwarded and dropped elsewhere by a rule. Its session may have
// changed since, as long as the rule's counts go on.
func (e *Engine) Count(r *stages.Rule, n datapath.Total) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	e.stages.MeasureMany(r, n)
}
