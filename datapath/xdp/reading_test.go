package xdp

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// TestReadAll: an error that passes is survived and logged once, one that lasts is
// given back, without a CPU being burnt meanwhile.
func TestReadAll(t *testing.T) {
	for _, tc := range []struct {
		name     string
		read     func(call int) error
		want     error
		calls    int
		warnings int
		atLeast  time.Duration // it takes
	}{
		{"closed", func(int) error { return net.ErrClosed }, nil, 1, 0, 0},
		{"ring closed", func(int) error { return fmt.Errorf("ring: %w", os.ErrClosed) }, nil, 1, 0, 0},
		{"one that passes", func(call int) error {
			if call == 3 {
				return net.ErrClosed
			}
			return map[bool]error{true: unix.ENOBUFS}[call == 1]
		}, nil, 4, 1, time.Millisecond},
		{"one now and then", func(call int) error {
			if call == 1000 {
				return net.ErrClosed
			}
			return map[bool]error{true: unix.ENOBUFS}[call%2 == 0]
		}, nil, 1001, 500, 500 * time.Millisecond},
		{"one that lasts", func(int) error { return unix.EIO }, unix.EIO, maxFailures + 1, 1, 10 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				d := &Driver{log: slog.New(slog.NewTextHandler(&log, nil))}
				calls, start := 0, time.Now()
				err := d.readAll("what", func() error { calls++; return tc.read(calls - 1) })
				if !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) || calls != tc.calls {
					t.Errorf("got %v after %d calls, want %v after %d", err, calls, tc.want, tc.calls)
				}
				if took := time.Since(start); took < tc.atLeast {
					t.Errorf("it took %v, want %v at least", took, tc.atLeast)
				}
				if n := strings.Count(log.String(), "reading fails"); n != tc.warnings {
					t.Errorf("%d lines in the log, want %d:\n%s", n, tc.warnings, log.String())
				}
			})
		})
	}
}

// TestEnded: a reader of a ring that is no ring any more ends the driver, with its
// error.
func TestEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Driver{log: slog.New(slog.DiscardHandler)}
		go func() { d.ending.fail(d.readAll("nothing", func() error { return unix.EBADF })) }()
		<-d.Ended()
		d.ending.fail(unix.EIO) // later ones do not count
		if err := d.Err(); !errors.Is(err, unix.EBADF) {
			t.Errorf("ended with %v, want EBADF", err)
		}
	})
}
