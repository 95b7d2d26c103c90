package n4

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// createdPDRs makes a Created PDR of each new PDR for which we chose an F-TEID
// or a UE address, in the memory of list.
func createdPDRs(list []pfcp.CreatedPDR, s *session.Session, created []pfcp.CreatePDR) []pfcp.CreatedPDR {
	list = list[:0]
	for i := range created {
		list = appendChosen(list, s.PDR(created[i].PDRID))
	}
	return list
}

// updatedPDRs makes an Updated PDR of each PDR for which an update made us choose.
func updatedPDRs(list []pfcp.CreatedPDR, s *session.Session, updated []pfcp.UpdatePDR) []pfcp.CreatedPDR {
	list = list[:0]
	for i := range updated {
		if updated[i].PDI.Present {
			list = appendChosen(list, s.PDR(updated[i].PDRID))
		}
	}
	return list
}

// appendChosen appends what was chosen for a PDR, if anything was.
func appendChosen(list []pfcp.CreatedPDR, p *session.PDR) []pfcp.CreatedPDR {
	if p == nil || !p.PDI.Choose.CH && !p.PDI.ChooseUE.V4 && !p.PDI.ChooseUE.V6 {
		return list
	}
	c := next(&list)
	*c = pfcp.CreatedPDR{PDRID: p.ID, LocalFTEIDs: c.LocalFTEIDs[:0], UEIPAddresses: c.UEIPAddresses[:0]}
	if p.PDI.Choose.CH {
		c.LocalFTEIDs = append(c.LocalFTEIDs, localFTEID(p.PDI.FTEID))
	}
	c.UEIPAddresses = appendUE(c.UEIPAddresses, p.PDI.ChooseUE, p.PDI.UEAddress)
	return list
}

// createdTEPs makes a Created Traffic Endpoint of each new or changed one for
// which we chose an F-TEID or a UE address.
func createdTEPs(list []pfcp.CreatedTrafficEndpoint, s *session.Session, created, updated []pfcp.TrafficEndpoint) []pfcp.CreatedTrafficEndpoint {
	list = list[:0]
	for _, from := range [...][]pfcp.TrafficEndpoint{created, updated} {
		for i := range from {
			e := s.Endpoint(from[i].TrafficEndpointID)
			if e == nil || !e.Choose.CH && !e.ChooseUE.V4 && !e.ChooseUE.V6 {
				continue
			}
			c := next(&list)
			*c = pfcp.CreatedTrafficEndpoint{
				TrafficEndpointID: e.ID, LocalFTEIDs: c.LocalFTEIDs[:0], UEIPAddresses: c.UEIPAddresses[:0],
			}
			if e.Choose.CH {
				c.LocalFTEIDs = append(c.LocalFTEIDs, localFTEID(e.FTEID))
			}
			c.UEIPAddresses = appendUE(c.UEIPAddresses, e.ChooseUE, e.UEAddress)
		}
	}
	return list
}

// localFTEID is an F-TEID of ours.
func localFTEID(f session.FTEID) pfcp.FTEID {
	out := pfcp.FTEID{TEID: f.TEID}
	if f.IPv4 != (session.IPv4{}) {
		out.V4, out.IPv4 = true, netip.AddrFrom4(f.IPv4)
	}
	if f.IPv6 != (session.IPv6{}) {
		out.V6, out.IPv6 = true, netip.AddrFrom16(f.IPv6)
	}
	return out
}

// appendUE appends a UE IP Address with what was chosen.
func appendUE(list []pfcp.UEIPAddress, c session.ChooseUE, a session.UEAddress) []pfcp.UEIPAddress {
	if !c.V4 && !c.V6 {
		return list
	}
	var out pfcp.UEIPAddress
	if c.V4 {
		out.IPv4 = netip.AddrFrom4(a.IPv4)
	}
	if c.V6 {
		var octets [16]byte
		copy(octets[:], a.IPv6Prefix[:])
		out.IPv6 = netip.AddrFrom16(octets)
	}
	return append(list, out)
}
