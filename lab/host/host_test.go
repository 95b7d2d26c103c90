package host

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/verifier"
	"github.com/plumbline-upf/plumbline/lab/report"
)

func TestParseStat(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     Times
		fails    bool
	}{
		{
			name: "kernel 6", in: "cpu  100 20 300 4000 50 6 700 0 0 0\ncpu0 1 2 3\n",
			want: Times{
				user: 1200 * time.Millisecond, system: 3 * time.Second, irq: 60 * time.Millisecond, softirq: 7 * time.Second,
			},
		},
		{name: "cut off", in: "cpu 1 2 3", fails: true},
		{name: "another line", in: "cpu0 1 2 3 4 5 6 7 8\n", fails: true},
		{name: "not a number", in: "cpu 1 2 x 4 5 6 7 8\n", fails: true},
		{name: "empty", in: "", fails: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parseStat(tc.in)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Times{})); diff != "" || (err != nil) != tc.fails {
				t.Errorf("error %v, want %v; (-want +got):\n%s", err, tc.fails, diff)
			}
		})
	}
}

func TestSharesOfACPU(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	before := Times{At: start, user: time.Second, softirq: time.Second, process: time.Second}
	after := Times{
		At: start.Add(2 * time.Second), user: 2 * time.Second, system: 500 * time.Millisecond,
		softirq: 3 * time.Second, irq: 20 * time.Millisecond, process: 1100 * time.Millisecond,
	}
	want := report.CPU{DUTPercent: 5, SoftirqPercent: 100, SystemPercent: 25, BusyPercent: 176}
	if diff := cmp.Diff(want, after.Since(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHostWords(t *testing.T) {
	jit := func(is bool, err error) func() (bool, error) { return func() (bool, error) { return is, err } }
	for _, tc := range []struct{ name, got, want string }{
		{"os-release", osName("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"), "Debian GNU/Linux 12 (bookworm)"},
		{"os-release without the name", osName("NAME=x\n"), "unknown"},
		{"JIT", bpfJIT("1", "0", jit(false, errors.New("not to be asked"))), "on, hardening off"},
		{"JIT in another namespace", bpfJIT("", "", jit(true, nil)), "on"},
		{"no JIT in another namespace", bpfJIT("", "", jit(false, nil)), "off"},
		{"JIT of a kernel that does not say", bpfJIT("", "7", jit(false, errors.New("not permitted"))), "unknown"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, tc.got, tc.want)
		}
	}
}

// TestMemory: /proc and sysinfo(2) say the same.
func TestMemory(t *testing.T) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		t.Fatal(err)
	}
	model, octets := cpuAndMemory()
	if want := info.Totalram * uint64(info.Unit); octets != want {
		t.Errorf("got %d octets, want %d", octets, want)
	}
	if model == "" {
		t.Error("no model: want a word")
	}
}

// TestJITInANamespace: the sysctls of the JIT are there in the initial network namespace only,
// but most of the laboratory runs in others, as in a container.
func TestJITInANamespace(t *testing.T) {
	var got, sysctl string
	var err error
	var done sync.WaitGroup
	done.Go(func() {
		runtime.LockOSThread() // and never unlocked: the namespace ends with the thread
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return
		}
		sysctl = readFile("/proc/sys/net/core/bpf_jit_enable")
		got = Describe("", "", "").BPFJIT
	})
	done.Wait()
	if err != nil {
		t.Fatal(err)
	}
	want := "off"
	if compiled, err := verifier.Compiled(); err != nil {
		t.Fatal(err)
	} else if compiled {
		want = "on"
	}
	if sysctl != "" {
		t.Skipf("this kernel shows net.core.bpf_jit_enable in every namespace: %q", sysctl)
	}
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
