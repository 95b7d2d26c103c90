package topology

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestGuardEnds: what is opened under the number of a closed guard's eventfd is not written to.
func TestGuardEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 1000 {
		g := &Guard{wake: -1}
		if err := g.subscribe(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(g.Wait(ctx), g.Close()); err != nil {
			t.Fatal(err)
		}
		other, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		if err != nil {
			t.Fatal(err)
		}
		runtime.Gosched()
		n, err := unix.Read(other, make([]byte, 8))
		unix.Close(other)
		if !errors.Is(err, unix.EAGAIN) {
			t.Fatalf("got %d octets, %v from another eventfd, want none", n, err)
		}
	}
}
