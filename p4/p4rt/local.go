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
	responses, err := c.s.read(r)
	return &localRead{ctx: ctx, responses: responses, err: err}, nil
}

// localRead is what a read returns.
type localRead struct {
	grpc.ClientStream
	ctx       context.Context
	responses []encoded
	err       error // behind them
}

// Context is that of the call.
func (r *localRead) Context() context.Context { return r.ctx }

// Recv returns the next response.
func (r *localRead) Recv() (*p4.ReadResponse, error) {
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
