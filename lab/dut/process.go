package dut

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// spawn starts the process in the namespace, from an OS thread that lives as
// long as the process: SIGKILL at the parent's death is sent at that of the
// thread that forked. The thread is not given back, so that no other goroutine
// ever runs in the namespace, with its mounts or on its CPUs; it ends after the
// process.
func (d *Instance) spawn() error {
	started := make(chan error, 1)
	go func() {
		running := false
		err := d.Place.do(func() error {
			runtime.LockOSThread() // never unlocked
			if err := d.enter(); err != nil {
				return err
			}
			if err := d.cmd.Start(); err != nil {
				return err
			}
			running = true
			started <- nil
			d.status = d.cmd.Wait()
			_ = syscall.Kill(-d.PID(), syscall.SIGKILL) // what it started, if that is still there
			close(d.done)
			return nil
		})
		if !running {
			d.cmd = nil
			started <- err
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", d.Program.Path, err)
	}
	return nil
}

// enter makes the thread what the process shall inherit.
func (d *Instance) enter() error {
	if d.plan.Mounts {
		if err := ownMounts(); err != nil {
			return err
		}
	}
	return pin(d.Place.CPUs)
}

// ownMounts gives the thread a view of the file systems of its own, with the
// /sys of its network namespace and an empty BPF file system, which goes with
// the last process that sees it.
func ownMounts() error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare mounts: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mount sysfs: %w", err)
	}
	if err := unix.Mount("bpf", "/sys/fs/bpf", "bpf", 0, ""); err != nil {
		return fmt.Errorf("mount the BPF file system: %w", err)
	}
	return nil
}

// pin makes the thread, and what it starts, run on these CPUs only.
func pin(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("run on CPUs %v: %w", cpus, err)
	}
	return nil
}

// Stop ends the processes, at first by SIGTERM, and removes their devices and
// files. An error says that ours had to be killed, or did not end well; how others'
// end is their own affair, and some take long with many sessions.
func (d *Instance) Stop() error {
	if d.cmd == nil {
		return d.clean()
	}
	select {
	case <-d.done:
		return d.clean() // whoever used it has seen Err
	default:
	}
	errs := []error{d.signal(syscall.SIGTERM), d.Resume()} // a stopped process would not notice
	var why error
	select {
	case <-d.done:
		if d.status != nil {
			why = fmt.Errorf("dut: stop %s: %w; the end of its log:\n%s", d.Kind.Name, d.status, d.log)
		}
	case <-time.After(graceTime):
		why = fmt.Errorf("dut: %s still ran %v after SIGTERM: killed", d.Kind.Name, graceTime)
	}
	if d.Kind.Own {
		errs = append(errs, why)
	}
	return errors.Join(append(errs, d.Kill())...)
}

// Kill ends the processes by SIGKILL, as a power cut would, and removes their
// devices and files.
func (d *Instance) Kill() error {
	if d.cmd == nil {
		return d.clean()
	}
	err := d.signal(syscall.SIGKILL)
	<-d.done
	return errors.Join(err, d.clean())
}

// Park stops the processes, so that they take no CPU while others are measured;
// what the kernel does for them goes on. Nothing may be asked of them until
// Resume.
func (d *Instance) Park() error { return d.signal(syscall.SIGSTOP) }

// Resume lets parked processes go on, and does nothing to any other.
func (d *Instance) Resume() error { return d.signal(syscall.SIGCONT) }

// signal sends s to all processes of the group, which is called after the
// program's, unless that has ended: its number may be another's by now.
func (d *Instance) signal(s syscall.Signal) error {
	if d.cmd == nil {
		return nil
	}
	select {
	case <-d.done:
		return nil
	default:
	}
	if err := syscall.Kill(-d.PID(), s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("dut: %v to process group %d: %w", s, d.PID(), err)
	}
	return nil
}

// clean removes what the UPF and its start have left.
func (d *Instance) clean() error {
	var err error
	if d.plan != nil && d.plan.Teardown != nil {
		if err = d.Place.do(d.plan.Teardown); err != nil {
			err = fmt.Errorf("dut: clean up after %s: %w", d.Kind.Name, err)
		}
	}
	if d.dir == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}
