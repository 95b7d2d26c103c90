package apps

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/plumbline-upf/plumbline/lab/scratch"
)

// Downloads is one file, got again and again.
type Downloads struct {
	Octets uint64        // of the file
	Pause  time.Duration // between two
	BPS    uint64        // of each at most; 0: as fast as it goes
}

// Downloaded is what curl says of those that were whole.
type Downloaded struct {
	Files  int
	Failed int
	Octets uint64
	Took   []time.Duration // of each whole one, the first [maxTook]
}

// maxTook bounds how many times are kept.
const maxTook = 1 << 20

// Web is nginx in the data network, and curl at a UE.
type Web struct {
	server *Process
	dir    string
	at     Place
	loads  Downloads

	cancel context.CancelFunc
	done   chan struct{}
	mu     sync.Mutex
	got    Downloaded
	failed error // the first one
}

// StartWeb begins to download. End it with [Web.Stop] or [Web.Kill].
func StartWeb(ctx context.Context, at Place, d Downloads) (web *Web, err error) {
	w := &Web{at: at, loads: d, done: make(chan struct{})}
	if w.dir, err = scratch.Directory("web"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.remove()
		}
	}()
	if err := w.serve(ctx); err != nil {
		return nil, err
	}
	ctx, w.cancel = context.WithCancel(ctx)
	go w.run(ctx)
	return w, nil
}

// serve starts nginx with a file of zeroes.
func (w *Web) serve(ctx context.Context) error {
	nginx, err := look("nginx")
	if err != nil {
		return fmt.Errorf("apps: %w", err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "nginx.conf"), []byte(nginxConfig(w.dir, w.at)), 0o600); err != nil {
		return err
	}
	file := filepath.Join(w.dir, "www", "file")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600), os.Truncate(file, int64(w.loads.Octets))); err != nil {
		return err
	}
	w.server, err = Start(w.at.DN, w.dir, nginx, "-e", "stderr", "-p", w.dir, "-c", "nginx.conf")
	if err != nil {
		return err
	}
	return listening(ctx, w.at.DN, w.server, "tcp", w.at.ServerPort)
}

// nginxConfig is that of one process that writes nowhere but to a directory.
func nginxConfig(dir string, at Place) string {
	var temporary strings.Builder
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&temporary, "  %s_temp_path %s;\n", kind, filepath.Join(dir, kind))
	}
	return fmt.Sprintf(`daemon off;
master_process off;
pid %s;
error_log stderr warn;
events { worker_connections 64; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
%s  server {
    listen %v;
    root %s;
  }
}
`, filepath.Join(dir, "pid"), temporary.String(), netip.AddrPortFrom(at.DNAddress, at.ServerPort), filepath.Join(dir, "www"))
}

// run downloads until it is told to end.
func (w *Web) run(ctx context.Context) {
	defer close(w.done)
	for ctx.Err() == nil {
		took, err := w.download(ctx)
		if ctx.Err() != nil {
			return // one that was cut short is nobody's failure
		}
		w.note(took, err)
		select {
		case <-ctx.Done():
		case <-time.After(w.loads.Pause):
		}
	}
}

func (w *Web) note(took time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.got.Failed++
		if w.failed == nil {
			w.failed = err
		}
		return
	}
	w.got.Files++
	w.got.Octets += w.loads.Octets
	if len(w.got.Took) < maxTook {
		w.got.Took = append(w.got.Took, took)
	}
}

// download runs curl once. It must get all octets.
func (w *Web) download(ctx context.Context) (time.Duration, error) {
	const longest = 10 * time.Minute
	url := "http://" + netip.AddrPortFrom(w.at.DNAddress, w.at.ServerPort).String() + "/file"
	args := []string{"curl", "--silent", "--show-error", "--fail", "--noproxy", "*", "--connect-timeout", "10", "--interface", w.at.UEAddress.String(),
		"--output", "/dev/null", "--write-out", "%{size_download} %{time_total}"}
	if w.loads.BPS > 0 {
		args = append(args, "--limit-rate", strconv.FormatUint(max(w.loads.BPS/8, 1), 10))
	}
	p, err := StartApart(w.at.UE, append(args, url)...)
	if err != nil {
		return 0, err
	}
	out, err := p.Wait(ctx, longest)
	if err != nil {
		return 0, err
	}
	octets, took, err := parseCurl(string(out))
	if err == nil && octets != w.loads.Octets {
		err = fmt.Errorf("apps: curl got %d octets of %d", octets, w.loads.Octets)
	}
	return took, err
}

// parseCurl reads octets and seconds.
func parseCurl(out string) (octets uint64, took time.Duration, err error) {
	size, seconds, _ := strings.Cut(strings.TrimSpace(out), " ")
	octets, sizeErr := strconv.ParseUint(size, 10, 63)
	s, timeErr := strconv.ParseFloat(strings.Replace(seconds, ",", ".", 1), 64) // some locales write a comma
	if sizeErr != nil || timeErr != nil || !(s >= 0 && s < 1e6) {
		return 0, 0, fmt.Errorf("apps: curl wrote %.100q", out)
	}
	return octets, time.Duration(s * float64(time.Second)), nil
}

// Exited is an error if the server has ended already, or a download has failed.
func (w *Web) Exited() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.server.Exited(), w.failed)
}

// Stop ends it, the download under way as well, and returns what was got.
func (w *Web) Stop() (Downloaded, error) {
	w.cancel()
	<-w.done
	defer w.remove()
	if err := w.Exited(); err != nil {
		return w.got, err
	}
	return w.got, w.server.stop(syscall.SIGTERM, graceTime)
}

// Kill ends it.
func (w *Web) Kill() {
	w.cancel()
	<-w.done
	w.remove()
}

func (w *Web) remove() {
	if w.server != nil {
		w.server.Kill()
	}
	_ = os.RemoveAll(w.dir)
}
