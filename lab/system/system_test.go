package system

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumbline/lab/dut"
	"plumbline/lab/generator"
	"plumbline/lab/report"
	"plumbline/upf"
)

// plumb is the UPF, built once.
var plumb string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "plt-system-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		plumb = filepath.Join(dir, "plumb")
		build := exec.Command("go", "build", "-buildvcs=false", "-o", plumb, "plumbline/cmd/plumb")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// newSystem starts a system, and wants nothing to be left of it after the test.
func newSystem(t *testing.T, c Config) *System {
	t.Helper()
	c.Run = "plt-system"
	c.Kind.Path = plumb
	cpus, err := ShareCPUs(2)
	if err != nil {
		t.Fatal(err)
	}
	c.CPUs = cpus
	s, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob("/run/netns/plt-system-*-" + strconv.Itoa(os.Getpid()) + "-*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return s
}

func open(t *testing.T, s *System, f Frames, directions ...report.Direction) {
	t.Helper()
	if err := s.Open(f, directions, NewRun()); err != nil {
		t.Fatal(err)
	}
}

func establish(t *testing.T, s *System, n int, r Rules) {
	t.Helper()
	if err := s.Establish(t.Context(), n, r); err != nil {
		t.Fatal(err)
	}
	if got := len(s.Sessions()); got != n {
		t.Fatalf("%d sessions, want %d", got, n)
	}
}

// assertClean wants frames that all arrived where they belong.
func assertClean(t *testing.T, trial *report.Trial) {
	t.Helper()
	if trial.ReceivedFrames == 0 || trial.Misdelivered+trial.Duplicated > 0 {
		t.Errorf("%s: %d received of %d, %d misdelivered, %d duplicated", trial.Direction, trial.ReceivedFrames, trial.OfferedFrames,
			trial.Misdelivered, trial.Duplicated)
	}
	l := &trial.LatencyNS
	if l.Min == 0 || l.Min > l.Mean || l.Mean > l.Max || l.P999 < l.P50 || l.PDV != l.P999-l.Min || l.Variation > l.Max {
		t.Errorf("%s: latency %+v", trial.Direction, l)
	}
	h, err := trial.Histogram()
	if err != nil || h == nil || uint64(h.TotalCount()) != trial.ReceivedFrames {
		t.Errorf("%s: histogram of %v, %v, want %d latencies", trial.Direction, h, err, trial.ReceivedFrames)
	}
}

// TestBothDirections sends both ways at once, through a UPF and through beds, and
// looks on meanwhile.
func TestBothDirections(t *testing.T) {
	for _, c := range []Config{
		{Name: "bed", Bed: BedXDP},
		{Name: "bed tc", Bed: BedSkbs, Offload: true, Skbs: true},
		{Name: "xdp", Kind: dut.Plumbline(upf.DatapathXDP, nil)},
	} {
		t.Run(c.Name, func(t *testing.T) {
			s := newSystem(t, c)
			establish(t, s, 10, Rules{})
			open(t, s, Frames{PayloadOctets: 64, Access: generator.Uniform}, report.Directions...)
			var mu sync.Mutex
			samples := map[report.Direction]int{}
			load := At(2000, 1200*time.Millisecond)
			load.OnSample = func(s Sample) {
				mu.Lock()
				defer mu.Unlock()
				if s.OfferedPPS > 0 && s.ReceivedPPS > 0 && s.P99NS >= s.P50NS {
					samples[s.Direction]++
				}
			}
			trials, err := s.Trial(t.Context(), load)
			if err != nil || len(trials) != 2 {
				t.Fatalf("%d trials, %v", len(trials), err)
			}
			for i, d := range report.Directions {
				trial := &trials[i]
				if trial.Direction != d || trial.Sessions != 10 || trial.Datapath != c.Name || trial.IntendedFrames < 2300 {
					t.Errorf("got %+v", trial)
				}
				if samples[d] == 0 {
					t.Errorf("%s: no sample", d)
				}
				assertClean(t, trial)
			}
		})
	}
}

// TestEstablish brings sessions up and down, and changes their rules; frames of all
// must pass each time, and of a deleted one must not.
func TestEstablish(t *testing.T) {
	s := newSystem(t, Config{Name: "xdp", Kind: dut.Plumbline(upf.DatapathXDP, nil)})
	for _, tc := range []struct {
		n     int
		rules Rules
		ipv6  bool
	}{{n: 20}, {n: 50}, {n: 5}, {n: 5, rules: Rules{PDRs: 3, URR: true}}, {n: 8, rules: Rules{IPv6: true}, ipv6: true}} {
		establish(t, s, tc.n, tc.rules)
		open(t, s, Frames{PayloadOctets: 64, IPv6: tc.ipv6, Access: generator.Uniform}, report.Uplink)
		trials, err := s.Trial(t.Context(), At(5000, 100*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		if trials[0].ReceivedFrames != trials[0].OfferedFrames {
			t.Errorf("%d sessions, %v: %d of %d arrived", tc.n, tc.rules, trials[0].ReceivedFrames, trials[0].OfferedFrames)
		}
		assertClean(t, &trials[0])
	}
	if got := s.Describe().Memory; len(got) != 4 || got[0].ResidentOctets == 0 || got[1].Sessions != 50 {
		t.Errorf("memory: %+v, want that after each establishment", got)
	}
	gone := s.Sessions()[1:4:4]
	establish(t, s, 1, Rules{IPv6: true})
	for i := range gone {
		if gone[i].RemoteSEID != 0 {
			t.Errorf("session %d: still has a SEID of the UPF", gone[i].LocalSEID)
		}
	}
	s.Adopt(gone)
	open(t, s, Frames{PayloadOctets: 64}, report.Uplink)
	trials, err := s.Trial(t.Context(), At(1000, 100*time.Millisecond))
	if !errors.Is(err, ErrNothing) || len(trials) != 1 || trials[0].LossRatio != 1 {
		t.Errorf("a deleted session: got %+v, %v, want a loss of all", trials, err)
	}
}

// TestChurn establishes, modifies and deletes while frames flow, of which none may be
// lost, twice with the same sessions and once with more.
func TestChurn(t *testing.T) {
	s := newSystem(t, Config{Name: "xdp", Kind: dut.Plumbline(upf.DatapathXDP, nil), MaxSessions: 10_000})
	establish(t, s, 10, Rules{})
	open(t, s, Frames{PayloadOctets: 64, Access: generator.Uniform}, report.Uplink)
	for _, churn := range []Churn{{200, 400, 200}, {200, 400, 200}, {Delete: 300}} {
		load := At(5000, 500*time.Millisecond)
		load.Churn = churn
		trials, err := s.Trial(t.Context(), load)
		if err != nil {
			t.Fatal(err)
		}
		got := trials[0].Churn
		sum := churn.Establish + churn.Modify + churn.Delete
		if got == nil || float64(got.Total.Accepted) < 0.4*sum || got.Total.Lost > 0 || len(got.Total.Refused) > 0 {
			t.Errorf("%v: got %+v, want half as many accepted", churn, got)
		}
		if trials[0].ReceivedFrames != trials[0].OfferedFrames {
			t.Errorf("%v: %d of %d frames arrived", churn, trials[0].ReceivedFrames, trials[0].OfferedFrames)
		}
		assertClean(t, &trials[0])
	}
	establish(t, s, 30, Rules{}) // takes the numbers that the churn had
}

// TestTurn wants a UPF that stands still between turns, and one that dies to end its
// turn.
func TestTurn(t *testing.T) {
	s := newSystem(t, Config{Name: "tun", Offload: true, Kind: dut.Plumbline(upf.DatapathTUN, nil)})
	state := func() string {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(s.DUT().PID()) + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))[0]
	}
	await := func(stopped bool) {
		for deadline := time.Now().Add(5 * time.Second); (state() == "T") != stopped; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("state %s, want stopped: %v", state(), stopped)
			}
		}
	}
	if err := s.Park(); err != nil {
		t.Fatal(err)
	}
	await(true)
	err := s.Turn(t.Context(), func(ctx context.Context) error {
		await(false)
		return s.Establish(ctx, 1, Rules{})
	})
	if err != nil {
		t.Fatal(err)
	}
	await(true)
	err = s.Turn(t.Context(), func(ctx context.Context) error {
		process, err := os.FindProcess(s.DUT().PID())
		if err == nil {
			err = process.Kill()
		}
		<-ctx.Done()
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("got %v, want how the UPF ended", err)
	}
}

func TestShareCPUs(t *testing.T) {
	for _, tc := range []struct {
		all     []int
		senders int
		want    CPUs
	}{
		{[]int{0}, 1, CPUs{Senders: []int{0}, UPF: []int{0}}},
		{[]int{0, 1}, 1, CPUs{Senders: []int{1}, UPF: []int{0}}},
		{[]int{0, 1}, 2, CPUs{Senders: []int{1, 0}, UPF: []int{0}}},
		{[]int{2, 3, 5, 7}, 2, CPUs{Senders: []int{7, 5}, UPF: []int{2, 3}}},
	} {
		if diff := cmp.Diff(tc.want, shareCPUs(tc.all, tc.senders)); diff != "" {
			t.Errorf("%v, %d senders (-want +got):\n%s", tc.all, tc.senders, diff)
		}
	}
}
