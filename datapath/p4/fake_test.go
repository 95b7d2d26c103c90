package p4

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/plumbline-upf/plumbline/p4/compiled"
)

// fake is a P4Runtime server that does what a test says, and otherwise takes everything.
type fake struct {
	p4rt.UnimplementedP4RuntimeServer
	// arbitrate answers the arbitration; nil: yes. What it returns ends the stream.
	arbitrate func(s p4rt.P4Runtime_StreamChannelServer) error
	config    *p4rt.ForwardingPipelineConfig // nil: none, and FAILED_PRECONDITION
	configErr error
	write     atomic.Pointer[func(ctx context.Context, r *p4rt.WriteRequest) error]
	read      func(r *p4rt.ReadRequest, s p4rt.P4Runtime_ReadServer) error

	hangs bool // when it is asked what it can do

	server *grpc.Server
}

func (f *fake) StreamChannel(s p4rt.P4Runtime_StreamChannelServer) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	if f.arbitrate != nil {
		return f.arbitrate(s)
	}
	if err := s.Send(arbitrated(0)); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

// arbitrated is an answer with a status code.
func arbitrated(code int32) *p4rt.StreamMessageResponse {
	return &p4rt.StreamMessageResponse{Update: &p4rt.StreamMessageResponse_Arbitration{Arbitration: &p4rt.MasterArbitrationUpdate{
		DeviceId: 7, ElectionId: &p4rt.Uint128{Low: 42}, Status: &status.Status{Code: code},
	}}}
}

func (f *fake) GetForwardingPipelineConfig(context.Context, *p4rt.GetForwardingPipelineConfigRequest) (*p4rt.GetForwardingPipelineConfigResponse, error) {
	return &p4rt.GetForwardingPipelineConfigResponse{Config: f.config}, f.configErr
}

func (f *fake) Write(ctx context.Context, r *p4rt.WriteRequest) (*p4rt.WriteResponse, error) {
	if write := f.write.Load(); write != nil {
		return &p4rt.WriteResponse{}, (*write)(ctx, r)
	}
	return &p4rt.WriteResponse{}, nil
}

// writes says what is done with updates from now on.
func (f *fake) writes(write func(ctx context.Context, r *p4rt.WriteRequest) error) {
	f.write.Store(&write)
}

func (f *fake) Read(r *p4rt.ReadRequest, s p4rt.P4Runtime_ReadServer) error { return f.read(r, s) }

// dial serves f within the process, and returns a connection.
func (f *fake) dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	f.server = grpc.NewServer()
	p4rt.RegisterP4RuntimeServer(f.server, f)
	go func() { _ = f.server.Serve(l) }()
	t.Cleanup(f.server.Stop)
	return dialed(t, func(context.Context, string) (net.Conn, error) { return l.Dial() })
}

func dialed(t *testing.T, dial func(context.Context, string) (net.Conn, error)) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///fake", grpc.WithContextDialer(dial), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// client makes one of f.
func (f *fake) client(t *testing.T) *client {
	t.Helper()
	c, err := connect(t.Context(), f.dial(t), 7, 1, ourPipeline(t), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.close() })
	return c
}

func ourPipeline(t *testing.T) *pipeline {
	t.Helper()
	p, err := newPipeline(compiled.V1Model())
	if err != nil {
		t.Fatal(err)
	}
	return p
}
