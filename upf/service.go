package upf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/move"
	"github.com/plumbline-upf/plumbline/upf/bus"
	"github.com/plumbline-upf/plumbline/upf/n4"
	"github.com/plumbline-upf/plumbline/upf/rules"
	"github.com/plumbline-upf/plumbline/upf/session"
	"github.com/plumbline-upf/plumbline/upf/store"
)

// Options are what a UPF is given besides its configuration.
type Options struct {
	Log    *slog.Logger // nil: [slog.Default]
	Commit string       // that the program was built from, for the metric upf_build_info
}

// Service is a running UPF.
type Service struct {
	config  *Config
	options Options
	log     *slog.Logger
	driver  datapath.Driver
	quiet   datapath.Quiet // when no Error Indication is sent
	mover   *move.Mover    // driver, if another datapath can take its place; else nil
	store   store.Store    // nil: nothing outlives the process
	about   atomic.Pointer[Datapath]
	kept    *keptUsage // of the datapath before this start; nil: none, or carried over
	moving  sync.Mutex // held by a move
	devices devices
	// preparing is what a datapath puts off, after a move.
	preparing sync.WaitGroup
	sessions  *session.Manager
	endpoint  *n4.Endpoint
	// advertiser is endpoint, as soon as it is there.
	advertiser atomic.Pointer[n4.Endpoint]
	served     chan struct{} // closed when the endpoint has stopped,
	serveErr   error         // with this
	listener   listeners
	servers    []*httpServer
	closing    sync.Once
	closed     error
}

// Start brings a UPF up in the network namespace of the process. When it returns,
// PFCP is answered. What fails easily fails before a device is touched, and
// nothing is answered before the datapath can hold it. If anything fails, all is
// taken down again. ctx is for the start alone.
//
// Errors: [ConfigError], [ErrInUse], [ErrNoDevice], [ErrNoAddress],
// [ErrCapability], and [errors.ErrUnsupported] where the machine, its kernel or a
// device cannot do what is configured.
func Start(ctx context.Context, c *Config, o Options) (*Service, error) {
	if o.Commit == "" {
		o.Commit = "unknown"
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	own := *c
	own.complete()
	s := &Service{config: &own, options: o, log: o.Log}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.logUp()
	return s, nil
}

func (s *Service) start(ctx context.Context) error {
	if err := s.config.Validate(); err != nil {
		return err
	}
	if err := s.config.CheckLive(); err != nil {
		return err
	}
	if err := s.listen(ctx); err != nil {
		return err
	}
	if err := s.openStore(ctx); err != nil {
		return err
	}
	if err := s.openDriver(ctx); err != nil {
		return err
	}
	if err := s.openControlPlane(); err != nil {
		return err
	}
	if err := s.restore(ctx); err != nil {
		return err
	}
	s.describe(s.about.Load().Why) // with a store, programs are on devices only now
	s.serve()
	s.devices.follow(s)
	return nil
}

// openControlPlane makes sessions and N4 over the datapath. Requests wait in the
// sockets of N4 until serve.
func (s *Service) openControlPlane() error {
	compiler := rules.Compiler{Bus: bus.InProcess{Driver: s.driver}}
	sc, c := s.config.sessionConfig(), s.config.n4Config(s.driver.Capabilities())
	s.withAgents(&sc)
	c.Events, c.Log, c.Restoring = compiler, s.log, s.quietDown
	if s.store != nil { // an interface that holds a nil one is not nil
		sc.Store, c.Store = s.store, s.store
	}
	var err error
	if s.sessions, err = session.NewManager(sc, compiler); err != nil {
		return err
	}
	if s.endpoint, err = n4.Listen(c, s.sessions); err != nil {
		return explainListen("n4.address", c.Listen, err)
	}
	s.advertiser.Store(s.endpoint)
	s.agentsChanged()
	return nil
}

// listen opens the sockets of the metrics and of the local API.
func (s *Service) listen(ctx context.Context) error {
	var err error
	if a := s.config.Metrics.Address; a.IsValid() {
		if s.listener.metrics, err = listenMetrics(ctx, a); err != nil {
			return err
		}
	}
	if path := s.config.API.Socket; path != "" {
		s.listener.api, err = listenUnix(path)
	}
	return err
}

func listenMetrics(ctx context.Context, at netip.AddrPort) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", at.String())
	if err != nil {
		return nil, explainListen("metrics.address", at, err)
	}
	return l, nil
}

// serve starts to answer on all sockets, on that of N4 last.
func (s *Service) serve() {
	if l := s.listener.metrics; l != nil {
		s.servers = append(s.servers, serveHTTP(l, metricsHandler(s, s.log), s.log))
	}
	if l := s.listener.api; l != nil {
		s.servers = append(s.servers, serveAPI(l, s, s.log))
	}
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		s.serveErr = s.endpoint.Serve()
	}()
}

// serveAPI serves the local API of s, which may be a part of a UPF.
func serveAPI(l net.Listener, s *Service, log *slog.Logger) *httpServer {
	a := &localAPI{Service: s, desk: newTraceDesk(), log: log}
	h := serveHTTP(l, a.routes(), log, pathMove)
	h.server.RegisterOnShutdown(func() { close(a.desk.ending) })
	return h
}

// listeners are those of the local API and of the metrics; nil: none.
type listeners struct{ api, metrics net.Listener }

func closeListeners(list ...net.Listener) error {
	var errs []error
	for _, l := range list {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}

// MetricsAddr is where the metrics are served, or nil.
func (s *Service) MetricsAddr() net.Addr {
	if s.listener.metrics == nil {
		return nil
	}
	return s.listener.metrics.Addr()
}

// Prepare does what may take its time, since the UPF serves already, but has to be
// done while the process has the privileges of its start.
func (s *Service) Prepare() { prepare(s.forwarder(), s.log) }

// Wait returns when ctx is done, or with the error that ended PFCP, the bus or the
// datapath.
func (s *Service) Wait(ctx context.Context) error {
	ended, why := endOf(s.driver)
	select {
	case <-ctx.Done():
		return nil
	case <-ended:
		return why()
	case err := <-s.devices.lost:
		return err
	case <-s.served:
		return s.serveErr
	}
}

// Close stops the UPF: PFCP first, so that nothing is accepted any more, then
// what shows its state, then the datapath. That leaves its devices, unless its
// tables are pinned and a store keeps the sessions, so that both are there when
// the UPF is back. To close it again does nothing.
func (s *Service) Close() error {
	s.closing.Do(func() {
		if err := s.stop(); err != nil {
			s.closed = fmt.Errorf("stop: %w", err)
		}
	})
	return s.closed
}

func (s *Service) stop() error {
	var errs []error
	if s.served != nil && s.config.N4.Release {
		errs = append(errs, s.endpoint.Release(context.Background())) // it limits itself
	}
	if s.endpoint != nil {
		s.endpoint.Close()
	}
	if s.served != nil {
		<-s.served
	}
	for _, h := range s.servers {
		errs = append(errs, h.Close())
	}
	if len(s.servers) == 0 { // which own the sockets once they run
		errs = append(errs, closeListeners(s.listener.api, s.listener.metrics))
	}
	s.devices.close()
	s.preparing.Wait()
	errs = append(errs, s.keepUsage())
	if s.driver != nil {
		if s.store != nil && !s.config.N4.Release {
			keepPinned(s.forwarder())
		}
		errs = append(errs, s.driver.Close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	return errors.Join(errs...)
}

// logUp is the one line that says what runs.
func (s *Service) logUp() {
	about := s.about.Load()
	attrs := []any{"node_id", s.config.NodeID, "n4", s.endpoint.Addr()}
	if a := s.config.N3.Address; a.IsValid() { // else it is that of other processes
		attrs = append(attrs, "n3", a)
	}
	attrs = append(attrs, "datapath", about.Name)
	if about.Name == DatapathP4 && s.config.P4.Target != "" {
		attrs = append(attrs, "target", s.config.P4.Target)
	}
	for _, d := range about.Devices {
		attrs = append(attrs, strings.ToLower(d.Interface)+"_device", d.Name, strings.ToLower(d.Interface)+"_mode", d.Mode)
	}
	if about.MaxSessions > 0 {
		attrs = append(attrs, "sessions_max", about.MaxSessions, "tables_octets", about.MemoryOctets)
	}
	if a := s.MetricsAddr(); a != nil {
		attrs = append(attrs, "metrics", a)
	}
	if s.config.API.Socket != "" {
		attrs = append(attrs, "api", s.config.API.Socket)
	}
	s.log.Info("up", attrs...)
}
