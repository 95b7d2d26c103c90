package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/upf/privilege"
)

// ServeMetrics serves /metrics until the context ends. The name is that of the command
// in the log.
func ServeMetrics(ctx context.Context, address, name string, log *slog.Logger, of ...prometheus.Collector) error {
	const maxScrapes, headTimeout = 3, 5 * time.Second // scrapes at once
	l, err := net.Listen("tcp", address)
	if err != nil {
		return Usage(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(of...)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), MaxRequestsInFlight: maxScrapes,
		EnableOpenMetrics: true, EnableOpenMetricsTextCreatedSamples: true,
	}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headTimeout}
	context.AfterFunc(ctx, func() { server.Close() })
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Warn(name+": metrics", "error", err)
		}
	}()
	log.Info(name+": metrics", "address", l.Addr())
	return nil
}

// NeedsRoot is why a command that enters network namespaces and attaches programs there
// cannot do so, before it has begun; nil: it can. CAP_SYS_ADMIN brings CAP_BPF and
// CAP_PERFMON with it.
func NeedsRoot(command string) error {
	return NeedsCapabilities(command+" enters network namespaces and attaches programs",
		map[string]int{"CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN, "CAP_NET_ADMIN": unix.CAP_NET_ADMIN})
}

// NeedsCapabilities is why a command cannot do what it does; nil: it can.
func NeedsCapabilities(does string, capabilities map[string]int) error {
	missing, err := privilege.Lacks(capabilities)
	if err != nil || len(missing) == 0 {
		return err
	}
	return Unsupported(fmt.Errorf("%s: run it as root: %s not effective", does, strings.Join(missing, ", ")))
}

// memoryInterval is how often the limit of the cgroup is looked at again: it can be changed
// while the process runs, and so can the datapath.
const memoryInterval = time.Minute

// Package memlimit reads the limit of a cgroup. Its Set would do most of what is here, too: it is
// not taken since the tables of the datapath are in the kernel, count towards the cgroup, and the
// garbage collector cannot free them. So they are subtracted, when they are known and as they
// grow, but a quarter is left; a ratio and a minimum that are fixed at the start cannot say that.

// LimitMemory has the garbage collector keep within what the cgroup (v1 or v2) leaves, until
// ctx is done. GOMEMLIMIT of the environment wins. What the datapath's tables in the kernel
// take of it is known when there is a datapath: the caller gives it to the function returned.
func LimitMemory(ctx context.Context, log *slog.Logger) (tables func(func() uint64)) {
	if limit, ok := os.LookupEnv("GOMEMLIMIT"); ok {
		log.Info("memory limit", "gomemlimit", limit, "from", "environment")
		return func(func() uint64) {}
	}
	m := memory{log: log, tables: func() uint64 { return 0 }, cgroup: memlimit.FromCgroup}
	m.look()
	go func() {
		tick := time.NewTicker(memoryInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				m.look()
			}
		}
	}()
	return func(t func() uint64) {
		m.mu.Lock()
		m.tables = t
		m.mu.Unlock()
		m.look()
	}
}

// memory is the limit that follows a cgroup's.
type memory struct {
	log    *slog.Logger
	cgroup func() (uint64, error)

	mu     sync.Mutex
	tables func() uint64
	last   int64 // that was set; 0: none
}

// look sets what the cgroup says now.
func (m *memory) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	octets, err := m.cgroup()
	if err != nil && !errors.Is(err, memlimit.ErrNoLimit) {
		m.log.Debug("memory limit of the cgroup not known", "error", err)
		return
	}
	tables, limit := m.tables(), int64(math.MaxInt64)
	if err == nil {
		limit = memoryLimit(octets, tables)
	}
	if limit == m.last || limit == math.MaxInt64 && m.last == 0 {
		return
	}
	debug.SetMemoryLimit(limit)
	m.last = limit
	if limit == math.MaxInt64 {
		m.log.Info("memory limit", "gomemlimit_octets", "none", "from", "cgroup")
		return
	}
	m.log.Info("memory limit", "gomemlimit_octets", limit, "from", "cgroup", "cgroup_octets", octets, "tables_octets", tables)
}

// memoryLimit is 90 % of what the tables leave of the cgroup's octets, but at least a
// quarter of all: below that the garbage collector would do nothing else, and not help.
func memoryLimit(octets, tables uint64) int64 {
	octets = min(octets, math.MaxInt64)
	rest := octets - min(octets, tables)
	return int64(max(rest-rest/10, octets/4))
}
