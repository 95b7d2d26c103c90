package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// tables are what sessions name and have from elsewhere.
type tables struct {
	slices     *sliceTable
	predefined map[string]*PredefinedRule

	mu   sync.RWMutex
	apps map[string][]SDFFilter // flows by Application ID; the filters never change
}

func (t *tables) init(rules []PredefinedRule, s *sliceTable) error {
	t.slices, t.predefined, t.apps = s, make(map[string]*PredefinedRule), make(map[string][]SDFFilter)
	for i := range rules {
		if name := rules[i].Name; name == "" || t.predefined[name] != nil {
			return fmt.Errorf("predefined rule %q: a name that no other has is needed", name)
		}
		t.predefined[rules[i].Name] = &rules[i]
	}
	return nil
}

// flows returns the flows of an application.
func (t *tables) flows(app string) ([]SDFFilter, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	f, ok := t.apps[app]
	return f, ok
}

// SetPFDs replaces the flows of an application; none: the application is not
// known any more, and PDRs that name it match nothing. It returns when all
// sessions that name it have them in the datapath. Errors: those of the
// sessions that have not.
// Source: TS 29.244 V18.6.0, 5.11.4 and 6.2.5.
func (m *Manager) SetPFDs(ctx context.Context, app string, flows []SDFFilter) error {
	m.tables.mu.Lock()
	if len(flows) == 0 {
		delete(m.tables.apps, app)
	} else {
		m.tables.apps[app] = copyFilters(nil, flows)
	}
	m.tables.mu.Unlock()

	var failed []error
	r := new(Result)
	for seid := range m.seids(func(record []byte) bool { return recordTraits(record)&traitApplications != 0 }) {
		if err := m.reinstall(ctx, seid, app, r); err != nil {
			failed = append(failed, fmt.Errorf("session %#x: %w", seid, err))
		}
	}
	return errors.Join(failed...)
}

// Applications returns how many applications have flows.
func (m *Manager) Applications() int {
	m.tables.mu.RLock()
	defer m.tables.mu.RUnlock()
	return len(m.tables.apps)
}

// reinstall gives the datapath a session again, if it names the application.
func (m *Manager) reinstall(ctx context.Context, seid uint64, app string, r *Result) error {
	e, err := m.lock(seid, 0, r)
	if err != nil {
		return nil // it has gone meanwhile
	}
	defer e.change.Unlock()
	for i := range r.old.PDRs {
		if r.old.PDRs[i].PDI.ApplicationID == app {
			r.change = Change{Session: &r.old}
			return m.datapath.Install(ctx, &r.change)
		}
	}
	return nil
}
