package vector

import "plumbline/api"

// Carry adds what another datapath has counted for a session, as
// datapath.Movable says.
func (e *Engine) Carry(seid uint64, u *api.SessionUsage) error {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.sessions.Carry(seid, u)
}
