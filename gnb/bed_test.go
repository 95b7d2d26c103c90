package gnb_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"plumbline/gnb"
	"plumbline/lab/topology"
)

// newNamespace makes a network namespace with its loopback up, removes it when
// the test ends, and returns its name.
func newNamespace(t testing.TB, suffix string) string {
	t.Helper()
	name := fmt.Sprintf("plt-gnb-%d-%s", os.Getpid(), suffix)
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		h, err := netns.NewNamed(name)
		if err == nil {
			defer h.Close()
			err = loopbackUp()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.DeleteNamed(name); err != nil {
			t.Error(err)
		}
	})
	return name
}

// within runs f on a thread in a namespace. What f opens stays there.
func within(namespace string, f func() error) error {
	h, err := netns.GetFromName(namespace)
	if err != nil {
		return err
	}
	defer h.Close()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good
		err := netns.Set(h)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

func loopbackUp() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}

// newBed builds the lab's test bed.
func newBed(t testing.TB, c topology.Config) *topology.Topology {
	t.Helper()
	bed, err := topology.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	return bed
}

// start makes a gNB and runs it until the test ends.
func start(t testing.TB, c gnb.Config) *gnb.GNB {
	t.Helper()
	g, err := gnb.New(c, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- g.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if t.Failed() {
			_ = g.Stats().Print(t.Output())
		}
	})
	return g
}

// command returns a command that runs in a namespace, by nsenter: unlike `ip
// netns exec` it leaves /sys alone. It is killed when ctx ends.
func command(ctx context.Context, namespace string, args ...string) *exec.Cmd {
	enter := []string{"--net=/run/netns/" + namespace}
	return exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
}

// output runs a command in a namespace and returns what it printed.
func output(t *testing.T, namespace string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := command(ctx, namespace, args...)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v in %s: %v\n%s", args, namespace, err, out)
	}
	return out
}

// serve starts a server in a namespace, waits until it prints ready, and ends
// it when the test does. The result is closed when it has ended.
func serve(t *testing.T, namespace, ready string, args ...string) (over <-chan struct{}) {
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
	printed, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tell := sync.OnceFunc(func() { close(printed) })
		for scan := bufio.NewScanner(stdout); scan.Scan(); {
			if strings.Contains(scan.Text(), ready) {
				tell()
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		_ = cmd.Wait() // its exit status is that of the kill
	})
	select {
	case <-printed:
	case <-ended:
		t.Fatalf("%v ended before it printed %q", args, ready)
	case <-time.After(10 * time.Second):
		t.Fatalf("%v did not print %q", args, ready)
	}
	return ended
}
