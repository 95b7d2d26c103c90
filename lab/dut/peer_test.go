package dut_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/traffic"
)

// programs are the variables that say where others' programs are, by kind, if they
// are not in PATH.
var programs = map[string]string{
	"eupf": "PLUMB_EUPF", "open5gs-tun": "PLUMB_OPEN5GS", "open5gs-tap": "PLUMB_OPEN5GS",
	"free5gc": "PLUMB_FREE5GC", "upg-vpp": "PLUMB_VPP", "oai": "PLUMB_OAI",
}

// peer returns a kind of others whose program is here, and skips the test if it is not.
func peer(t *testing.T, name string) dut.Kind {
	t.Helper()
	kinds, err := dut.Select([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	k := kinds[0]
	k.Path = os.Getenv(programs[name])
	if _, err := k.Find(); errors.Is(err, dut.ErrNotInstalled) {
		t.Skip(err)
	}
	if k.Needs != nil {
		if err := k.Needs(); errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
	}
	return k
}

// TestPeers drives others' UPFs as the methods do: sessions in their dialect,
// frames both ways that must arrive at the right UE and in the right tunnel, while other sessions come, move and go; parked and resumed;
// killed and started again; nothing left.
func TestPeers(t *testing.T) {
	for name := range programs {
		t.Run(name, func(t *testing.T) {
			kind := peer(t, name)
			t.Setenv("TMPDIR", t.TempDir())
			cpus, err := system.ShareCPUs(1)
			if err != nil {
				t.Fatal(err)
			}
			const sessions = 200
			s, err := system.New(t.Context(), system.Config{
				Run: "plt-peer", Name: name, Kind: kind, Offload: kind.Offloads, Skbs: kind.Packets, CPUs: cpus, MaxSessions: 2 * sessions,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { assertNothingLeft(t, s) })
			t.Logf("%s\n%s", s.DUT().Program.Version, s.DUT().File)
			passes := []struct {
				sessions int
				ipv6     bool
			}{{sessions, false}, {sessions / 10, false}, {sessions / 10, true}}
			for _, p := range passes {
				if p.ipv6 && kind.IPv4Only {
					continue
				}
				err := s.Turn(t.Context(), func(ctx context.Context) error { return pass(ctx, t, s, p.sessions, p.ipv6) })
				if err != nil {
					t.Fatalf("%+v: %v; the log:\n%s", p, err, s.DUT().Log())
				}
			}
			if err := s.DUT().Kill(); err != nil {
				t.Error(err)
			}
			again, err := dut.Start(t.Context(), kind, dut.At(s.Topology()))
			if err != nil {
				t.Fatalf("after a kill: %v", err)
			}
			if err := again.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// profile is frames of one stream each way.
const profile = `
streams:
  - {name: up, direction: uplink, ip: %[1]d, frames: 128}
  - {name: down, direction: downlink, ip: %[1]d, frames: 128}
`

// pass brings the sessions to n and sends through them, at a rate that the slowest
// takes while others use the machine.
func pass(ctx context.Context, t *testing.T, s *system.System, n int, ipv6 bool) error {
	if err := s.Establish(ctx, n, system.Rules{IPv6: ipv6}); err != nil {
		return err
	}
	ip := 4
	if ipv6 {
		ip = 6
	}
	streams := filepath.Join(t.TempDir(), "streams.yaml")
	if err := os.WriteFile(streams, fmt.Appendf(nil, profile, ip), 0o600); err != nil {
		return err
	}
	frames, err := traffic.Load(streams)
	if err != nil {
		return err
	}
	if err := s.Open(frames, system.NewRun()); err != nil {
		return err
	}
	load := system.At(200, time.Second)
	load.Churn = system.Churn{Establish: 20, Modify: 20, Delete: 20}
	trials, err := s.Trial(ctx, load)
	for i := range trials {
		assertArrived(t, &trials[i], s.DUT().Kind.Lossy)
	}
	return err
}

// assertArrived wants all frames where they belong; of a UPF in user space some, since
// its socket holds what comes while it waits for a CPU, and no more.
func assertArrived(t *testing.T, trial *report.Trial, lossy bool) {
	t.Helper()
	least := trial.OfferedFrames
	if lossy {
		least /= 4
	}
	if trial.ReceivedFrames == 0 || trial.ReceivedFrames < least || trial.ReceivedFrames > trial.OfferedFrames || trial.Misdelivered+trial.Duplicated > 0 {
		t.Errorf("%s: %d received of %d, %d misdelivered, %d duplicated", trial.Direction, trial.ReceivedFrames, trial.OfferedFrames,
			trial.Misdelivered, trial.Duplicated)
	}
}

// assertNothingLeft ends the system, and wants its process, namespaces and files gone.
func assertNothingLeft(t *testing.T, s *system.System) {
	t.Helper()
	pid := s.DUT().PID()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("process %d: got %v, want it gone", pid, err)
	}
	own := strconv.Itoa(os.Getpid()) // others may be at it, too
	for _, pattern := range []string{"/run/netns/plt-peer-*-" + own + "-*", "/sys/fs/bpf/upf*", filepath.Join(os.TempDir(), "plumb-dut-"+own+"-*")} {
		left, _ := filepath.Glob(pattern)
		if len(left) > 0 {
			t.Errorf("left behind: %s", strings.Join(left, " "))
		}
	}
}
