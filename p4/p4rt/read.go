package p4rt

import (
	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Bounds of one response, and of all those of one request.
const (
	maxEntities  = 1024
	maxResponse  = 1 << 20 // octets; one entity may be longer
	maxResponses = 1 << 30 // octets of all together
)

// Read returns a consistent snapshot of all requested entities: it is encoded while nothing
// changes, and sent afterwards, at the client's speed.
func (s *Server) Read(r *p4.ReadRequest, stream p4.P4Runtime_ReadServer) error {
	select { // few at a time, since each may hold much memory
	case s.reads <- struct{}{}:
		defer func() { <-s.reads }()
	case <-stream.Context().Done():
		return status.FromContextError(stream.Context().Err()).Err()
	}
	responses, err := s.read(r)
	for _, octets := range responses {
		if err := stream.SendMsg(octets); err != nil {
			return err
		}
	}
	return err
}

// read returns ReadResponses. Source: P4Runtime Specification v1.4.1, 13.
func (s *Server) read(r *p4.ReadRequest) ([]encoded, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.pipeline()
	switch {
	case r.GetDeviceId() != s.config.DeviceID:
		return nil, status.Errorf(codes.NotFound, "device %d: here is device %d", r.GetDeviceId(), s.config.DeviceID)
	case p == nil:
		return nil, status.Error(codes.FailedPrecondition, "there is no pipeline")
	case r.GetRole() != "":
		return nil, status.Errorf(codes.NotFound, "role %q: there is only the default role, without name", r.GetRole())
	}
	q := query{p: p}
	var why failures
	p.state.View(func(tx Tx) {
		q.tx = tx
		for i, e := range r.GetEntities() {
			f := q.entity(e)
			if q.err != nil {
				return
			}
			if f != nil {
				why.set(i, len(r.GetEntities()), f)
			}
		}
	})
	q.flush()
	if q.err != nil {
		return nil, q.err
	}
	return q.responses, why.status("not all that was asked for can be read")
}

// query collects what is read.
type query struct {
	p    *pipeline
	tx   Tx
	wire wireEntry
	key  scratch

	response  p4.ReadResponse
	octets    int // of response
	responses []encoded
	total     int   // octets of responses
	err       error // that ends the request
}

// add adds an entity to what is answered. It reports whether there may be more.
func (q *query) add(e *p4.Entity) bool {
	q.response.Entities = append(q.response.Entities, e)
	q.octets += proto.Size(e)
	if len(q.response.Entities) >= maxEntities || q.octets >= maxResponse {
		q.flush()
	}
	return q.err == nil
}

func (q *query) flush() {
	if len(q.response.Entities) == 0 || q.err != nil {
		return
	}
	octets, err := proto.Marshal(&q.response)
	if err != nil {
		q.err = status.Error(codes.Internal, err.Error())
		return
	}
	q.responses = append(q.responses, octets)
	if q.total += len(octets); q.total > maxResponses {
		q.err = status.Errorf(codes.ResourceExhausted, "the answer has more than %d octets: ask for less at a time", maxResponses)
	}
	q.response.Entities, q.octets = q.response.Entities[:0], 0
}

// entity answers one request of a batch.
func (q *query) entity(e *p4.Entity) *failure {
	switch x := e.GetEntity().(type) {
	case *p4.Entity_TableEntry:
		return q.tableEntries(x.TableEntry)
	case *p4.Entity_DirectCounterEntry:
		return q.directCounters(x.DirectCounterEntry)
	case *p4.Entity_DirectMeterEntry:
		return q.directMeters(x.DirectMeterEntry)
	case *p4.Entity_CounterEntry:
		return q.arrays(counterArray, q.p.counters, x.CounterEntry.GetCounterId(), x.CounterEntry.GetIndex(), q.counter)
	case *p4.Entity_MeterEntry:
		if x.MeterEntry.GetCounterData() != nil {
			return unimplemented("counters of colours are not implemented")
		}
		return q.arrays(meterArray, q.p.meters, x.MeterEntry.GetMeterId(), x.MeterEntry.GetIndex(), q.meter)
	case *p4.Entity_RegisterEntry:
		return q.arrays(registerArray, q.p.registers, x.RegisterEntry.GetRegisterId(), x.RegisterEntry.GetIndex(), q.register)
	case *p4.Entity_PacketReplicationEngineEntry:
		return q.replication(x.PacketReplicationEngineEntry)
	case *p4.Entity_DigestEntry:
		return q.digests(x.DigestEntry.GetDigestId())
	case *p4.Entity_ActionProfileMember, *p4.Entity_ActionProfileGroup, *p4.Entity_ValueSetEntry, *p4.Entity_ExternEntry:
		return q.none(x)
	}
	return invalid("a request without an entity")
}

// none answers a request for entities that this server never has: an empty result for a wildcard.
func (q *query) none(x any) *failure {
	var id uint32
	switch x := x.(type) {
	case *p4.Entity_ActionProfileMember:
		id = x.ActionProfileMember.GetActionProfileId()
	case *p4.Entity_ActionProfileGroup:
		id = x.ActionProfileGroup.GetActionProfileId()
	case *p4.Entity_ValueSetEntry:
		id = x.ValueSetEntry.GetValueSetId()
	case *p4.Entity_ExternEntry:
		id = x.ExternEntry.GetExternTypeId()
	}
	if id == 0 {
		return nil
	}
	return unimplemented("action profiles, value sets and other externs are not implemented")
}

// arrays reads cells of one array, or of all of them.
func (q *query) arrays(kind arrayKind, all []*array, id uint32, index *p4.Index, cell func(*array, int) (*p4.Entity, error)) *failure {
	if id == 0 {
		if index != nil {
			return invalid("%s 0, which is all of them: want no index", kind)
		}
		for _, a := range all {
			if why := q.cells(a, 0, a.size, cell); why != nil {
				return why
			}
		}
		return nil
	}
	a, why := q.p.array(kind, id)
	if why != nil {
		return why
	}
	from, to, why := a.cells(index)
	if why != nil {
		return why
	}
	return q.cells(a, from, to, cell)
}

func (q *query) cells(a *array, from, to int, cell func(*array, int) (*p4.Entity, error)) *failure {
	for i := from; i < to; i++ {
		e, err := cell(a, i)
		if err != nil {
			return refused(err)
		}
		if !q.add(e) {
			return nil
		}
	}
	return nil
}

func (q *query) counter(a *array, i int) (*p4.Entity, error) {
	v, err := q.tx.Counter(a.index, i)
	e := &p4.CounterEntry{CounterId: a.id, Index: &p4.Index{Index: int64(i)}, Data: counterData(v)}
	return &p4.Entity{Entity: &p4.Entity_CounterEntry{CounterEntry: e}}, err
}

func (q *query) meter(a *array, i int) (*p4.Entity, error) {
	c, ok, err := q.tx.Meter(a.index, i)
	e := &p4.MeterEntry{MeterId: a.id, Index: &p4.Index{Index: int64(i)}}
	if ok {
		e.Config = meterData(c)
	}
	return &p4.Entity{Entity: &p4.Entity_MeterEntry{MeterEntry: e}}, err
}

func (q *query) register(a *array, i int) (*p4.Entity, error) {
	v, err := q.tx.Register(a.index, i)
	if err != nil {
		return nil, err
	}
	e := &p4.RegisterEntry{RegisterId: a.id, Index: &p4.Index{Index: int64(i)}, Data: a.data.whole(v)}
	return &p4.Entity{Entity: &p4.Entity_RegisterEntry{RegisterEntry: e}}, nil
}

func (q *query) replication(e *p4.PacketReplicationEngineEntry) *failure {
	switch x := e.GetType().(type) {
	case *p4.PacketReplicationEngineEntry_MulticastGroupEntry:
		return readKept(q.p.groups, "multicast group", x.MulticastGroupEntry.GetMulticastGroupId(), func(g *p4.MulticastGroupEntry) bool {
			m := &p4.PacketReplicationEngineEntry_MulticastGroupEntry{MulticastGroupEntry: g}
			return q.addReplication(&p4.PacketReplicationEngineEntry{Type: m})
		})
	case *p4.PacketReplicationEngineEntry_CloneSessionEntry:
		return readKept(q.p.clones, "clone session", x.CloneSessionEntry.GetSessionId(), func(c *p4.CloneSessionEntry) bool {
			m := &p4.PacketReplicationEngineEntry_CloneSessionEntry{CloneSessionEntry: c}
			return q.addReplication(&p4.PacketReplicationEngineEntry{Type: m})
		})
	}
	return invalid("packet replication: want a multicast group or a clone session")
}

func (q *query) addReplication(e *p4.PacketReplicationEngineEntry) bool {
	return q.add(&p4.Entity{Entity: &p4.Entity_PacketReplicationEngineEntry{PacketReplicationEngineEntry: e}})
}

// readKept calls add for one message, or for all if id is 0.
func readKept[M any](in map[uint32]M, what string, id uint32, add func(M) bool) *failure {
	if id != 0 {
		m, there := in[id]
		if !there {
			return fail(codes.NotFound, "%s %d: there is none", what, id)
		}
		add(m)
		return nil
	}
	for _, m := range in {
		if !add(m) {
			return nil
		}
	}
	return nil
}

func (q *query) digests(id uint32) *failure {
	if _, known := q.p.digestID[id]; id != 0 && !known {
		return invalid("there is no digest with id %#x", id)
	}
	for _, d := range q.p.digests {
		if d == nil || id != 0 && d.id != id {
			continue
		}
		c := d.configured()
		if c == nil && id != 0 {
			return fail(codes.NotFound, "digest %s is not configured", d.name)
		}
		if c != nil && !q.add(&p4.Entity{Entity: &p4.Entity_DigestEntry{DigestEntry: &p4.DigestEntry{DigestId: d.id, Config: c}}}) {
			return nil
		}
	}
	return nil
}
