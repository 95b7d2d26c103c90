package random

import (
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

func (m maker) mark(r *api.Rule) {
	if m.one(4) {
		r.Forward.Dscp = optional(pick(m.dice, uint32(0), 10, 46))
	}
}

// act makes the FAR say something else than FORW, now and then, or more.
func (m maker) act(r *api.Rule, s *api.Session) {
	switch {
	case m.one(8):
		r.Forward.Action = api.Action_DROP
		r.Forward.NotifyDiscarded = m.has.GetDroppedDownlink() && m.one(3)
		r.Forward.Incomplete = !r.Forward.NotifyDiscarded && m.one(3)
		r.Forward.Spent = !r.Forward.Incomplete && m.one(3)
	case m.one(8) && m.has.GetBuffering():
		m.hold(r, s)
	case m.one(10) && m.has.GetDuplicate() && s.PduType != api.PDUType_ETHERNET:
		r.Forward.Duplicates = m.duplicates()
	case m.one(10) && m.has.GetReplacement() && s.PduType == api.PDUType_IP && r.Forward.Redirect == nil:
		r.Forward.Replacement = m.replacement()
	}
}

// hold makes the FAR say BUFF.
func (m maker) hold(r *api.Rule, s *api.Session) {
	r.Forward.Action, r.Forward.Notify = api.Action_BUFF, m.one(2)
	r.Forward.NotifyBuffered = m.one(3)
	r.Forward.NotifyDiscarded = m.has.GetDroppedDownlink() && m.one(2)
	if len(s.Bars) > 0 && m.one(2) {
		r.Forward.BarId = s.Bars[0].Id
	}
}

// bar makes a BAR. Its delay is none, or so long that nothing is told: the time
// that it takes is not the script's.
func (m maker) bar(id uint32) *api.BAR {
	return &api.BAR{
		Id: id, Packets: uint32(m.IntN(4)), DurationMs: pick(m.dice, uint32(0), 0, 5, 1000),
		NotificationDelayMs: pick(m.dice, uint32(0), 0, 3600_000),
	}
}

// duplicates are one or two copies: into a tunnel, or bare.
func (m maker) duplicates() (all []*api.Duplicate) {
	for range 1 + m.IntN(2) {
		d := &api.Duplicate{DestinationInterface: pick(m.dice, api.Interface_CORE, api.Interface_SGI_LAN)}
		if m.one(2) {
			d.DestinationInterface, d.OuterHeaderCreation = pick(m.dice, api.Interface_ACCESS, api.Interface_CP_FUNCTION), m.gnb(0x104)
		} else if m.one(2) {
			d.NetworkInstance = m.network()
		} else if names := m.has.GetForwardingPolicies(); len(names) > 0 {
			d.ForwardingPolicy = pick(m.dice, names...)
		}
		if m.one(3) {
			d.Dscp = optional(pick(m.dice, uint32(0), 12))
		}
		all = append(all, d)
	}
	return all
}

// portalURL is where users are sent.
const portalURL = "http://portal.example.org/pay?from=here"

func (m maker) redirect() *api.Redirect {
	switch m.IntN(5) {
	case 0:
		return &api.Redirect{Ipv4: ipv4(portal4)}
	case 1:
		return &api.Redirect{Ipv6: portal6.AsSlice()}
	case 2:
		return &api.Redirect{Ipv4: ipv4(portal4), Ipv6: portal6.AsSlice()}
	}
	return &api.Redirect{Url: portalURL}
}

// replacement is one of some of what can be replaced.
func (m maker) replacement() *api.Replacement {
	r := &api.Replacement{DestinationPort: pick(m.dice, uint32(0), 9, 8080), SourcePort: pick(m.dice, uint32(0), 0, 9)}
	if m.one(2) {
		r.DestinationIpv4, r.DestinationIpv6 = ipv4(portal4), portal6.AsSlice()
	}
	if m.one(4) {
		r.SourceIpv4, r.SourceIpv6 = ipv4(portal4), portal6.AsSlice()
	}
	return r
}

// senseless makes the rule one that is refused, perhaps.
func (m maker) senseless(r *api.Rule, s *api.Session) {
	switch m.IntN(13) {
	case 0:
		r.OuterHeaderRemoval = !r.OuterHeaderRemoval
	case 1:
		r.Detect.UeAddress = nil
	case 2:
		r.Forward.OuterHeaderCreation = nil
	case 3:
		r.QerIds = append(r.QerIds, 99)
	case 4:
		r.Detect.FTeid = nil
	case 5:
		r.Forward.NetworkInstance = "nowhere"
	case 6:
		r.Forward.ForwardingPolicy = "nowhere"
	case 7:
		r.Forward.ProxyArp, r.Forward.ProxyNd = m.one(2), true
	case 8:
		r.Forward.OuterHeaderCreation = &api.OuterHeaderCreation{Encapsulation: api.Encapsulation_TAG, CTag: optional(7)}
	case 9:
		r.Detect.EthernetSession = true
	case 10:
		s.PduType = api.PDUType_ETHERNET
	case 11:
		if len(s.Urrs) > 0 {
			s.Urrs[0].MacAddresses = true
		}
	case 12:
		r.Forward.Duplicates = []*api.Duplicate{{OuterHeaderCreation: m.here()}}
	}
}

// isN9 reports whether r sends through N9's endpoint.
func isN9(r *api.Rule) bool {
	return r.GetForward().GetOuterHeaderCreation().GetIpv4() == ipv4(conformance.PeerAddress)
}
