package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

func TestExitCode(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want int
	}{
		{"done", nil, 0},
		{"failed", errors.New("x"), 1},
		{"interrupted", context.Canceled, 1},
		{"wrong command line", fmt.Errorf("y: %w", &kong.ParseError{}), 2},
		{"flags that contradict each other", fmt.Errorf("--a with --b: %w", ErrUsage), 2},
		{"not supported", fmt.Errorf("tcx: %w", errors.ErrUnsupported), 3},
		{"not supported, says the kernel", fmt.Errorf("attach: %w", unix.EOPNOTSUPP), 3},
		{"not supported, says the library", fmt.Errorf("map: %w", ebpf.ErrNotSupported), 3},
		{"forbidden is failed", fmt.Errorf("load: %w", unix.EPERM), 1},
	} {
		if got := ExitCode(tc.err); got != tc.want {
			t.Errorf("%s: exitCode(%v): got %d, want %d", tc.name, tc.err, got, tc.want)
		}
	}
}

func TestVersionLine(t *testing.T) {
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789ab"}, {Key: "vcs.modified", Value: "true"}}
	for _, tc := range []struct {
		name   string
		info   *debug.BuildInfo
		commit string
		want   string
	}{
		{"nothing known", nil, "", "plumb (devel) commit unknown go"},
		{"linked in", nil, "abc-dirty", "plumb (devel) commit abc-dirty go"},
		{"from the build", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: vcs}, "", "plumb v1.2.3 commit 0123456789ab+changes go"},
		{"linked in goes first", &debug.BuildInfo{Settings: vcs[:1]}, "abc", "plumb (devel) commit abc go"},
	} {
		if got := versionLine(tc.info, tc.commit); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: got %q, want %q...", tc.name, got, tc.want)
		}
	}
}
