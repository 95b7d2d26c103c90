package upf

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
)

const (
	traceWriteTime = 5 * time.Second // for a reader to take what it asked for
	traceLeaveTime = time.Second     // for a trace of before, whose caller has gone, to end
	traceTick      = time.Second     // how often counts are told, and sessions looked at anew
)

// traceDesk bounds who traces. Packets are those of users: only root and the user
// of the UPF may look at them, each process at one trace.
type traceDesk struct {
	mu     sync.Mutex
	pids   map[int32]bool
	ending chan struct{} // closed when the API ends
}

func newTraceDesk() *traceDesk {
	return &traceDesk{pids: map[int32]bool{}, ending: make(chan struct{})}
}

// enter admits a caller; leave has to be called when its trace has ended.
func (d *traceDesk) enter(r *http.Request) (who caller, leave func(), err error) {
	who, ok := callerOf(r)
	if !ok || who.Uid != 0 && int(who.Uid) != os.Geteuid() {
		return who, nil, fmt.Errorf("%w: packets of users are shown to root and to the user of the UPF only", ErrForbidden)
	}
	for begin := time.Now(); !d.take(who.Pid); time.Sleep(traceLeaveTime / 100) {
		if r.Context().Err() != nil || time.Since(begin) > traceLeaveTime {
			return who, nil, fmt.Errorf("%w: process %d has a trace already", ErrRequest, who.Pid)
		}
	}
	return who, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.pids, who.Pid)
	}, nil
}

// take reports whether the process had no trace; it has one then.
func (d *traceDesk) take(pid int32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pids[pid] {
		return false
	}
	d.pids[pid] = true
	return true
}

// trace answers with a line for each packet, until the caller goes away.
func (a *localAPI) trace(w http.ResponseWriter, r *http.Request) {
	t, q, end, err := a.openTrace(r)
	if err != nil {
		a.answer(w, r, func(*http.Request) (any, error) { return nil, err })
		return
	}
	defer end()
	out := http.NewResponseController(w)
	// The limits of other requests are not those of this one. Without a deadline
	// for reading, the end of the connection is seen as soon as it comes.
	if err := out.SetReadDeadline(time.Time{}); err != nil {
		a.log.Warn("api", "path", r.URL.Path, "error", err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	s := &traceStream{query: q, trace: t, out: out, lines: plainjson.Lines(w), explainer: explainer{api: a}}
	if err := s.run(r.Context().Done()); err != nil {
		a.log.Debug("trace", "error", err)
	}
}

// openTrace starts what the request asks for.
func (a *localAPI) openTrace(r *http.Request) (datapath.Trace, *TraceQuery, func(), error) {
	tracer, ok := a.forwarder().(datapath.Tracer)
	if !ok {
		return nil, nil, nil, fmt.Errorf("datapath %s shows no packets: %w", a.about.Load().Name, errors.ErrUnsupported)
	}
	q, err := parseTrace(r.URL.Query())
	if err != nil {
		return nil, nil, nil, err
	}
	f := datapath.TraceFilter{All: q.All, Sample: q.Sample, Rate: q.Rate, Snap: q.Snap}
	if f.Reasons, err = DropReasons(q.Drops); err != nil {
		return nil, nil, nil, err
	}
	if f.TraceTargets, err = a.traceTargets(q); err != nil {
		return nil, nil, nil, err
	}
	who, leave, err := a.desk.enter(r)
	if err != nil {
		return nil, nil, nil, err
	}
	t, err := tracer.Trace(f)
	if err != nil {
		leave()
		return nil, nil, nil, err
	}
	a.log.Info("trace", "query", r.URL.RawQuery, "pid", who.Pid, "uid", who.Uid)
	return t, q, func() {
		t.Close()
		leave()
		a.log.Info("trace ended", "counts", t.Counts())
	}, nil
}

// traceTargets returns the TEIDs and UE addresses of what q names, as they are
// now.
func (a *localAPI) traceTargets(q *TraceQuery) (t datapath.TraceTargets, err error) {
	if q.TEID != 0 {
		t.TEIDs = append(t.TEIDs, uint32(q.TEID))
	}
	if q.UE.IsValid() {
		t.UEs = append(t.UEs, q.UE)
	}
	if a.sessions == nil {
		return a.datapathTargets(t, q)
	}
	for _, by := range []SessionQuery{{UEAddress: q.UE}, {SEID: q.SEID}} {
		if !by.isFilter() {
			continue
		}
		s := a.find(by)
		if s == nil && by.SEID != 0 {
			return t, fmt.Errorf("session %s: %w", by.SEID, ErrNotFound)
		}
		if s == nil {
			continue // it may yet come
		}
		row := a.viewRow(s, "")
		for _, teid := range row.TEIDs {
			t.TEIDs = appendNew(t.TEIDs, uint32(teid))
		}
		for _, text := range row.UEAddresses {
			if ue, err := netip.ParseAddr(strings.TrimSuffix(text, "/64")); err == nil {
				t.UEs = appendNew(t.UEs, ue)
			}
		}
	}
	return t, checkTargets(t)
}

func checkTargets(t datapath.TraceTargets) error {
	if len(t.TEIDs) > datapath.MaxTraceKeys || len(t.UEs) > datapath.MaxTraceKeys {
		return fmt.Errorf("%w: %d TEIDs and %d UE addresses: at most %d of each",
			ErrRequest, len(t.TEIDs), len(t.UEs), datapath.MaxTraceKeys)
	}
	return nil
}

// datapathTargets adds to t what a datapath alone knows of the session that q names.
func (a *localAPI) datapathTargets(t datapath.TraceTargets, q *TraceQuery) (datapath.TraceTargets, error) {
	if q.SEID == 0 {
		return t, nil
	}
	d, ok := a.forwarder().(datapath.KeyReporter)
	if !ok {
		return t, fmt.Errorf("datapath %s tells nothing of sessions: %w", a.about.Load().Name, errors.ErrUnsupported)
	}
	keys, err := d.Keys(uint64(q.SEID))
	if err != nil {
		return t, fmt.Errorf("session %s: %w", q.SEID, ErrNotFound)
	}
	for _, k := range keys {
		switch {
		case k.TEID != 0:
			t.TEIDs = appendNew(t.TEIDs, k.TEID)
		case k.IPv4 != 0:
			t.UEs = appendNew(t.UEs, addrFromUint32(k.IPv4))
		case k.IPv6 != 0:
			var b [16]byte
			binary.BigEndian.PutUint64(b[:], k.IPv6)
			t.UEs = appendNew(t.UEs, netip.AddrFrom16(b))
		}
	}
	return t, checkTargets(t)
}

// traceStream is an answer that is being given.
type traceStream struct {
	explainer
	query   *TraceQuery
	trace   datapath.Trace
	out     *http.ResponseController
	lines   *json.Encoder
	targets datapath.TraceTargets
}

// run writes lines until the caller has gone or the UPF ends.
func (s *traceStream) run(gone <-chan struct{}) error {
	tick := time.NewTicker(traceTick)
	defer tick.Stop()
	if err := s.tell(); err != nil { // so that the caller knows that it runs
		return err
	}
	for {
		select {
		case <-gone:
			return nil
		case <-s.api.desk.ending:
			return s.tell()
		case <-tick.C:
			if err := s.follow(); err != nil {
				return err
			}
			if err := s.tell(); err != nil {
				return err
			}
		case p, ok := <-s.trace.Packets():
			if !ok {
				return s.tell()
			}
			if err := s.write(&TraceLine{Packet: s.explain(p)}, len(s.trace.Packets()) == 0); err != nil {
				return err
			}
		}
	}
}

// follow lets the trace go with its session. A session that has gone stays as it
// was.
func (s *traceStream) follow() error {
	t, err := s.api.traceTargets(s.query)
	if err != nil || slices.Equal(t.TEIDs, s.targets.TEIDs) && slices.Equal(t.UEs, s.targets.UEs) {
		return nil
	}
	s.targets = t
	return s.trace.Retarget(t)
}

// tell writes how many packets there were.
func (s *traceStream) tell() error {
	counts := s.trace.Counts()
	return s.write(&TraceLine{Counts: &counts}, true)
}

func (s *traceStream) write(line *TraceLine, flush bool) error {
	if err := s.out.SetWriteDeadline(time.Now().Add(traceWriteTime)); err != nil {
		return err
	}
	if err := s.lines.Encode(line); err != nil {
		return err
	}
	if flush {
		return s.out.Flush()
	}
	return nil
}
