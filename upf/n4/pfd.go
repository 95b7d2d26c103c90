package n4

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// pfds are the Packet Flow Descriptions that CP functions have provisioned.
// Sessions of all CP functions may name the applications.
type pfds struct {
	mu     sync.Mutex // held while they are changed, also in the datapath
	apps   map[string]*application
	lastID uint64 // of a record
}

// application is what is provisioned under one Application ID.
type application struct {
	id       uint64 // of its record
	provider string // Node ID of the CP function, as text
	flows    []flow
	octets   int // see [pfdOctets]
}

// maxFlows bounds the PFDs of one application, maxAppID the octets of its name.
const maxFlows, maxAppID = 256, 255

var (
	errPFDCount  = errors.New("too many PFDs")
	errPFDOctets = errors.New("PFDs exceed the limit of octets")
)

// managePFDs answers a PFD Management Request. Each Application ID that it has
// gets the PFDs that it says in place of those it had; without any, all that
// this CP function has provisioned are removed.
// Source: TS 29.244 V18.6.0, 6.2.5 and 7.4.3.
func (w *worker) managePFDs(r nodeRequest) {
	var m pfcp.PFDManagementRequest
	if err := m.Decode(r.body); err != nil {
		w.refuse(r.src, r.head, err)
		return
	}
	a := w.provider(m.NodeID)
	if a == nil {
		w.refuse(r.src, r.head, errNoAssociation)
		return
	}
	e, provider := w.e, a.node.String()
	change, err := pfdChange(&m)
	if err != nil {
		w.refuse(r.src, r.head, err)
		return
	}
	var failed error
	w.after(r, func() {
		if len(change) == 0 {
			failed = e.removePFDs(provider)
			return
		}
		failed = e.provision(provider, change)
	}, func(b []byte) []byte {
		if errors.Is(failed, errPFDCount) || errors.Is(failed, errPFDOctets) {
			w := newWorker(e, nil)
			w.refuse(r.src, r.head, failed)
			return append(b, w.buf...)
		}
		cause := pfcp.CauseRequestAccepted
		if failed != nil {
			cause = pfcp.CauseSystemFailure
			e.log.event(kindRefused, slog.LevelWarn, "n4: not all sessions have the new PFDs", "node", provider, "error", failed)
		}
		return e.append(b, r.head, 0, &pfcp.PFDManagementResponse{Cause: cause}, cause)
	})
}

// provider is the association whose PFDs a request is about: that of the Node
// ID, or the first one of its source.
func (w *worker) provider(id pfcp.Optional[pfcp.NodeID]) *association {
	switch {
	case w.at == nil:
		return nil
	case id.Present:
		return w.e.peers.spokenFor(id.Value, w.src.Addr())
	}
	return w.at.list[0]
}

// pfdChange is what a request provisions: the flows of each application. All of
// it is looked at before anything changes.
func pfdChange(m *pfcp.PFDManagementRequest) (map[string][]flow, error) {
	change := make(map[string][]flow, len(m.Applications))
	for i := range m.Applications {
		app := &m.Applications[i]
		flows, err := pfdFlows(app)
		if err != nil {
			return nil, fmt.Errorf("application %q: %w", app.ApplicationID, err)
		}
		change[string(app.ApplicationID)] = flows
	}
	return change, nil
}

// pfdFlows lists the flows of one application.
func pfdFlows(app *pfcp.ApplicationPFDs) (flows []flow, err error) {
	if len(app.ApplicationID) > maxAppID {
		return nil, pfdError(pfcp.CauseNoResourcesAvailable, errPFDCount)
	}
	for _, c := range app.Contexts {
		for i := range c.Contents {
			if flows, err = pfdContents(flows, &c.Contents[i]); err != nil {
				return nil, pfdError(pfcp.CauseServiceNotSupported, err)
			}
		}
	}
	if len(flows) > maxFlows {
		return nil, pfdError(pfcp.CauseNoResourcesAvailable, errPFDCount)
	}
	if _, err := filters(flows); err != nil {
		return nil, pfdError(pfcp.CauseServiceNotSupported, err)
	}
	return flows, nil
}

func pfdError(cause pfcp.Cause, err error) error {
	return &pfcp.Error{Cause: cause, OffendingIE: pfcp.IEPFDContents, In: "PFD Management Request", Err: err}
}

// flowOctets is what a flow costs beside its text.
const flowOctets = 64

// pfdOctets is how much the PFDs of an application are.
func pfdOctets(name string, flows []flow) int {
	n := len(name)
	for _, f := range flows {
		n += flowOctets + len(f.description) + len(f.host) + len(f.path)
	}
	return n
}

// room reports by an error that there would be too many applications, or that the PFDs of
// the CP function, or of all, would be too long. What makes them less always has room. The
// caller holds mu until they have changed.
func (p *pfds) room(provider string, change map[string][]flow, c *Config) error {
	apps, added, own, all := len(p.apps), 0, 0, 0
	for _, app := range p.apps {
		if app.provider == provider {
			own += app.octets
		}
		all += app.octets
	}
	for name, flows := range change {
		n := pfdOctets(name, flows)
		old := p.apps[name]
		switch {
		case len(flows) == 0 && old == nil:
			continue
		case len(flows) == 0:
			n = 0
			apps--
		case old == nil:
			apps++
		}
		if old != nil {
			all -= old.octets
			added -= old.octets
			if old.provider == provider {
				own -= old.octets
			}
		}
		own, all, added = own+n, all+n, added+n
	}
	switch {
	case apps > c.MaxApplications:
		return pfdError(pfcp.CauseNoResourcesAvailable, errPFDCount)
	case added > 0 && (own > c.MaxPFDOctetsPerPeer || all > c.MaxPFDOctets):
		return pfdError(pfcp.CauseNoResourcesAvailable, errPFDOctets)
	}
	return nil
}

// provision changes the PFDs of applications, here, in the store and in the
// datapath.
//
// Errors: [errPFDCount], [errPFDOctets]; nothing has changed then.
func (e *Endpoint) provision(provider string, change map[string][]flow) error {
	e.pfds.mu.Lock()
	defer e.pfds.mu.Unlock()
	if err := e.pfds.room(provider, change, &e.config); err != nil {
		return err
	}
	var failed []error
	for _, name := range slices.Sorted(maps.Keys(change)) {
		failed = append(failed, e.setPFDs(name, &application{provider: provider, flows: change[name]}))
	}
	return errors.Join(failed...)
}

// removePFDs removes all PFDs of a CP function.
func (e *Endpoint) removePFDs(provider string) error {
	e.pfds.mu.Lock()
	defer e.pfds.mu.Unlock()
	var failed []error
	for name, app := range e.pfds.apps {
		if app.provider == provider {
			failed = append(failed, e.setPFDs(name, &application{provider: provider}))
		}
	}
	return errors.Join(failed...)
}

// setPFDs changes the PFDs of one application; no flows: it is forgotten. The
// caller holds pfds.mu.
func (e *Endpoint) setPFDs(name string, app *application) error {
	p := &e.pfds
	list, err := filters(app.flows)
	if err != nil {
		return err
	}
	old := p.apps[name]
	switch {
	case old != nil:
		app.id = old.id
	case app.id == 0:
		p.lastID++
		app.id = p.lastID
	}
	if len(app.flows) == 0 {
		delete(p.apps, name)
		e.store.Drop(KindPFDs, app.id)
	} else {
		if p.apps == nil {
			p.apps = make(map[string]*application)
		}
		app.octets = pfdOctets(name, app.flows)
		p.apps[name] = app
		e.store.Save(KindPFDs, app.id, app.record(name))
	}
	return e.sessions.SetPFDs(e.run, name, list)
}

// record is the application as it is kept.
func (app *application) record(name string) []byte {
	b := appendShort([]byte{recordVersion}, []byte(app.provider))
	b = appendShort(b, []byte(name))
	b = binary.BigEndian.AppendUint16(b, uint16(len(app.flows)))
	for _, f := range app.flows {
		text := f.String()
		b = binary.BigEndian.AppendUint16(b, uint16(len(text)))
		b = append(b, text...)
	}
	return b
}

// readPFDs reads a record of kind KindPFDs.
func readPFDs(id uint64, record []byte) (name string, app *application, err error) {
	r := recordReader{b: record}
	v := r.u8()
	app = &application{id: id, provider: string(r.short())}
	name = string(r.short())
	n := int(r.u16())
	for range min(n, maxFlows) {
		f, ok := readFlow(string(r.take(int(r.u16()))))
		r.bad = r.bad || !ok
		app.flows = append(app.flows, f)
	}
	if v != recordVersion || r.bad || len(r.b) > 0 || n > maxFlows || n == 0 || id == 0 {
		return "", nil, fmt.Errorf("PFDs %d of %d octets: %w", id, len(record), errRecord)
	}
	return name, app, nil
}

// restorePFDs takes a record of the store.
func (e *Endpoint) restorePFDs(id uint64, record []byte) error {
	name, app, err := readPFDs(id, record)
	if err != nil {
		return err
	}
	e.pfds.mu.Lock()
	defer e.pfds.mu.Unlock()
	e.pfds.lastID = max(e.pfds.lastID, id)
	return e.setPFDs(name, app)
}
