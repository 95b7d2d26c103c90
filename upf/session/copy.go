package session

import "context"

// Copy gives every session as it is to another datapath, while requests change them:
// a session is not changed while it is given, and one that is being established is
// waited for. It goes on when to refuses one.
//
// Errors: that of ctx.
func (m *Manager) Copy(ctx context.Context, to Datapath) error {
	m.clear(ctx) // else the datapath of now holds what there is no session for
	named := withTables{to, &m.tables}
	r := m.works.Get().(*Result)
	defer m.works.Put(r)
	for seid := range m.places(func([]byte) bool { return true }) {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := m.lock(seid, 0, r)
		if err != nil {
			continue // deleted meanwhile, or not established
		}
		r.change = Change{Session: &r.old}
		_ = named.Install(ctx, &r.change) // whoever moves the sessions notes it
		e.change.Unlock()
	}
	return nil
}
