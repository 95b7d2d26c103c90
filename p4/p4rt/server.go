package p4rt

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

// Version is that of P4Runtime.
const Version = "1.4.1"

// Config is the configuration of a server. Zero values get their defaults.
type Config struct {
	DeviceID uint64
	// TLS is how connections are protected; nil: they are not.
	TLS *tls.Config
	// MaxMessage is how many octets a request may have; 32 MiB.
	MaxMessage int
	// MaxProgram is how many octets a program's JSON may have; 16 MiB.
	MaxProgram int
	// MaxConnections is how many connections there may be; 32.
	MaxConnections int
	// MaxStreams is how many controllers with a stream there may be; 64.
	MaxStreams int
}

// Defaults and bounds of a Config.
const (
	defaultMessage     = 32 << 20
	defaultProgram     = 16 << 20
	defaultConnections = 32
	defaultStreams     = 64
	maxCalls           = 32 // at a time, of one connection
	maxReads           = 4  // at a time, of all
)

func (c *Config) setDefaults() {
	for _, x := range []struct {
		value    *int
		standard int
	}{
		{&c.MaxMessage, defaultMessage}, {&c.MaxProgram, defaultProgram},
		{&c.MaxConnections, defaultConnections}, {&c.MaxStreams, defaultStreams},
	} {
		if *x.value <= 0 {
			*x.value = x.standard
		}
	}
}

// Server is a P4Runtime server. PacketIn and Digest are for the switch's workers, all else for gRPC.
type Server struct {
	p4.UnimplementedP4RuntimeServer
	config Config
	target Switch
	log    *slog.Logger

	// mu is held for writing to change state or the primary, and for reading to read state. The
	// switch's workers never take it.
	mu      sync.RWMutex
	clients map[*client]struct{} // that have a place in the arbitration
	highest electionID           // of all that were ever the primary
	saved   *pipeline            // by VERIFY_AND_SAVE; nil: none
	batches sync.Pool

	live    atomic.Pointer[pipeline] // nil: none yet
	primary atomic.Pointer[client]   // nil: none
	streams atomic.Int64
	reads   chan struct{}
	closing chan struct{}
	stats   counters

	grpc  *grpc.Server
	local *bufconn.Listener
}

// New makes a server of a switch.
func New(c Config, target Switch, log *slog.Logger) *Server {
	c.setDefaults()
	s := &Server{
		config: c, target: target, log: log, clients: map[*client]struct{}{},
		reads: make(chan struct{}, maxReads), closing: make(chan struct{}), local: bufconn.Listen(1 << 20),
	}
	s.batches.New = func() any { return &writer{} }
	options := []grpc.ServerOption{
		grpc.ForceServerCodecV2(newCodec()), grpc.MaxRecvMsgSize(c.MaxMessage), grpc.MaxConcurrentStreams(maxCalls),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.ConnectionTimeout(20 * time.Second),
	}
	if c.TLS != nil {
		options = append(options, grpc.Creds(optionalTLS(c.TLS)))
	}
	s.grpc = grpc.NewServer(options...)
	s.grpc.RegisterService(serviceDesc(), s)
	go func() { _ = s.grpc.Serve(s.local) }() // it ends with Close
	return s
}

// optionalTLS protects all connections but those within the process.
func optionalTLS(c *tls.Config) credentials.TransportCredentials {
	return localOr{credentials.NewTLS(c)}
}

type localOr struct {
	credentials.TransportCredentials
}

// ServerHandshake is that of TLS, or none for a connection within the process.
func (l localOr) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if conn.LocalAddr().Network() == "bufconn" {
		return insecure.NewCredentials().ServerHandshake(conn)
	}
	return l.TransportCredentials.ServerHandshake(conn)
}

// Serve takes connections until Close.
func (s *Server) Serve(l net.Listener) error {
	return s.grpc.Serve(netutil.LimitListener(l, s.config.MaxConnections))
}

// Dial makes a connection within the process.
func (s *Server) Dial(options ...grpc.DialOption) (*grpc.ClientConn, error) {
	options = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.local.DialContext(ctx) }),
		// The errors of a Write, one for each update, are in the trailer, which gRPC bounds.
		grpc.WithMaxHeaderListSize(16 << 20), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(s.config.MaxMessage)),
	}, options...)
	return grpc.NewClient("passthrough:///switch", options...)
}

// Close ends all streams and connections. It is for once.
func (s *Server) Close() {
	close(s.closing)
	stopped := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-time.After(2 * partTime):
		s.grpc.Stop()
	}
}

// Capabilities says which version of P4Runtime this is.
func (s *Server) Capabilities(context.Context, *p4.CapabilitiesRequest) (*p4.CapabilitiesResponse, error) {
	return &p4.CapabilitiesResponse{P4RuntimeApiVersion: Version}, nil
}

// Write executes the updates of a request from inside the process. Requests over gRPC arrive as octets, on another path.
func (s *Server) Write(ctx context.Context, r *p4.WriteRequest) (*p4.WriteResponse, error) {
	w := s.batches.Get().(*writer)
	defer s.batches.Put(w)
	err := w.request.read(r)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	err = s.do(w)
	w.request.updates = updates{} // they are the caller's
	if err != nil {
		return nil, err
	}
	return &p4.WriteResponse{}, nil
}

// writer is memory for a request.
type writer struct {
	request writeRequest
	batch   batch
}

func (s *Server) write(_ context.Context, octets []byte) error {
	w := s.batches.Get().(*writer)
	defer s.batches.Put(w)
	if err := w.request.decode(octets); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return s.do(w)
}

// do does what a writer's request asks for.
func (s *Server) do(w *writer) error {
	r := &w.request
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.mayWrite(r.device, r.role, r.roleID, r.election); err != nil {
		return err
	}
	p := s.pipeline()
	switch {
	case p == nil:
		return status.Error(codes.FailedPrecondition, "there is no pipeline")
	case r.atomicity < p4.WriteRequest_CONTINUE_ON_ERROR || r.atomicity > p4.WriteRequest_DATAPLANE_ATOMIC:
		return status.Errorf(codes.InvalidArgument, "atomicity %v is not known", r.atomicity)
	}
	why := w.batch.write(p, &r.updates, r.atomicity)
	s.stats.wrote(r.updates.len(), why)
	return why.status("not all updates were done")
}
