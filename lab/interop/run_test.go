package interop

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumbline/lab/dut"
	"plumbline/lab/faulty"
	"plumbline/lab/programs"
	"plumbline/lab/report"
	"plumbline/upf"
)

// results has a line for each step.
func results(r *report.Interop) []string {
	var list []string
	for _, s := range r.Steps {
		line := s.Step
		if s.UE != "" {
			line += fmt.Sprintf(" %s IPv%d", s.UE, s.IPVersion)
		}
		list = append(list, line+": "+string(s.Result))
	}
	return list
}

func walk(t *testing.T, c Config) *report.Interop {
	t.Helper()
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Steps {
		t.Logf("%s %s %d: %s: %s", s.Step, s.UE, s.IPVersion, s.Result, s.Seen)
	}
	return r
}

func plumbline(t *testing.T) dut.Kind {
	kind := dut.Plumbline(upf.DatapathXDP, nil)
	kind.Path = programs.BuildPlumb(t)
	return kind
}

// TestRun has every step that packets alone can decide, through our UPF.
func TestRun(t *testing.T) {
	const mbr = 20_000
	b := newTestBed(t, plumbline(t), true, mbr)
	c := b.config(2)
	c.UplinkAMBR, c.DownlinkAMBR, c.UEToUE = mbr*1000, mbr*1000, Allow
	var steps []string
	c.OnStep = func(s report.Step) { steps = append(steps, s.Name) }
	r := walk(t, c)
	var want []string
	for _, ue := range []string{"ue0", "ue1"} {
		for _, version := range []int{4, 6} {
			for _, step := range []string{stepPing, stepPingDown, stepMTU, stepTCPUp, stepTCPDown, stepUDPUp, stepUDPDown, stepHTTP, stepAMBRUp, stepAMBRDown} {
				want = append(want, fmt.Sprintf("%s %s IPv%d: pass", step, ue, version))
			}
		}
	}
	for _, ue := range []string{"ue0", "ue1"} {
		want = append(want, stepUEToUE+" "+ue+" IPv4: pass", stepUEToUE+" "+ue+" IPv6: pass")
	}
	for _, c := range Changes {
		want = append(want, string(c)+": not tried")
	}
	if diff := cmp.Diff(want, results(r)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(steps) != 44 || steps[0] != "ping, ue0, IPv4" {
		t.Errorf("%d steps were announced: %q", len(steps), steps)
	}
	b.figures(t, r)
}

// figures checks what was received.
func (b *testBed) figures(t *testing.T, r *report.Interop) {
	t.Helper()
	for _, s := range r.Steps {
		switch s.Step {
		case stepPing:
			if e := s.Echo; e.Sent != pings || e.Received != pings || e.MinNS <= 0 || e.MeanNS < e.MinNS || e.MaxNS < e.MeanNS || e.GapNS < int64(pingEvery)/2 {
				t.Errorf("%s: %+v", s.Step, *e)
			}
		case stepMTU:
			if s.Echo.Octets != 1456 {
				t.Errorf("%s IPv%d: packets of %d octets, want 1456", s.Step, s.IPVersion, s.Echo.Octets)
			}
		case stepTCPUp, stepTCPDown:
			if s.Transfer.Octets == 0 || s.Transfer.BPS < 1e6 {
				t.Errorf("%s: %+v", s.Step, *s.Transfer)
			}
		case stepHTTP:
			if s.Transfer.Octets != fileOctets || s.Transfer.SHA256 != newContent().sum {
				t.Errorf("%s: %+v", s.Step, *s.Transfer)
			}
		}
	}
}

// TestFaulty has UPFs do one thing wrong: the steps that show it fail, and no other.
func TestFaulty(t *testing.T) {
	for _, tc := range []struct {
		name   string
		faults faulty.Faults
		failed []string
	}{
		{"nothing", faulty.Faults{}, nil},
		{"loss", faulty.Faults{Fault: faulty.Loss, Every: 5}, []string{stepPing, stepPingDown, stepUDPUp, stepUDPDown}},
		{"checksum", faulty.Faults{Fault: faulty.Checksum, Every: 5}, []string{stepPing, stepPingDown, stepUDPUp, stepUDPDown}},
		{"duplicate", faulty.Faults{Fault: faulty.Duplicate, Every: 5}, []string{stepPing, stepPingDown}},
		{"long packets", faulty.Faults{Octets: 1400}, []string{stepMTU}},
		{"rate", faulty.Faults{PPS: 50}, []string{stepUDPUp, stepUDPDown}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newTestBed(t, faulty.Kind(tc.faults), false, 0)
			c := b.config(1)
			c.Skip = []Part{TCP, HTTP, UEToUE} // its kernel puts segments together that it cannot send
			var failed []string
			for _, s := range walk(t, c).Steps {
				if s.Result == report.Fail && !(tc.name != "nothing" && s.Step == stepMTU && !slices.Contains(tc.failed, stepMTU)) {
					failed = append(failed, s.Step)
				}
			}
			if diff := cmp.Diff(tc.failed, failed); diff != "" {
				t.Errorf("failed, -want +got:\n%s", diff)
			}
		})
	}
}

// TestChanges has commands that do nothing, or take N6 away for a while or for good.
func TestChanges(t *testing.T) {
	b := newTestBed(t, plumbline(t), false, 0)
	c := b.config(1)
	c.Skip = Parts
	inDN := "nsenter --net=/run/netns/" + b.DN.Name + " "
	away := inDN + "ip route add blackhole 10.64.0.1; sleep 0.5; " + inDN + "ip route del blackhole 10.64.0.1"
	for _, tc := range []struct {
		name     string
		change   Change
		command  string
		gap      time.Duration
		want     report.Outcome
		contains string
	}{
		{"handover", Handover, "true", 0, report.Pass, "lost 0"},
		{"handover that costs packets", Handover, away, 0, report.Fail, "longest gap"},
		{"and may", UPFRestart, away, 3 * time.Second, report.Pass, "longest gap"},
		{"but not so long", SMFRestart, away, 100 * time.Millisecond, report.Fail, "longest gap"},
		{"command fails", Flow, "echo no such flow >&2; exit 7", 0, report.Fail, "command: exit status 7: no such flow"},
		{"idle", Idle, "true", 0, report.Pass, "the first after"},
		{"idle and never woken", Idle, inDN + "ip route add blackhole 10.64.0.1", 0, report.Fail, "received 0"},
		{"released before", Release, "true", 0, report.Fail, "did not answer before"},
		{"woken", Flow, inDN + "ip route del blackhole 10.64.0.1", time.Minute, report.Pass, "lost"},
		{"not released", Release, "test {ue} = ue0 && test {ipv4} = 10.64.0.1 && test {number} = 1", 0, report.Fail, "received 5"},
		{"released", Release, inDN + "ip route add blackhole 10.64.0.1", 0, report.Pass, "received 0"},
	} {
		c.Commands, c.Gap = map[Change]string{tc.change: tc.command}, tc.gap
		r := walk(t, c)
		at := slices.IndexFunc(r.Steps, func(s report.InteropStep) bool { return s.Step == string(tc.change) })
		if s := r.Steps[at]; s.Result != tc.want || !strings.Contains(s.Seen, tc.contains) {
			t.Errorf("%s: got %s: %s, want %s: %s", tc.name, s.Result, s.Seen, tc.want, tc.contains)
		}
	}
}
