package apps

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/topology"
)

// Process is a program in a namespace.
type Process struct {
	cmd    *exec.Cmd
	out    *tail // standard output, and standard error unless that is apart
	errs   *tail // the same as out, or standard error alone
	ended  chan struct{}
	status error // valid after ended

	realtime bool
}

// Start runs a program in a namespace. It and what it started get SIGKILL when
// [Process.Kill] is called, and it when this process dies. dir is its working
// directory; empty: this one's. What a program writes to standard output and error
// is kept: the last [keptOutput] octets of it.
func Start(ns *topology.Namespace, dir string, args ...string) (*Process, error) {
	p := newProcess(dir, args)
	p.errs = p.out
	return p, p.spawn(ns)
}

// StartApart is [Start] with standard error kept apart, for programs that write their
// account to standard output.
func StartApart(ns *topology.Namespace, args ...string) (*Process, error) {
	p := newProcess("", args)
	p.errs = &tail{}
	return p, p.spawn(ns)
}

// Start is [Start] for a program between the ends of the place: see [Place.Realtime].
func (at Place) Start(ns *topology.Namespace, args ...string) (*Process, error) {
	p := newProcess("", args)
	p.errs, p.realtime = p.out, at.Realtime
	return p, p.spawn(ns)
}

// StartApart is [StartApart] for such a program.
func (at Place) StartApart(ns *topology.Namespace, args ...string) (*Process, error) {
	p := newProcess("", args)
	p.errs, p.realtime = &tail{}, at.Realtime
	return p, p.spawn(ns)
}

func newProcess(dir string, args []string) *Process {
	p := &Process{cmd: exec.Command(args[0], args[1:]...), out: &tail{}, ended: make(chan struct{})}
	p.cmd.Dir = dir
	return p
}

// spawn starts the program from an OS thread that lives as long: SIGKILL at the
// parent's death is sent at that of the thread that forked. See prctl(2).
func (p *Process) spawn(ns *topology.Namespace) error {
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.errs
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = time.Second // for output of what it has left running
	started := make(chan error, 1)
	go func() {
		err := ns.Do(func() error {
			runtime.LockOSThread() // never unlocked: the thread ends after the program
			if p.realtime {
				beRealtime()
			}
			if err := p.cmd.Start(); err != nil {
				return err
			}
			started <- nil
			p.status = p.cmd.Wait()
			close(p.ended)
			return nil
		})
		if err != nil {
			started <- err
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("apps: start %s: %w", p.cmd.Args[0], err)
	}
	return nil
}

// beRealtime makes the calling thread, and the programs that it starts, SCHED_RR of the
// lowest priority, if the machine allows that.
func beRealtime() {
	const lowest = 1
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: lowest}, 0)
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// End sends SIGTERM and returns what the program has written to standard output, when
// it has ended with exit status 0 within some time.
func (p *Process) End(ctx context.Context, grace time.Duration) ([]byte, error) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	return p.Wait(ctx, grace)
}

// Kill ends the program and what it has started, and returns when it has ended. It may
// be called on nil.
func (p *Process) Kill() {
	if p == nil {
		return
	}
	select {
	case <-p.ended:
		return
	default:
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may end just now
	<-p.ended
}

// stop sends a signal and gives the program some time before it is killed.
func (p *Process) stop(s syscall.Signal, grace time.Duration) error {
	if p.ends(s, grace) {
		return nil
	}
	p.Kill()
	return fmt.Errorf("apps: %s does not end within %v of %v", p.cmd.Args[0], grace, s)
}

// ends sends a signal and reports whether the program ends within some time.
func (p *Process) ends(s syscall.Signal, grace time.Duration) bool {
	_ = p.cmd.Process.Signal(s) // it may have ended already
	select {
	case <-p.ended:
		return true
	case <-time.After(grace):
		return false
	}
}

// Wait returns what the program wrote when it has ended with exit status 0. At ctx's
// end or after limit it is killed.
func (p *Process) Wait(ctx context.Context, limit time.Duration) ([]byte, error) {
	var err error
	select {
	case <-p.ended:
		err = p.status
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(limit):
		err = fmt.Errorf("still running after %v", limit)
	}
	p.Kill()
	if err != nil {
		return nil, p.failure(err)
	}
	return p.out.Bytes(), nil
}

// Exited is an error if the program has ended already.
func (p *Process) Exited() error {
	select {
	case <-p.ended:
		return p.failure(errors.Join(errors.New("ended early"), p.status))
	default:
		return nil
	}
}

func (p *Process) failure(err error) error {
	return fmt.Errorf("apps: %s: %w: %s", strings.Join(p.cmd.Args, " "), err, p.Said())
}

// Said is the end of what the program has written to standard error, or to both if they
// are not apart.
func (p *Process) Said() string {
	said := strings.TrimSpace(string(p.errs.Bytes()))
	if len(said) > maxSaid {
		said = "…" + strings.ToValidUTF8(said[len(said)-maxSaid:], "")
	}
	return said
}

const (
	maxSaid    = 600     // octets of a program's last words in an error
	keptOutput = 1 << 20 // octets of what a program writes
)

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept bytes.Buffer
}

var _ io.Writer = (*tail)(nil)

// Write implements [io.Writer] and never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept.Write(b)
	if over := t.kept.Len() - keptOutput; over > 0 {
		t.kept.Next(over)
	}
	return len(b), nil
}

// Bytes returns a copy of what is kept.
func (t *tail) Bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.kept.Bytes())
}
