package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/cli"
)

// TestInputFiles: a file of the command line that cannot be read is wrong usage in every command.
func TestInputFiles(t *testing.T) {
	dir := t.TempDir()
	for _, command := range []string{
		"upf --config", "n4 --config", "datapath --config", "gnb --config", "lab compare", "lab report", "probe report", "probe rematch",
		"nfapi decode", "nfapi analyze", "nfapi vnf --config", "nfapi pnf --config", "nfapi mono --config", "nfapi impair --config",
		"pfcp run --upf 127.0.0.1", "lab throughput --resume", "lab n4 --resume",
	} {
		for name, file := range map[string]string{"a directory": dir, "not there": dir + "/none"} {
			err := run(t.Context(), append(strings.Fields(command), file), io.Discard)
			if cli.ExitCode(err) != cli.ExitUsage {
				t.Errorf("%s, %s: got %v", command, name, err)
			}
		}
	}
	full := &fs.PathError{Op: "write", Path: "/dev/stdout", Err: unix.ENOSPC}
	if got := cli.ExitCode(cli.InputError(full)); got != cli.ExitFailed {
		t.Errorf("%v: got %d, want %d", full, got, cli.ExitFailed)
	}
}

// TestEndSignals: a terminal that is closed ends a command in order, not under nohup.
func TestEndSignals(t *testing.T) {
	ignored, c := signal.Ignored(unix.SIGHUP), make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGHUP) // from here on it is not ignored
	if got := endSignals(); !slices.Contains(got, os.Signal(unix.SIGHUP)) {
		t.Errorf("got %v, want SIGHUP among them", got)
	}
	signal.Ignore(unix.SIGHUP)
	if got := endSignals(); slices.Contains(got, os.Signal(unix.SIGHUP)) {
		t.Errorf("ignored: got %v", got)
	}
	if !ignored {
		signal.Notify(c, unix.SIGHUP)
		signal.Stop(c)
	}
}

// TestHelpHasExamples holds every command to a page of help that shows how it
// is used, its own or that of the command it belongs to, and every flag to a text.
func TestHelpHasExamples(t *testing.T) {
	parser, err := kong.New(&commands{}, kong.Name("plumb"), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(true) {
		if !hasExample(leaf) {
			t.Errorf("%s: no example in its help:\n%s", leaf.FullPath(), leaf.Detail)
		}
		if leaf.Help == "" {
			t.Errorf("%s: no help text", leaf.FullPath())
		}
		for _, group := range leaf.AllFlags(true) {
			for _, flag := range group {
				if flag.Help == "" {
					t.Errorf("%s --%s: no help text", leaf.FullPath(), flag.Name)
				}
			}
		}
	}
}

func hasExample(n *kong.Node) bool {
	for ; n != nil && n.Type == kong.CommandNode; n = n.Parent {
		if strings.Contains(n.Detail, "\nExamples:\n\n    "+n.FullPath()) {
			return true
		}
	}
	return false
}

// panics is main, which panics after it has said how a panic ends: it looks for its
// arguments and there is not even a name.
func panics() {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(cli.ExitFailed)
	}
	os.Args = nil
	main()
}

// TestPanic: a panic ends by a signal, not with the exit code 2 of a wrong command line, after
// which systemd would not start the program again.
func TestPanic(t *testing.T) {
	child := exec.CommandContext(t.Context(), "plumb-panics")
	said, err := child.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("got %v, want it to be killed:\n%s", err, said)
	}
	if status, _ := exit.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != unix.SIGABRT {
		t.Errorf("got %v, want %v:\n%s", exit, unix.SIGABRT, said)
	}
	if !bytes.Contains(said, []byte("main.main()")) || !bytes.Contains(said, []byte("out of range")) {
		t.Errorf("it did not panic in main:\n%s", said)
	}
}

// TestPipeClosed: the process comes to its end itself, is not killed by SIGPIPE, and says
// nothing.
func TestPipeClosed(t *testing.T) {
	cmd := exec.Command("plumb", "version")
	var log strings.Builder
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close() // nobody reads
	cmd.Stdout, cmd.Stderr = w, &log
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != cli.ExitFailed || log.Len() > 0 {
		t.Errorf("got %v, %q, want exit code %d and nothing said", err, log.String(), cli.ExitFailed)
	}
}
