package vector

import (
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// Carry adds what another datapath has counted for a session, as
// datapath.Movable says.
func (e *Engine) Carry(seid uint64, u *api.SessionUsage) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.sessions.Carry(seid, u)
}

// Stages are those that treat what is rare, and have learnt of packets what outlives
// them.
func (e *Engine) Stages() *stages.Stages { return &e.stages }

// Inherit lets the engine go on with what the stages of another datapath have learnt,
// before the first packet.
func (e *Engine) Inherit(from *stages.Stages) stages.Inherited {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sessions.Inherit(from)
}
