package split

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/plumbline-upf/plumbline/lab/host"
	"github.com/plumbline-upf/plumbline/lab/programs"
	"github.com/plumbline-upf/plumbline/upf"
)

// TestRun measures the split, in two and in one, and with losses, by real programs: the
// UE gets answers that are not faster than the radio allows, TCP fills a part of the
// radio, and nothing is left behind. How large a part, and what was late, depends on
// what else the machine does.
func TestRun(t *testing.T) {
	cases := []Case{
		{Name: "best", SlotAhead: bestAhead, Radio: BestRadio(), Ping: true, TCP: true},
		{Name: "best", SlotAhead: bestAhead, Radio: BestRadio(), Ping: true, UDP: true, OnePiece: true},
		{Name: "lossy", SlotAhead: oaiAhead, Radio: OAIRadio(), Ping: true, TCP: true, Grid: true, Loss: 0.01, CRCFailure: 0.1},
		{Name: "quiet", SlotAhead: oaiAhead, Radio: OAIRadio(), Idle: 2 * time.Second},
	}
	c := Config{
		Name: "plt-split", Program: programs.BuildPlumb(t), Cases: cases, Pings: 20, Interval: 23 * time.Millisecond, Stream: time.Second,
		Datapath: upf.DatapathTC, Host: host.Describe("test", "", ""), Log: t.Output(),
	}
	var seen int
	c.OnCase = func(*Outcome) { seen++ }
	killed := leftByKilled(t, c.Name)
	c.OnSwept = func(names []string) {
		killed = slices.DeleteFunc(killed, func(n string) bool { return slices.Contains(names, n) })
	}
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(killed) > 0 {
		t.Errorf("of a run that was killed %v are still there", killed)
	}
	if seen != len(cases) || len(r.Outcomes) != len(cases) || r.Finished == nil {
		t.Fatalf("%d outcomes, %d seen, want %d", len(r.Outcomes), seen, len(cases))
	}
	for i := range r.Outcomes {
		checkOutcome(t, &cases[i], &r.Outcomes[i])
	}
	var page, text bytes.Buffer
	if err := WriteHTML(&page, r); err != nil {
		t.Error(err)
	}
	if err := Table(&text, r); err != nil {
		t.Error(err)
	}
	t.Logf("\n%s", text.String())
	left, err := filepath.Glob(fmt.Sprintf("/run/netns/plt-split-%d-*", os.Getpid()))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// leftByKilled names namespaces as a run has left them that got SIGKILL.
func leftByKilled(t *testing.T, run string) []string {
	t.Helper()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, role := range []string{"gnb", "pnf", "ue"} {
		name := fmt.Sprintf("%s-%d-%s", run, dead.Process.Pid, role)
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "delete", name).Run() }) // it is gone already
		names = append(names, name)
	}
	return names
}

func checkOutcome(t *testing.T, c *Case, o *Outcome) {
	t.Helper()
	if c.Idle > 0 {
		for _, p := range o.Processes {
			const scrape = 3 // objects per slot that the metrics themselves may cost, of 3600 slots
			if p.Mallocs == nil || *p.Mallocs < 0 || *p.Mallocs > scrape {
				t.Errorf("%s: %s: objects for each slot: %v", o.title(), p.Name, p.Mallocs)
			}
		}
		return
	}
	p := o.Ping
	if p == nil || p.Received == 0 || p.Sent != 20 {
		t.Fatalf("%s: ping %+v", o.title(), p)
	}
	// While a stalled clock catches up, slots are shorter: by what it was late in all. With
	// losses a ping may go out by a grant that is repeated for the one before it.
	late := int64(0)
	if k := o.slotKeeper(); k != nil && k.Watch.Clock.Late != nil {
		late = k.Watch.Clock.Late.Max
	}
	if lossless := c.Loss == 0 && c.CRCFailure == 0; lossless && p.MinNS+late < o.Floor.MinNS {
		t.Errorf("%s: a round trip of %v, the radio's least is %v; the clock was late by %v at most", o.title(), time.Duration(p.MinNS), time.Duration(o.Floor.MinNS), time.Duration(late))
	}
	for _, way := range []struct {
		bound float64
		tcp   *TCP
		udp   *UDP
	}{{o.Bound.DownlinkBPS, o.DownlinkTCP, o.DownlinkUDP}, {o.Bound.UplinkBPS, o.UplinkTCP, o.UplinkUDP}} {
		rate := 0.0
		if way.tcp != nil {
			rate = way.tcp.BPS
		}
		if way.udp != nil {
			rate = way.udp.IPBPS
		}
		const queued = 1.3 // what was under way before a second began comes within it
		if rate <= 0 || rate > queued*way.bound {
			t.Errorf("%s: %.0f bit/s, the radio's most is %.0f", o.title(), rate, way.bound)
		}
	}
	if k := o.slotKeeper(); k == nil || k.Watch.Clock.Slots == 0 || k.CPUNS == 0 {
		t.Errorf("%s: the clock's figures are %+v", o.title(), k)
	} else if a := o.came(); (a.all == 0) != c.OnePiece {
		t.Errorf("%s: %d requests came", o.title(), a.all)
	}
	if relay := o.process(nameRelay); c.Grid != (relay != nil && len(relay.Relay) > 0) {
		t.Errorf("%s: relay %+v", o.title(), relay)
	}
}
