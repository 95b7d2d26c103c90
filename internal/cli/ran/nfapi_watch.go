package rancmd

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/nfapi/stopwatch"
)

// nfapiWatchFlags say in which forms the figures of a VNF, a PNF or both are wanted.
type nfapiWatchFlags struct {
	Live    bool   `help:"Show the figures on a terminal while it runs."`
	JSON    string `name:"json" placeholder:"FILE" help:"Write the figures as JSON (plumbline.nfapi-stopwatch/1) at the end; - is standard output, in the place of the tables."`
	HTML    string `name:"html" placeholder:"FILE" help:"Write the figures as one page with charts and tables that loads nothing else, at the end."`
	Metrics string `placeholder:"ADDRESS" help:"Serve /metrics for Prometheus and OpenMetrics here, e.g. 127.0.0.1:9106."`
}

// nfapiWatch is the stopwatches of a process, one for each PHY, while it runs. Who uses
// it does so:
//
//	w, err := c.watch(ctx, "pnf")
//	if err != nil { return err }
//	config.Watch = w.of("phy 1") ... and log to w.log
//	return errors.Join(p.Run(ctx), w.finish(stdout))
type nfapiWatch struct {
	flags   *nfapiWatchFlags
	command string
	log     *slog.Logger
	files   cli.Outputs[*stopwatch.Result]
	view    *term.LiveLog
	stop    context.CancelFunc
	stopped sync.WaitGroup
	screen  nfapiScreen

	mu      sync.Mutex
	watches []*stopwatch.Watch
	names   []string
	others  []prometheus.Collector
}

const (
	maxNFAPIWatches = 64 // PNFs and their PHYs come from configurations, but also again
	nfapiLiveEvery  = 500 * time.Millisecond
)

// watch opens files and metrics, and begins to show what there is. If the error is nil,
// finish or discard has to be called. command is vnf, pnf or mono.
func (f *nfapiWatchFlags) watch(ctx context.Context, command string) (*nfapiWatch, error) {
	files, err := cli.OpenOutputs(cli.To(f.JSON, writeWatches), cli.To(f.HTML, func(w io.Writer, r *stopwatch.Result) error {
		version, commit := cli.Built()
		return report.StopwatchHTML(w, r, command, host.Describe(version, commit, "plumb "+strings.Join(os.Args[1:], " ")))
	}))
	if err != nil {
		return nil, cli.Usage(err)
	}
	w := &nfapiWatch{flags: f, command: command, files: files, view: term.NewLiveLog(os.Stderr, f.Live), screen: nfapiScreen{command: command}}
	w.log = slog.New(slog.NewTextHandler(w.view, nil))
	ctx, w.stop = context.WithCancel(ctx)
	if f.Metrics != "" {
		if err := cli.ServeMetrics(ctx, f.Metrics, command, w.log, nfapiMetrics{w}, collectors.NewGoCollector()); err != nil {
			w.stop()
			return nil, errors.Join(err, files.Discard())
		}
	}
	if w.view.Shown() {
		w.stopped.Go(func() { w.follow(ctx) })
	}
	return w, nil
}

// of is the stopwatch of a PHY, the same one for the same name. It is nil, which
// records nothing, if there are too many.
func (w *nfapiWatch) of(name string) *stopwatch.Watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, known := range w.names {
		if known == name {
			return w.watches[i]
		}
	}
	if len(w.watches) == maxNFAPIWatches {
		return nil
	}
	w.names, w.watches = append(w.names, name), append(w.watches, stopwatch.New())
	return w.watches[len(w.watches)-1]
}

// collect has metrics of others served, too.
func (w *nfapiWatch) collect(others ...prometheus.Collector) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.others = append(w.others, others...)
}

// nfapiMetrics are all metrics that there are.
type nfapiMetrics struct{ *nfapiWatch }

// Describe implements [prometheus.Collector]. It sends nothing, which makes the
// collector an unchecked one: what there is depends on the peers.
func (m nfapiMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (m nfapiMetrics) Collect(ch chan<- prometheus.Metric) {
	stopwatch.Collect(ch, m.snapshots())
	m.mu.Lock()
	others := slices.Clone(m.others)
	m.mu.Unlock()
	for _, c := range others {
		c.Collect(ch)
	}
}

// snapshots are all as they are now.
func (w *nfapiWatch) snapshots() []*stopwatch.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]*stopwatch.Snapshot, len(w.watches))
	for i := range all {
		all[i] = w.watches[i].Snapshot(strings.TrimSpace(w.command + " " + w.names[i]))
	}
	return all
}

// follow draws what there is until the context ends.
func (w *nfapiWatch) follow(ctx context.Context) {
	ticker := time.NewTicker(nfapiLiveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.screen.add(w.snapshots())
			w.view.Draw(w.screen.render)
		}
	}
}

// end stops what runs beside.
func (w *nfapiWatch) end() {
	w.stop()
	w.stopped.Wait()
	w.view.Close()
}

// discard is for who could not begin: there are no figures.
func (w *nfapiWatch) discard() error {
	w.end()
	return w.files.Discard()
}

// finish prints the figures and writes the files.
func (w *nfapiWatch) finish(stdout io.Writer) error {
	w.end()
	result := stopwatch.NewResult(w.snapshots())
	show := printWatches
	if w.flags.JSON == "-" {
		show = writeWatches
	}
	return errors.Join(w.files.Write(result), show(stdout, result))
}

func writeWatches(w io.Writer, r *stopwatch.Result) error { return r.Write(w) }

func printWatches(w io.Writer, r *stopwatch.Result) error {
	for i, s := range r.Watches {
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if err := s.Print(w); err != nil {
			return err
		}
	}
	return nil
}
