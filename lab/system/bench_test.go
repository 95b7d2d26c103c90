package system

import (
	"bytes"
	"context"
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
	l, err := report.ReadLab(bytes.NewReader(written))
	if err != nil {
		t.Fatal(err)
	}
	assertTrials(t, l)
	for _, want := range []string{"uplink", "downlink", "received, kpps", "of bed", "latency p99", "memory, MiB"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, &stdout)
		}
	}
	page, err := os.ReadFile(htmlFile)
	if err != nil || !bytes.Contains(page, []byte("</html>")) {
		t.Errorf("page of %d octets, %v", len(page), err)
	}
}

// assertTrials wants a turn of bed and UPF in every cell of TestBench, with frames that are right.
func assertTrials(t *testing.T, l *report.Lab) {
	t.Helper()
	type key struct {
		direction      report.Direction
		sessions       int
		method, system string
	}
	seen := map[key]int{}
	for _, turn := range l.Turns {
		c := l.Plan.Cells[turn.Cell]
		k := key{c.Direction, c.Sessions, c.Method, turn.System}
		seen[k]++
		figure, least := "latency p50", 1.0
		if c.Method == "share" {
			figure = report.FigureReceived
		}
		if f := turn.Figure(figure); f == nil || f.Value < least {
			t.Errorf("%v: %s: %+v", k, figure, f)
		}
		for _, trial := range turn.Trials {
			if trial.ReceivedFrames == 0 || trial.Misdelivered+trial.Duplicated+trial.Reordered > 0 {
				t.Errorf("%v: %d received, %d misdelivered, %d duplicated, %d reordered", k, trial.ReceivedFrames, trial.Misdelivered,
					trial.Duplicated, trial.Reordered)
			}
		}
	}
	for _, d := range report.Directions {
		for _, sessions := range []int{1, 40} {
			for _, name := range []string{report.SystemBed, "plumbline xdp"} {
				for _, method := range []string{"share", "latency"} {
					if k := (key{d, sessions, method, name}); seen[k] != 1 {
						t.Errorf("%v: got %d turns, want 1", k, seen[k])
					}
				}
			}
		}
	}
	m := l.System("plumbline xdp").Memory
	if len(m) != 2 || m[1].Sessions != 40 || m[1].ResidentOctets == 0 || m[1].MapOctets == 0 || m[1].InstallPerSec == 0 {
		t.Errorf("memory: %+v", m)
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
	cmd := command(t, "--plain", "--duration", "100ms", "--repeat", "50", "--json", file)
	var stdout bytes.Buffer
	stderr := newWatched("xdp: share, uplink, 1 session, frames 1446, max, 2/50")
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
	if l, err := report.ReadLabFile(file); err != nil || len(l.Turns) == 0 || l.Finished != nil {
		t.Errorf("got %+v, %v", l, err)
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
	for _, pattern := range []string{"/run/netns/plumb-lab-*-" + strconv.Itoa(cmd.Process.Pid) + "-*", filepath.Join(tempDir(cmd), "*")} {
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
