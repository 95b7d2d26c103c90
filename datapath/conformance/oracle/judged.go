package oracle

import (
	"bytes"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/conformance/random"
)

// beyond are traits of frames that the oracle does not know.
var beyond = []string{"hostile", "signalling", "Neighbour Discovery", "outer fragment", "GTP-U extension headers", "IPv6 extension headers", "NAT, inbound", "NAT, hairpin"}

// Judged returns what of a script made by [random.Generate] the oracle can judge for a datapath
// with these capabilities. Rules that go to the data network with a NAT go to another one, and
// those that go to the UPF itself go to a gNB.
func Judged(s random.Script, has *api.Capabilities) (out random.Script) {
	for _, step := range s {
		switch {
		case step.Change != nil:
			step.Change = simple(step.Change)
			if !random.SameRefusal(datapath.Check(step.Change, has), datapath.Check(step.Change, Capabilities)) {
				continue
			}
		case step.Frame != nil:
			if !known(step) {
				continue
			}
		}
		out = append(out, step)
	}
	return out
}

func simple(c *api.Change) *api.Change {
	c = proto.CloneOf(c)
	gnb := func(o *api.OuterHeaderCreation) {
		for _, a := range conformance.HostAddresses {
			if a.Is4() && o.GetIpv4() == number(a) || a.Is6() && bytes.Equal(o.GetIpv6(), a.AsSlice()) {
				o.Ipv4, o.Ipv6 = number(conformance.GNBAddress), nil
			}
		}
	}
	for _, m := range c.EndMarkers {
		gnb(m.Tunnel)
	}
	if c.Session == nil {
		return c
	}
	c.Session.Bars = nil
	for _, r := range c.Session.Rules {
		if r.Detect.GetNetworkInstance() == "nat" {
			r.Detect.NetworkInstance = "corp"
		}
		f := r.Forward
		f.BarId = 0
		if f.NetworkInstance == "nat" {
			f.NetworkInstance = "corp"
		}
		if f.OuterHeaderCreation != nil {
			gnb(f.OuterHeaderCreation)
		}
	}
	return c
}

// known reports whether the oracle can judge a frame.
func known(step random.Step) bool {
	if step.Port != conformance.N3 && step.Port != conformance.N6 && step.Port != conformance.N6Corp ||
		slices.ContainsFunc(step.Traits, func(t string) bool { return slices.Contains(beyond, t) }) {
		return false
	}
	p := parse(step.Frame[14:])
	if step.Port == conformance.N3 {
		if p.v6 && step.Frame[14+6] != 17 { // extension headers in front of UDP
			return false
		}
		in, _ := parseGPDU(p)
		p = in.packet
	}
	// Options are copied or not when a packet is cut; protocol 0 of IPv6 is an extension header.
	return !(p.options && len(p.octets) > 1400) && !(p.v6 && (p.protocol == 0 || p.protocol == 51))
}

// canonicalDatapath makes what leaves a datapath comparable with what the oracle says.
type canonicalDatapath struct{ random.Datapath }

// Frame implements [conformance.Datapath].
func (c canonicalDatapath) Frame(t testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	out := c.Datapath.Frame(t, port, frame)
	if out.Packet != nil {
		out.Packet = Canonical(out.Packet)
	}
	return out
}

// Sent implements [conformance.Datapath].
func (c canonicalDatapath) Sent(t testing.TB) [][]byte {
	all := c.Datapath.Sent(t)
	for i := range all {
		all[i] = Canonical(all[i])
	}
	return all
}

// Run runs the scripts of seeds on a datapath without sessions, and shrinks the first one after
// which it differs from the oracle.
func Run(t *testing.T, d random.Datapath, seeds uint64) {
	t.Helper()
	unsure := 0
	for seed := range seeds {
		s := Judged(random.Generate(seed, Capabilities), d.Capabilities())
		what, sure := differs(t, s, d)
		if !sure {
			unsure++
		}
		if what == nil {
			continue
		}
		small := random.Shrink(s, func(s random.Script) bool { return Differs(t, s, d) })
		what, _ = differs(t, small, d)
		t.Fatalf("seed %d, shrunk from %d to %d steps: %v\n%s", seed, len(s), len(small), what, small)
	}
	t.Logf("%d scripts, %d of them until a meter was too close to call", seeds, unsure)
	if unsure > int(seeds)/10 {
		t.Errorf("%d of %d scripts have a meter that is too close to call", unsure, seeds)
	}
}

// Differs reports whether a script shows a difference.
func Differs(t *testing.T, s random.Script, d random.Datapath) bool {
	t.Helper()
	what, _ := differs(t, s, d)
	return what != nil
}

// differs runs a script; sure: all of it was comparable.
func differs(t *testing.T, s random.Script, d random.Datapath) (what *random.Disagreement, sure bool) {
	t.Helper()
	o := New()
	what = random.Run(t, s, o, canonicalDatapath{d})
	if o.Unsure {
		return nil, false
	}
	return what, true
}
