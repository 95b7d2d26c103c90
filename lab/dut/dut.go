// Package dut runs a UPF as the device under test: a child process in a network
// namespace of its own, configured by a file, driven over N4 and watched
// through /proc and its local API.
//
//	Start ─► configuration file ─► process in the namespace ─► N4 answers a Heartbeat
//	Stop  ─► SIGTERM ─► (grace) ─► SIGKILL ─► files removed
//
// The process gets SIGKILL when its parent dies, and has a process group of its
// own, so that an interrupt of the parent does not reach it before Stop does.
package dut

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plumbline/lab/topology"
	"plumbline/upf"
)

const (
	readyTime = 20 * time.Second // for the first answer to a Heartbeat Request
	graceTime = 10 * time.Second // between SIGTERM and SIGKILL
)

// exitUnsupported is the exit code with which the UPF says that this machine,
// kernel or device cannot do what it needs.
const exitUnsupported = 3

// Config says what to run, and where.
type Config struct {
	Binary    string              // plumb; empty: this program
	Namespace *topology.Namespace // with the devices and addresses that UPF names
	CPUs      []int               // that the process may run on; empty: any
	// UPF is the configuration. Its API socket and metrics address are set by
	// Start: they must be this DUT's own.
	UPF *upf.Config
}

// DUT is a running UPF. Its methods may be called by several goroutines, except
// that Stop is for one.
type DUT struct {
	// File is the configuration as it was given to the process.
	File string

	dir    string
	cmd    *exec.Cmd
	log    *tail
	client *upf.Client
	done   chan struct{} // closed when the process has ended
	status error         // of the process; valid after done
}

// Start runs the UPF and returns when its N4 answers.
//
// Errors: [errors.ErrUnsupported] if the process says that it cannot run on
// this machine; the last lines of its log are in every error of the process.
func Start(ctx context.Context, c Config) (*DUT, error) {
	d := &DUT{log: &tail{}, done: make(chan struct{})}
	if err := d.start(c); err != nil {
		return nil, fmt.Errorf("dut: %w", errors.Join(err, d.clean()))
	}
	if err := d.waitReady(ctx, c); err != nil {
		return nil, fmt.Errorf("dut: %w", errors.Join(err, d.Stop()))
	}
	return d, nil
}

// start writes the configuration and starts the process.
func (d *DUT) start(c Config) error {
	var err error
	if d.dir, err = os.MkdirTemp("", "plumb-dut-"); err != nil {
		return err
	}
	own := *c.UPF
	own.API.Socket = filepath.Join(d.dir, "upf.sock")
	own.Metrics = upf.Metrics{}
	file, err := own.Marshal()
	if err != nil {
		return err
	}
	path := filepath.Join(d.dir, "upf.yaml")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		return err
	}
	d.File, d.client = string(file), upf.NewClient(own.API.Socket)

	binary := c.Binary
	if binary == "" {
		if binary, err = os.Executable(); err != nil {
			return err
		}
	}
	d.cmd = exec.Command(binary, "upf", "--config", path)
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return d.spawn(c)
}

// spawn starts the process in the namespace, from an OS thread that lives as
// long as the process: SIGKILL at the parent's death is sent at that of the
// thread that forked. The thread is not given back, so that no other goroutine
// ever runs in the namespace; it ends after the process.
func (d *DUT) spawn(c Config) error {
	started := make(chan error, 1)
	go func() {
		running := false
		err := c.Namespace.Do(func() error {
			if err := pin(c.CPUs); err != nil {
				return err
			}
			if err := d.cmd.Start(); err != nil {
				return err
			}
			running = true
			started <- nil
			d.status = d.cmd.Wait()
			close(d.done)
			return nil
		})
		if !running {
			started <- err
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", d.cmd.Path, err)
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

// PID returns the process id.
func (d *DUT) PID() int { return d.cmd.Process.Pid }

// Done is closed when the process has ended, whoever ended it.
func (d *DUT) Done() <-chan struct{} { return d.done }

// Err says how the process ended by itself, with the end of its log; nil while
// it runs.
func (d *DUT) Err() error {
	select {
	case <-d.done:
	default:
		return nil
	}
	why := "exit status 0"
	if d.status != nil {
		why = d.status.Error()
	}
	err := fmt.Errorf("the UPF ended with %s; the end of its log:\n%s", why, d.log)
	if d.cmd.ProcessState.ExitCode() == exitUnsupported {
		err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// Log returns the end of what the process wrote.
func (d *DUT) Log() string { return d.log.String() }

// Stop ends the process, at first by SIGTERM, and removes its files. An error
// says that it had to be killed, or that it did not end well.
func (d *DUT) Stop() error {
	select {
	case <-d.done:
		return d.clean() // whoever used it has seen Err
	default:
	}
	errs := []error{d.signal(syscall.SIGTERM), d.Resume()} // a stopped process would not notice
	select {
	case <-d.done:
		if d.status != nil {
			errs = append(errs, fmt.Errorf("dut: stop: %w; the end of its log:\n%s", d.status, d.log))
		}
	case <-time.After(graceTime):
		errs = append(errs, fmt.Errorf("dut: still running %v after SIGTERM: killed", graceTime), d.signal(syscall.SIGKILL))
		<-d.done
	}
	return errors.Join(append(errs, d.clean())...)
}

// Park stops all of the process, so that it takes no CPU while others are measured;
// what the kernel does for it goes on. Nothing may be asked of it until Resume.
func (d *DUT) Park() error { return d.signal(syscall.SIGSTOP) }

// Resume lets a parked process go on, and does nothing to any other.
func (d *DUT) Resume() error { return d.signal(syscall.SIGCONT) }

func (d *DUT) signal(s syscall.Signal) error {
	if err := d.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("dut: %v to process %d: %w", s, d.PID(), err)
	}
	return nil
}

func (d *DUT) clean() error {
	if d.dir == "" {
		return nil
	}
	return os.RemoveAll(d.dir)
}

// tail keeps the end of a log.
type tail struct {
	mu  sync.Mutex
	end []byte
}

const tailOctets = 8 << 10

// Write never fails, so that the process never waits for its log to be read.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, b...)
	if excess := len(t.end) - tailOctets; excess > 0 {
		t.end = append(t.end[:0], t.end[excess:]...)
	}
	return len(b), nil
}

// String returns what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.end)
}
