package upf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/upf/bus/agent"
)

// AgentService is a running datapath whose control plane is another process.
type AgentService struct {
	log     *slog.Logger
	part    *Service // what it has in common with a whole UPF: the datapath
	agent   *agent.Agent
	cancel  context.CancelFunc
	ended   chan struct{} // closed when the agent has ended,
	err     error         // with this
	servers []*httpServer // of metrics and of the local API
}

// StartAgent opens the datapath of c, which is a configuration of
// [RoleDatapath], and has it hold what the control plane desires, as soon as
// Redis can be reached. ctx is for the start alone.
//
// Errors: those of [Start].
func StartAgent(ctx context.Context, c *Config, o Options) (*AgentService, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Commit == "" {
		o.Commit = "unknown"
	}
	s := &AgentService{log: o.Log, ended: make(chan struct{})}
	if err := s.start(ctx, c, o); err != nil {
		if s.agent == nil {
			close(s.ended)
		}
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *AgentService) start(ctx context.Context, c *Config, o Options) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if err := c.CheckLive(); err != nil {
		return err
	}
	listener, err := s.listen(ctx, c)
	if err != nil {
		return err
	}
	s.part = &Service{config: c, log: s.log}
	if err = s.part.openDriver(ctx); err == nil {
		s.agent, err = agent.New(agent.Config{
			Server: c.Bus.Redis.server(), Prefix: c.Bus.Redis.Prefix, Name: c.Bus.Agent, Driver: s.part.driver, Log: s.log})
	}
	if err != nil {
		return errors.Join(err, closeListeners(listener.metrics, listener.api))
	}
	about := s.part.about.Load()
	if listener.metrics != nil {
		s.servers = append(s.servers, serveHTTP(listener.metrics, s.metricsHandler(o), s.log))
	}
	if listener.api != nil {
		s.servers = append(s.servers, serveAPI(listener.api, s.part, s.log))
	}
	s.part.devices.follow(s.part)
	running, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() {
		defer close(s.ended)
		s.err = s.agent.Run(running)
	}()
	s.log.Info("up", "agent", c.Bus.Agent, "redis", c.Bus.Redis.Address, "datapath", about.Name, "n3", c.N3.Address,
		"sessions_max", about.MaxSessions, "tables_octets", about.MemoryOctets, "api", c.API.Socket)
	return nil
}

// listen opens the sockets of the metrics and of the local API.
func (s *AgentService) listen(ctx context.Context, c *Config) (listeners, error) {
	part := &Service{config: c}
	if err := part.listen(ctx); err != nil {
		return listeners{}, errors.Join(err, closeListeners(part.listener.metrics, part.listener.api))
	}
	return part.listener, nil
}

// Prepare is as [Service.Prepare].
func (s *AgentService) Prepare() { prepare(s.part.forwarder(), s.log) }

// TablesOctets is as [Service.TablesOctets].
func (s *AgentService) TablesOctets() uint64 { return s.part.TablesOctets() }

// Wait returns when ctx is done, or with the error that ended the agent or the
// datapath.
func (s *AgentService) Wait(ctx context.Context) error {
	ended, why := endOf(s.part.driver)
	select {
	case <-ctx.Done():
		return nil
	case <-ended:
		return why()
	case err := <-s.part.devices.lost:
		return err
	case <-s.ended:
		return s.err
	}
}

// Close ends the agent, then the datapath, which leaves its devices unless it is
// pinned.
func (s *AgentService) Close() error {
	var errs []error
	if s.cancel != nil {
		s.cancel()
	}
	<-s.ended
	if s.part != nil {
		s.part.devices.close()
	}
	for _, h := range s.servers {
		errs = append(errs, h.Close())
	}
	if s.part != nil && s.part.driver != nil {
		keepPinned(s.part.forwarder())
		errs = append(errs, s.part.driver.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}

// keepPinned lets packets flow on without us, if tables are pinned: somebody
// knows the sessions and will be back.
func keepPinned(d datapath.Driver) {
	if k, ok := d.(datapath.Keeper); ok {
		k.Keep()
	}
}

var (
	descReconciled = describe("agent_reconciled", "1 if the datapath holds what the control plane desires, and nothing else.")
	descConnected  = describe("agent_connected", "1 if Redis answers.")
	descRefused    = describe("agent_refused_sessions",
		"Desired sessions that the datapath refused when all were given to it anew.")
)

// agentCollector is what a scrape reads of an agent.
type agentCollector struct {
	*AgentService
	commit string
}

// Describe implements [prometheus.Collector]; see collector.Describe.
func (c *agentCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c *agentCollector) Collect(ch chan<- prometheus.Metric) {
	status := c.agent.Status()
	gauge(ch, descSessions, float64(status.Sessions))
	gauge(ch, descRefused, float64(status.Refused))
	for desc, is := range map[*prometheus.Desc]bool{descReconciled: status.Reconciled, descConnected: status.Connected} {
		value := 0.0
		if is {
			value = 1
		}
		gauge(ch, desc, value)
	}
	gauge(ch, descBuild, 1, c.commit, runtime.Version())
	about := &collector{Service: c.part, log: c.log}
	about.collectPackets(ch)
	about.collectForwarded(ch)
	about.collectOccupancy(ch)
}

func (s *AgentService) metricsHandler(o Options) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(&agentCollector{s, o.Commit})
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
}
