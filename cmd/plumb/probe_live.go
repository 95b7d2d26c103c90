package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/plumbline-upf/plumbline/probe/export"
)

// probeLive shows a probe on a terminal while it runs, with the last lines of its log
// below; where there is no terminal, the log alone.
type probeLive struct {
	*liveLog
	screen probeScreen
}

const probeNotes = 3 // lines of the log that are shown

func newProbeLive(out *os.File, c *probeRunCommand) *probeLive {
	return &probeLive{newLiveLog(out, !c.Plain), probeScreen{total: c.Duration}}
}

// show draws how things are now. It is for the goroutine that closes.
func (v *probeLive) show(r *probeRun) {
	if !v.shown() {
		return
	}
	s := &v.screen
	s.upfs = r.watch.UPFs() // waits while the watch logs, which waits for the view
	s.elapsed, s.live, s.n4, s.samples = r.recorder.Elapsed(), r.recorder.Live(), r.n4, r.counted()
	v.draw(func(width, height int, logged []string) []string {
		s.notes = logged[max(0, len(logged)-probeNotes):]
		return s.render(width, height)
	})
}

// serveMetrics serves /metrics until the context ends. The name is that of the command
// in the log.
func serveMetrics(ctx context.Context, address, name string, log *slog.Logger, of ...prometheus.Collector) error {
	const maxScrapes, headTimeout = 3, 5 * time.Second // scrapes at once
	l, err := net.Listen("tcp", address)
	if err != nil {
		return usageError{err}
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

// hlogFile is an interval log while it is written.
type hlogFile struct {
	*export.IntervalLog
	file *os.File
}

func createHlog(name string, r *export.Recorder) (*hlogFile, error) {
	f, err := createOutput(name, 0o644)
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
