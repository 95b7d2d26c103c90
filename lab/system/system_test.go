package system

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/faulty"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/traffic"
	"github.com/plumbline-upf/plumbline/upf"
)

// plumb is the UPF, built once.
var plumb string

func TestMain(m *testing.M) {
	faulty.Main() // which a test may have started
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "plt-system-")
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

// open has frames of 128 octets sent, of the sessions in turn.
func open(t *testing.T, s *System, directions ...generator.Direction) {
	t.Helper()
	p, err := traffic.Simple("128", generator.Uniform, directions...)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Open(p, NewRun()); err != nil {
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

// send makes a trial, again if other programs kept the sender from sending at all.
func send(t *testing.T, s *System, l Load) []report.Trial {
	t.Helper()
	l.Realtime = true
	const tries = 5
	for try := 1; ; try++ {
		trials, err := s.Trial(t.Context(), l)
		switch {
		case err == nil:
			return trials
		case !errors.Is(err, ErrNothing) || try == tries:
			t.Fatal(err)
		}
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
			open(t, s, generator.Uplink, generator.Downlink)
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
			trials := send(t, s, load)
			if len(trials) != 2 {
				t.Fatalf("%d trials, want 2", len(trials))
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

// TestStreams sends two streams of each direction, of which one has a rate of the
// profile's own, and wants them told apart.
func TestStreams(t *testing.T) {
	s := newSystem(t, Config{Name: "bed", Bed: BedXDP, MTU: 1600})
	establish(t, s, 10, Rules{IPv6: true})
	profile := filepath.Join(t.TempDir(), "streams.yaml")
	err := os.WriteFile(profile, []byte(`
streams:
  - {name: small, direction: uplink, frames: 64, sessions: {first: 0, count: 5}, rate: 1000pps}
  - {name: large, direction: uplink, frames: 1518, sessions: {first: 5, count: 5}, ip: 6, rate: 3000pps}
  - {name: down, direction: downlink, frames: imix, rate: 2000pps}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	p, err := traffic.Load(profile)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Open(p, NewRun()); err != nil {
		t.Fatal(err)
	}
	load := At(1, 500*time.Millisecond)
	load.AsProfile, load.SampleEvery = true, 100*time.Millisecond
	var mu sync.Mutex
	samples := map[report.Direction]Sample{}
	load.OnSample = func(s Sample) {
		mu.Lock()
		defer mu.Unlock()
		samples[s.Direction] = s
	}
	trials := send(t, s, load)
	for try := 1; try < 4 && len(trials) == 2 && trials[0].OfferedPPS < trials[0].IntendedPPS/2; try++ {
		load.Duration *= 4 // of a machine that kept the sender waiting until the end
		trials = send(t, s, load)
	}
	if len(trials) != 2 {
		t.Fatalf("%d trials, want 2", len(trials))
	}
	last := samples[report.Uplink]
	if len(last.Streams) != 2 || samples[report.Downlink].Streams != nil {
		t.Fatalf("got samples %+v, want two streams uplink, and none apart downlink", samples)
	}
	if got, want := last.Streams[0].ReceivedPPS+last.Streams[1].ReceivedPPS, last.ReceivedPPS; want == 0 || math.Abs(got/want-1) > 1e-9 {
		t.Errorf("got %g frames per second of both streams, %g in all", got, want)
	}
	if x := last.Streams[1]; x.AtNS != last.Elapsed.Nanoseconds() || x.OfferedPPS < last.Streams[0].OfferedPPS || x.P99NS < x.P50NS || x.P50NS == 0 {
		t.Errorf("got %+v of the stream with more frames in %+v", x, last)
	}
	up, down := &trials[0], &trials[1]
	if up.IntendedPPS != 4000 || down.IntendedPPS != 2000 || len(up.Streams) != 2 || down.Streams != nil {
		t.Fatalf("got %+v\n%+v", up, down)
	}
	for i, want := range []struct {
		name  string
		share float64
	}{{"small", 0.25}, {"large", 0.75}} {
		got := &up.Streams[i]
		share := float64(got.OfferedFrames) / float64(up.OfferedFrames)
		if got.Name != want.name || math.Abs(share-want.share) > 0.01 || got.ReceivedFrames != got.OfferedFrames || got.LatencyNS.Min == 0 {
			t.Errorf("got %.3f of the frames, want %v: %+v", share, want, got)
		}
	}
	assertClean(t, up)
	assertClean(t, down)
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
		p := &traffic.Profile{Seed: 1, Streams: []traffic.Stream{
			{Name: "uplink", Direction: generator.Uplink, Octets: []int{128}, IPv6: tc.ipv6, Access: generator.Each},
		}}
		if err := s.Open(p, NewRun()); err != nil {
			t.Fatal(err)
		}
		trials := send(t, s, At(5000, 200*time.Millisecond))
		if trials[0].ReceivedFrames != trials[0].OfferedFrames {
			t.Errorf("%d sessions, %v: %d of %d arrived", tc.n, tc.rules, trials[0].ReceivedFrames, trials[0].OfferedFrames)
		}
		assertClean(t, &trials[0])
	}
	if got := s.Describe().Memory; len(got) != 4 || got[0].ResidentOctets == 0 || got[1].Sessions != 50 {
		t.Errorf("memory: %+v, want that after each establishment", got)
	}
	if _, err := s.n4.Clients()[0].Delete(t.Context(), s.sessions[5:6]); err != nil { // as if it had not come so far
		t.Fatal(err)
	}
	establish(t, s, 8, Rules{IPv6: true})
	for _, one := range s.Sessions() {
		if one.RemoteSEID == 0 {
			t.Errorf("session %d is not established", one.LocalSEID)
		}
	}
	gone := s.Sessions()[1:4:4]
	establish(t, s, 1, Rules{IPv6: true})
	for i := range gone {
		if gone[i].RemoteSEID != 0 {
			t.Errorf("session %d: still has a SEID of the UPF", gone[i].LocalSEID)
		}
	}
	s.Adopt(gone)
	open(t, s, generator.Uplink)
	load := At(1000, 200*time.Millisecond)
	load.Realtime = true
	trials, err := s.Trial(t.Context(), load)
	if !errors.Is(err, ErrNothing) || len(trials) != 1 || trials[0].LossRatio != 1 {
		t.Errorf("a deleted session: got %+v, %v, want a loss of all", trials, err)
	}
}

// TestChurn establishes, modifies and deletes while frames flow, of which none may be
// lost, twice with the same sessions and once with more.
func TestChurn(t *testing.T) {
	s := newSystem(t, Config{Name: "xdp", Kind: dut.Plumbline(upf.DatapathXDP, nil), MaxSessions: 10_000})
	establish(t, s, 10, Rules{})
	open(t, s, generator.Uplink)
	for _, churn := range []Churn{{200, 400, 200}, {200, 400, 200}, {Delete: 300}} {
		load := At(5000, 500*time.Millisecond)
		load.Churn = churn
		trials := send(t, s, load)
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
		p, err := procfs.NewProc(s.DUT().PID())
		if err != nil {
			t.Fatal(err)
		}
		stat, err := p.Stat()
		if err != nil {
			t.Fatal(err)
		}
		return stat.State
	}
	await := func(stopped bool) {
		for deadline := time.Now().Add(30 * time.Second); (state() == "T") != stopped; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("state %s, want stopped: %v", state(), stopped)
			}
		}
	}
	if err := s.Park(); err != nil {
		t.Fatal(err)
	}
	await(true)
	if err := s.Establish(t.Context(), 1, Rules{}); err == nil || !strings.Contains(err.Error(), "parked") {
		t.Errorf("establish while parked: got %v, want an error that says so", err)
	}
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
	own := errors.New("what failed")
	err = s.Watch(t.Context(), func(ctx context.Context) error {
		<-ctx.Done()
		return own
	})
	if !errors.Is(err, own) || !strings.Contains(err.Error(), "killed") {
		t.Errorf("got %v, want what failed, and how the UPF ended", err)
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
