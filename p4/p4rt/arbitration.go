package p4rt

import (
	"cmp"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// compare orders election ids; none is the lowest.
func (e electionID) compare(o electionID) int {
	switch {
	case !e.set || !o.set:
		return cmp.Compare(b2i(e.set), b2i(o.set))
	case e.high != o.high:
		return cmp.Compare(e.high, o.high)
	}
	return cmp.Compare(e.low, o.low)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func readElection(u *p4.Uint128) electionID {
	return electionID{u != nil, u.GetHigh(), u.GetLow()}
}

func (e electionID) message() *p4.Uint128 {
	if !e.set {
		return nil
	}
	return &p4.Uint128{High: e.high, Low: e.low}
}

// arbitrate does what a MasterArbitrationUpdate asks for. The error is what the stream ends with.
// Source: P4Runtime Specification v1.4.1, 5.3.
func (s *Server) arbitrate(c *client, a *p4.MasterArbitrationUpdate) error {
	// Writes hold the lock: those of a primary that is one no longer end before the next one begins.
	s.mu.Lock()
	defer s.mu.Unlock()
	role := a.GetRole()
	switch {
	case a.GetDeviceId() != s.config.DeviceID && !c.live:
		return status.Errorf(codes.NotFound, "device %d: here is device %d", a.GetDeviceId(), s.config.DeviceID)
	case a.GetDeviceId() != s.config.DeviceID:
		return status.Errorf(codes.FailedPrecondition, "device %d: this stream is about device %d", a.GetDeviceId(), s.config.DeviceID)
	case (role.GetName() != "" || role.GetId() != 0) && c.live: //nolint:staticcheck // older controllers say the id
		return status.Errorf(codes.FailedPrecondition, "role %q: this stream has the default role", role.GetName())
	case role.GetName() != "" || role.GetId() != 0: //nolint:staticcheck // as above
		return status.Errorf(codes.Unimplemented, "role %q: there is only the default role, without name and id", role.GetName())
	case role.GetConfig() != nil:
		return status.Error(codes.InvalidArgument, "the default role has no configuration")
	}
	id := readElection(a.GetElectionId())
	for other := range s.clients {
		if other != c && id.set && other.election == id {
			return status.Errorf(codes.InvalidArgument, "election id %d, %d is that of another controller", id.high, id.low)
		}
	}
	select {
	case <-c.ended: // by a stream that ends just now
		return c.why
	default:
	}
	c.live, c.election = true, id
	s.clients[c] = struct{}{}
	was := s.primary.Load()
	switch {
	case id.set && id.compare(s.highest) >= 0:
		s.highest = id
		s.setPrimary(c)
		s.notifyAll(c)
	case was == c: // it has stepped down
		s.setPrimary(nil)
		s.notifyAll(nil)
	default:
		s.notify(c)
	}
	return nil
}

// setPrimary makes c the primary; nil: none. Digests sent to another one are sent again.
func (s *Server) setPrimary(c *client) {
	if was := s.primary.Swap(c); was == c {
		return
	}
	if p := s.live.Load(); p != nil {
		for _, d := range p.digests {
			if d != nil {
				d.mu.Lock()
				d.forget()
				d.mu.Unlock()
			}
		}
	}
}

// leave removes a controller at the end of its stream.
func (s *Server) leave(c *client, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.end(err)
	delete(s.clients, c)
	if s.primary.Load() == c {
		s.setPrimary(nil)
		s.notifyAll(nil)
	}
}

// notifyAll notifies all controllers of the primary, the new one last.
func (s *Server) notifyAll(last *client) {
	for c := range s.clients {
		if c != last {
			s.notify(c)
		}
	}
	if last != nil {
		s.notify(last)
	}
}

// notify tells a controller. One that has left that many notices unread is let go.
func (s *Server) notify(c *client) {
	primary := s.primary.Load()
	m := &p4.MasterArbitrationUpdate{
		DeviceId: s.config.DeviceID, ElectionId: s.highest.message(), Status: arbitrationStatus(primary != nil, primary == c),
	}
	select {
	case c.notices <- &p4.StreamMessageResponse{Update: &p4.StreamMessageResponse_Arbitration{Arbitration: m}}:
	default:
		c.end(status.Error(codes.ResourceExhausted, "the controller does not read what it is told"))
	}
}

// mayWrite checks the permission of a writer. s.mu must be held. Source: P4Runtime Specification v1.4.1, 12, 14.
func (s *Server) mayWrite(device uint64, role string, roleID uint64, id electionID) error {
	primary := s.primary.Load()
	switch {
	case device != s.config.DeviceID:
		return status.Errorf(codes.NotFound, "device %d: here is device %d", device, s.config.DeviceID)
	case role != "" || roleID != 0:
		return status.Errorf(codes.NotFound, "role %q, id %d: there is only the default role, without name and id", role, roleID)
	case primary == nil:
		return status.Error(codes.PermissionDenied, "there is no primary controller: a stream with arbitration comes first")
	case !id.set || primary.election != id:
		return status.Errorf(codes.PermissionDenied, "election id %d, %d is not that of the primary controller", id.high, id.low)
	}
	return nil
}
