package cli

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

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

// errOf is the error of a call.
func errOf[T any](_ T, err error) error { return err }

// TestPlainWords has the libraries say what they say, so that a new way to say it is noticed.
func TestPlainWords(t *testing.T) {
	var number struct{ N int }
	for _, tc := range []struct {
		err  error
		want string
	}{
		{errOf(netip.ParseAddr("300.1.1.1")), `"300.1.1.1": want an IP address, such as 10.4.0.1`},
		{errOf(netip.ParseAddr("1::x")), `"1::x": want an IP address, such as 10.4.0.1`},
		{fmt.Errorf("--ue: %w (see 'plumb trace --help')", errOf(netip.ParseAddr("1.1"))), `--ue: "1.1": want an IP address, such as 10.4.0.1 (see 'plumb trace --help')`},
		{errOf(netip.ParsePrefix("10.0.0.0")), `"10.0.0.0": want a prefix, such as 10.4.0.0/24`},
		{fmt.Errorf("--upf 1: %w", errOf(netip.ParseAddrPort("1"))), `--upf 1: want an IP address and a port, such as 127.0.0.1:9090`},
		{errOf(time.ParseDuration("soon")), `"soon": want a duration, such as 30s`},
		{errOf(time.ParseDuration("5")), `"5": want a duration, such as 30s`},
		{errOf(time.ParseDuration("5x")), `"5x": want a duration, such as 30s`},
		{errOf(strconv.Atoi("abc")), `"abc": want a whole number`},
		{errOf(strconv.ParseUint("300", 10, 8)), `"300": want a number that is nearer to 0`},
		{errOf(strconv.ParseFloat("x", 64)), `"x": want a number`},
		{errOf(strconv.ParseBool("x")), `"x": want true or false`},
		{json.Unmarshal([]byte("# a"), &number), `this is no JSON`},
		{fmt.Errorf("f: read result: %w", json.Unmarshal([]byte("version"), &number)), `f: read result: this is no JSON`},
		{json.Unmarshal([]byte("{"), &number), `this JSON has no end`},
		{json.Unmarshal([]byte(`{"N": "x"}`), &number), `a string is not what belongs there: N`},
		{errOf(hex.DecodeString("zz")), `'z': want hexadecimal digits`},
		{errOf(hex.DecodeString("a")), `want two hexadecimal digits for each octet`},
		{errOf(exec.LookPath("/usr/sbin/plt-none")), `"/usr/sbin/plt-none" is not there: it is not installed, or not in PATH`},
		{errOf(exec.LookPath("plt-none")), `"plt-none" is not there: it is not installed, or not in PATH`},
	} {
		if got := PlainWords(tc.err.Error()); got != tc.want {
			t.Errorf("%v:\n got %s\nwant %s", tc.err, got, tc.want)
		}
	}
}
