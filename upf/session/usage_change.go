package session

import (
	"context"
	"slices"
)

// This file is what becomes of usage when a request changes or deletes a session.
//
// A URR that ends stays in the datapath, where no rule names it any more, until
// the record that holds its last report outlives this process (Manager.rest): so
// its last count is exact, and after a kill -9 at any moment either the URR is
// still there or its last report is.

// changeUsage makes the datapath hold ch.Session in place of old, as req asks.
// The reports for the response are in r, those and the new baselines in
// ch.Session too. It reports whether a URR has ended: then the caller
// calls rest when it has saved the record. On an error nothing has changed in the datapath.
func (m *Manager) changeUsage(ctx context.Context, ch *Change, old *Session, req *Modification, r *Result) (ended bool, err error) {
	if !touchesUsage(old, req) { // nearly always, and then nothing is allocated
		return false, m.datapath.Install(ctx, ch)
	}
	c := usageChange{m: m, now: m.now(), old: old, next: ch.Session, req: req, r: r}
	if err := m.settled(ctx, old.SEID); err != nil {
		return false, err
	}
	if c.asks() {
		if err := m.datapath.Usage(ctx, old.SEID, &c.before); err != nil {
			return false, err
		}
	}
	c.begin()
	n := len(c.next.URRs)
	c.next.URRs = append(c.next.URRs, c.ended()...)
	err = m.datapath.Install(ctx, ch)
	gone := c.next.URRs[n:]
	c.next.URRs = c.next.URRs[:n]
	defer clear(gone) // what is used again must not share memory with old
	if err != nil {
		return false, err
	}
	loose := c.loose()
	if len(gone) == 0 && len(loose) == 0 {
		return false, nil
	}
	if err := m.datapath.Usage(ctx, old.SEID, &c.after); err != nil {
		// What the URR counted would be lost. If going back fails too, the record
		// is still the old one, which the next change installs.
		_ = m.datapath.Install(ctx, &Change{Session: old})
		return false, err
	}
	for i := range gone {
		c.end(&gone[i])
	}
	for _, u := range loose {
		c.end(u)
	}
	return len(gone) > 0, nil
}

// usageChange is one modification at work.
type usageChange struct {
	m             *Manager
	now           int64
	old, next     *Session
	req           *Modification
	r             *Result
	before, after Usage // what was counted before and after the change
}

// touchesUsage reports whether the request q concerns URRs of old at all.
func touchesUsage(old *Session, q *Modification) bool {
	if len(q.CreateURRs)+len(q.UpdateURRs)+len(q.RemoveURRs)+len(q.QueryURRs) > 0 || q.QueryAll {
		return true
	}
	return len(old.URRs) > 0 && len(q.RemovePDRs)+len(q.UpdatePDRs)+len(q.RemoveEndpoints) > 0
}

// asks reports whether it has to be known what was counted before the change.
func (c *usageChange) asks() bool {
	return c.req.QueryAll || len(c.req.QueryURRs) > 0 || slices.ContainsFunc(c.req.CreateURRs, c.again)
}

// again reports whether the URR takes the place of another of the same ID. The
// datapath's count goes on then.
func (c *usageChange) again(u URR) bool { return c.old.URR(u.ID) != nil }

// begin does what comes before the datapath's change: queries, which are about
// the time until now, and the limits of URRs that are new or changed.
func (c *usageChange) begin() {
	q := c.req
	for i := range q.CreateURRs {
		if u := c.old.URR(q.CreateURRs[i].ID); u != nil {
			ended := *u
			c.r.Reports = c.next.terminate(c.r.Reports, &ended, c.now, c.before.of(u.ID))
		}
	}
	for i := range q.CreateURRs {
		u := c.next.URR(q.CreateURRs[i].ID)
		u.provision(c.now, c.before.of(u.ID))
		u.State.droppedSince(c.before.dropped(u.ID))
	}
	if ids := c.queried(); len(ids) > 0 {
		c.r.Reports = c.next.query(c.r.Reports, c.now, &c.before, ids, false)
	}
	for i := range q.UpdateURRs {
		c.next.URR(q.UpdateURRs[i].ID).rearm(&q.UpdateURRs[i], c.now)
	}
}

// queried lists the URRs to be reported that were there before.
func (c *usageChange) queried() []uint32 {
	var ids []uint32
	for i := range c.next.URRs {
		id := c.next.URRs[i].ID
		isNew := slices.ContainsFunc(c.req.CreateURRs, func(u URR) bool { return u.ID == id })
		if !isNew && (c.req.QueryAll || slices.Contains(c.req.QueryURRs, id)) {
			ids = append(ids, id)
		}
	}
	return ids
}

// ended are the URRs that the session has no more.
func (c *usageChange) ended() (list []URR) {
	for i := range c.old.URRs {
		if u := &c.old.URRs[i]; c.next.URR(u.ID) == nil {
			list = append(list, *u)
		}
	}
	return list
}

// loose are the URRs of which the last PDR has gone.
// Source: TS 29.244 V18.6.0, 5.2.2.3.1 and 7.5.5.2.
func (c *usageChange) loose() (list []*URR) {
	for i := range c.next.URRs {
		u := &c.next.URRs[i]
		if c.old.measures(u.ID) && !c.next.measures(u.ID) {
			list = append(list, u)
		}
	}
	return list
}

// measures reports whether a PDR names the URR.
func (s *Session) measures(id uint32) bool {
	return slices.ContainsFunc(s.PDRs, func(r PDR) bool { return slices.Contains(r.URRIDs, id) })
}

// end makes the last report of a URR from what was counted after the change.
func (c *usageChange) end(u *URR) {
	c.r.Reports = c.next.terminate(c.r.Reports, u, c.now, c.after.of(u.ID))
}

// removeUsage stops the packets of a session, makes the last reports of its URRs
// and puts all that were not acknowledged into r. s becomes what stays for a
// while in the store; the caller saves it and then calls rest. On an error nothing
// has changed in the datapath.
func (m *Manager) removeUsage(ctx context.Context, s *Session, r *Result) error {
	if err := m.settled(ctx, s.SEID); err != nil {
		return err
	}
	bare := Session{SEID: s.SEID, Owner: s.Owner, CP: s.CP, Slice: s.Slice, URRs: s.URRs}
	if err := m.datapath.Install(ctx, &Change{Session: &bare}); err != nil {
		return err
	}
	var u Usage
	if err := m.datapath.Usage(ctx, s.SEID, &u); err != nil {
		_ = m.datapath.Install(ctx, &Change{Session: s}) // as above
		return err
	}
	now := m.now()
	s.Reports = slices.DeleteFunc(s.Reports, func(r UsageReport) bool { return r.Answered != 0 })
	for i := range s.URRs {
		s.terminate(nil, &s.URRs[i], now, u.of(s.URRs[i].ID))
	}
	for i := range s.Reports {
		s.Reports[i].Answered = now
	}
	r.Reports = append(r.Reports, s.Reports...)
	*s = Session{SEID: s.SEID, Owner: s.Owner, CP: s.CP, Reports: s.Reports, Deleted: now}
	return nil
}
