package find_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/find"
	"github.com/plumbline-upf/plumbline/upf"
)

// newRoom makes a namespace with a veth pair to another: n3 and, there, far3. It returns
// the paths of both.
func newRoom(t *testing.T) (here, there string) {
	t.Helper()
	for _, p := range []struct {
		path *string
		name string
	}{{&here, "upf"}, {&there, "far"}} {
		name := fmt.Sprintf("plt-find-%d-%s", os.Getpid(), p.name)
		done := make(chan error)
		go func() {
			runtime.LockOSThread() // for good: the thread ends with the goroutine
			handle, err := netns.NewNamed(name)
			if err == nil {
				err = handle.Close()
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
		*p.path = "/run/netns/" + name
	}
	far, err := netns.GetFromPath(there)
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	inside(t, here, func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = "n3"
		veth := &netlink.Veth{LinkAttrs: attrs, PeerName: "far3", PeerNamespace: netlink.NsFd(far)}
		if err := netlink.LinkAdd(veth); err != nil {
			return err
		}
		address, err := netlink.ParseAddr("10.3.0.1/24")
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(veth, address); err != nil {
			return err
		}
		return netlink.LinkSetUp(veth)
	})
	return here, there
}

// open opens UDP sockets in the namespace.
func open(t *testing.T, path string, locals ...string) {
	t.Helper()
	inside(t, path, func() error {
		for _, local := range locals {
			conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(local)))
			if err != nil {
				return err
			}
			t.Cleanup(func() { conn.Close() })
		}
		return nil
	})
}

// TestFindsOtherUPFs takes this process for a UPF, with what it has opened in a namespace
// that is not its own.
func TestFindsOtherUPFs(t *testing.T) {
	gtpu, pfcp := fmt.Sprint(":", gtpu.Port), fmt.Sprint(":", pfcp.Port)
	for _, tc := range []struct {
		name     string
		sockets  []string
		prepare  func(t *testing.T, here string)
		datapath find.Datapath
		want     func(here, there string) []place
		n3       []netip.Addr
	}{
		{
			"TC by clsact", []string{"10.3.0.1" + gtpu, "10.3.0.1" + pfcp}, attachClsact, find.TC,
			func(here, _ string) []place { return straight(here, "n3", probe.Both) },
			[]netip.Addr{netip.MustParseAddr("10.3.0.1")},
		},
		{
			"AF_PACKET", []string{"0.0.0.0" + pfcp}, openPackets, find.Packet,
			func(_, there string) []place { return turned(there, "far3", probe.Both) },
			nil,
		},
		{
			"sockets of IPv6 for any address", []string{"[::]" + gtpu}, func(*testing.T, string) {}, find.Sockets,
			func(here, _ string) []place { return straight(here, "n3", probe.Both) },
			nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			here, there := newRoom(t)
			open(t, here, tc.sockets...)
			tc.prepare(t, here)
			targets, err := find.Find(t.Context(), find.Selector{PID: os.Getpid()})
			if err != nil {
				t.Fatal(err)
			}
			var got []place
			for _, p := range targets[0].Points {
				got = append(got, place{p.Namespace, p.Device, p.Hook, p.Way, p.Side})
			}
			if diff := cmp.Diff(tc.want(here, there), got); diff != "" || len(targets) != 1 || targets[0].Datapath != tc.datapath {
				t.Errorf("%d targets, %s because %s, want %s; points (-want +got):\n%s", len(targets), targets[0].Datapath, targets[0].Why, tc.datapath, diff)
			}
			if !slices.Equal(targets[0].N3, tc.n3) {
				t.Errorf("N3: got %v, want %v", targets[0].N3, tc.n3)
			}
		})
	}
}

// attachClsact puts a program on what n3 receives as kernels before 6.6 have it.
func attachClsact(t *testing.T, path string) {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Apache-2.0", Instructions: asm.Instructions{
		asm.Mov.Imm(asm.R0, -1), asm.Return(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	inside(t, path, func() error {
		device, err := netlink.LinkByName("n3")
		if err != nil {
			return err
		}
		qdisc := netlink.QdiscAttrs{LinkIndex: device.Attrs().Index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}
		if err := netlink.QdiscAdd(&netlink.Clsact{QdiscAttrs: qdisc}); err != nil {
			return err
		}
		filter := netlink.FilterAttrs{LinkIndex: device.Attrs().Index, Parent: netlink.HANDLE_MIN_INGRESS, Handle: 1, Priority: 1, Protocol: unix.ETH_P_ALL}
		return netlink.FilterAdd(&netlink.BpfFilter{FilterAttrs: filter, Fd: program.FD(), Name: "upf", DirectAction: true})
	})
}

// openPackets opens a packet socket for all of n3.
func openPackets(t *testing.T, path string) {
	inside(t, path, func() error {
		device, err := net.InterfaceByName("n3")
		if err != nil {
			return err
		}
		const all = unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8 // big endian
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		t.Cleanup(func() { unix.Close(fd) })
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all & 0xffff, Ifindex: device.Index})
	})
}

// TestContainers finds a UPF by the control groups that runtimes put it into.
func TestContainers(t *testing.T) {
	root := unified(t)
	const id = "ab12cd34ab12cd34ab12cd34ab12cd34ab12cd34ab12cd34ab12cd34ab12cd34"
	const uid = "7d0c1e9a-5b52-4a0e-9a53-9d1c2f9b7e11"
	name := fmt.Sprintf("plt-find-%d", os.Getpid())
	b := newBed(t, kindOf(t, upf.DatapathTUN), false)
	for _, tc := range []struct {
		name  string
		group string
		s     find.Selector
		as    string // name of the target
	}{
		{"Incus", "lxc.payload." + name, find.Selector{Container: name}, name},
		{"id", "lxc.payload." + name + "/cri-containerd-" + id + ".scope", find.Selector{Container: id[:12]}, id[:12]},
		{
			"pod", "kubepods.slice.plt/kubepods-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice/cri-containerd-" + id + ".scope",
			find.Selector{Pod: uid}, id[:12],
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			enter(t, root, tc.group, b.upf.PID())
			got, err := find.Find(t.Context(), tc.s)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || got[0].PID != b.upf.PID() || got[0].Name != tc.as || len(got[0].Points) != 4 {
				t.Errorf("got %+v, want 4 points of %s, process %d", got, tc.as, b.upf.PID())
			}
		})
	}
}

// unified returns where the control groups of version 2 are mounted.
func unified(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			return f[1]
		}
	}
	t.Skip("control groups of version 2 (Linux 4.5) are mounted nowhere")
	return ""
}

// enter puts a process into a control group, and back when the test ends.
func enter(t *testing.T, root, group string, pid int) {
	t.Helper()
	before, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	home := ""
	for line := range strings.Lines(string(before)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			home = path
		}
	}
	if err := os.MkdirAll(filepath.Join(root, group), 0o755); err != nil {
		t.Fatal(err)
	}
	move := func(to string) error {
		return os.WriteFile(filepath.Join(root, to, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
	}
	t.Cleanup(func() {
		if err := move(home); err != nil {
			t.Error(err)
		}
		for ; group != "."; group = filepath.Dir(group) {
			if err := unix.Rmdir(filepath.Join(root, group)); err != nil {
				t.Errorf("remove control group %s: %v", group, err)
			}
		}
	})
	if err := move(group); err != nil {
		t.Fatal(err)
	}
}
