package stages

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Copy is where a copy of each forwarded packet goes.
// Source: TS 29.244 V18.6.0, 7.5.2.3-3 (Duplicating Parameters).
type Copy struct {
	Outer *Outer // nil: out bare
	Wrap  *Wrap  // bare: around it; nil: nothing
	Way   int    // bare: of [datapath.N6]
}

func newCopies(s *api.Session, in []*api.Duplicate, state State) []Copy {
	var out []Copy
	for _, d := range in {
		// The parameters are those of a FAR, less the redirect.
		f := &api.Forward{
			DestinationInterface: d.GetDestinationInterface(), NetworkInstance: d.GetNetworkInstance(),
			OuterHeaderCreation: d.GetOuterHeaderCreation(), Dscp: d.Dscp,
		}
		if isTunnel(f.GetOuterHeaderCreation()) {
			out = append(out, Copy{Outer: newOuter(f, state)})
			continue
		}
		c := Copy{Way: state.N6().Way(d.GetNetworkInstance(), d.GetForwardingPolicy())}
		if f.GetOuterHeaderCreation() != nil {
			c.Wrap = newWrap(s, f)
		}
		out = append(out, c)
	}
	return out
}

// copies makes the copies of a packet that is forwarded: each what it would have
// been if the FAR had sent it there. It returns how many could not be made.
func (s *Stages) copies(r *Rule, a arrived) (sent []Sent, lost int) {
	for _, c := range r.Copies {
		to := *r
		to.Outer, to.Wrap, to.Way = c.Outer, c.Wrap, c.Way
		if s.forward(&to, a) != datapath.ReasonNone {
			lost++
			continue
		}
		sent = append(sent, s.emit(&to, a)...)
	}
	return sent, lost
}

// CopyTunnelled makes the copies of a G-PDU that r has sent on already.
func (s *Stages) CopyTunnelled(r *Rule, message []byte) (sent []Sent, lost int) {
	h, tpdu, reason := parseGTPU(message)
	if reason != datapath.ReasonNone {
		return nil, len(r.Copies)
	}
	u, reason := parseUser(tpdu)
	if reason != datapath.ReasonNone {
		return nil, len(r.Copies)
	}
	return s.copies(r, arrived{user: u, header: h})
}

// CopyBare makes the copies of a packet from the data network with this number that
// r has sent on already. The NAT has translated it. It is changed.
func (s *Stages) CopyBare(r *Rule, network int, packet []byte) (sent []Sent, lost int) {
	u, reason := parseUser(packet)
	if reason != datapath.ReasonNone {
		return nil, len(r.Copies)
	}
	s.N6.clamp(network-1, u)
	return s.copies(r, arrived{user: u, network: network})
}
