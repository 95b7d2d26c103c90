package n4

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/internal/mmsg"
	"github.com/plumbline-upf/plumbline/pfcp"
)

const (
	loadInterval = 100 * time.Millisecond // between measurements
	loadHold     = time.Second            // for which what is told stays the same, and is told once to a peer
	loadStep     = 5                      // by which it changes at least, in percent
	// overloadAt is how full the queues are, in percent, when new sessions begin
	// to be refused; when they are full, nearly all are.
	overloadAt = 50
	// overloadValidity is for how long a peer holds back without hearing of it
	// again.
	overloadValidity = 10 * time.Second
	// urgentPriority: requests of a Message Priority below are never refused
	// for load; 0 is the highest.
	urgentPriority = 4
)

// load is how busy the endpoint is.
type load struct {
	told      atomic.Pointer[loadInfo]
	reduction atomic.Uint32 // percent of new sessions to be refused
	throttled atomic.Uint32 // adds up reductions, to refuse that many
}

// loadInfo is what peers are told. It never changes.
type loadInfo struct {
	sequence  uint32 // of Load and Overload Control Information
	metric    int    // percent of what we can bear
	reduction int    // percent of requests that we would rather not have
}

// loadSent is what a peer was told last.
type loadSent struct {
	sequence atomic.Uint32
	at       atomic.Int64 // ns since the epoch
}

// due reports whether the peer is to be told, and notes that it is: when there
// is something new, and once in a while, as a response may be lost.
func (s *loadSent) due(sequence uint32, now time.Time) bool {
	at := s.at.Load()
	if s.sequence.Load() == sequence && now.UnixNano()-at < int64(loadHold) {
		return false
	}
	s.sequence.Store(sequence)
	return s.at.CompareAndSwap(at, now.UnixNano())
}

// errCongestion is why a session is refused that would have been possible.
var errCongestion = &pfcp.Error{Cause: pfcp.CausePFCPEntityInCongestion, Err: errors.New("too many requests wait")}

// throttle reports whether an establishment is to be refused, so that those
// who have sessions do not wait.
func (l *load) throttle(h pfcp.Header) bool {
	n := l.reduction.Load()
	if n == 0 || h.MP && h.Priority < urgentPriority {
		return false
	}
	sum := l.throttled.Add(n)
	return sum/100 != (sum-n)/100
}

// measureLoad measures until the endpoint closes.
func (e *Endpoint) measureLoad() {
	ticker := time.NewTicker(loadInterval)
	defer ticker.Stop()
	busy, at := e.counters.busy.Load(), time.Now()
	var used float64 // of the readers' time, smoothed over a second or so
	for {
		select {
		case <-e.run.Done():
			return
		case now := <-ticker.C:
			b := e.counters.busy.Load()
			used += (float64(b-busy)/float64(int64(now.Sub(at))*int64(len(e.readers))) - used) / 8
			busy, at = b, now
			e.setLoad(e.sessionShare(), 100*used, e.backlog(), now)
		}
	}
}

// sessionShare is the percentage of sessions that there can be.
func (e *Endpoint) sessionShare() float64 {
	if e.config.MaxSessions <= 0 {
		return 0
	}
	return 100 * float64(e.sessions.Len()) / float64(e.config.MaxSessions)
}

// backlog is how full the fullest queue of requests is, in percent.
func (e *Endpoint) backlog() float64 {
	var worst float64
	for _, s := range e.sockets {
		if used, size := mmsg.Backlog(s.raw); size > 0 {
			worst = max(worst, float64(used)/float64(size))
		}
	}
	if h := e.handlers; h != nil {
		worst = max(worst, float64(h.octets.Load())/float64(e.config.QueueOctets))
	}
	return 100 * worst
}

// setLoad takes a measurement, all in percent.
func (e *Endpoint) setLoad(sessions, busy, backlog float64, now time.Time) {
	e.loadMu.Lock()
	defer e.loadMu.Unlock()
	reduction := min(max(0, (backlog-overloadAt)*100/(100-overloadAt)), 95)
	e.load.reduction.Store(uint32(reduction))
	next := loadInfo{metric: int(min(max(sessions, busy, backlog), 100)), reduction: int(reduction)}
	old := e.load.told.Load()
	if old == nil {
		// Greater than any of the process before this one: it changed at most
		// once a second.
		next.sequence = uint32(now.Unix())
		e.load.told.Store(&next)
		return
	}
	changed := differ(old.metric, next.metric) || differ(old.reduction, next.reduction)
	if changed && now.Sub(e.loadChanged) >= loadHold {
		next.sequence, e.loadChanged = old.sequence+1, now
		e.load.told.Store(&next)
	}
}

// tellLoad puts into a response what its peer is to be told of our load.
// Source: TS 29.244 V18.6.0, 6.2.3 and 6.2.4.
func (w *worker) tellLoad(m pfcp.Message) {
	var load pfcp.Optional[pfcp.LoadControl]
	var overload pfcp.Optional[pfcp.OverloadControl]
	var features pfcp.CPFunctionFeatures
	for _, a := range w.at.list {
		if a.forms.leave()&LeaveOutLoadControl == 0 {
			features |= pfcp.CPFunctionFeatures(a.features.Load())
		}
	}
	if info := w.e.load.told.Load(); features&(pfcp.CPFeatureLOAD|pfcp.CPFeatureOVRL) != 0 && info != nil && w.at.load.due(info.sequence, w.now) {
		load = pfcp.Optional[pfcp.LoadControl]{
			Value:   pfcp.LoadControl{SequenceNumber: info.sequence, Metric: pfcp.Metric(info.metric)},
			Present: features&pfcp.CPFeatureLOAD != 0,
		}
		overload = pfcp.Optional[pfcp.OverloadControl]{
			Value: pfcp.OverloadControl{
				SequenceNumber: info.sequence, Metric: pfcp.Metric(info.reduction), Flags: pfcp.OCIAOCI,
				PeriodOfValidity: pfcp.NewTimer(overloadValidity),
			},
			Present: features&pfcp.CPFeatureOVRL != 0,
		}
	}
	switch r := m.(type) {
	case *pfcp.SessionEstablishmentResponse:
		r.LoadControl, r.OverloadControl = load, overload
	case *pfcp.SessionModificationResponse:
		r.LoadControl, r.OverloadControl = load, overload
	case *pfcp.SessionDeletionResponse:
		r.LoadControl, r.OverloadControl = load, overload
	}
}

// differ reports whether a change is worth telling.
func differ(a, b int) bool { return a != b && (b == 0 || max(a-b, b-a) >= loadStep) }
