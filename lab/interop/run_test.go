package interop

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/faulty"
	"github.com/plumbline-upf/plumbline/lab/programs"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/upf"
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
	b := newTestBed(t, plumbline(t), true, 0)
	c := b.config(1)
	var steps []string
	c.OnStep = func(s report.Step) { steps = append(steps, s.Name) }
	r := walk(t, c)
	var want []string
	for _, version := range []int{4, 6} {
		for _, step := range []string{stepPing, stepPingDown, stepMTU, stepTCPUp, stepTCPDown, stepUDPUp, stepUDPDown, stepHTTP} {
			want = append(want, fmt.Sprintf("%s ue0 IPv%d: pass", step, version))
		}
	}
	want = append(want, stepUEToUE+": not tried")
	for _, c := range Changes {
		want = append(want, string(c)+": not tried")
	}
	if diff := cmp.Diff(want, results(r)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(steps) != 16 || steps[0] != "ping, ue0, IPv4" {
		t.Errorf("%d steps were announced: %q", len(steps), steps)
	}
	b.figures(t, r)

	c.DN6 = netip.Addr{}
	c.Skip = Parts[1:]
	if r = walk(t, c); !slices.Contains(results(r), "all ue0 IPv6: not tried") {
		t.Errorf("without an IPv6 address of the data network: %q", results(r))
	}
}

// TestAMBR has a UPF hold an MBR: it is the AMBR, or twice the AMBR. A busy machine may
// let less through, so it has several tries.
func TestAMBR(t *testing.T) {
	const mbr, tries = 20_000, 3
	b := newTestBed(t, plumbline(t), false, mbr)
	c := b.config(1)
	c.Skip = []Part{Ping, MTU, TCP, UDP, HTTP, UEToUE}
	for _, tc := range []struct {
		ambr uint64
		want report.Outcome
	}{{mbr * 1000, report.Pass}, {mbr * 1000 / 2, report.Fail}} {
		c.UplinkAMBR, c.DownlinkAMBR = tc.ambr, tc.ambr
		right := map[string]bool{}
		for try := 0; try < tries && len(right) < 2; try++ {
			for _, s := range walk(t, c).Steps {
				if s.Transfer != nil && s.Result == tc.want {
					right[s.Step] = true
				}
			}
		}
		if len(right) != 2 {
			t.Errorf("AMBR %d bit/s: %s in %v, want both ways", tc.ambr, tc.want, right)
		}
	}
}

// TestPairs has the data network send back packets between UEs, or not.
func TestPairs(t *testing.T) {
	b := newTestBed(t, plumbline(t), false, 0)
	c := b.config(2)
	c.Skip = Parts[:len(Parts)-1]
	for _, tc := range []struct {
		forward string
		policy  Policy
		want    report.Outcome
	}{
		{"0", Deny, report.Pass}, {"0", Allow, report.Fail}, {"0", Tell, report.NotJudged},
		{"1", Deny, report.Fail}, {"1", Allow, report.Pass},
	} {
		programs.Output(t, b.DN.Name, "sh", "-c", "echo "+tc.forward+" > /proc/sys/net/ipv4/ip_forward")
		c.UEToUE = tc.policy
		found := 0
		for _, s := range walk(t, c).Steps {
			if s.Step == stepUEToUE {
				if found++; s.Result != tc.want {
					t.Errorf("forwarding %s, policy %q: got %s: %s, want %s", tc.forward, tc.policy, s.Result, s.Seen, tc.want)
				}
			}
		}
		if found != 2 {
			t.Errorf("%d pairs, want 2", found)
		}
	}
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

// TestFaulty has UPFs do one thing wrong: the steps that show it fail, and no other but
// those that depend on which packets it meets.
func TestFaulty(t *testing.T) {
	pings, udp := []string{stepPing, stepPingDown}, []string{stepUDPUp, stepUDPDown}
	for _, tc := range []struct {
		name      string
		faults    faulty.Faults
		fail, may []string
	}{
		{"nothing", faulty.Faults{}, nil, nil},
		{"loss", faulty.Faults{Fault: faulty.Loss, Every: 5}, slices.Concat(pings, udp), []string{stepMTU}},
		{"checksum", faulty.Faults{Fault: faulty.Checksum, Every: 5}, slices.Concat(pings, udp), []string{stepMTU}},
		{"duplicate", faulty.Faults{Fault: faulty.Duplicate, Every: 5}, pings, []string{stepMTU, stepUDPDown}},
		{"long packets", faulty.Faults{Octets: 1400}, []string{stepMTU}, nil},
		{"rate", faulty.Faults{PPS: 50}, udp, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newTestBed(t, faulty.Kind(tc.faults), false, 0)
			c := b.config(1)
			c.Skip = []Part{TCP, HTTP, UEToUE} // its kernel puts segments together that it cannot send
			var failed []string
			for _, s := range walk(t, c).Steps {
				if s.Result == report.Fail && !slices.Contains(tc.may, s.Step) {
					failed = append(failed, s.Step)
				}
			}
			if diff := cmp.Diff(tc.fail, failed); diff != "" {
				t.Errorf("failed, -want +got:\n%s", diff)
			}
		})
	}
}

// TestChanges has commands that do nothing, or keep the UE from answering for a while or
// for good.
func TestChanges(t *testing.T) {
	b := newTestBed(t, plumbline(t), false, 0)
	c := b.config(1)
	c.Skip = Parts
	ignore := func(value string) string {
		return "nsenter --net=/run/netns/{namespace} sh -c 'echo " + value + " > /proc/sys/net/ipv4/icmp_echo_ignore_all'"
	}
	away := ignore("1") + "; sleep 0.5; " + ignore("0")
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
		{"idle and never woken", Idle, ignore("1"), 0, report.Fail, "received 0"},
		{"released before", Release, "true", 0, report.Fail, "did not answer before"},
		{"for good", Flow, "sleep 0.2", time.Minute, report.Fail, "none was answered"},
		{"again", Flow, ignore("0"), time.Minute, report.Pass, "lost"},
		{"not released", Release, "test {ue} = ue0 && test {ipv4} = 10.64.0.1 && test {number} = 1", 0, report.Fail, "received 5"},
		{"released", Release, ignore("1"), 0, report.Pass, "received 0"},
	} {
		c.Commands, c.Gap = map[Change]string{tc.change: tc.command}, tc.gap
		r, err := Run(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(r.Steps, func(s report.InteropStep) bool { return s.Step == string(tc.change) })
		if s := r.Steps[at]; s.Result != tc.want || !strings.Contains(s.Seen, tc.contains) {
			t.Errorf("%s: got %s: %s, want %s: %s", tc.name, s.Result, s.Seen, tc.want, tc.contains)
		}
	}
}
