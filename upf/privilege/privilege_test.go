package privilege

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/caps"
)

// childEnv makes the test binary confine itself and print what its threads have.
const childEnv = "PLUMBLINE_TEST_CONFINE"

// duringEnv makes it call With first, and Confine while that is under way.
const duringEnv = "PLUMBLINE_TEST_DURING"

// movesEnv makes it one that may move, and print what it has within With, too.
const movesEnv = "PLUMBLINE_TEST_MOVES"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	confine := func() error { return Confine(os.Getenv(movesEnv) != "") }
	if os.Getenv(duringEnv) != "" {
		confine = confineDuringWith
	}
	if err := confine(); err != nil {
		if errors.Is(err, syscall.ENOTSUP) {
			fmt.Println("cgo")
			os.Exit(0)
		}
		fmt.Println(err)
		os.Exit(1)
	}
	if os.Getenv(movesEnv) != "" {
		if err := With(func() error { printThreads(); return nil }); err != nil {
			panic(err)
		}
		fmt.Println(behind)
	}
	printThreads()
	os.Exit(0)
}

// confineDuringWith calls Confine while With is under way, and prints what the threads
// have within it.
func confineDuringWith() error {
	confined := make(chan error)
	err := With(func() error {
		go func() { confined <- Confine(true) }()
		select {
		case err := <-confined:
			go func() { confined <- err }()
		case <-time.After(200 * time.Millisecond): // it waits
		}
		printThreads()
		return nil
	})
	fmt.Println(behind)
	return errors.Join(err, <-confined)
}

// behind stands between what threads have within With and behind it.
const behind = "-- behind With"

func printThreads() {
	files, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		status, err := os.ReadFile(f)
		if err != nil {
			panic(err)
		}
		os.Stdout.Write(status)
	}
}

// TestWith: who may move has the capabilities of a start while it does, and only
// then.
func TestWith(t *testing.T) {
	out := child(t, movesEnv)
	have, err := caps.Effective()
	if err != nil {
		t.Fatal(err)
	}
	keep, start := masks(uint64(have))
	within, after, ok := bytes.Cut(out, []byte(behind))
	if !ok {
		t.Fatalf("nothing behind With: %s", out)
	}
	for where, tc := range map[string]struct {
		out       []byte
		effective uint64
	}{"within": {within, start}, "behind": {after, keep}} {
		want := map[string]bool{
			fmt.Sprintf("CapEff:\t%016x", tc.effective): true, fmt.Sprintf("CapPrm:\t%016x", start): true, "NoNewPrivs:\t1": true,
		}
		got := lines(tc.out, "CapEff:", "CapPrm:", "NoNewPrivs:")
		if len(got) < 6 {
			t.Errorf("%s With: %d lines of threads, want more than one thread", where, len(got))
		}
		for _, line := range got {
			if !want[line] {
				t.Errorf("%s With: a thread has %q, want one of %v", where, line, want)
			}
		}
	}
}

// TestConfineWaits: privileges are not given up under what needs them, as a move in the
// first second of a UPF.
func TestConfineWaits(t *testing.T) {
	out := child(t, duringEnv)
	have, err := caps.Effective()
	if err != nil {
		t.Fatal(err)
	}
	within, after, ok := bytes.Cut(out, []byte(behind))
	if !ok {
		t.Fatalf("nothing behind With: %s", out)
	}
	keep, _ := masks(uint64(have))
	for where, tc := range map[string]struct {
		out       []byte
		effective uint64
	}{"within": {within, uint64(have)}, "behind": {after, keep}} {
		for _, line := range lines(tc.out, "CapEff:") {
			if want := fmt.Sprintf("CapEff:\t%016x", tc.effective); line != want {
				t.Errorf("%s With: a thread has %q, want %q", where, line, want)
			}
		}
	}
}

// child runs the test binary as one that confines itself, and returns what it prints.
func child(t *testing.T, env ...string) []byte {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"=1")
	for _, name := range env {
		cmd.Env = append(cmd.Env, name+"=1")
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if bytes.HasSuffix(out, []byte("cgo\n")) {
		if !usesCgo {
			t.Fatal("Confine says that the program uses cgo, which it does not")
		}
		t.Skip("the race detector brings cgo in, whose threads Go cannot confine")
	}
	return out
}

// TestConfine: after it no thread has another capability than those that a
// running UPF needs, nor can any gain one.
func TestConfine(t *testing.T) {
	out := child(t)
	have, err := caps.Effective()
	if err != nil {
		t.Fatal(err)
	}
	keep := have & (1<<unix.CAP_NET_ADMIN | 1<<unix.CAP_BPF)
	got := lines(out, "CapEff:", "CapPrm:", "NoNewPrivs:")
	threads := len(got) / 3
	var want []string
	for range threads {
		want = append(want, fmt.Sprintf("CapEff:\t%016x", keep), fmt.Sprintf("CapPrm:\t%016x", keep), "NoNewPrivs:\t1")
	}
	slices.Sort(got)
	slices.Sort(want)
	if threads < 2 || !slices.Equal(got, want) {
		t.Errorf("%d threads, want more than one\n got %q\nwant %q", threads, got, want)
	}
}

// lines returns those lines of text that begin with one of prefixes.
func lines(text []byte, prefixes ...string) []string {
	var found []string
	for line := range bytes.Lines(text) {
		for _, p := range prefixes {
			if bytes.HasPrefix(line, []byte(p)) {
				found = append(found, strings.TrimSpace(string(line)))
			}
		}
	}
	return found
}

func TestMissing(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "-test.run=TestMissingChild", "-test.v")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range needed {
		if !bytes.Contains(out, []byte(c.name+" (to "+c.why+")")) {
			t.Errorf("as nobody: got %s, want %s among the missing", out, c.name)
		}
	}
}

// TestMissingChild is run by TestMissing as nobody.
func TestMissingChild(t *testing.T) {
	missing, err := Missing()
	t.Log(missing, err)
}
