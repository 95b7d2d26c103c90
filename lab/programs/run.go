package programs

import (
	"bufio"
	"context"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Times for a program: to end, and to say that it serves.
const (
	runTime   = time.Minute
	serveTime = 10 * time.Second
)

// command returns a command that runs in a namespace, by nsenter: unlike `ip
// netns exec` it leaves /sys alone. It is killed when ctx ends.
func command(ctx context.Context, namespace string, args ...string) *exec.Cmd {
	enter := []string{"--net=/run/netns/" + namespace}
	return exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
}

// Output runs a program in a namespace and returns what it printed. Its exit
// status must be 0.
func Output(t testing.TB, namespace string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runTime)
	defer cancel()
	cmd := command(ctx, namespace, args...)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v in %s: %v\n%s", args, namespace, err, out)
	}
	return out
}

// server is a program that serves until it is stopped, or ends by itself.
type server struct {
	stop  context.CancelFunc
	ended chan struct{}
}

// serve starts a server in a namespace, waits until it prints ready, and ends
// it when the test does.
func serve(t testing.TB, namespace, ready string, args ...string) *server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := command(ctx, namespace, args...)
	cmd.Stderr = t.Output()
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	printed, s := make(chan struct{}), &server{cancel, make(chan struct{})}
	go func() {
		defer close(s.ended)
		tell := sync.OnceFunc(func() { close(printed) })
		for scan := bufio.NewScanner(stdout); scan.Scan(); {
			if strings.Contains(scan.Text(), ready) {
				tell()
			}
		}
		_ = cmd.Wait() // its exit status is that of the kill
	}()
	t.Cleanup(s.end)
	select {
	case <-printed:
	case <-s.ended:
		t.Fatalf("%v ended before it printed %q", args, ready)
	case <-time.After(serveTime):
		t.Fatalf("%v did not print %q", args, ready)
	}
	return s
}

// end stops the server and returns when it has ended.
func (s *server) end() {
	s.stop()
	<-s.ended
}
