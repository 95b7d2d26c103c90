package session

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
)

// What the CP function of a [usageWorld] does.

func (w *usageWorld) establish() {
	w.ues++
	e := establishment(IPv4{10, 45, byte(w.ues >> 8), byte(w.ues)})
	e.CP.SEID = uint64(w.r.Uint32())
	for i := range 1 + w.r.IntN(3) {
		e.CreateURRs = append(e.CreateURRs, w.urr(uint32(i+1)))
	}
	for i := range e.CreatePDRs {
		e.CreatePDRs[i].URRIDs = w.some(3, len(e.CreateURRs))
	}
	var r Result
	if err := w.m.Establish(context.Background(), e, &r); err != nil {
		w.t.Error(err)
		return
	}
	seid := r.Session.SEID
	if w.m.flush(context.Background()) == nil {
		w.sessions, w.known[seid] = append(w.sessions, seid), true
	}
}

// urr is any URR.
func (w *usageWorld) urr(id uint32) URR {
	u := URR{ID: id, Method: MeasureVolume | MeasureDuration, Triggers: ReportVOLTH, VolumeThreshold: total(1 + w.r.Uint64N(5000))}
	if w.r.IntN(2) == 0 {
		u.Triggers |= ReportVOLQU
		u.VolumeQuota = total(w.r.Uint64N(20000))
	}
	if w.r.IntN(2) == 0 {
		u.Triggers |= ReportPERIO
		u.MeasurementPeriod = 1 + w.r.Uint32N(10)
	}
	if w.r.IntN(2) == 0 {
		u.Triggers |= ReportSTART | ReportSTOPT | ReportQUHTI
		u.InactivityDetectionTime, u.QuotaHoldingTime = 3, 5
	}
	if w.r.IntN(2) == 0 && id != 1 {
		u.Triggers |= ReportLIUSA
		u.LinkedURRs = []uint32{1}
	}
	if w.r.IntN(4) == 0 {
		u.MonitoringTime = w.now + w.r.Int64N(30*second)
	}
	return u
}

// some lists up to n of the numbers from 1 to limit.
func (w *usageWorld) some(n, limit int) (list []uint32) {
	for range w.r.IntN(n + 1) {
		if id := 1 + w.r.Uint32N(uint32(limit)); !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// modify asks for any change of URRs. The CP function hears the answer unless the
// process ends before it is sent: a lost answer is sent again.
func (w *usageWorld) modify(seid uint64) {
	s := w.m.Get(seid)
	if s == nil {
		return
	}
	req := &Modification{SEID: seid, Owner: 1, QueryAll: w.r.IntN(4) == 0}
	for i := range s.URRs {
		u := &s.URRs[i]
		switch n := w.r.IntN(6); {
		case n == 0 && u.ID != 1: // others are linked to it
			req.RemoveURRs = append(req.RemoveURRs, u.ID)
		case n == 1:
			req.RemoveURRs = append(req.RemoveURRs, u.ID)
			req.CreateURRs = append(req.CreateURRs, w.urr(u.ID))
		case n == 2:
			req.UpdateURRs = append(req.UpdateURRs, UpdateURR{ID: u.ID, VolumeQuota: Some(total(w.r.Uint64N(20000)))})
		case n == 3:
			req.QueryURRs = append(req.QueryURRs, u.ID)
		}
	}
	for id := uint32(1); id <= 3; id++ {
		if s.URR(id) == nil && w.r.IntN(2) == 0 {
			req.CreateURRs = append(req.CreateURRs, w.urr(id))
		}
	}
	for i := range s.PDRs {
		ids := []uint32{}
		for id := uint32(1); id <= 3; id++ {
			created := slices.ContainsFunc(req.CreateURRs, func(u URR) bool { return u.ID == id })
			if (created || s.URR(id) != nil && !slices.Contains(req.RemoveURRs, id)) && w.r.IntN(2) == 0 {
				ids = append(ids, id)
			}
		}
		req.UpdatePDRs = append(req.UpdatePDRs, UpdatePDR{ID: s.PDRs[i].ID, URRIDs: ids})
	}
	before := maps.Clone(w.counted)
	killed := w.run(func() {
		var r Result
		if err := w.m.Modify(context.Background(), req, &r); err != nil {
			w.t.Errorf("modification: %v", err)
			return
		}
		w.answer(seid, &r)
	})
	if !killed {
		return
	}
	// What a URR counted that the request would have created, had it been done, is
	// nobody's.
	now := w.m.Get(seid)
	for i := range req.CreateURRs {
		if id := req.CreateURRs[i].ID; s.URR(id) == nil && now.URR(id) == nil {
			at := [2]uint64{seid, uint64(id)}
			w.counted[at] = before[at]
		}
	}
}

// delete deletes a session. If the process ends before the answer is heard, the
// request is sent again to the next one.
func (w *usageWorld) delete(seid uint64) {
	done := func() {
		var r Result
		err := w.m.Delete(context.Background(), seid, 1, &r)
		if err != nil {
			w.t.Errorf("deletion: %v", err)
			return
		}
		w.answer(seid, &r)
	}
	w.sessions = slices.DeleteFunc(w.sessions, func(s uint64) bool { return s == seid })
	w.deleted++
	for w.run(done) {
		w.fuse = w.r.IntN(10) - 1
	}
}

// answer sends a response: flushed first, then heard, unless the process ends in
// between.
func (w *usageWorld) answer(seid uint64, r *Result) {
	if err := w.m.flush(context.Background()); err != nil {
		w.t.Error(err)
		return
	}
	w.call()
	w.hear(seid, r.Reports)
}

// tell is what the process does when it has time: what waits is flushed and told,
// and the CP function's answers are heard or not.
func (w *usageWorld) tell() {
	if err := w.m.settle(context.Background()); err != nil {
		w.t.Error(err)
	}
	for _, seid := range slices.Sorted(maps.Keys(w.toldSince)) {
		delete(w.toldSince, seid)
		w.report(seid)
	}
}

// report sends a Session Report Request until it is answered.
func (w *usageWorld) report(seid uint64) {
	var waiting Waiting
	if w.m.Waiting(context.Background(), seid, &waiting) != nil || len(waiting.Reports) == 0 {
		return
	}
	n := min(len(waiting.Reports), 5)
	for {
		w.call()
		if w.r.IntN(3) != 0 {
			w.hear(seid, waiting.Reports[:n])
			break
		}
		// Lost on the way, or the answer: it is sent again, and heard once more.
		if w.r.IntN(2) == 0 {
			w.hear(seid, waiting.Reports[:n])
		}
	}
	w.m.Acknowledge(seid, waiting.Reports[:n])
	w.toldSince[seid] = true // until nothing waits
}

// hear is what the CP function does with a report: it keeps the first one of each
// UR-SEQN, and the others have to say the same.
func (w *usageWorld) hear(seid uint64, reports []UsageReport) {
	for _, r := range reports {
		k := heardReport{seid, r.URRID, r.SEQN, r.Start}
		r.Answered = 0
		if was, ok := w.heard[k]; ok {
			w.repeated++
			if !reflect.DeepEqual(was, r) {
				w.t.Errorf("UR-SEQN %d of URR %d told twice:\n%+v\n%+v", r.SEQN, r.URRID, was, r)
			}
		}
		w.heard[k] = r
	}
}

// finish ends all traffic, asks for what was used, and hears all of it.
func (w *usageWorld) finish() {
	w.loading = true
	for _, seid := range slices.Clone(w.sessions) {
		var r Result
		if err := w.m.Modify(context.Background(), &Modification{SEID: seid, Owner: 1, QueryAll: true}, &r); err != nil {
			if errors.Is(err, ErrNoSession) {
				w.t.Errorf("session %#x is lost: %v", seid, err)
			}
			w.t.Error(err)
			continue
		}
		w.hear(seid, r.Reports)
		w.toldSince[seid] = true
	}
	for len(w.toldSince) > 0 {
		w.tell()
	}
}

// check compares what was heard with what was counted.
func (w *usageWorld) check() {
	sum := map[[2]uint64]Counts{}
	for k, r := range w.heard {
		at := [2]uint64{k.seid, uint64(k.urr)}
		sum[at] = plus(sum[at], r.Usage)
	}
	for at, want := range w.counted {
		if got := sum[at]; got != want && w.known[at[0]] {
			w.t.Errorf("session %#x, URR %d: %+v reported, %+v counted", at[0], at[1], got, want)
		}
	}
}
