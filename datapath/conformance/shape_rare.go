package conformance

import "github.com/plumbline-upf/plumbline/datapath/api"

// rare makes a session, now and then, one of those that only a slow path treats:
// copies, redirects, outer headers other than GTP-U, T-PDUs that are no packets.
func (d *dice) rare(s *api.Session) {
	if d.roll(4) != 3 {
		return
	}
	if d.roll(6) == 5 {
		s.PduType = api.PDUType_UNSTRUCTURED
	}
	for _, r := range s.Rules {
		switch d.roll(8) {
		case 1:
			r.Forward.Redirect = pick(d, &api.Redirect{Url: portalURL}, &api.Redirect{Ipv4: ipv4(host)}, &api.Redirect{Ipv6: host6.AsSlice()})
		case 6:
			r.Forward.Replacement = pick(d, &api.Replacement{DestinationIpv4: ipv4(host), DestinationPort: 1}, &api.Replacement{SourceIpv6: host6.AsSlice(), SourcePort: 2})
		case 2:
			r.Forward.Duplicates = []*api.Duplicate{
				{DestinationInterface: api.Interface_CORE}, {DestinationInterface: api.Interface_CP_FUNCTION, OuterHeaderCreation: d.peer()},
			}
		case 3:
			r.Unwrap = pick(d, api.Unwrap_UNWRAP_UDP, api.Unwrap_UNWRAP_IP)
		case 4, 5:
			r.Forward.OuterHeaderCreation = pick(d,
				&api.OuterHeaderCreation{Encapsulation: api.Encapsulation_UDP, Ipv6: far6.AsSlice(), Port: 9},
				&api.OuterHeaderCreation{Encapsulation: api.Encapsulation_UDP, Ipv4: ipv4(far), Port: 9},
				&api.OuterHeaderCreation{Encapsulation: api.Encapsulation_PLAIN_IP, Ipv4: ipv4(far)})
		}
	}
}
