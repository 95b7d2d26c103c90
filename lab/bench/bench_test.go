package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/report"
)

// plumb is the program under test, built once.
var plumb string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "plt-bench-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		if err := os.Chmod(dir, 0o755); err != nil { // for the test as another user
			panic(err)
		}
		plumb = filepath.Join(dir, "plumb")
		build := exec.Command("go", "build", "-buildvcs=false", "-o", plumb, "github.com/plumbline-upf/plumbline/cmd/plumb")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// TestBench measures shortly in both directions, with two numbers of sessions.
// It asserts that frames arrive and are right; how many depends on the machine.
func TestBench(t *testing.T) {
	dir := t.TempDir()
	jsonFile, htmlFile := filepath.Join(dir, "result.json"), filepath.Join(dir, "result.html")
	cmd := command(t, "--sessions", "1,40", "--duration", "100ms", "--repeat", "1",
		"--json", jsonFile, "--html", htmlFile)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	assertGone(t, cmd)

	written, err := os.ReadFile(jsonFile)
	if err != nil {
		t.Fatal(err)
	}
	var result report.Result
	if err := errors.Join(json.Unmarshal(written, &result), result.Validate()); err != nil {
		t.Fatal(err)
	}
	assertTrials(t, &result)
	for _, want := range []string{"uplink", "downlink", "share of bed limit", "40 sessions established over PFCP"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, &stdout)
		}
	}
	page, err := os.ReadFile(htmlFile)
	if err != nil || !bytes.Contains(page, []byte("</html>")) {
		t.Errorf("page of %d octets, %v", len(page), err)
	}
}

// assertTrials wants every trial of TestBench, with frames that are right.
func assertTrials(t *testing.T, result *report.Result) {
	t.Helper()
	type key struct {
		direction report.Direction
		sessions  int
		kind      report.Kind
	}
	seen := map[key]int{}
	for _, trial := range result.Trials {
		seen[key{trial.Direction, trial.Sessions, trial.Kind}]++
		if trial.ReceivedFrames == 0 || trial.ReceivedPPS == 0 || trial.BedRatio == 0 {
			t.Errorf("%s, %d sessions: nothing received: %+v", trial.Direction, trial.Sessions, trial)
		}
		if trial.Misdelivered+trial.Duplicated+trial.Reordered > 0 {
			t.Errorf("%s, %d sessions: %d misdelivered, %d duplicated, %d reordered, want none", trial.Direction,
				trial.Sessions, trial.Misdelivered, trial.Duplicated, trial.Reordered)
		}
		if trial.LatencyNS.P50 == 0 || len(trial.LatencyCurve) == 0 {
			t.Errorf("%s, %d sessions: no latency", trial.Direction, trial.Sessions)
		}
	}
	for _, d := range report.Directions {
		for _, sessions := range []int{1, 40} {
			for _, kind := range []report.Kind{report.Throughput, report.Paced} {
				if k := (key{d, sessions, kind}); seen[k] != 1 {
					t.Errorf("%v: got %d trials, want 1", k, seen[k])
				}
			}
		}
	}
	if result.Install.Sessions != 40 || result.Install.DUTMemoryOctets == 0 || result.Install.MapMemoryOctets == 0 {
		t.Errorf("install: %+v", result.Install)
	}
}

// TestInterruptLeavesNothing sends SIGINT in the middle of a trial.
func TestInterruptLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	page := filepath.Join(t.TempDir(), "result.html")
	cmd := command(t, "--duration", "30s", "--html", page)
	stderr := newWatched("uplink")
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-stderr.seen:
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Error("no trial began")
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
	}
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.out.String(), "interrupted") {
		t.Errorf("got exit code %d, %v, want 1 and interrupted:\n%s", code, err, &stderr.out)
	}
	assertGone(t, cmd)
	if left, _ := filepath.Glob(page + "*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestInterruptKeeps: what was measured before SIGINT is shown and written, and says that it is not
// all.
func TestInterruptKeeps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "result.json")
	cmd := command(t, "--duration", "100ms", "--repeat", "50", "--json", file)
	var stdout bytes.Buffer
	stderr := newWatched("xdp 2/50")
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-stderr.seen:
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("no second trial began")
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
	}
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.out.String(), "plumb: interrupted") {
		t.Errorf("got exit code %d, %v, want 1 and interrupted:\n%s", code, err, &stderr.out)
	}
	if out := stdout.String(); !strings.Contains(out, "unfinished") || !strings.Contains(out, "interrupted") {
		t.Errorf("the table does not say that it is not all:\n%s", out)
	}
	assertGone(t, cmd)
	var result report.Result
	written, err := os.ReadFile(file)
	if err := errors.Join(err, json.Unmarshal(written, &result)); err != nil || len(result.Trials) == 0 || result.Ended != "interrupted" {
		t.Errorf("got %d trials, ended %q, %v", len(result.Trials), result.Ended, err)
	}
}

// TestNotRoot wants exit code 3, and to be told why.
func TestNotRoot(t *testing.T) {
	cmd := exec.Command(plumb, "bench", "--duration", "100ms")
	const nobody = 65534
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Dir = "/"
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 3 || !strings.Contains(string(out), "run it as root") {
		t.Errorf("got exit code %d, %v, want 3 and what to do:\n%s", code, err, out)
	}
}

// command prepares plumb bench, with a directory of its own for temporary files.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(plumb, append([]string{"bench"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	return cmd
}

func tempDir(cmd *exec.Cmd) string {
	return strings.TrimPrefix(cmd.Env[len(cmd.Env)-1], "TMPDIR=")
}

// assertGone wants nothing to be left of the command: namespaces, and the UPF's
// files, which go when the UPF has ended.
func assertGone(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	for _, pattern := range []string{"/run/netns/" + runName + "-*-" + strconv.Itoa(cmd.Process.Pid) + "-*", filepath.Join(tempDir(cmd), "*")} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// watched is an output that tells when a text appears in it.
type watched struct {
	out  bytes.Buffer // not embedded: io.Copy would go round Write
	text string
	seen chan struct{}
	told bool
}

func newWatched(text string) *watched { return &watched{text: text, seen: make(chan struct{})} }

func (w *watched) Write(b []byte) (int, error) {
	n, err := w.out.Write(b)
	if !w.told && strings.Contains(w.out.String(), w.text) {
		w.told = true
		close(w.seen)
	}
	return n, err
}
