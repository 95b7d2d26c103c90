package datapath

import (
	"fmt"
	"slices"

	"plumbline/api"
)

// checkDetect looks at the PDI of r.
func checkDetect(r *api.Rule, has *api.Capabilities) error {
	d := r.GetDetect()
	tunnelled := d.GetFTeid() != nil
	switch source := d.GetSourceInterface(); {
	case api.Interface_name[int32(source)] == "":
		return pdrError(r, "Source Interface %d: %w", source, ErrUnsupported)
	case tunnelled && d.GetFTeid().GetTeid() == 0:
		return pdrError(r, "F-TEID with TEID 0: %w", ErrUnsupported)
	case !tunnelled && (source == api.Interface_ACCESS || source == api.Interface_CP_FUNCTION):
		return pdrError(r, "Source Interface %v without F-TEID: %w", source, ErrUnsupported)
	case !tunnelled && len(Keys(r)) == 0:
		return pdrError(r, "neither F-TEID nor UE IP address: %w", ErrUnsupported)
	case !tunnelled && r.GetOuterHeaderRemoval():
		return pdrError(r, "Outer Header Removal without F-TEID: %w", ErrUnsupported)
	case !tunnelled && len(d.GetQfis()) > 0:
		return pdrError(r, "QFI without F-TEID: %w", ErrUnsupported)
	case slices.ContainsFunc(d.GetQfis(), func(q uint32) bool { return q == 0 || q > 63 }):
		return pdrError(r, "QFIs %v: %w", d.GetQfis(), ErrUnsupported)
	case len(d.GetFilters()) > 0 && !has.GetFilters():
		return pdrError(r, "SDF filter: %w", ErrUnsupported)
	}
	if v6 := d.GetFTeid().GetIpv6(); len(v6) > 0 && (len(v6) != 16 || len(has.GetN3Ipv6()) == 0) {
		return pdrError(r, "F-TEID with IPv6 address %x: %w", v6, ErrUnsupported)
	}
	for _, f := range d.GetFilters() {
		if err := checkFilter(r, f); err != nil {
			return err
		}
	}
	return checkPrefix(r)
}

// checkPrefix keeps the keys of IPv6 prefixes apart from those of IPv4
// addresses: only global unicast, 2000::/3 and fc00::/7.
func checkPrefix(r *api.Rule) error {
	p := r.GetDetect().GetUeAddress().GetIpv6Prefix()
	if p != 0 && p>>61 != 1 && p>>57 != 0x7e {
		return pdrError(r, "UE IPv6 prefix %#x is not global unicast: %w", p, ErrUnsupported)
	}
	return nil
}

func checkFilter(r *api.Rule, f *api.Filter) error {
	for _, p := range []*api.Prefix{f.GetRemote(), f.GetLocal()} {
		size := len(p.GetAddress())
		if p != nil && (size != 4 && size != 16 || p.GetBits() > uint32(8*size)) {
			return pdrError(r, "SDF filter with prefix %x/%d: %w", p.GetAddress(), p.GetBits(), ErrUnsupported)
		}
	}
	for _, ports := range [][]*api.PortRange{f.GetRemotePorts(), f.GetLocalPorts()} {
		for _, p := range ports {
			if p.GetFirst() > p.GetLast() || p.GetLast() > 65535 {
				return pdrError(r, "SDF filter with ports %d-%d: %w", p.GetFirst(), p.GetLast(), ErrUnsupported)
			}
		}
	}
	switch {
	case f.GetProtocol() > 255:
		return pdrError(r, "SDF filter with protocol %d: %w", f.GetProtocol(), ErrUnsupported)
	case f.GetTos() > 255 || f.GetTosMask() > 255:
		return pdrError(r, "SDF filter with ToS %#x, mask %#x: %w", f.GetTos(), f.GetTosMask(), ErrUnsupported)
	case f.GetFlowLabel() > 0xfffff:
		return pdrError(r, "SDF filter with flow label %#x: %w", f.GetFlowLabel(), ErrUnsupported)
	}
	return nil
}

// checkForward looks at the FAR of r.
func checkForward(s *api.Session, r *api.Rule, has *api.Capabilities) error {
	f := r.GetForward()
	switch f.GetAction() {
	case api.Action_DROP:
		return nil
	case api.Action_BUFF:
		return checkBuffer(s, r, has)
	case api.Action_FORW:
	default:
		return farError(r, "Apply Action %d: %w", f.GetAction(), ErrUnsupported)
	}
	tunnelled, ohc, to := r.GetDetect().GetFTeid() != nil, f.GetOuterHeaderCreation(), f.GetDestinationInterface()
	switch {
	case api.Interface_name[int32(to)] == "":
		return farError(r, "Destination Interface %d: %w", to, ErrUnsupported)
	case tunnelled && !r.GetOuterHeaderRemoval():
		return pdrError(r, "no Outer Header Removal: %w", ErrUnsupported)
	case ohc == nil && (to == api.Interface_ACCESS || to == api.Interface_CP_FUNCTION):
		return farError(r, "no Outer Header Creation towards %v: %w", to, ErrUnsupported)
	case ohc == nil && !tunnelled:
		// Neither F-TEID nor Outer Header Creation would make the UPF a router
		// between two data networks: N6 to N6-LAN, which needs a next hop that
		// the contract does not name.
		return farError(r, "no Outer Header Creation for Source Interface %v without F-TEID: %w",
			r.GetDetect().GetSourceInterface(), ErrUnsupported)
	case ohc != nil && tunnelled && !has.GetTunnelToTunnel():
		return farError(r, "Outer Header Creation for packets out of a tunnel: %w", ErrUnsupported)
	case f.Dscp != nil && f.GetDscp() > 63:
		return farError(r, "DSCP %d: %w", f.GetDscp(), ErrUnsupported)
	}
	return checkPeer(r, has)
}

func checkPeer(r *api.Rule, has *api.Capabilities) error {
	ohc := r.GetForward().GetOuterHeaderCreation()
	if ohc == nil {
		return nil
	}
	if err := checkTunnel(ohc, has); err != nil {
		return farError(r, "Outer Header Creation %w", err)
	}
	return nil
}

// checkTunnel looks at a tunnel into which the datapath is to send: it needs an
// address of its own of the same IP version.
func checkTunnel(ohc *api.OuterHeaderCreation, has *api.Capabilities) error {
	v4, v6 := ohc.GetIpv4() != 0, len(ohc.GetIpv6()) > 0
	switch {
	case ohc.GetTeid() == 0:
		return fmt.Errorf("with TEID 0: %w", ErrUnsupported)
	case v4 == v6:
		return fmt.Errorf("to %#x and %x: want one address: %w", ohc.GetIpv4(), ohc.GetIpv6(), ErrUnsupported)
	case v4 && len(has.GetN3Ipv4()) == 0:
		return fmt.Errorf("to %#x: no endpoint over IPv4: %w", ohc.GetIpv4(), ErrUnsupported)
	case v6 && (len(ohc.GetIpv6()) != 16 || len(has.GetN3Ipv6()) == 0):
		return fmt.Errorf("to %x: no endpoint over IPv6: %w", ohc.GetIpv6(), ErrUnsupported)
	}
	return nil
}

func checkBuffer(s *api.Session, r *api.Rule, has *api.Capabilities) error {
	f := r.GetForward()
	switch {
	case !has.GetBuffering():
		return farError(r, "BUFF: %w", ErrUnsupported)
	case r.GetDetect().GetFTeid() != nil && !r.GetOuterHeaderRemoval():
		return pdrError(r, "no Outer Header Removal: %w", ErrUnsupported)
	case f.GetBarId() != 0 && FindBAR(s, f.GetBarId()) == nil:
		return farError(r, "BAR %d: %w", f.GetBarId(), ErrNoRule)
	}
	return nil
}
