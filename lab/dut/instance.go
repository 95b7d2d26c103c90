package dut

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/scratch"
	"github.com/plumbline-upf/plumbline/upf"
)

const (
	readyTime = 20 * time.Second // until N4 is ready
	loadTime  = 3 * time.Minute  // the same, of one that still computes: a verifier on a slow machine takes its time
	graceTime = 10 * time.Second // between SIGTERM and SIGKILL
	logTime   = time.Second      // for the log of what a program that has ended has left running
)

// exitUnsupported is the exit code with which our UPF says that this machine,
// kernel or device cannot do what it needs.
const exitUnsupported = 3

// Instance is a UPF that runs at a place. Its methods may be called by several
// goroutines, except that Stop and Kill are for one.
type Instance struct {
	Kind    Kind
	Program Program
	Place   Place
	// File is the configuration as it was given to the process; empty of an External kind.
	File string

	dir    string
	plan   *Plan
	cmd    *exec.Cmd // nil: nothing was started
	log    *tail
	client *upf.Client   // nil: not ours
	done   chan struct{} // closed when the process has ended
	status error         // of the process; valid after done
}

// Start runs the UPF and returns when its N4 is ready.
//
// Errors: [ErrNotInstalled]; [errors.ErrUnsupported] if the machine lacks what
// the kind needs, or the process says that it cannot run here. The last lines of
// its log are in every error of the process.
func Start(ctx context.Context, k Kind, p Place) (*Instance, error) {
	d := &Instance{Kind: k, Place: p, log: &tail{also: p.Log}, done: make(chan struct{})}
	if err := d.start(); err != nil {
		return nil, fmt.Errorf("dut: %w", errors.Join(err, d.clean()))
	}
	if err := d.waitReady(ctx); err != nil {
		return nil, fmt.Errorf("dut: %s: %w", k.Name, errors.Join(err, d.Stop()))
	}
	return d, nil
}

// start writes the configuration, prepares the namespace and starts the process.
func (d *Instance) start() error {
	if d.Kind.External {
		return nil
	}
	var err error
	if d.Program, err = d.Kind.Find(); err != nil {
		return err
	}
	if d.Kind.Needs != nil {
		if err := d.Kind.Needs(); err != nil {
			return fmt.Errorf("%s: %w", d.Kind.Name, err)
		}
	}
	if d.dir, err = scratch.Directory("dut"); err != nil {
		return err
	}
	plan, err := d.Kind.Plan(&d.Place, d.dir)
	if err != nil {
		return fmt.Errorf("%s: %w", d.Kind.Name, err)
	}
	if err := d.write(plan); err != nil {
		return err
	}
	d.plan = plan
	if plan.Socket != "" {
		d.client = upf.NewClient(plan.Socket)
	}
	if plan.Setup != nil {
		if err := d.Place.do(plan.Setup); err != nil {
			return fmt.Errorf("%s: prepare its namespace: %w", d.Kind.Name, err)
		}
	}
	d.cmd = exec.Command(d.Program.Path, plan.Args...)
	d.cmd.Dir, d.cmd.Env = d.dir, append(os.Environ(), plan.Env...)
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	d.cmd.WaitDelay = logTime
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return d.spawn()
}

// write puts the files of the plan into the directory.
func (d *Instance) write(plan *Plan) error {
	for name, text := range plan.Files {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	d.File = plan.Files[plan.Show]
	return nil
}

// Template is what the sessions of d have in common: see [Kind.Template].
func (d *Instance) Template() (n4load.Template, error) { return d.Kind.Template(&d.Place) }

// PID returns the process id of the program; 0 if nothing was started.
func (d *Instance) PID() int {
	if d.cmd == nil {
		return 0
	}
	return d.cmd.Process.Pid
}

// Done is closed when the process has ended, whoever ended it: never, if nothing
// was started.
func (d *Instance) Done() <-chan struct{} { return d.done }

// Err says how the process ended by itself, with the end of its log; nil while
// it runs.
func (d *Instance) Err() error {
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
	if d.Kind.Own && d.cmd.ProcessState.ExitCode() == exitUnsupported {
		err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}

// Log returns the end of what the processes wrote.
func (d *Instance) Log() string { return d.log.String() }
