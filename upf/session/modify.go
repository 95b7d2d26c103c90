package session

import "context"

// Modify changes a session. It returns when the datapath holds it so. The result
// is in r. The error is nil or an [*Error].
func (m *Manager) Modify(ctx context.Context, req *Modification, r *Result) error {
	r.begin(&r.next)
	e, err := m.lock(req.SEID, req.Owner, r)
	if err != nil {
		return err
	}
	defer e.change.Unlock()
	r.next.copy(&r.old)
	p := plan{m: m, r: r, old: &r.old, next: &r.next, now: m.now()}
	if err := p.modify(req); err != nil {
		return err
	}
	if err := p.acquire(); err != nil {
		return err
	}
	r.change.Session = p.next
	ended, err := m.changeUsage(ctx, &r.change, p.old, req, r)
	if err != nil {
		r.Reports = r.Reports[:0]
		m.claims.release(r.taken)
		return applyError(err)
	}
	m.claims.release(p.freed())
	m.commit(e, p.next, &r.writer)
	if ended {
		m.rest(ctx, req.SEID)
	}
	return nil
}
