package random_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/conformance/random"
)

func newOracle(t testing.TB) *random.Stages {
	o := random.NewStages(t)
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// TestText: a script is what its text says, and the same each time it is made.
func TestText(t *testing.T) {
	has := newOracle(t).Capabilities()
	for seed := range uint64(50) {
		s := random.Generate(seed, has)
		if again := random.Generate(seed, has); again.String() != s.String() {
			t.Fatalf("seed %d makes two scripts", seed)
		}
		parsed, err := random.Parse([]byte("# seed\n\n" + s.String()))
		if err != nil || parsed.String() != s.String() {
			t.Fatalf("seed %d: read as another script: %v\n%s", seed, err, s)
		}
	}
	for _, text := range []string{"jump", "apply {", "wait long", "n3 0x00", "n6 0", "n6 0*-1"} {
		if _, err := random.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// TestScriptsMeet: packets meet rules. What is made at random and meets nothing
// would prove nothing.
func TestScriptsMeet(t *testing.T) {
	reasons := map[string]int{}
	events, applied, all := 0, 0, 0
	for seed := range uint64(300) {
		o := newOracle(t)
		for _, step := range random.Generate(seed, o.Capabilities()) {
			switch {
			case step.Change != nil:
				all++
				if o.Apply(t.Context(), step.Change) == nil {
					applied++
				}
			case step.Frame != nil:
				reasons[o.Frame(t, step.Port, bytes.Clone(step.Frame)).Reason.String()]++
			default:
				o.Pass(step.Wait)
			}
			over, cancel := context.WithCancel(t.Context())
			cancel()
			for {
				if _, err := o.Next(over); err != nil {
					break
				}
				events++
			}
		}
	}
	t.Logf("%d of %d changes applied, %d events, frames: %v", applied, all, events, reasons)
	frames := 0
	for _, n := range reasons {
		frames += n
	}
	for _, is := range []string{"none", "no_pdr", "ue_address", "qfi", "sdf_filter", "gate", "mbr", "packet_rate", "quota", "far", "ttl", "mtu", "buffer", "host", "signalling"} {
		if reasons[is] < frames/2000 {
			t.Errorf("%s: %d of %d frames", is, reasons[is], frames)
		}
	}
	if reasons["none"] < frames/5 || applied < all/2 || events == 0 {
		t.Errorf("%d of %d frames forwarded, %d of %d changes applied, %d events", reasons["none"], frames, applied, all, events)
	}
}

// wrong is a datapath with a fault.
type wrong struct {
	*random.Stages
	change func(c *api.Change)
	frame  func(o conformance.Outcome) conformance.Outcome
}

func (w wrong) Apply(ctx context.Context, c *api.Change) error {
	c = proto.CloneOf(c)
	if w.change != nil && c.Session != nil {
		w.change(c)
	}
	return w.Stages.Apply(ctx, c)
}

func (w wrong) Frame(t testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	o := w.Stages.Frame(t, port, frame)
	if w.frame != nil && o.Packet != nil {
		o = w.frame(o)
	}
	return o
}

func eachRule(f func(r *api.Rule)) func(c *api.Change) {
	return func(c *api.Change) {
		for _, r := range c.Session.Rules {
			if r.Detect != nil && r.Forward != nil {
				f(r)
			}
		}
	}
}

func eachFilter(f func(f *api.Filter)) func(c *api.Change) {
	return eachRule(func(r *api.Rule) {
		for _, x := range r.Detect.Filters {
			f(x)
		}
	})
}

func eachQER(f func(q *api.QER)) func(c *api.Change) {
	return func(c *api.Change) {
		for _, q := range c.Session.Qers {
			f(q)
		}
	}
}

func eachURR(f func(u *api.URR)) func(c *api.Change) {
	return func(c *api.Change) {
		for _, u := range c.Session.Urrs {
			f(u)
		}
	}
}

// faults are those that the run has to find, small ones.
var faults = map[string]wrong{
	"the last QFI is forgotten": {change: eachRule(func(r *api.Rule) {
		if n := len(r.Detect.Qfis); n > 1 {
			r.Detect.Qfis = r.Detect.Qfis[:n-1]
		}
	})},
	"the second range of ports is forgotten": {change: eachFilter(func(f *api.Filter) {
		if len(f.RemotePorts) > 1 {
			f.RemotePorts = f.RemotePorts[:1]
		}
	})},
	"a range of ports ends one early": {change: eachFilter(func(f *api.Filter) {
		for _, p := range f.RemotePorts {
			if p.Last > p.First {
				p.Last--
			}
		}
	})},
	"the flow label is not compared":        {change: eachFilter(func(f *api.Filter) { f.FlowLabel = nil })},
	"the SPI is not compared":               {change: eachFilter(func(f *api.Filter) { f.Spi = nil })},
	"a framed route is forgotten":           {change: eachRule(func(r *api.Rule) { r.Detect.FramedRoutes = nil })},
	"a packet rate has one packet too many": {change: eachQER(func(q *api.QER) { more(q.UplinkPacketRate); more(q.DownlinkPacketRate) })},
	"an MBR of 8 kbit/s is twice as high":   {change: eachQER(func(q *api.QER) { q.UplinkMbrBps, q.DownlinkMbrBps = twice(q.UplinkMbrBps), twice(q.DownlinkMbrBps) })},
	"a GBR is not there":                    {change: eachQER(func(q *api.QER) { q.UplinkGbrBps, q.DownlinkGbrBps = 0, 0 })},
	"RQI is not marked":                     {change: eachQER(func(q *api.QER) { q.Rqi = false })},
	"a quota is one octet too much":         {change: eachURR(func(u *api.URR) { larger(u.Quota) })},
	"a threshold is one octet too much":     {change: eachURR(func(u *api.URR) { larger(u.Threshold) })},
	"MBQE is not obeyed":                    {change: eachURR(func(u *api.URR) { u.BeforeEnforcement = false })},
	"End Markers are not sent":              {change: func(c *api.Change) { c.EndMarkers = nil }},
	"what is buffered is not given up":      {change: func(c *api.Change) { c.DropBuffered = false }},
	"of equal Precedence the last PDR wins": {change: turnAround},
	"copies are forgotten":                  {change: eachRule(func(r *api.Rule) { r.Forward.Duplicates = nil })},
	"the portal is forgotten":               {change: eachRule(func(r *api.Rule) { r.Forward.Redirect = nil })},
	"the host is not compared":              {change: eachFilter(func(f *api.Filter) { f.Host, f.Path = "", "" })},
	"the FAR's data network is forgotten":   {change: eachRule(func(r *api.Rule) { r.Forward.NetworkInstance = "" })},
	"the PDI's data network is forgotten":   {change: eachRule(func(r *api.Rule) { r.Detect.NetworkInstance = "" })},
	"UDP/IP is not taken off":               {change: eachRule(func(r *api.Rule) { r.Unwrap = api.Unwrap_UNWRAP_NONE })},
	"BDPN is not obeyed":                    {change: eachRule(func(r *api.Rule) { r.Forward.NotifyBuffered = false })},
	"the last octet of a long packet is cut": {frame: func(o conformance.Outcome) conformance.Outcome {
		if len(o.Packet) > 1000 {
			o.Packet = o.Packet[:len(o.Packet)-1]
		}
		return o
	}},
}

func more(r *api.PacketRate) {
	if r != nil {
		r.Packets++
	}
}

func twice(bps uint64) uint64 {
	if bps == 8000 {
		return 2 * bps
	}
	return bps
}

func larger(v *api.Volume) {
	if v.GetTotal() != 0 {
		v.Total++
	}
}

func turnAround(c *api.Change) {
	rules := c.Session.Rules
	for i := 1; i < len(rules); i++ {
		if rules[i].Precedence == rules[i-1].Precedence {
			rules[i], rules[i-1] = rules[i-1], rules[i]
			return
		}
	}
}

// TestFindsFaults: the run finds each fault within a few hundred scripts, and the
// script that shows it becomes a few lines.
func TestFindsFaults(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			right := newOracle(t)
			bad := fault
			bad.Stages = newOracle(t)
			const most, lines = 1000, 12
			for seed := range uint64(most) {
				s := random.Generate(seed, right.Capabilities())
				if random.Run(t, s, right, bad) == nil {
					continue
				}
				small := random.Shrink(s, func(s random.Script) bool { return random.Run(t, s, right, bad) != nil })
				t.Logf("script %d of %d steps shows it in %d:\n%s", seed, len(s), len(small), small)
				if len(small) > lines {
					t.Errorf("shrunk to %d steps, want at most %d", len(small), lines)
				}
				return
			}
			t.Errorf("not found in %d scripts", most)
		})
	}
}

// TestAgreesWithItself: two that are the same agree, whatever the script.
func TestAgreesWithItself(t *testing.T) {
	a, b := newOracle(t), newOracle(t)
	for seed := range uint64(50) {
		if d := random.Run(t, random.Generate(seed, a.Capabilities()), a, b); d != nil {
			t.Fatalf("seed %d, step %d: %s", seed, d.Step, d.What)
		}
	}
}

// TestCorpus: what has once been found can be read and run.
func TestCorpus(t *testing.T) {
	scripts, err := random.Corpus()
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range scripts {
		if d := random.Run(t, s, newOracle(t), newOracle(t)); d != nil {
			t.Errorf("%s: the model disagrees with itself: %s", name, d.What)
		}
	}
}
