package random

import (
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// sessions is how many a script has at most.
const sessions = 3

// Generate makes the script of a seed for datapaths that can do what has says:
// the same one each time.
func Generate(seed uint64, has *api.Capabilities) Script {
	d := dice{rand.New(rand.NewPCG(seed, 0x706c756d62))}
	g := &generator{maker: maker{d, d.part(has)}, held: map[uint64]*api.Session{}, full: has, hostile: d.one(8)}
	g.apply(g.create())
	for range 10 + d.IntN(50) {
		switch kind := d.IntN(20); {
		case kind < 3:
			g.apply(g.change())
		case kind < 4:
			g.script = append(g.script, Step{Wait: pick(d, time.Microsecond, time.Millisecond, 10*time.Millisecond, time.Second, time.Minute)})
		default:
			g.frame()
		}
	}
	return g.script
}

type generator struct {
	maker
	held    map[uint64]*api.Session
	full    *api.Capabilities // of which the script uses a part
	hostile bool              // half of the frames are spoilt
	script  Script
}

// part returns capabilities of which some are missing: what one PDR asks for is done
// to all that share its key, and what few ask for is the slow path's.
func (d dice) part(has *api.Capabilities) *api.Capabilities {
	p := proto.CloneOf(has)
	for _, can := range []*bool{&p.Hosts, &p.Duplicate, &p.Redirect, &p.Replacement, &p.Encapsulations, &p.Unstructured, &p.Marking, &p.Buffering, &p.Ethernet} {
		*can = *can && d.one(3)
	}
	for _, can := range []*bool{&p.Filters, &p.FramedRoutes, &p.Gbr, &p.PacketRate, &p.BeforeEnforcement, &p.DroppedDownlink} {
		*can = *can && !d.one(4)
	}
	return p
}

func (g *generator) apply(c *api.Change) {
	g.script = append(g.script, Step{Change: c})
	if datapath.Check(c, g.full) == nil && conformance.DataNetworks.Check(c.GetSession()) == nil && !g.clashes(c) {
		g.held[c.GetSeid()] = c.GetSession()
	}
}

// clashes reports whether c has what another session holds: then it is refused.
func (g *generator) clashes(c *api.Change) bool {
	taken := map[datapath.Key]bool{}
	for seid, s := range g.held {
		for _, r := range s.GetRules() {
			for _, k := range datapath.Keys(r) {
				taken[k] = taken[k] || seid != c.Seid
			}
		}
	}
	return slices.ContainsFunc(c.GetSession().GetRules(), func(r *api.Rule) bool {
		return slices.ContainsFunc(datapath.Keys(r), func(k datapath.Key) bool { return taken[k] })
	})
}

func (g *generator) create() *api.Change {
	seid := uint64(1 + g.IntN(sessions))
	return &api.Change{Seid: seid, Session: g.session(seid), DropBuffered: g.one(10)}
}

// change makes a session anew, or goes on from what it is.
func (g *generator) change() *api.Change {
	c := g.create()
	was := g.held[c.Seid]
	if was == nil || g.one(4) {
		return c
	}
	if g.one(8) {
		c.Session = nil
		return c
	}
	c.Session = proto.CloneOf(was)
	for range 1 + g.IntN(2) {
		g.modify(c)
	}
	return c
}

// modify changes one thing, as procedures do.
func (g *generator) modify(c *api.Change) {
	s := c.Session
	ethernet := s.GetPduType() == api.PDUType_ETHERNET
	switch g.IntN(11) {
	case 0:
		g.pathSwitch(c)
	case 1: // the UE is idle, or comes back
		for _, r := range s.Rules {
			if f := r.Forward; f.Action == api.Action_BUFF {
				f.Action = api.Action_FORW
			} else if g.has.GetBuffering() && !r.OuterHeaderRemoval {
				g.hold(r, s)
			}
		}
	case 2:
		for i, u := range s.Urrs {
			s.Urrs[i] = g.urr(u.Id)
		}
	case 3:
		for i, q := range s.Qers {
			s.Qers[i] = g.qer(q.Id)
		}
	case 4:
		g.removeRule(s)
	case 5:
		if n := len(s.Rules); n > 0 {
			e := ends{own(g.maker, teids, s.Seid), g.ue(s.Seid), g.peer(), g.network(), ""}
			r := g.rule(s, uint32(30+g.IntN(3)), e)
			g.insert(s, r)
		}
	case 6:
		if n := len(s.Rules); n > 0 {
			g.act(s.Rules[g.IntN(n)], s)
		}
	case 7:
		if n := len(s.Rules); n > 0 && g.has.GetFilters() && !ethernet {
			s.Rules[g.IntN(n)].Detect.Filters = []*api.Filter{g.filter()}
		}
	case 8:
		for i, b := range s.Bars {
			s.Bars[i] = g.bar(b.Id)
		}
	case 9:
		if n := len(s.Rules); n > 0 && g.has.GetDuplicate() && !ethernet {
			s.Rules[g.IntN(n)].Forward.Duplicates = g.duplicates()
		}
	case 10:
		for _, r := range s.Rules {
			if g.has.GetRedirect() && !ethernet && r.Detect.SourceInterface == api.Interface_ACCESS {
				r.Forward.Redirect, r.Forward.Replacement = pick(g.dice, nil, g.redirect()), nil
			}
		}
	}
}

func (g *generator) removeRule(s *api.Session) {
	if n := len(s.Rules); n > 0 {
		i := g.IntN(n)
		s.Rules = slices.Delete(s.Rules, i, i+1)
	}
}

// insert puts r into its place, in that of one with its ID.
func (g *generator) insert(s *api.Session, r *api.Rule) {
	s.Rules = slices.DeleteFunc(s.Rules, func(o *api.Rule) bool { return o.PdrId == r.PdrId })
	s.Rules = append(s.Rules, r)
	slices.SortStableFunc(s.Rules, func(a, b *api.Rule) int { return int(a.Precedence) - int(b.Precedence) })
}

// pathSwitch moves the tunnels to another peer, which end with a marker.
func (g *generator) pathSwitch(c *api.Change) {
	to := g.peer()
	for _, r := range c.Session.Rules {
		old := r.Forward.OuterHeaderCreation
		if old.GetTeid() == 0 || isN9(r) {
			continue
		}
		if g.has.GetEndMarker() && len(c.EndMarkers) == 0 && !proto.Equal(old, to) {
			c.EndMarkers = []*api.EndMarker{{Tunnel: old, Qfi: pick(g.dice, uint32(0), 5, 9), DestinationInterface: r.Forward.DestinationInterface}}
		}
		r.Forward.OuterHeaderCreation = to
	}
}
