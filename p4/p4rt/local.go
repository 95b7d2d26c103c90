package p4rt

import (
	"context"
	"io"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Local returns a client within the process over a connection of [Server.Dial], which stays the caller's. Writes and
// reads are the same messages as over the connection, and do not go through it.
func (s *Server) Local(conn *grpc.ClientConn) p4.P4RuntimeClient {
	return &localClient{p4.NewP4RuntimeClient(conn), s}
}

type localClient struct {
	p4.P4RuntimeClient
	s *Server
}

// Write is that of the server.
func (c *localClient) Write(ctx context.Context, r *p4.WriteRequest, _ ...grpc.CallOption) (*p4.WriteResponse, error) {
	return c.s.Write(ctx, r)
}

// Read is that of the server.
func (c *localClient) Read(ctx context.Context, r *p4.ReadRequest, _ ...grpc.CallOption) (p4.P4Runtime_ReadClient, error) {
	if m := c.s.readCounters(r); m != nil {
		return &localRead{ctx: ctx, message: m}, nil
	}
	responses, err := c.s.read(r)
	return &localRead{ctx: ctx, responses: responses, err: err}, nil
}

// localRead is what a read returns.
type localRead struct {
	grpc.ClientStream
	ctx       context.Context
	message   *p4.ReadResponse // nil: none, or no more
	responses []encoded
	err       error // behind them
}

// Context is that of the call.
func (r *localRead) Context() context.Context { return r.ctx }

// Recv returns the next response.
func (r *localRead) Recv() (*p4.ReadResponse, error) {
	if m := r.message; m != nil {
		r.message = nil
		return m, nil
	}
	if len(r.responses) == 0 {
		if r.err == nil {
			return nil, io.EOF
		}
		return nil, r.err
	}
	out := &p4.ReadResponse{}
	err := proto.Unmarshal(r.responses[0], out)
	r.responses = r.responses[1:]
	return out, err
}

// counterAnswer is an entity with all that it consists of.
type counterAnswer struct {
	entity p4.Entity
	held   p4.Entity_CounterEntry
	entry  p4.CounterEntry
	index  p4.Index
	data   p4.CounterData
}

// readCounters answers what asks for nothing but cells of counter arrays, each with its index: the driver does so for each
// session. nil: it is something else, or something is wrong with it.
func (s *Server) readCounters(r *p4.ReadRequest) *p4.ReadResponse {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.pipeline()
	if p == nil || len(r.GetEntities()) == 0 || r.GetDeviceId() != s.config.DeviceID || r.GetRole() != "" {
		return nil
	}
	for _, e := range r.GetEntities() {
		c, ok := e.GetEntity().(*p4.Entity_CounterEntry)
		if !ok || c.CounterEntry.GetIndex() == nil {
			return nil
		}
	}
	all := make([]counterAnswer, len(r.GetEntities()))
	m := &p4.ReadResponse{Entities: make([]*p4.Entity, len(all))}
	p.state.View(func(tx Tx) {
		for i, e := range r.GetEntities() {
			if !all[i].read(p, tx, e.GetCounterEntry()) {
				m = nil
				return
			}
			m.Entities[i] = &all[i].entity
		}
	})
	return m
}

// read makes the answer for one cell, if there is no reason to refuse that.
func (a *counterAnswer) read(p *pipeline, tx Tx, asked *p4.CounterEntry) bool {
	array, why := p.array(counterArray, asked.GetCounterId())
	if why != nil {
		return false
	}
	at, _, why := array.cells(asked.GetIndex())
	if why != nil {
		return false
	}
	v, err := tx.Counter(array.index, at)
	if err != nil {
		return false
	}
	setCounterData(&a.data, v)
	a.index.Index = int64(at)
	a.entry.CounterId, a.entry.Index, a.entry.Data = array.id, &a.index, &a.data
	a.held.CounterEntry = &a.entry
	a.entity.Entity = &a.held
	return true
}
