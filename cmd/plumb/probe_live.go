package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"plumbline/probe/export"
)

// probeLive shows a probe on a terminal while it runs, with the last lines of its log
// below; where there is no terminal, the log alone.
type probeLive struct {
	out *os.File

	mu      sync.Mutex
	screen  *probeScreen // nil: nothing is shown
	painter painter
	logged  []string // while something is shown
}

const probeNotes = 3 // lines of the log that are shown

func newProbeLive(out *os.File, c *probeRunCommand) *probeLive {
	v := &probeLive{out: out, painter: painter{out: out}}
	if !c.Plain && isTerminal(out) {
		v.screen = &probeScreen{total: c.Duration}
	}
	return v
}

// show draws how things are now. It is for the goroutine that closes.
func (v *probeLive) show(r *probeRun) {
	s := v.screen
	if s == nil {
		return
	}
	upfs := r.watch.UPFs() // waits while the watch logs, which waits for v.mu
	v.mu.Lock()
	defer v.mu.Unlock()
	s.elapsed, s.upfs, s.live, s.n4, s.samples = r.recorder.Elapsed(), upfs, r.recorder.Live(), r.n4, r.counted()
	s.notes = v.logged[max(0, len(v.logged)-probeNotes):]
	width, height := terminalSize(v.out)
	v.painter.paint(s.render(width, height-1))
}

// Write takes a line of the log. What is logged while something is shown is written
// once that is over.
func (v *probeLive) Write(line []byte) (int, error) {
	const longest = 1000 // lines that are kept
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.screen == nil {
		return v.out.Write(line)
	}
	if len(v.logged) < longest {
		v.logged = append(v.logged, strings.TrimSpace(string(line)))
	}
	return len(line), nil
}

// close takes the lines away, and leaves those of the log.
func (v *probeLive) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.screen == nil {
		return
	}
	v.screen = nil
	v.painter.clear()
	for _, line := range v.logged {
		fmt.Fprintln(v.out, line)
	}
}

// serveMetrics serves /metrics until the context ends.
func serveMetrics(ctx context.Context, address string, m *export.Metrics, log *slog.Logger) error {
	const maxScrapes, headTimeout = 3, 5 * time.Second // scrapes at once
	l, err := net.Listen("tcp", address)
	if err != nil {
		return usageError{err}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), MaxRequestsInFlight: maxScrapes,
		EnableOpenMetrics: true, EnableOpenMetricsTextCreatedSamples: true,
	}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headTimeout}
	context.AfterFunc(ctx, func() { server.Close() })
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("probe: metrics", "error", err)
		}
	}()
	log.Info("probe: metrics", "address", l.Addr())
	return nil
}

// hlogFile is an interval log while it is written.
type hlogFile struct {
	*export.IntervalLog
	file *os.File
}

func createHlog(name string, r *export.Recorder) (*hlogFile, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	l, err := export.NewIntervalLog(f, r)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &hlogFile{l, f}, nil
}

func (f *hlogFile) close() error { return f.file.Close() }
