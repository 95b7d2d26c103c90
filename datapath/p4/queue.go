package p4

import "context"

// Who works at which session: one at a time.

// enqueue has a session looked at; mu is held.
func (o *offload) enqueue(s *session) {
	switch s.state {
	case waiting:
		return
	case busy:
		s.again = true
		return
	case apart:
		s.state = waiting
	}
	o.queue = append(o.queue, s.seid)
	o.changed.Broadcast()
}

// hold waits until nobody works at a session, and keeps others from it; nil: it is not known.
// release is to be called.
func (o *offload) hold(seid uint64) (s *session, was state) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if s = o.sessions[seid]; s == nil {
			return nil, apart
		}
		if s.state != busy {
			was, s.state = s.state, busy
			return s, was
		}
		o.changed.Wait()
	}
}

// holdNew does so with a session that is made if it is not known.
func (o *offload) holdNew(seid uint64) (s *session, was state) {
	for {
		o.mu.Lock()
		if o.sessions[seid] == nil {
			s = &session{seid: seid, state: busy}
			o.sessions[seid] = s
			o.mu.Unlock()
			return s, apart
		}
		o.mu.Unlock()
		if s, was = o.hold(seid); s != nil {
			return s, was
		}
	}
}

// release ends hold: the session is in a state.
func (o *offload) release(s *session, to state) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(s, to)
}

func (o *offload) put(s *session, to state) {
	s.state = to
	if s.again {
		s.again = false
		o.enqueue(s)
	}
	o.changed.Broadcast()
}

// all returns the sessions that are so.
func (o *offload) all(is func(s *session) bool) []uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []uint64
	for seid, s := range o.sessions {
		if is(s) {
			all = append(all, seid)
		}
	}
	return all
}

// with holds those of the sessions that are installed while do is called.
func (o *offload) with(seids []uint64, do func(all []*session) error) error {
	o.mu.Lock()
	var all []*session
	for _, seid := range seids {
		if s := o.sessions[seid]; s != nil && s.state == installed {
			s.state = busy
			all = append(all, s)
		}
	}
	o.mu.Unlock()
	err := do(all)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range all {
		o.put(s, installed)
	}
	return err
}

// flush waits until everything that can be in the target is.
func (o *offload) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.closed && o.away == nil && !o.holds && o.working() {
		o.changed.Wait()
	}
}

func (o *offload) working() bool {
	if len(o.queue) > 0 {
		return true
	}
	for _, s := range o.sessions {
		if s.state == busy || s.state == waiting {
			return true
		}
	}
	return false
}

// run puts sessions into the target until close.
func (o *offload) run(ctx context.Context) {
	for {
		all, was, ok := o.next()
		if !ok {
			return
		}
		if err := o.install(ctx, all, was); err != nil {
			o.lose(err)
		}
	}
}

// next waits for sessions to be looked at, and holds them.
func (o *offload) next() (all []*session, was []state, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for len(o.queue) > 0 && len(all) < batch && o.away == nil && !o.holds {
			s := o.sessions[o.queue[0]]
			o.queue = o.queue[1:]
			switch {
			case s == nil:
			case s.state == busy:
				s.again = true
			default:
				all, was = append(all, s), append(was, s.state)
				s.state = busy
			}
		}
		if len(all) > 0 || o.closed {
			return all, was, !o.closed
		}
		o.changed.Wait()
	}
}

func (o *offload) busy() bool {
	for _, s := range o.sessions {
		if s.state == busy {
			return true
		}
	}
	return false
}
