package topology

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// SetThreaded moves the receive work of the UPF's devices to kernel threads of
// their own (threaded NAPI), or back.
//
// Without it a frame's whole way (generator, UPF, meter) runs in the sender's
// softirq on one CPU: the generator is slowed by what follows, nothing is lost
// and the rate is the sum of all costs. With it the UPF has a CPU of its own and
// can be overloaded, so loss becomes visible; on few CPUs the rate falls.
//
// Errors: fs.ErrNotExist if the kernel has no threaded NAPI (before 5.12).
func (t *Topology) SetThreaded(on bool) error {
	value := "0"
	if on {
		value = "1"
	}
	for _, p := range []Port{t.N3.UPF, t.N6.UPF} {
		if err := p.Namespace.writeSysfs("class/net/"+p.Device+"/threaded", value); err != nil {
			return fmt.Errorf("topology: threaded NAPI of %s of %s: %w", p.Device, p.Namespace.Name, err)
		}
	}
	return nil
}

// writeSysfs writes a file below /sys as the namespace sees it.
func (n *Namespace) writeSysfs(name, value string) error {
	return n.openSysfs(name, unix.O_WRONLY, func(fd int) error {
		if _, err := unix.Write(fd, []byte(value)); err != nil {
			return &os.PathError{Op: "write", Path: name, Err: err}
		}
		return nil
	})
}

// openSysfs opens a file below /sys as the namespace sees it. The sysfs that is
// mounted shows the devices of the namespace it was mounted in, so this makes an
// instance of its own, without mounting it anywhere.
func (n *Namespace) openSysfs(name string, flags int, use func(fd int) error) error {
	return n.Do(func() error {
		context, err := unix.Fsopen("sysfs", unix.FSOPEN_CLOEXEC)
		if err != nil {
			return fmt.Errorf("fsopen sysfs: %w", err)
		}
		defer unix.Close(context)
		if err := unix.FsconfigCreate(context); err != nil {
			return fmt.Errorf("create sysfs: %w", err)
		}
		root, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("fsmount sysfs: %w", err)
		}
		defer unix.Close(root)
		fd, err := unix.Openat(root, name, flags|unix.O_CLOEXEC, 0)
		if err != nil {
			return &os.PathError{Op: "open", Path: name, Err: err}
		}
		defer unix.Close(fd)
		return use(fd)
	})
}
