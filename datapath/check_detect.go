package datapath

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/endpoint"
)

// checkDetect looks at the PDI of r.
func checkDetect(s *api.Session, r *api.Rule, has *api.Capabilities) error {
	d := r.GetDetect()
	tunnelled := d.GetFTeid() != nil
	var room [roomForKeys]Key
	keys := len(AppendKeys(room[:0], r))
	if what := lacksDetect(r, has); what != "" {
		return pdrError(r, "%s: %w", what, ErrUnsupported)
	}
	switch source := d.GetSourceInterface(); {
	case api.Interface_name[int32(source)] == "":
		return pdrError(r, "Source Interface %d: %w", source, ErrUnsupported)
	case tunnelled && d.GetFTeid().GetTeid() == 0:
		return pdrError(r, "F-TEID with TEID 0: %w", ErrUnsupported)
	case tunnelled && keys == 0:
		return pdrError(r, "F-TEID without address: %w", ErrUnsupported)
	case !tunnelled && (source == api.Interface_ACCESS || source == api.Interface_CP_FUNCTION):
		return pdrError(r, "Source Interface %v without F-TEID: %w", source, ErrUnsupported)
	case !tunnelled && keys == 0 && !d.GetEthernetSession():
		return pdrError(r, "neither F-TEID nor UE IP address: %w", ErrUnsupported)
	case !tunnelled && r.GetOuterHeaderRemoval():
		return pdrError(r, "Outer Header Removal without F-TEID: %w", ErrUnsupported)
	case !tunnelled && len(d.GetQfis()) > 0:
		return pdrError(r, "QFI without F-TEID: %w", ErrUnsupported)
	case slices.ContainsFunc(d.GetQfis(), func(q uint32) bool { return q == 0 || q > 63 }):
		return pdrError(r, "QFIs %v: %w", d.GetQfis(), ErrUnsupported)
	case len(d.GetFilters()) > MaxFilters || len(d.GetEthernetFilters()) > MaxFilters:
		return pdrError(r, "%d filters: %w", max(len(d.GetFilters()), len(d.GetEthernetFilters())), ErrUnsupported)
	}
	if a, ok := strange(d.GetFTeid(), has); ok {
		return pdrError(r, "F-TEID at %s, where this datapath terminates no GTP-U: %w", a, ErrUnsupported)
	}
	for _, f := range d.GetFilters() {
		if err := checkFilter(f); err != nil {
			return pdrError(r, "SDF filter with %w", err)
		}
	}
	if err := checkEthernet(s, r); err != nil {
		return err
	}
	return checkAddresses(r)
}

// strange returns an address of f that is none of the datapath's.
func strange(f *api.FTEID, has *api.Capabilities) (string, bool) {
	if v6 := f.GetIpv6(); len(v6) > 0 && !slices.ContainsFunc(has.GetN3Ipv6(), func(a []byte) bool { return bytes.Equal(a, v6) }) {
		if a, ok := netip.AddrFromSlice(v6); ok {
			return a.String(), true
		}
		return fmt.Sprintf("%x", v6), true
	}
	if v4 := f.GetIpv4(); v4 != 0 && !slices.Contains(has.GetN3Ipv4(), v4) {
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, v4))).String(), true
	}
	return "", false
}

// lacksDetect returns what of the PDI this datapath cannot do, or "".
func lacksDetect(r *api.Rule, has *api.Capabilities) string {
	d := r.GetDetect()
	ethernet := len(d.GetEthernetFilters()) > 0 || d.GetEthernetSession() || r.GetUnwrap() >= api.Unwrap_UNWRAP_S_TAG
	framed := slices.ContainsFunc(d.GetEthernetFilters(), func(e *api.EthernetFilter) bool { return hasHosts(e.GetFilters()) })
	bare := d.GetFTeid() == nil
	return lacks(
		need{len(d.GetFilters()) > 0, has.GetFilters(), "SDF filter"},
		need{hasHosts(d.GetFilters()), has.GetHosts(), "host name of an application"},
		need{framed, false, "host name in an Ethernet Packet Filter"},
		need{len(d.GetFramedRoutes()) > 0, has.GetFramedRoutes(), "framed route"},
		need{ethernet, has.GetEthernet(), "Ethernet PDU session"},
		need{r.GetUnwrap() == api.Unwrap_UNWRAP_UDP || r.GetUnwrap() == api.Unwrap_UNWRAP_IP, has.GetEncapsulations(), "outer header other than GTP-U"},
		need{api.Unwrap_name[int32(r.GetUnwrap())] == "", false, "unknown Outer Header Removal"},
		need{r.GetUnwrap() != api.Unwrap_UNWRAP_NONE && !bare, false, "two Outer Header Removals"},
		need{r.GetDropsContainer(), has.GetContainerDeletion() && !bare, "GTP-U Extension Header Deletion"},
		need{bare && d.GetNetworkInstance() != "", knows(has, d.GetNetworkInstance()), "Network Instance that N6 does not have"},
	)
}

func hasHosts(filters []*api.Filter) bool {
	return slices.ContainsFunc(filters, func(f *api.Filter) bool { return f.GetHost() != "" || f.GetPath() != "" })
}

// knows reports whether N6 has the Network Instance, or has none by name.
func knows(has *api.Capabilities, networkInstance string) bool {
	return len(has.GetNetworkInstances()) == 0 || endpoint.Named(has.GetNetworkInstances(), networkInstance) > 0
}

// checkAddresses looks at UE addresses and framed routes. IPv6 prefixes are
// global unicast, which keeps their keys apart from those of IPv4 addresses: only
// 2000::/3 and fc00::/7. A framed route to everywhere would take what is sent to
// the host itself, and one inside a /64 would lie inside a UE's prefix.
func checkAddresses(r *api.Rule) error {
	d := r.GetDetect()
	if p := d.GetUeAddress().GetIpv6Prefix(); p != 0 && !unicast(p) {
		return pdrError(r, "UE IPv6 prefix %#x is not global unicast: %w", p, ErrUnsupported)
	}
	if n := len(d.GetFramedRoutes()); n > MaxFramedRoutes {
		return pdrError(r, "%d framed routes: %w", n, ErrUnsupported)
	}
	for _, f := range d.GetFramedRoutes() {
		if p := Route(f); !p.IsValid() || p.Bits() == 0 || p.Addr().IsUnspecified() || p.Addr().Is6() && (p.Bits() < 7 || p.Bits() > 64 || !unicast(ipv6Prefix(p.Addr()))) {
			return pdrError(r, "framed route %x/%d: %w", f.GetAddress(), f.GetBits(), ErrUnsupported)
		}
	}
	return nil
}

func unicast(prefix uint64) bool { return prefix>>61 == 1 || prefix>>57 == 0x7e }

// Route returns the prefix with its host bits cleared. It is not valid if p is
// not.
func Route(p *api.Prefix) netip.Prefix {
	a, ok := netip.AddrFromSlice(p.GetAddress())
	if !ok || p.GetBits() > uint32(a.BitLen()) {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(a, int(p.GetBits())).Masked()
}

// checkFilter says what is wrong with an SDF filter.
func checkFilter(f *api.Filter) error {
	for _, p := range []*api.Prefix{f.GetRemote(), f.GetLocal()} {
		if p != nil && !Route(p).IsValid() {
			return fmt.Errorf("prefix %x/%d: %w", p.GetAddress(), p.GetBits(), ErrUnsupported)
		}
	}
	for _, ports := range [][]*api.PortRange{f.GetRemotePorts(), f.GetLocalPorts()} {
		if len(ports) > MaxPorts {
			return fmt.Errorf("%d ranges of ports: %w", len(ports), ErrUnsupported)
		}
		for _, p := range ports {
			if p.GetFirst() > p.GetLast() || p.GetLast() > 65535 {
				return fmt.Errorf("ports %d-%d: %w", p.GetFirst(), p.GetLast(), ErrUnsupported)
			}
		}
	}
	switch {
	case f.GetProtocol() > 255:
		return fmt.Errorf("protocol %d: %w", f.GetProtocol(), ErrUnsupported)
	case f.GetTos() > 255 || f.GetTosMask() > 255:
		return fmt.Errorf("ToS %#x, mask %#x: %w", f.GetTos(), f.GetTosMask(), ErrUnsupported)
	case f.GetFlowLabel() > 0xfffff:
		return fmt.Errorf("flow label %#x: %w", f.GetFlowLabel(), ErrUnsupported)
	case len(f.GetHost()) > 253 || f.GetHost() != strings.ToLower(f.GetHost()):
		return fmt.Errorf("host %q: %w", f.GetHost(), ErrUnsupported)
	case len(f.GetPath()) > 1024:
		return fmt.Errorf("path of %d octets: %w", len(f.GetPath()), ErrUnsupported)
	}
	return nil
}

// checkEthernet looks at what only Ethernet PDU sessions have.
func checkEthernet(s *api.Session, r *api.Rule) error {
	d := r.GetDetect()
	if s.GetPduType() != api.PDUType_ETHERNET &&
		(len(d.GetEthernetFilters()) > 0 || d.GetEthernetSession() || r.GetUnwrap() >= api.Unwrap_UNWRAP_S_TAG) {
		return pdrError(r, "Ethernet in a PDU session of type %v: %w", s.GetPduType(), ErrUnsupported)
	}
	if f := r.GetForward(); s.GetPduType() == api.PDUType_ETHERNET {
		switch { // what is for IP packets, and a bridge does not do
		case len(d.GetFilters()) > 0:
			return pdrError(r, "SDF filter outside an Ethernet Packet Filter: %w", ErrUnsupported)
		case d.GetUeAddress() != nil || len(d.GetFramedRoutes()) > 0:
			return pdrError(r, "UE IP address of an Ethernet PDU session: %w", ErrUnsupported)
		case f.GetRedirect() != nil || len(f.GetDuplicates()) > 0:
			return farError(r, "redirect or copies of frames: %w", ErrUnsupported)
		}
	}
	for _, f := range d.GetEthernetFilters() {
		if err := checkEthernetFilter(f); err != nil {
			return pdrError(r, "Ethernet Packet Filter with %w", err)
		}
	}
	return nil
}

func checkEthernetFilter(f *api.EthernetFilter) error {
	for _, m := range f.GetMacs() {
		for _, a := range [][]byte{m.GetSource(), m.GetDestination(), m.GetSourceUpper(), m.GetDestinationUpper()} {
			if len(a) != 0 && len(a) != 6 {
				return fmt.Errorf("MAC address %x: %w", a, ErrUnsupported)
			}
		}
	}
	for _, t := range []*api.VLANTag{f.GetCTag(), f.GetSTag()} {
		if t.GetVid() > 0xfff || t.GetPcp() > 7 || t.GetDei() > 1 {
			return fmt.Errorf("tag %v: %w", t, ErrUnsupported)
		}
	}
	if f.GetEthertype() > 0xffff {
		return fmt.Errorf("EtherType %#x: %w", f.GetEthertype(), ErrUnsupported)
	}
	for _, sdf := range f.GetFilters() {
		if err := checkFilter(sdf); err != nil {
			return err
		}
	}
	return nil
}
