package dut

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumbline/lab/topology"
	"plumbline/upf"
)

// TestStartSaysWhyItFailed runs programs that end instead of being a UPF.
func TestStartSaysWhyItFailed(t *testing.T) {
	bed, err := topology.New(topology.Config{Name: "plt-dut"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	})
	scripts, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, tc := range []struct {
		name, script string
		want         string
		unsupported  bool
	}{
		{"fails", "echo no such device >&2; exit 1", "no such device", false},
		{"is not supported", "echo no XDP here; exit 3", "no XDP here", true},
		{"ends well", "exit 0", "exit status 0", false},
		{"is in the namespace, and configured", `grep -c "n3:" "$3" >/dev/null && cat /proc/net/dev; exit 1`, "n6:", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			script := filepath.Join(scripts, "upf")
			if err := os.WriteFile(script, []byte("#!/bin/sh\n"+tc.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			kind := Plumbline(upf.DatapathXDP, nil)
			kind.Path = script
			_, err := Start(context.Background(), kind, At(bed))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want it to say %q", err, tc.want)
			}
			if got := errors.Is(err, errors.ErrUnsupported); got != tc.unsupported {
				t.Errorf("%v: is unsupported: got %v, want %v", err, got, tc.unsupported)
			}
		})
	}
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestPark wants a process that stops and goes on, and ends although it is stopped.
func TestPark(t *testing.T) {
	d := &Instance{cmd: exec.Command("sleep", "60"), log: &tail{}, done: make(chan struct{})}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		d.status = d.cmd.Wait()
		close(d.done)
	}()
	stopped := func() bool {
		stat, err := os.ReadFile(proc(d.PID(), "stat"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(stat), ") T ")
	}
	for _, step := range []struct {
		name string
		do   func() error
		want bool
	}{{"park", d.Park, true}, {"resume", d.Resume, false}, {"resume again", d.Resume, false}, {"park again", d.Park, true}} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		for deadline := time.Now().Add(5 * time.Second); stopped() != step.want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: stopped: got %v, want %v", step.name, !step.want, step.want)
			}
		}
	}
	before := time.Now()
	_ = d.Stop() // sleep ends by the signal, which is not well
	if took := time.Since(before); took >= graceTime {
		t.Errorf("a parked process took %v to end", took)
	}
}
