package rules

import (
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// What follows compiles what few rules have, into memory of its own.

// duplicates compiles Duplicating Parameters.
func duplicates(list []session.Duplicate) []*api.Duplicate {
	out := make([]*api.Duplicate, len(list))
	for i := range list {
		out[i] = new(api.Duplicate)
		new(duplicateFields).set(out[i], &list[i])
	}
	return out
}

// copiesTowards is the interface to which copies go. The LI function is somewhere behind
// a core network: their Outer Header Creation says where.
func copiesTowards(to session.Interface) api.Interface {
	if to == session.LIFunction {
		return api.Interface_CORE
	}
	return api.Interface(to)
}

// ethernet compiles Ethernet Packet Filters. One that refers to the bidirectional
// one of a PDR of the other direction is that with its addresses changed over.
func (r *rule) ethernet(s *session.Session, d *session.PDI) {
	for i := range d.Ethernet {
		f, reversed := &d.Ethernet[i], false
		if f.Reference {
			to, uplink := s.EthernetFilter(f.ID.Value)
			if to == nil {
				continue // the session was checked: there is one
			}
			f, reversed = to, uplink != d.SourceInterface.Uplink()
		}
		r.detect.EthernetFilters = append(r.detect.EthernetFilters, ethernetFilter(f, reversed))
	}
}

func ethernetFilter(f *session.EthernetFilter, reversed bool) *api.EthernetFilter {
	out := &api.EthernetFilter{
		Id: f.ID.Value, Bidirectional: f.Bidirectional, Ethertype: uint32(f.Ethertype), CTag: vlanTag(f.CTAG), STag: vlanTag(f.STAG),
	}
	for _, m := range f.MACs {
		if reversed {
			m = m.Reverse()
		}
		out.Macs = append(out.Macs, &api.MACs{
			Source: mac(m.Source), Destination: mac(m.Destination),
			SourceUpper: mac(m.UpperSource), DestinationUpper: mac(m.UpperDestination),
		})
	}
	for i := range f.Filters {
		out.Filters = append(out.Filters, new(filter).compile(&f.Filters[i]))
	}
	return out
}

func mac(m session.Optional[session.MAC]) []byte {
	if !m.Present {
		return nil
	}
	return m.Value[:]
}

func vlanTag(o session.Optional[session.VLANTag]) *api.VLANTag {
	if !o.Present {
		return nil
	}
	out, t := new(api.VLANTag), o.Value
	if t.VID.Present {
		out.Vid = pointer(uint32(t.VID.Value))
	}
	if t.PCP.Present {
		out.Pcp = pointer(uint32(t.PCP.Value))
	}
	if t.DEI.Present {
		out.Dei = pointer(uint32(0))
		if t.DEI.Value {
			*out.Dei = 1
		}
	}
	return out
}

func pointer[T any](v T) *T { return &v }

// qerRare compiles what few QERs have. A Packet Rate of 0 is a closed gate, as an MBR
// of 0 is.
func qerRare(out *api.QER, q *session.QER) {
	out.UplinkGbrBps, out.DownlinkGbrBps = 0, 0
	if q.HasGBR {
		out.UplinkGbrBps, out.DownlinkGbrBps = finite(q.GBR.Uplink), finite(q.GBR.Downlink)
	}
	out.UplinkPacketRate = packetRate(q.UplinkPackets, &out.UplinkGateClosed)
	out.DownlinkPacketRate = packetRate(q.DownlinkPackets, &out.DownlinkGateClosed)
}

func packetRate(r session.PacketRate, closed *bool) *api.PacketRate {
	switch {
	case r.TimeMs == 0:
		return nil
	case r.Packets == 0:
		*closed = true
		return nil
	}
	return &api.PacketRate{Packets: uint32(r.Packets), TimeMs: r.TimeMs}
}
