package upf

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// localAPI answers the requests to the local API. All but one only read: what they
// ask for is either immutable (sessions) or a copy. The one that moves sessions to
// another datapath is a POST.
type localAPI struct {
	*Service
	index seidIndex
	desk  *traceDesk
	log   *slog.Logger
}

// routes returns the handler of the local API. Of a datapath alone there is nothing
// about sessions.
func (a *localAPI) routes() http.Handler {
	mux := http.NewServeMux()
	answers := map[string]func(*http.Request) (any, error){
		pathSessions:             a.sessionPage,
		pathSessions + "/{seid}": a.oneSession,
		pathAssociations:         a.associations,
		pathSlices:               a.slices,
		pathDatapath:             a.describe,
		pathPeers:                a.peers,
		pathDrops:                a.drops,
		pathConfig:               a.configuration,
	}
	if a.sessions == nil {
		for _, path := range []string{pathSessions, pathSessions + "/{seid}", pathAssociations, pathSlices} {
			answers[path] = notOfDatapath
		}
	}
	for path, answer := range answers {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { a.answer(w, r, answer) })
	}
	mux.HandleFunc("GET "+pathTrace, a.trace)
	mux.HandleFunc("POST "+pathMove, func(w http.ResponseWriter, r *http.Request) {
		endless(w)
		a.answer(w, r, a.move)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		a.answer(w, r, func(*http.Request) (any, error) { return nil, fmt.Errorf("%s: %w", r.URL.Path, ErrNotFound) })
	})
	return mux
}

// notOfDatapath answers what only a control plane knows.
func notOfDatapath(*http.Request) (any, error) {
	return nil, fmt.Errorf("this process is a datapath: sessions, associations and slices are known to 'plumb n4' (--socket): %w",
		errors.ErrUnsupported)
}

// ErrRequest is wrapped by what is wrong with a request itself.
var ErrRequest = errors.New("bad request")

// answer writes what f says, as JSON.
func (a *localAPI) answer(w http.ResponseWriter, r *http.Request, f func(*http.Request) (any, error)) {
	v, err := f(r)
	status := http.StatusOK
	switch {
	case err == nil:
	case errors.Is(err, ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, ErrRefused):
		status = http.StatusConflict
	case errors.Is(err, ErrRequest):
		status = http.StatusBadRequest
	case errors.Is(err, ErrForbidden):
		status = http.StatusForbidden
	case errors.Is(err, errors.ErrUnsupported):
		status = http.StatusNotImplemented
	case errors.Is(err, datapath.ErrTraces):
		status = http.StatusTooManyRequests
	default:
		status = http.StatusInternalServerError
		if r.URL.Path != pathMove { // whose errors Move has logged
			a.log.Warn("api", "path", r.URL.Path, "error", err)
		}
	}
	if err != nil {
		v = problem{Error: err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := plainjson.Lines(w).Encode(v); err != nil {
		a.log.Debug("api answer not delivered", "path", r.URL.Path, "error", err)
	}
}

// parseQuery reads what [SessionQuery.values] wrote. Keys that there are not
// are refused, so that a misspelt filter does not select everything.
func parseQuery(v url.Values) (SessionQuery, error) {
	q := SessionQuery{Limit: DefaultPage}
	for key, list := range v {
		var err error
		text := list[0]
		switch key {
		case "ue":
			q.UEAddress, err = netip.ParseAddr(text)
		case "teid":
			err = q.TEID.UnmarshalText([]byte(text))
		case "seid":
			err = q.SEID.UnmarshalText([]byte(text))
		case "limit":
			q.Limit, err = strconv.Atoi(text)
		case "start":
			q.Start = text
		default:
			err = errors.New("no such filter")
		}
		if err != nil {
			return q, fmt.Errorf("%w: %s=%q: %w", ErrRequest, key, text, err)
		}
	}
	if q.Limit < 1 || q.Limit > MaxPage {
		return q, fmt.Errorf("%w: limit=%d: want 1 to %d", ErrRequest, q.Limit, MaxPage)
	}
	return q, nil
}

func (a *localAPI) sessionPage(r *http.Request) (any, error) {
	q, err := parseQuery(r.URL.Query())
	if err != nil {
		return nil, err
	}
	nodes := a.nodeIDs()
	page := SessionPage{Total: a.sessions.Len(), Sessions: []SessionRow{}}
	if q.isFilter() {
		if s := a.find(q); s != nil {
			page.Sessions = append(page.Sessions, a.viewRow(s, nodes[s.Owner]))
		}
		return page, nil
	}
	start := SEID(0)
	if q.Start != "" {
		if err := start.UnmarshalText([]byte(q.Start)); err != nil {
			return nil, fmt.Errorf("%w: start: %w", ErrRequest, err)
		}
	}
	for s := range a.index.from(a.sessions, uint64(start)) {
		if len(page.Sessions) == q.Limit {
			page.Next = SEID(s.SEID).String()
			break
		}
		page.Sessions = append(page.Sessions, a.viewRow(s, nodes[s.Owner]))
	}
	return page, nil
}

func (q SessionQuery) isFilter() bool { return q.UEAddress.IsValid() || q.TEID != 0 || q.SEID != 0 }

// find returns the session that every filter in q selects, or nil. TEIDs, SEIDs
// and UE addresses belong to one session each.
func (a *localAPI) find(q SessionQuery) *session.Session {
	var found *session.Session
	for _, f := range []struct {
		set  bool
		look func() *session.Session
	}{
		{q.SEID != 0, func() *session.Session { return a.sessions.Get(uint64(q.SEID)) }},
		{q.TEID != 0, func() *session.Session { return a.sessions.ByFTEID(session.FTEID{TEID: uint32(q.TEID)}) }},
		{q.UEAddress.IsValid(), func() *session.Session { return a.sessions.ByUEAddress(ueAddress(q.UEAddress)) }},
	} {
		if !f.set {
			continue
		}
		s := f.look()
		if s == nil || found != nil && found.SEID != s.SEID {
			return nil
		}
		found = s
	}
	return found
}

func ueAddress(a netip.Addr) session.UEAddress {
	if a = a.Unmap(); a.Is4() {
		return session.UEAddress{IPv4: a.As4()}
	}
	ip := a.As16()
	return session.UEAddress{IPv6Prefix: session.IPv6Prefix(ip[:8])}
}

func (a *localAPI) oneSession(r *http.Request) (any, error) {
	var seid SEID
	if err := seid.UnmarshalText([]byte(r.PathValue("seid"))); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	s := a.sessions.Get(uint64(seid))
	if s == nil {
		return nil, fmt.Errorf("session %s: %w", seid, ErrNotFound)
	}
	// Between the two the session may go: then nothing was counted.
	usage, err := a.driver.Usage(s.SEID)
	if err != nil && !errors.Is(err, datapath.ErrNoSession) {
		return nil, fmt.Errorf("session %s: %w", seid, err)
	}
	return a.viewSession(s, a.nodeIDs()[s.Owner], usage), nil
}
