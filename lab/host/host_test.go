package host

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumbline/lab/report"
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
	for _, tc := range []struct{ name, got, want string }{
		{"os-release", osName("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"), "Debian GNU/Linux 12 (bookworm)"},
		{"os-release without the name", osName("NAME=x\n"), "unknown"},
		{"cpuinfo", keyed("processor\t: 0\nmodel name\t: Example: CPU\n", "model name", ":"), "Example: CPU"},
		{"no cpuinfo", keyed("", "model name", ":"), "unknown"},
		{"JIT", bpfJIT("1", "0"), "on, hardening off"},
		{"JIT of another kernel", bpfJIT("", "7"), "unknown, hardening unknown"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, tc.got, tc.want)
		}
	}
	if got, want := memoryOctets("MemTotal:       24578412 kB\nMemFree: 1 kB\n"), uint64(24578412)<<10; got != want {
		t.Errorf("memory: got %d, want %d", got, want)
	}
}
