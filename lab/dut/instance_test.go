package dut

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
)

// log is a writer for several goroutines.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// TestInstance starts a program that has a child, parks, resumes and ends both.
func TestInstance(t *testing.T) {
	for _, tc := range []struct {
		name, mode string
		end        func(*Instance) error
		own        bool
		want       string // what the end says against it
	}{
		{name: "answers, killed", mode: "answering", end: (*Instance).Kill},
		{name: "silent, killed", mode: "silent", end: (*Instance).Kill},
		{name: "another's does not end well", mode: "answering", end: (*Instance).Stop},
		{name: "ours does not end well", mode: "answering", end: (*Instance).Stop, own: true, want: "signal: terminated"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bed, all := newBed(t), &log{}
			p := At(bed)
			p.Log, p.CPUs = all, []int{0}
			kind := fakeKind(t, tc.mode, `echo "$COLOUR"; grep Cpus_allowed_list /proc/self/status`)
			kind.Own = tc.own
			d := mustStart(t, kind, p)
			var pids []int
			waitFor(t, "two processes", func() bool {
				var err error
				if pids, err = d.processes(); err != nil {
					t.Fatal(err)
				}
				return len(pids) == 2
			})
			if d.File != "N3 n3\n" || d.PID() != pids[0] || d.Err() != nil {
				t.Errorf("file %q, PID %d of %v, %v", d.File, d.PID(), pids, d.Err())
			}
			for _, want := range []string{"hello", "N3 n3", "green", "Cpus_allowed_list:\t0\n"} {
				if !strings.Contains(d.Log(), want) || !strings.Contains(all.text.String(), want) {
					t.Errorf("logs %q and %q: want %q", d.Log(), all.text.String(), want)
				}
			}
			memory, err := d.Memory()
			if _, cpuErr := d.CPUTime(); err != nil || cpuErr != nil || memory.ResidentOctets == 0 || memory.AnonymousOctets == 0 {
				t.Errorf("got %+v, %v, %v", memory, err, cpuErr)
			}
			if _, err := d.Drops(context.Background()); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("drops: got %v, want %v", err, errors.ErrUnsupported)
			}
			for _, step := range []struct {
				name    string
				do      func() error
				stopped bool
			}{{"park", d.Park, true}, {"resume", d.Resume, false}, {"park", d.Park, true}} {
				if err := step.do(); err != nil {
					t.Fatal(err)
				}
				for _, pid := range pids {
					waitFor(t, step.name, func() bool { return state(pid) == "T" == step.stopped })
				}
			}
			if err := tc.end(d); (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the end: got %v, want %q", err, tc.want)
			}
			for _, pid := range pids {
				waitFor(t, "the end", func() bool { return state(pid) == "" })
			}
			if d.Err() == nil || d.Park() != nil || d.Stop() != nil {
				t.Errorf("after the end: %v, %v, %v", d.Err(), d.Park(), d.Stop())
			}
		})
	}
}

// TestChildOutlivesProgram wants the end of the program to be noticed although its child
// still has its log open, in a process group of its own.
func TestChildOutlivesProgram(t *testing.T) {
	bed := newBed(t)
	child := filepath.Join(t.TempDir(), "child")
	d := mustStart(t, fakeKind(t, "answering", "setsid sh -c 'echo $$ >"+child+"; exec sleep 60' &"), At(bed))
	var pid int
	waitFor(t, "the child", func() bool {
		text, _ := os.ReadFile(child)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid > 0
	})
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	if err := syscall.Kill(d.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the end", func() bool { return d.Err() != nil })
	if err := d.Stop(); err != nil || state(pid) == "" {
		t.Errorf("stop: %v; the child is %q", err, state(pid))
	}
}

// TestMounts wants a program to see the devices of its namespace and an empty BPF
// file system, and the pins that it makes to be gone.
func TestMounts(t *testing.T) {
	bed := newBed(t)
	k := fakeKind(t, "answering", "ls /sys/class/net; mkdir /sys/fs/bpf/plt-mounts; ls /sys/fs/bpf")
	plan := k.Plan
	k.Plan = func(p *Place, directory string) (*Plan, error) {
		made, err := plan(p, directory)
		made.Mounts = true
		return made, err
	}
	d := mustStart(t, k, At(bed))
	const want = "hello\nN3 n3\nlo\nn3\nn6\nmaps.debug\nplt-mounts\nprogs.debug\n" // the kernel's, in each of them
	if d.Log() != want {
		t.Errorf("got %q, want %q", d.Log(), want)
	}
	if err := d.Kill(); err != nil {
		t.Error(err)
	}
	if state := mustList(t, "/sys/fs/bpf"); strings.Contains(state, "plt-mounts") {
		t.Errorf("left behind: %s", state)
	}
}

// TestSetup wants devices before the start and none after the end, even if the
// start fails.
func TestSetup(t *testing.T) {
	bed := newBed(t)
	p := At(bed)
	for _, tap := range []bool{false, true} {
		k := fakeKind(t, "answering", "")
		plan := k.Plan
		k.Plan = func(p *Place, directory string) (*Plan, error) {
			made, err := plan(p, directory)
			made.Setup = func() error { return errors.Join(makeTUN(p, "plt0", tap), takeAddresses(p), giveAddresses(p)) }
			made.Teardown = func() error { return errors.Join(removeDevice("plt0"), removeDevice("plt0")) }
			return made, err
		}
		d := mustStart(t, k, p)
		assertRoute(t, &p, "plt0", tap)
		if err := d.Kill(); err != nil {
			t.Error(err)
		}
		k.Path = script(t, "fails", "exit 7")
		if _, err := Start(t.Context(), k, p); err == nil || !strings.Contains(err.Error(), "exit status 7") {
			t.Errorf("got %v, want exit status 7", err)
		}
		err := bed.UPF.Do(func() error { _, err := netlink.LinkByName("plt0"); return err })
		if !errors.As(err, &netlink.LinkNotFoundError{}) {
			t.Errorf("after the end: got %v, want that there is no plt0", err)
		}
	}
}

// assertRoute wants the way to a UE to lead to a device: with TAP over a neighbour.
func assertRoute(t *testing.T, p *Place, device string, tap bool) {
	t.Helper()
	err := p.do(func() error {
		link, err := netlink.LinkByName(device)
		if err != nil {
			return err
		}
		for _, pool := range p.UEPools {
			routes, err := netlink.RouteGet(pool.Addr().Next().AsSlice())
			if err != nil {
				return err
			}
			if len(routes) != 1 || routes[0].LinkIndex != link.Attrs().Index || (routes[0].Gw != nil) != tap || link.Attrs().MTU != p.MTU {
				t.Errorf("%v, MTU %d: got %v", pool, link.Attrs().MTU, routes)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestExternal takes a UPF that somebody else has started for an external one.
func TestExternal(t *testing.T) {
	bed := newBed(t)
	other := mustStart(t, fakeKind(t, "answering", ""), At(bed))
	d := mustStart(t, external, At(bed))
	memory, err := d.Memory()
	used, cpuErr := d.CPUTime()
	if err := errors.Join(err, cpuErr, d.Park(), d.Resume(), d.Err()); err != nil || d.PID() != 0 || memory != (Memory{}) || used != 0 {
		t.Errorf("PID %d, %+v, %v, %v", d.PID(), memory, used, err)
	}
	if err := errors.Join(d.Stop(), d.Kill()); err != nil {
		t.Error(err)
	}
	if state(other.PID()) == "" {
		t.Error("the other's process has ended")
	}
	_ = other.Kill()
}
