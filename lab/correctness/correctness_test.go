package correctness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/faulty"
	"github.com/plumbline-upf/plumbline/lab/meter"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf"
)

var plumb string // the program, built for these tests

func TestMain(m *testing.M) {
	faulty.Main()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "plt-correctness-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		plumb = filepath.Join(dir, "plumb")
		build := exec.Command("go", "build", "-buildvcs=false", "-o", plumb, "github.com/plumbline-upf/plumbline/cmd/plumb")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// inFlight is how many packets may be in a UPF when a quota is used up: what the
// generator hands to the device at once.
const inFlight = 64

// ratesHold reports whether no MBR was exceeded by more than 1 %. Less is the machine's,
// which may keep the generator waiting; and a generator that had to wait just before what
// counts finds the burst of that time, which is much of a short one.
func ratesHold(t *testing.T, rates []report.RateFigure) bool {
	holds := true
	for _, f := range rates {
		if f.ErrorPercent > 1 || f.PassedBPS == 0 {
			t.Logf("MBR %.0f %s: got %.0f bit/s", f.AskedBPS, f.Direction, f.PassedBPS)
			holds = false
		}
	}
	return holds
}

// TestRun measures a UPF and judges what does not depend on how fast this
// machine is.
func TestRun(t *testing.T) {
	kind := dut.Plumbline(upf.DatapathXDP, nil)
	kind.Path = plumb
	r, err := Run(t.Context(), Config{
		Kind: kind, Parts: []Part{Rates, Usage, Effects, Buffers, Restarts},
		Directions: []report.Direction{report.Uplink, report.Downlink},
		Kbps:       []uint64{50_000}, Duration: 400 * time.Millisecond, Repeats: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !ratesHold(t, r.Rates) {
		again, err := Run(t.Context(), Config{
			Kind: kind, Parts: []Part{Rates}, Directions: []report.Direction{report.Uplink, report.Downlink},
			Kbps: []uint64{50_000}, Duration: 4 * time.Second, Repeats: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		if !ratesHold(t, again.Rates) {
			t.Error("an MBR is exceeded, for a longer time too")
		}
	}
	for _, f := range r.Volumes {
		if f.ReportedOctets != f.MeteredOctets || f.MeteredOctets == 0 {
			t.Errorf("usage %s at %.0f frames/s: reported %d octets, metered %d", f.Direction, f.RatePPS, f.ReportedOctets, f.MeteredOctets)
		}
	}
	for _, f := range r.Limits {
		switch {
		case f.Kind == "quota" && (f.OverPackets < 0 || f.OverPackets > inFlight):
			t.Errorf("quota of %d octets %s: %d passed", f.AskedOctets, f.Direction, f.PassedOctets)
		case f.Kind == "threshold" && (f.OverPackets < 0 || f.OverPackets > inFlight):
			t.Errorf("threshold of %d octets %s: reported at %d", f.AskedOctets, f.Direction, f.ReportedOctets)
		}
	}
	for _, f := range r.Effects {
		if f.OldAfter != 0 || f.Lost != 0 || f.Reordered != 0 || f.Kind == pathSwitch && f.EndMarkers != f.Repeats {
			t.Errorf("rule to %s: got %+v", f.Kind, f)
		}
	}
	if len(r.Unmeasured) > 0 {
		t.Errorf("refused: %+v", r.Unmeasured)
	}
	for _, f := range r.Restarts {
		if f.OutageNS < f.ReadyNS/2 || f.OutageMaxNS < f.OutageNS || f.Lost == 0 || f.Kept != 0 {
			t.Errorf("restart: got %+v", f)
		}
	}
	for _, f := range r.Buffers {
		if f.Lost != 0 || f.Reordered != 0 || f.Duplicated != 0 || f.Frames == 0 || f.NoticeNS <= 0 {
			t.Errorf("buffering: got %+v", f)
		}
	}
}

// TestRefused has the CP function say what no UPF accepts: it is in the result with the
// Cause, and is no error. A UPF that has ended is one.
func TestRefused(t *testing.T) {
	b := &bed{system: &system.System{}, result: &report.Correctness{}}
	refused := fmt.Errorf("correctness: establishment: %s: %w", pfcp.CauseRuleCreationModificationFail, errRefused)
	if err := b.attempted(Rates, "MBR 1 kbit/s uplink", refused); err != nil {
		t.Error(err)
	}
	broken := errors.New("broken")
	if err := b.attempted(Rates, "", broken); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	want := []report.Unmeasured{{Part: "rate", What: "MBR 1 kbit/s uplink", Why: "establishment: " + pfcp.CauseRuleCreationModificationFail.String() + ": refused"}}
	if diff := cmp.Diff(want, b.result.Unmeasured); diff != "" {
		t.Error(diff)
	}
}

// TestRateWithoutMBR: a figure that cannot be held against what passes without an MBR stays, and
// the UPF is not said to miss the MBR.
func TestRateWithoutMBR(t *testing.T) {
	refused := fmt.Errorf("correctness: establishment: %w", errRefused)
	broken := errors.New("broken")
	for _, tc := range []struct {
		name       string
		limited    error
		free       float64
		unlimited  error
		want       []report.RateFigure
		unmeasured []report.Unmeasured
		err        error
	}{
		{"judged", nil, 130, nil, []report.RateFigure{{AskedBPS: 100, PassedBPS: 80, ErrorPercent: -20, FreeBPS: 130, Reached: true}}, nil, nil},
		{"refused", refused, 0, nil, nil, []report.Unmeasured{{Part: "rate", What: "MBR", Why: "establishment: refused"}}, nil},
		{"refused without", nil, 0, refused, []report.RateFigure{{AskedBPS: 100, PassedBPS: 80, ErrorPercent: -20, Reached: true}},
			[]report.Unmeasured{{Part: "rate", What: "MBR, without an MBR", Why: "establishment: refused"}}, nil},
		{"the laboratory fails without", nil, 0, broken, []report.RateFigure{{AskedBPS: 100, PassedBPS: 80, ErrorPercent: -20, Reached: true}}, nil, broken},
		{"the laboratory fails", broken, 0, nil, nil, nil, broken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := &bed{system: &system.System{}, result: &report.Correctness{}}
			err := b.rate(Rates, "MBR", 1, alike, func(mbr uint64) (report.RateFigure, error) {
				if mbr == 0 {
					return report.RateFigure{PassedBPS: tc.free}, tc.unlimited
				}
				return report.RateFigure{AskedBPS: 100, PassedBPS: 80, ErrorPercent: -20, Reached: true}, tc.limited
			})
			if !errors.Is(err, tc.err) {
				t.Errorf("got %v, want %v", err, tc.err)
			}
			if diff := cmp.Diff(tc.want, b.result.Rates); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.unmeasured, b.result.Unmeasured); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWrongly wants what is wrong with frames in words, and nothing of what a UPF is known
// not to enforce.
func TestWrongly(t *testing.T) {
	var s meter.Stream
	s.Received, s.Unenforced[meter.NoQFI] = 500, 500
	if err := wrongly(&s); err != nil {
		t.Error(err)
	}
	s.Misdelivered[meter.TEID], s.Misdelivered[meter.DSCP], s.Duplicated = 3, 1, 2
	want := "correctness: of 500 frames that arrived 1 wrong (dscp), 3 wrong (teid), 2 twice: the UPF is wrong"
	if err := wrongly(&s); !errors.Is(err, errWrong) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestUnsaid tells a UPF that lost what would have reached a limit from one that said
// nothing when it was reached, or held the quota.
func TestUnsaid(t *testing.T) {
	const asked, packet = 10*1428 + 7, 1428
	for packets, want := range map[uint64]error{0: errLost, 3: errLost, 8: errLost, 10: errSilent, 11: errSilent, 20: errSilent} {
		if err := unsaid(errSilent, asked, packets*packet, packet); !errors.Is(err, want) {
			t.Errorf("%d packets passed: got %v, want %v", packets, err, want)
		}
	}
}

func TestJudgeSwitch(t *testing.T) {
	const before, after = downlinkTEID, otherTEID
	for _, test := range []struct {
		name   string
		frames []frame
		want   outcome
	}{
		{"clean", []frame{
			{at: 10, sent: 5, sequence: 0, teid: before}, {at: 12, teid: before, endMarker: true}, {at: 30, sent: 25, sequence: 1, teid: after},
		}, outcome{lastOld: -15, gap: 20, endMarkers: 1}},
		{"old after the response, behind the End Marker", []frame{
			{at: 12, teid: before, endMarker: true}, {at: 30, sent: 25, sequence: 0, teid: before}, {at: 31, sent: 26, sequence: 1, teid: after},
		}, outcome{lastOld: 5, oldAfter: 1, gap: 1}},
		{"lost and out of order", []frame{
			{at: 10, sent: 5, sequence: 2, teid: before}, {at: 11, sent: 6, sequence: 1, teid: after},
		}, outcome{lastOld: -15, gap: 1, lost: 1, reordered: 1}},
	} {
		c := changed{accepted: 20, sent: 2, frames: test.frames}
		if test.name == "lost and out of order" {
			c.sent = 3
		}
		if got := c.judge(pathSwitch); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
}

// TestFirst wants the time of the first frame, not of the first that arrived.
func TestFirst(t *testing.T) {
	for _, test := range []struct {
		name   string
		frames []frame
		want   int64
	}{
		{"arrived", []frame{{sent: 105, sequence: 0}, {sent: 205, sequence: 1}}, 105},
		{"behind later ones", []frame{{sent: 205, sequence: 1}, {sequence: 0, endMarker: true}, {sent: 105, sequence: 0}}, 105},
		{"lost", []frame{{sent: 900, sequence: 8}}, 100},
		{"all lost", nil, 100},
	} {
		c := changed{started: 100, frames: test.frames}
		if got := c.first(); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

// TestKeptUp wants no delay told of a threshold when the machine was slower than the schedule.
func TestKeptUp(t *testing.T) {
	for _, test := range []struct {
		pps  float64
		rate uint64
		want bool
	}{{1000, 1000, true}, {999, 1000, true}, {254, 1000, false}, {4844, 100_000, false}, {500_000, 0, false}} {
		if got := keptUp(test.pps, test.rate); got != test.want {
			t.Errorf("%.0f of %d frames/s: got %v, want %v", test.pps, test.rate, got, test.want)
		}
	}
}

// TestWarmUp wants the burst used up when what is counted begins.
func TestWarmUp(t *testing.T) {
	for _, burst := range []time.Duration{0, time.Second} {
		for _, kbps := range []uint64{64, 1000, 1_000_000} {
			b := bed{Config: Config{Kind: dut.Kind{Traits: dut.Traits{Burst: burst}}}}
			rate := float64(kbps) * 1000 / 8
			used := (offer - 1) * rate * b.warmUp(kbps).Seconds()
			if least := max(burst, burstTime).Seconds() * rate; used < least*0.999 {
				t.Errorf("burst %v at %d kbit/s: %.0f octets used up, want %.0f", burst, kbps, used, least)
			}
		}
	}
}

func TestCount(t *testing.T) {
	c := changed{accepted: 1_000_000, sent: 5, frames: []frame{
		{at: 2_000_000, sent: 500_000, sequence: 0}, {at: 2_000_001, sent: 600_000, sequence: 2}, {at: 2_000_002, sent: 550_000, sequence: 1},
		{at: 2_000_003, sent: 600_000, sequence: 2}, {at: 2_000_100, sent: 2_000_050, sequence: 4},
	}}
	var got report.BufferFigure
	c.count(&got)
	if diff := cmp.Diff(report.BufferFigure{Frames: 5, Buffered: 3, Lost: 1, Reordered: 1, Duplicated: 1}, got); diff != "" {
		t.Error(diff)
	}
}

func TestValidate(t *testing.T) {
	good := Config{Parts: Parts, Kbps: DefaultKbps, TCPKbps: DefaultTCPKbps, Duration: time.Second, Repeats: 1}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Config){
		"duration": func(c *Config) { c.Duration = 0 },
		"repeats":  func(c *Config) { c.Repeats = 0 },
		"MBR":      func(c *Config) { c.Kbps = []uint64{0} },
		"part":     func(c *Config) { c.Parts = []Part{"x"} },
	} {
		c := good
		spoil(&c)
		if _, err := Run(context.Background(), c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
