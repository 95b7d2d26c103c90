package stages

import (
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// detectEthernet returns the first of the candidates that matches. If none does,
// the reason is that of the one that came nearest.
func detectEthernet(candidates []*Rule, h gtpu.Header, f *etherFrame) (*Rule, datapath.Reason) {
	nearest := datapath.DropNoPDR
	for _, r := range candidates {
		switch {
		case !r.matchQFI(h):
			nearest = max(nearest, datapath.DropQFI)
		case len(r.Ethernet.Filters) > 0 && !slices.ContainsFunc(r.Ethernet.Filters, func(e EthernetFilter) bool { return e.match(f, r.Uplink) }):
			nearest = max(nearest, datapath.DropSDFFilter)
		default:
			return r, datapath.ReasonNone
		}
	}
	return nil, nearest
}

// etherTunnelled treats a frame out of a tunnel. The bridge learns where its
// source is.
func (s *Stages) etherTunnelled(h gtpu.Header, tpdu []byte, candidates []*Rule) Out {
	f, reason := parseEthernet(tpdu)
	if reason != datapath.ReasonNone {
		return Out{Reason: reason}
	}
	r, reason := detectEthernet(candidates, h, &f)
	if reason == datapath.ReasonNone && r.refuses(h) {
		reason = datapath.DropGTPUExtType
	}
	if reason != datapath.ReasonNone {
		return Out{Reason: reason}
	}
	if r.bridges() && r.Uplink {
		if !s.Bridge.learn(s, r, &f) {
			r.CountDropped()
			return Out{Reason: datapath.DropMAC, Rule: r}
		}
		s.Bridge.heard(s.Now(), r.LAN, r.SEID, &f)
	}
	return s.treat(r, arrived{user: f.octets, header: h})
}

// bridges reports whether frames go by r from a tunnel to a data network.
func (r *Rule) bridges() bool { return r.Ethernet != nil && !r.Bare && r.Outer == nil }

// forwardFrame says whether what the FAR of an Ethernet PDU session asks for can be
// done with a frame: a bridge sends nothing back to where it came from.
//
// A tag is beyond the MTU, as the kernel has it.
func (s *Stages) forwardFrame(r *Rule, a arrived) datapath.Reason {
	if r.Outer != nil {
		if r.outerSize(a) > maxPacket {
			return datapath.DropMTU
		}
		return datapath.ReasonNone
	}
	f, _ := parseEthernet(a.user) // it did once
	if r.bridges() && f.destination.isReserved() {
		return datapath.DropNoMAC
	}
	if !f.destination.isGroup() && r.bridges() {
		switch s.Bridge.behind(s, Station{r.LAN, r.vlan(&f), f.destination}) {
		case 0:
		case r.SEID:
			return datapath.DropNoMAC
		default:
			return datapath.ReasonNone
		}
	}
	tags := f.tags - min(r.Ethernet.Pull, f.tags) + len(r.Ethernet.Push)
	header := inet.LenEthernet + 4*min(tags, 1)
	if s.Links != nil && len(r.Ethernet.tag(a.user)) > s.Links.MTU(r, netip.Addr{})+header {
		return datapath.DropMTU
	}
	return datapath.ReasonNone
}

// bridged is what becomes of a frame of a UE on its data network: it goes to
// the UE that has its destination, or out; one to a group goes to all of them.
//
// Source: IEEE 802.1Q-2022, 8.6.
func (s *Stages) bridged(o Out) Out {
	f, _ := parseEthernet(o.Packet) // it did once
	if answer, ok := s.proxied(o.Rule, o.Rule.SEID, &f); ok {
		return answer
	}
	sessions, all := s.Bridge.towards(s, o.Rule.LAN, &f, o.Rule.SEID)
	outs := s.deliver(sessions, &f, all)
	switch {
	case f.destination.isGroup():
		o.Bridged = outs
		return o
	case len(outs) == 1:
		return outs[0]
	}
	return o
}

// deliver gives a frame on a data network to sessions.
func (s *Stages) deliver(sessions [][]*Rule, f *etherFrame, all bool) []Out {
	var outs []Out
	for _, candidates := range sessions {
		r, reason := detectEthernet(candidates, nil, f)
		if reason != datapath.ReasonNone {
			outs = append(outs, Out{Reason: reason})
			continue
		}
		outs = append(outs, s.treat(r, arrived{user: f.octets}))
	}
	if !all {
		outs = append(outs, Out{Reason: datapath.DropFlood})
	}
	return outs
}

// Ethernet treats a frame that came from the Ethernet data network with this
// number: one to the MAC address of a UE goes to its session, one to a group to
// all sessions there, and any other nowhere. The bridge learns that the source of
// the former two is there.
//
// Source: TS 23.501 V18.8.0, 5.6.10.2.
func (s *Stages) Ethernet(network int, frame []byte) []Out {
	f, reason := parseEthernet(frame)
	if reason != datapath.ReasonNone {
		return []Out{{Reason: reason}}
	}
	if f.destination.isReserved() {
		return []Out{{Reason: datapath.DropNoMAC}}
	}
	if f.destination.isGroup() || s.Bridge.behind(s, f.to(network)) != 0 {
		s.Bridge.learnOutside(s, network, &f)
	}
	s.Bridge.heard(s.Now(), network, 0, &f)
	if answer, ok := s.proxiedFor(network, &f); ok {
		return []Out{answer}
	}
	return s.onNetwork(network, &f)
}

// OnNetwork treats a frame of a UE to another one that has left its session already,
// and is on the Ethernet data network with this number.
func (s *Stages) OnNetwork(network int, frame []byte) []Out {
	f, reason := parseEthernet(frame)
	if reason != datapath.ReasonNone {
		return []Out{{Reason: reason}}
	}
	return s.onNetwork(network, &f)
}

func (s *Stages) onNetwork(network int, f *etherFrame) []Out {
	sessions, all := s.Bridge.towards(s, network, f, 0)
	if len(sessions) == 0 && all {
		return []Out{{Reason: datapath.DropNoMAC}}
	}
	return s.deliver(sessions, f, all)
}

// answersFrames reports whether frames of the UPF's own may leave by r.
func (r *Rule) answersFrames() bool {
	return r.Action == api.Action_FORW && !r.Gate && r.Outer != nil && r.Ethernet != nil
}
