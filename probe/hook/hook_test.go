package hook

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/plumbline-upf/plumbline/internal/nsenter"
)

// namespace makes a network namespace with a device, and returns its path.
func namespace(t *testing.T, device netlink.Link) string {
	t.Helper()
	name := fmt.Sprintf("plt-hook-%d-%d", os.Getpid(), len(t.Name()))
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, still in the namespace
		ns, err := netns.NewNamed(name)
		if err == nil {
			defer ns.Close()
			err = netlink.LinkAdd(device)
		}
		done <- err
	}()
	err := <-done
	t.Cleanup(func() {
		if err := netns.DeleteNamed(name); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return "/run/netns/" + name
}

func returning(t *testing.T, verdict int32) *ebpf.Program {
	t.Helper()
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, verdict), asm.Return()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// there returns the programs at a place, in their order.
func there(t *testing.T, p Place) (ids []ebpf.ProgramID) {
	t.Helper()
	err := nsenter.In(p.Namespace, func() error {
		d, err := find(p.Device)
		if err != nil {
			return err
		}
		attach := ebpf.AttachTCXIngress
		if p.Egress {
			attach = ebpf.AttachTCXEgress
		}
		result, err := link.QueryPrograms(link.QueryOptions{Target: d.Index, Attach: attach})
		if err != nil {
			return err
		}
		for _, x := range result.Programs {
			ids = append(ids, x.ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func id(t *testing.T, p *ebpf.Program) ebpf.ProgramID {
	t.Helper()
	info, err := p.Info()
	if err != nil {
		t.Fatal(err)
	}
	id, _ := info.ID()
	return id
}

// TestAttach puts programs before and behind one of somebody else, which keeps its place
// when they go.
func TestAttach(t *testing.T) {
	path := namespace(t, &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "n6"}, PeerName: "far"})
	for _, egress := range []bool{false, true} {
		other, first, last := returning(t, -1), returning(t, -1), returning(t, -1)
		at := Place{Namespace: path, Device: "n6", Egress: egress}
		var err error
		var closers []Attachment
		for _, x := range []struct {
			program *ebpf.Program
			first   bool
		}{{other, false}, {first, true}, {last, false}} {
			at.First = x.first
			c, e := Attach(x.program, at)
			closers, err = append(closers, c), errors.Join(err, e)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, want := there(t, at), []ebpf.ProgramID{id(t, first), id(t, other), id(t, last)}; !slices.Equal(got, want) {
			t.Errorf("egress %v: got programs %v, want %v", egress, got, want)
		}
		next := returning(t, -1)
		if err := closers[1].Update(next); err != nil {
			t.Fatal(err)
		}
		if got, want := there(t, at), []ebpf.ProgramID{id(t, next), id(t, other), id(t, last)}; !slices.Equal(got, want) {
			t.Errorf("egress %v: got programs %v, want the first of %v in its place", egress, got, want)
		}
		err = errors.Join(closers[1].Close(), closers[2].Close())
		if got, want := there(t, at), []ebpf.ProgramID{id(t, other)}; err != nil || !slices.Equal(got, want) {
			t.Errorf("egress %v: got programs %v, %v, want %v", egress, got, err, want)
		}
		if err := closers[0].Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFilter does the same with clsact, as on kernels before 6.6.
func TestFilter(t *testing.T) {
	path := namespace(t, &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "n6"}, PeerName: "far"})
	for _, egress := range []bool{false, true} {
		at := Place{Namespace: path, Device: "n6", Egress: egress, clsact: true}
		parent := uint32(netlink.HANDLE_MIN_INGRESS)
		if egress {
			parent = netlink.HANDLE_MIN_EGRESS
		}
		one, err := Attach(returning(t, -1), at)
		if err != nil {
			t.Fatal(err)
		}
		two, err := Attach(returning(t, -1), at)
		if err != nil {
			t.Fatal(err)
		}
		next := returning(t, -1)
		if err := one.Update(next); err != nil {
			t.Fatal(err)
		}
		if got := filters(t, at, parent); len(got) != 2 || !slices.Contains(got, id(t, next)) {
			t.Errorf("egress %v: got filters of programs %v, want 2, of them %v", egress, got, id(t, next))
		}
		if err := errors.Join(one.Close(), one.Close()); err != nil { // the second time it has gone
			t.Error(err)
		}
		if got := filters(t, at, parent); len(got) != 1 {
			t.Errorf("egress %v: got %v, want 1 filter", egress, got)
		}
		if err := one.Update(next); err == nil {
			t.Errorf("egress %v: a filter that was taken off is another one", egress)
		}
		if err := two.Close(); err != nil {
			t.Error(err)
		}
	}
}

// filters returns the programs of the filters at a place.
func filters(t *testing.T, p Place, parent uint32) (ids []ebpf.ProgramID) {
	t.Helper()
	err := nsenter.In(p.Namespace, func() error {
		l, err := netlink.LinkByName(p.Device)
		if err != nil {
			return err
		}
		list, err := netlink.FilterList(l, parent)
		for _, x := range list {
			ids = append(ids, ebpf.ProgramID(x.(*netlink.BpfFilter).Id))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestFind looks at devices of several sorts.
func TestFind(t *testing.T) {
	path := namespace(t, &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: "ogstun"}, Mode: netlink.TUNTAP_MODE_TUN})
	for name, want := range map[string]Device{"ogstun": {Bare: true, Tun: true}, "lo": {Loopback: true}} {
		got, err := Place{Namespace: path, Device: name}.Find()
		if got.Index = min(got.Index, 0); err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	}
	if _, err := (Place{Namespace: path, Device: "none"}).Find(); !errors.As(err, &netlink.LinkNotFoundError{}) {
		t.Errorf("no device: got %v", err)
	}
	if _, err := (Place{Namespace: path + "-none", Device: "lo"}).Find(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no namespace: got %v", err)
	}
}

// TestMoved closes a filter of which the path of the namespace, that of a process, is no
// more, while the namespace is.
func TestMoved(t *testing.T) {
	path := namespace(t, &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "n6"}, PeerName: "far"})
	space, err := netns.GetFromPath(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { space.Close() })
	by := fmt.Sprintf("/proc/self/fd/%d", space)
	c, err := Attach(returning(t, -1), Place{Namespace: by, Device: "n6", clsact: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(space.Close(), c.Close()); err != nil {
		t.Error(err)
	}
	if got := filters(t, Place{Namespace: path, Device: "n6"}, netlink.HANDLE_MIN_INGRESS); len(got) != 0 {
		t.Errorf("got filters of %v, want none", got)
	}
}

// TestGone closes what was attached to a device that has gone since.
func TestGone(t *testing.T) {
	for _, clsact := range []bool{false, true} {
		t.Run(fmt.Sprintf("clsact %v", clsact), func(t *testing.T) {
			path := namespace(t, &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "n6", HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 1}}, PeerName: "far"})
			at := Place{Namespace: path, Device: "n6", clsact: clsact}
			c, err := Attach(returning(t, -1), at)
			if err != nil {
				t.Fatal(err)
			}
			err = nsenter.In(path, func() error {
				l, err := netlink.LinkByName("n6")
				if err != nil {
					return err
				}
				return netlink.LinkDel(l)
			})
			if err = errors.Join(err, c.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
