package rancmd

import (
	"cmp"
	"context"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// heartbeatEvery is how often the SMF of plumb gnb --n4 asks whether the UPF is there: UEs
// have no traffic from when a UPF has lost their sessions until then.
const heartbeatEvery = 5 * time.Second

// uplinks is the gNB whose UEs' sessions the SMF keeps.
type uplinks interface {
	SetUplink(ue int, teid uint32, upf netip.Addr) error
	Stats() gnb.Stats
}

// keep watches over the sessions of a gNB until stop is called. nil: they are somebody
// else's.
func (s *smf) keep(ctx context.Context, g uplinks) (stop func()) {
	if s == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); s.watch(ctx, g) }()
	return func() { cancel(); <-ended }
}

// watch keeps the sessions of a gNB until ctx ends: where the UPF has lost them, or asks for
// the release of the association, they are set up anew and their uplinks led there.
//
// Source: TS 29.244 V18.6.0, 6.2.2, 6.2.6.3 and 6.2.7.3; TS 23.527 V18, 4.2.
func (s *smf) watch(ctx context.Context, g uplinks) {
	w := &watcher{smf: s, g: g}
	timer := time.NewTicker(s.every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.wake:
		}
		w.look(ctx)
	}
}

// watcher is what an SMF has seen of its UPF.
type watcher struct {
	*smf
	g           uplinks
	silent      bool   // it did not answer the last heartbeat
	lost        string // why there is no association, or not all sessions; "": there are
	said        bool   // that they cannot be set up
	indications uint64 // that the gNB had got before
}

// look sends a heartbeat and does what its answer, or what has been told meanwhile, asks for.
func (w *watcher) look(ctx context.Context) {
	if w.releasing.Swap(false) {
		w.release(ctx)
		return // the UPF is about to stop: it is asked again later
	}
	stamp, err := w.client.Heartbeat(ctx)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil && w.silent:
		return
	case err != nil:
		w.silent = true
		w.log.Warn("UPF does not answer heartbeats; they go on", "n4", w.upf, "every", w.every, "error", err)
		return
	case w.silent:
		w.silent = false
		w.doubt.Store(true)
		w.log.Info("UPF answers heartbeats again", "n4", w.upf)
	}
	if n := w.g.Stats().N3.ErrorIndications; n != w.indications {
		w.indications = n
		w.doubt.Store(true)
	}
	if stamp != w.client.Recovery() {
		w.lost, w.associated = cmp.Or(w.lost, "UPF has lost all sessions"), false
	} else if w.lost == "" && w.doubt.Swap(false) {
		w.ask(ctx)
	}
	if w.lost != "" {
		w.renew(ctx)
	}
}

// release does what a UPF asks for that is about to stop.
func (w *watcher) release(ctx context.Context) {
	w.log.Info("UPF asks for the release of the association", "n4", w.upf, "sessions", len(w.established()))
	err := w.client.Release(ctx) // the sessions go with it
	w.lost, w.associated, w.sessions = "UPF had asked for the release of the association", false, nil
	if err != nil && ctx.Err() == nil {
		w.log.Warn("association not released", "n4", w.upf, "error", err)
	}
}

// ask modifies all sessions to what they are, to see whether the UPF has them.
func (w *watcher) ask(ctx context.Context) {
	for i := range w.sessions {
		report, err := w.client.Modify(ctx, w.template(i), w.sessions[i:i+1])
		if report.Refused[pfcp.CauseSessionContextNotFound]+report.Refused[pfcp.CauseNoEstablishedPFCPAssociation] > 0 {
			w.lost, w.associated = "UPF has lost sessions", false
			return
		}
		if err != nil { // that says nothing
			w.doubt.Store(true)
			return
		}
	}
}

// renew sets up what is lost. What fails is tried again after the next heartbeat.
func (w *watcher) renew(ctx context.Context) {
	err := w.setUp(ctx, w.g)
	switch {
	case err == nil:
		w.log.Info(w.lost+": association and sessions are set up anew", "n4", w.upf, "sessions", len(w.sessions))
		w.lost, w.said = "", false
		w.doubt.Store(false)
	case ctx.Err() == nil && !w.said:
		w.said = true
		w.log.Warn(w.lost+", and not all can be set up anew; it is tried again", "n4", w.upf,
			"sessions", len(w.established()), "of", len(w.config.UEs), "error", err)
	}
}

// told takes what the UPF says of its own accord. It is called by the client's thread.
func (s *smf) told(h pfcp.Header, m pfcp.Message) {
	switch m := m.(type) {
	case *pfcp.SessionReportRequest:
		s.reported(h.SEID, m)
		return
	case *pfcp.AssociationUpdateRequest:
		if m.AssociationRelease&pfcp.AssociationReleaseSARR == 0 {
			return
		}
		s.releasing.Store(true)
	case *pfcp.AssociationSetupRequest: // from a UPF that has none, so no sessions
		s.doubt.Store(true)
	}
	s.hurry()
}

// reported takes a report about a session.
func (s *smf) reported(seid uint64, m *pfcp.SessionReportRequest) {
	ue := &s.config.UEs[seid-1]
	if len(m.ErrorIndication) > 0 {
		f := m.ErrorIndication[0]
		s.log.Warn("UPF reports an Error Indication: a gNB does not know a downlink tunnel; another program may have its address",
			"ue", ue.Name, "downlink_teid", f.TEID, "gnb", f.IPv4)
	}
	if m.SRReqFlags&pfcp.SRReqPSDBU != 0 {
		s.doubt.Store(true)
		s.hurry()
	}
}

// hurry has the UPF asked now.
func (s *smf) hurry() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
