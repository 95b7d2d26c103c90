package doctor

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/caps"
)

func TestCountList(t *testing.T) {
	for _, tc := range []struct {
		in      string
		want    int
		wantErr bool
	}{
		{"0", 1, false},
		{"0-1", 2, false},
		{"0-3,8", 5, false},
		{"0-3,8-11\n", 8, false},
		{"65535", 1, false},
		{"", 0, true},
		{"3-1", 0, true},
		{"0-", 0, true},
		{"0,,1", 0, true},
		{"65536", 0, true},
		{"-1", 0, true},
	} {
		got, err := countList(tc.in)
		if got != tc.want || (err != nil) != tc.wantErr {
			t.Errorf("countList(%q): got %d, %v; want %d, error %t", tc.in, got, err, tc.want, tc.wantErr)
		}
	}
}

func TestProcessors(t *testing.T) {
	cpus := []procfs.CPUInfo{{ModelName: "AMD EPYC"}, {ModelName: "other"}}
	for _, tc := range []struct {
		name, online, nodes string
		cpus                []procfs.CPUInfo
		status              Status
		found               string
	}{
		{"two CPUs", "0-1", "0", cpus, OK, "2 online, 1 NUMA node(s), AMD EPYC"},
		{"no NUMA file", "0-7", "", cpus, OK, "8 online, AMD EPYC"},
		{"no model name, as on arm64", "0-3", "0-1", []procfs.CPUInfo{{}}, OK, "4 online, 2 NUMA node(s)"},
		{"one CPU", "0", "0", nil, Warn, "1 online, 1 NUMA node(s)"},
		{"no sysfs", "", "", nil, Warn, `list "": strconv.ParseUint: parsing "": invalid syntax`},
	} {
		got := processors(tc.online, tc.nodes, tc.cpus)
		expect(t, tc.name, got, tc.status, tc.found)
	}
}

func TestMemory(t *testing.T) {
	octets := func(n uint64) *uint64 { return &n }
	for _, tc := range []struct {
		name      string
		available *uint64
		err       error
		status    Status
		found     string
	}{
		{"plenty", octets(16 << 30), nil, OK, "16.0 GiB available"},
		{"little", octets(1 << 30), nil, Warn, "1.0 GiB available"},
		{"absent", nil, nil, Warn, "MemAvailable: /proc/meminfo does not say"},
		{"no procfs", nil, os.ErrNotExist, Warn, "MemAvailable: file does not exist"},
	} {
		expect(t, tc.name, memory(tc.available, tc.err), tc.status, tc.found)
	}
}

func TestCapabilities(t *testing.T) {
	for _, tc := range []struct {
		name    string
		have    caps.Set
		err     error
		missing string // required and missing, in order
	}{
		{"all", 0x000001ffffffffff, nil, ""},
		{"none", 0, nil, "CAP_NET_ADMIN CAP_BPF CAP_PERFMON CAP_NET_RAW"},
		{"network only", 0x3000, nil, "CAP_BPF CAP_PERFMON"},
		{"CAP_SYS_ADMIN stands for those split off from it", 0x203000, nil, ""},
		{"the least", 0x000000c000003000, nil, ""},
		{"unreadable is not missing", 0, unix.EPERM, ""},
	} {
		var missing []string
		for _, c := range capabilityChecks(tc.have, tc.err) {
			if c.Status == Missing {
				missing = append(missing, c.Name)
			}
		}
		if got := strings.Join(missing, " "); got != tc.missing {
			t.Errorf("%s: got missing %q, want %q", tc.name, got, tc.missing)
		}
	}
}

func TestReleaseAtLeast(t *testing.T) {
	for _, tc := range []struct {
		release      string
		major, minor int
		want         bool
	}{
		{"6.1.0-18-amd64", 5, 18, true},
		{"6.1.0-18-amd64", 6, 1, true},
		{"6.1.0-18-amd64", 6, 2, false},
		{"5.10.0", 5, 11, false},
		{"5.9-rc1", 5, 10, false},
		{"6.18", 6, 6, true},
		{"10.0.0", 6, 18, true},
		{"", 0, 0, false},
		{"six.one", 0, 0, false},
	} {
		if got := releaseAtLeast(tc.release, tc.major, tc.minor); got != tc.want {
			t.Errorf("releaseAtLeast(%q, %d, %d): got %t, want %t", tc.release, tc.major, tc.minor, got, tc.want)
		}
	}
}

func TestMemlock(t *testing.T) {
	for _, tc := range []struct {
		name    string
		limit   uint64
		err     error
		release string
		locks   bool
		status  Status
		found   string
	}{
		{"unlimited", unix.RLIM_INFINITY, nil, "5.4.0", false, OK, "unlimited"},
		{"small, and no matter", 8 << 20, nil, "6.1.0", true, OK, "8192 KiB, which CAP_IPC_LOCK lifts"},
		{"too small for AF_XDP", 8 << 20, nil, "6.1.0", false, Warn, "8192 KiB"},
		{"enough", 32 << 20, nil, "6.1.0", false, OK, "32768 KiB"},
		{"small on an old kernel", 64 << 10, nil, "5.10.0", true, Warn, "64 KiB"},
		{"unreadable", 0, errors.New("no"), "6.1.0", false, Warn, "no"},
	} {
		expect(t, tc.name, memlock(tc.limit, tc.err, tc.release, tc.locks), tc.status, tc.found)
	}
}

func TestJIT(t *testing.T) {
	for _, tc := range []struct {
		value  string
		status Status
		found  string
	}{
		{"1", OK, "on"},
		{"2", Warn, "on, and logs every program"},
		{"0", Warn, "off"},
		{"", Warn, "off"},
	} {
		expect(t, tc.value, jit(tc.value, func() (bool, error) { return false, nil }), tc.status, tc.found)
	}
	expect(t, "in a container", jit("", func() (bool, error) { return true, nil }), OK, "on")
	expect(t, "not allowed", jit("", func() (bool, error) { return false, os.ErrPermission }), Warn, "not known: permission denied")
}

func TestMounted(t *testing.T) {
	const mountinfo = `22 28 0:20 / /proc rw,relatime shared:5 - proc proc rw
23 28 0:21 / /sys rw,relatime - sysfs sysfs rw
31 23 0:27 / /sys/fs/bpf rw,nosuid shared:9 master:3 - bpf bpffs rw,mode=700
32 23 0:28 / /odd - bpfish none rw
broken - tracefs
`
	expect(t, "there, with optional fields", mounted(mountinfo, "bpf", "/sys/fs/bpf", ""), OK, "/sys/fs/bpf")
	expect(t, "on a broken line only", mounted(mountinfo, "tracefs", "/sys/kernel/tracing", ""), Warn, "no")
	expect(t, "empty", mounted("", "bpf", "/sys/fs/bpf", ""), Warn, "no")
}

func TestAdvice(t *testing.T) {
	f := feature{since: version{6, 6}}
	for _, tc := range []struct {
		err     error
		release string
		want    string
	}{
		{unix.EPERM, "6.18.0", "run as root; if this is root, the kernel's policy forbids it"},
		{unix.EINVAL, "6.1.0", "Linux 6.6 or later"},
		{unix.EINVAL, "6.18.0", "a kernel that is built with it, or its module loaded"},
	} {
		if got := f.advice(tc.err, tc.release); got != tc.want {
			t.Errorf("advice(%v, %q): got %q, want %q", tc.err, tc.release, got, tc.want)
		}
	}
}

func expect(t *testing.T, name string, got Check, status Status, found string) {
	t.Helper()
	if got.Status != status || got.Found != found {
		t.Errorf("%s: got %s %q, want %s %q", name, got.Status, got.Found, status, found)
	}
	if (got.Status == OK) != (got.Advice == "") {
		t.Errorf("%s: status %s with advice %q", name, got.Status, got.Advice)
	}
}
