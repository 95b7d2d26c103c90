// Package redistest runs a real redis-server for a test.
package redistest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/plumbline-upf/plumbline/internal/redisconn"
)

// Server is a redis-server on a Unix socket in a directory of its own.
type Server struct {
	Address string // of the socket
	Client  *redis.Client

	t     testing.TB
	dir   string
	args  []string
	cmd   *exec.Cmd
	ended chan struct{} // closed when cmd has ended
	out   bytes.Buffer
}

// Start runs a server until the end of the test; args are options of
// redis-server. It keeps its data when it is killed, as an append-only file.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatalf("%v: scripts/setup test installs it", err)
	}
	// A test's own directory may have too long a name for a socket.
	dir, err := os.MkdirTemp("", "plt-redis-")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: filepath.Join(dir, "s"), t: t, dir: dir, args: args}
	s.Client, err = redisconn.Open(redisconn.Config{Address: s.Address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Client.Close()
		s.Kill()
		os.RemoveAll(dir) //nolint:errcheck // in a directory for what is temporary
	})
	s.Run()
	return s
}

// Run starts the server again, and returns when it answers.
func (s *Server) Run() {
	s.t.Helper()
	s.cmd = exec.Command("redis-server", append([]string{
		"--port", "0", "--unixsocket", s.Address, "--dir", s.dir, "--daemonize", "no",
		"--save", "", "--appendonly", "yes", "--appendfsync", "no"}, s.args...)...)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.ended = make(chan struct{})
	if err := startFor(s.cmd, s.ended); err != nil {
		s.t.Fatalf("redis-server: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		err := s.Client.Ping(ctx).Err()
		if err == nil || strings.HasPrefix(err.Error(), "NOAUTH") || strings.HasPrefix(err.Error(), "WRONGPASS") {
			return
		}
		if ctx.Err() != nil {
			s.t.Fatalf("redis-server does not answer: %v\n%s", err, s.out.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// startFor starts a command from a thread that lives until ended is closed: the
// signal of Pdeathsig is sent when the thread ends that started the process.
// Source: prctl(2), PR_SET_PDEATHSIG.
func startFor(cmd *exec.Cmd, ended <-chan struct{}) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			<-ended
		}
	}()
	return <-started
}

// Kill ends the server as kill -9 does.
func (s *Server) Kill() {
	if s.cmd != nil {
		s.cmd.Process.Kill() //nolint:errcheck // it has ended
		s.cmd.Wait()         //nolint:errcheck // so was it told
		close(s.ended)
		s.cmd = nil
	}
	os.Remove(s.Address) //nolint:errcheck // it may never have been there
}

// Forget removes the data of a server that is not running.
func (s *Server) Forget() {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.dir, "appendonlydir")); err != nil {
		s.t.Fatal(err)
	}
}

// Pause stops the process, as a network that is cut stops its answers.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume lets it go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}
