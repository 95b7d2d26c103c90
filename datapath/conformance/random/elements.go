package random

import (
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// use reports whether a PDR, with the FAR, QERs and URRs that it names, asks for an
// element of docs/rules.md, for the packets that it matches.
type use func(s *api.Session, r *api.Rule) bool

// filtered reports whether an SDF filter of the PDR does.
func filtered(has func(f *api.Filter) bool) use {
	return func(_ *api.Session, r *api.Rule) bool { return slices.ContainsFunc(r.GetDetect().GetFilters(), has) }
}

// framed reports whether an Ethernet Packet Filter of the PDR does.
func framed(has func(f *api.EthernetFilter) bool) use {
	return func(_ *api.Session, r *api.Rule) bool {
		return slices.ContainsFunc(r.GetDetect().GetEthernetFilters(), has)
	}
}

// limited reports whether a QER of the PDR does, in its direction.
func limited(has func(q *api.QER, source api.Interface) bool) use {
	return func(s *api.Session, r *api.Rule) bool {
		return slices.ContainsFunc(r.GetQerIds(), func(id uint32) bool {
			return has(datapath.FindQER(s, id), r.GetDetect().GetSourceInterface())
		})
	}
}

// marked is limited for what is of downlink packets that get an outer header.
func marked(has func(q *api.QER) bool) use {
	return limited(func(q *api.QER, source api.Interface) bool { return !datapath.Uplink(source) && has(q) })
}

// counted reports whether a URR of the PDR does.
func counted(has func(u *api.URR) bool) use {
	return func(s *api.Session, r *api.Rule) bool {
		return slices.ContainsFunc(r.GetUrrIds(), func(id uint32) bool { return has(datapath.FindURR(s, id)) })
	}
}

// forwarded reports whether the FAR does, which has Apply Action a.
func forwarded(a api.Action, has func(f *api.Forward) bool) use {
	return func(_ *api.Session, r *api.Rule) bool { return r.GetForward().GetAction() == a && has(r.GetForward()) }
}

// outer reports whether the FAR's Outer Header Creation does.
func outer(has func(o *api.OuterHeaderCreation, r *api.Rule) bool) use {
	return func(_ *api.Session, r *api.Rule) bool {
		o := r.GetForward().GetOuterHeaderCreation()
		return r.GetForward().GetAction() == api.Action_FORW && o != nil && has(o, r)
	}
}

func always(*api.Session, *api.Rule) bool { return true }

// meters is how many of its QERs' MBRs a PDR is charged by.
func meters(s *api.Session, r *api.Rule) (n int) {
	for _, id := range r.GetQerIds() {
		if datapath.MBR(datapath.FindQER(s, id), r.GetDetect().GetSourceInterface()) != 0 {
			n++
		}
	}
	return n
}

// sharesKey reports whether another PDR of the session matches the same F-TEID or
// UE IP address.
func sharesKey(s *api.Session, r *api.Rule) bool {
	for _, k := range datapath.Keys(r) {
		for _, o := range s.GetRules() {
			if o.GetPdrId() != r.GetPdrId() && datapath.Covers(o, k) {
				return true
			}
		}
	}
	return false
}

// uses has an entry for each of [datapath.Elements], by rule and name.
var uses = map[[2]string]use{
	{"PDI", "Source Interface, Local F-TEID, UE IP Address"}: always,
	{"PDI", "Local F-TEID over IPv6"}:                        func(_ *api.Session, r *api.Rule) bool { return len(r.GetDetect().GetFTeid().GetIpv6()) > 0 },
	{"PDI", "QFI, one of up to four"}: func(_ *api.Session, r *api.Rule) bool {
		n := len(r.GetDetect().GetQfis())
		return n > 0 && n <= 4
	},
	{"PDI", "QFI, more than four"}:              func(_ *api.Session, r *api.Rule) bool { return len(r.GetDetect().GetQfis()) > 4 },
	{"PDI", "SDF Filter: protocol"}:             filtered(func(f *api.Filter) bool { return f.Protocol != nil }),
	{"PDI", "SDF Filter: addresses with masks"}: filtered(func(f *api.Filter) bool { return f.Remote != nil || f.Local != nil }),
	{"PDI", "SDF Filter: lists and ranges of ports"}: filtered(func(f *api.Filter) bool {
		return len(f.RemotePorts) > 0 || len(f.LocalPorts) > 0
	}),
	{"PDI", "SDF Filter: ToS or Traffic Class"}:          filtered(func(f *api.Filter) bool { return f.TosMask != 0 }),
	{"PDI", "SDF Filter: Security Parameter Index"}:      filtered(func(f *api.Filter) bool { return f.Spi != nil }),
	{"PDI", "SDF Filter: Flow Label"}:                    filtered(func(f *api.Filter) bool { return f.FlowLabel != nil }),
	{"PDI", "Application ID: host of TLS, QUIC or HTTP"}: filtered(func(f *api.Filter) bool { return f.Host != "" || f.Path != "" }),
	{"PDI", "Framed-Route, Framed-IPv6-Route, delegated prefix"}: func(_ *api.Session, r *api.Rule) bool {
		return len(r.GetDetect().GetFramedRoutes()) > 0
	},
	{"PDI", "Ethernet PDU Session Information"}: func(_ *api.Session, r *api.Rule) bool { return r.GetDetect().GetEthernetSession() },

	{"PDI", "Ethernet Packet Filter: MAC addresses, ranges of them"}: framed(func(f *api.EthernetFilter) bool { return len(f.GetMacs()) > 0 }),
	{"PDI", "Ethernet Packet Filter: Ethertype"}:                     framed(func(f *api.EthernetFilter) bool { return f.GetEthertype() != 0 }),
	{"PDI", "Ethernet Packet Filter: C-TAG, S-TAG"}:                  framed(func(f *api.EthernetFilter) bool { return f.CTag != nil || f.STag != nil }),
	{"PDI", "Ethernet Packet Filter: SDF Filter"}:                    framed(func(f *api.EthernetFilter) bool { return len(f.GetFilters()) > 0 }),

	{"PDR", "Precedence: several PDRs of an F-TEID or UE IP address"}: sharesKey,
	{"PDR", "Outer Header Removal: GTP-U"}:                            func(_ *api.Session, r *api.Rule) bool { return r.GetOuterHeaderRemoval() },
	{"PDR", "Outer Header Removal: GTP-U Extension Header Deletion, from tunnel to tunnel"}: func(_ *api.Session, r *api.Rule) bool {
		return r.GetDropsContainer()
	},
	{"PDR", "Outer Header Removal: UDP/IP"}: func(_ *api.Session, r *api.Rule) bool { return r.GetUnwrap() == api.Unwrap_UNWRAP_UDP },

	{"FAR", "Apply Action: DROP"}:                   forwarded(api.Action_DROP, func(*api.Forward) bool { return true }),
	{"FAR", "none yet, or FORW without its tunnel"}: forwarded(api.Action_DROP, (*api.Forward).GetIncomplete),
	{"FAR", "DROP since a quota is used up"}:        forwarded(api.Action_DROP, (*api.Forward).GetSpent),
	{"FAR", "Apply Action: FORW"}:                   forwarded(api.Action_FORW, func(*api.Forward) bool { return true }),
	{"FAR", "Apply Action: BUFF, NOCP"}:             forwarded(api.Action_BUFF, (*api.Forward).GetNotify),
	{"FAR", "Apply Action: BDPN, DDPN"}:             forwarded(api.Action_BUFF, func(f *api.Forward) bool { return f.NotifyBuffered || f.NotifyDiscarded }),
	{"FAR", "Apply Action: DUPL"}:                   forwarded(api.Action_FORW, func(f *api.Forward) bool { return len(f.Duplicates) > 0 }),
	{"FAR", "Outer Header Creation: GTP-U/UDP/IPv4"}: outer(func(o *api.OuterHeaderCreation, _ *api.Rule) bool {
		return o.GetEncapsulation() == api.Encapsulation_GTPU && o.GetIpv4() != 0
	}),
	{"FAR", "Outer Header Creation: GTP-U/UDP/IPv6"}: outer(func(o *api.OuterHeaderCreation, _ *api.Rule) bool {
		return o.GetEncapsulation() == api.Encapsulation_GTPU && len(o.GetIpv6()) > 0
	}),
	{"FAR", "Outer Header Creation out of a tunnel: N9, S5/S8-U, indirect forwarding"}: outer(func(o *api.OuterHeaderCreation, r *api.Rule) bool {
		return o.GetEncapsulation() == api.Encapsulation_GTPU && r.GetDetect().GetFTeid() != nil
	}),
	{"FAR", "Outer Header Creation: UDP/IP, IP"}: outer(func(o *api.OuterHeaderCreation, _ *api.Rule) bool {
		return o.GetEncapsulation() == api.Encapsulation_UDP || o.GetEncapsulation() == api.Encapsulation_PLAIN_IP
	}),
	{"FAR", "Outer Header Creation: C-TAG, S-TAG"}: outer(func(o *api.OuterHeaderCreation, _ *api.Rule) bool {
		return o.GetEncapsulation() == api.Encapsulation_TAG
	}),
	{"FAR", "Transport Level Marking"}:                  forwarded(api.Action_FORW, func(f *api.Forward) bool { return f.Dscp != nil && f.OuterHeaderCreation != nil }),
	{"FAR", "Redirect Information"}:                     forwarded(api.Action_FORW, func(f *api.Forward) bool { return f.Redirect != nil }),
	{"FAR", "IP Address and Port number Replacement"}:   forwarded(api.Action_FORW, func(f *api.Forward) bool { return f.Replacement != nil }),
	{"FAR", "Proxying, beside the slow path's answers"}: forwarded(api.Action_FORW, func(f *api.Forward) bool { return f.ProxyArp || f.ProxyNd }),
	{"FAR", "Proxying"}:                                 forwarded(api.Action_FORW, func(f *api.Forward) bool { return f.ProxyArp || f.ProxyNd }),

	{"QER", "Gate Status"}: limited(datapath.GateClosed),
	{"QER", "QFI"}:         marked(func(q *api.QER) bool { return q.GetQfi() != 0 }),
	{"QER", "MBR"}:         limited(func(q *api.QER, source api.Interface) bool { return datapath.MBR(q, source) != 0 }),
	{"QER", "MBR of more than two QERs"}: func(s *api.Session, r *api.Rule) bool {
		return meters(s, r) > 2
	},
	{"QER", "GBR"}:                     limited(func(q *api.QER, source api.Interface) bool { return datapath.GBR(q, source) != 0 }),
	{"QER", "Packet Rate"}:             limited(func(q *api.QER, source api.Interface) bool { return datapath.PacketRate(q, source) != nil }),
	{"QER", "DL Flow Level Marking"}:   marked(func(q *api.QER) bool { return q.GetDownlinkTosMask() != 0 }),
	{"QER", "RQI"}:                     marked((*api.QER).GetRqi),
	{"QER", "Paging Policy Indicator"}: marked(func(q *api.QER) bool { return q.PagingPolicy != nil }),

	{"URR", "volume, Volume Threshold, Volume Quota"}: counted(func(u *api.URR) bool { return u.Threshold != nil || u.Quota != nil }),
	{"URR", "start of traffic"}:                       counted((*api.URR).GetStartOfTraffic),
	{"URR", "several URRs of a PDR"}:                  func(_ *api.Session, r *api.Rule) bool { return len(r.GetUrrIds()) > 1 },
	{"URR", "Measurement Information: MBQE"}:          counted((*api.URR).GetBeforeEnforcement),
	{"URR", "Dropped DL Traffic Threshold"}: counted(func(u *api.URR) bool {
		return u.GetDroppedDownlinkPackets() != 0 || u.GetDroppedDownlinkOctets() != 0
	}),
	{"URR", "MAC Addresses Reporting"}: counted((*api.URR).GetMacAddresses),

	{"BAR", "Downlink Data Notification Delay, Suggested Buffering Packets Count, DL Buffering Duration"}: forwarded(api.Action_BUFF,
		func(f *api.Forward) bool { return f.GetBarId() != 0 }),

	{"Session", "PDN Type: Ethernet"}:     func(s *api.Session, _ *api.Rule) bool { return s.GetPduType() == api.PDUType_ETHERNET },
	{"Session", "PDN Type: unstructured"}: func(s *api.Session, _ *api.Rule) bool { return s.GetPduType() == api.PDUType_UNSTRUCTURED },
}
