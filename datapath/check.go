package datapath

import (
	"fmt"
	"slices"

	"plumbline/api"
)

// MaxMeters is how many QERs of a rule may have an MBR in its direction.
const MaxMeters = 2

// Check reports what no datapath can do so far, or what no control plane may
// ask for. Drivers call it before anything else, so that all refuse the same.
func Check(s *api.Session) error {
	if s.GetSeid() == 0 {
		return fmt.Errorf("datapath: SEID 0: %w", ErrUnsupported)
	}
	seen := map[Key]bool{}
	for _, r := range s.GetRules() {
		if err := checkRule(s, r); err != nil {
			return err
		}
		for _, k := range Keys(r) {
			if seen[k] {
				return pdrError(r, "matches the same as another PDR of the session: %w", ErrUnsupported)
			}
			seen[k] = true
		}
	}
	for _, q := range s.GetQers() {
		if q.GetQfi() > 63 {
			return &RuleError{api.RuleType_QER_RULE, q.GetId(), fmt.Errorf("QFI %d: %w", q.GetQfi(), ErrUnsupported)}
		}
	}
	return nil
}

// Key is what a packet's first look-up goes by.
type Key struct {
	Interface api.Interface
	TEID      uint32 // ACCESS
	IPv4      uint32 // CORE: UE address
	IPv6      uint64 // CORE: UE prefix
}

// Keys returns those of a rule: one for an F-TEID, one for each UE address.
func Keys(r *api.Rule) []Key {
	d := r.GetDetect()
	if d.GetSourceInterface() == api.Interface_ACCESS {
		return []Key{{Interface: api.Interface_ACCESS, TEID: d.GetFTeid().GetTeid()}}
	}
	var keys []Key
	if a := d.GetUeAddress().GetIpv4(); a != 0 {
		keys = append(keys, Key{Interface: api.Interface_CORE, IPv4: a})
	}
	if p := d.GetUeAddress().GetIpv6Prefix(); p != 0 {
		keys = append(keys, Key{Interface: api.Interface_CORE, IPv6: p})
	}
	return keys
}

func checkRule(s *api.Session, r *api.Rule) error {
	switch r.GetDetect().GetSourceInterface() {
	case api.Interface_ACCESS:
		if err := checkUplink(r); err != nil {
			return err
		}
	case api.Interface_CORE:
		if err := checkDownlink(r); err != nil {
			return err
		}
	default:
		return pdrError(r, "Source Interface %v: %w", r.GetDetect().GetSourceInterface(), ErrUnsupported)
	}
	return checkQERs(s, r)
}

func checkUplink(r *api.Rule) error {
	d, f := r.GetDetect(), r.GetForward()
	switch {
	case d.GetFTeid().GetTeid() == 0:
		return pdrError(r, "no F-TEID: %w", ErrUnsupported)
	case !r.GetOuterHeaderRemoval() && f.GetAction() == api.Action_FORW:
		return pdrError(r, "no Outer Header Removal: %w", ErrUnsupported)
	case slices.ContainsFunc(d.GetQfis(), func(q uint32) bool { return q == 0 || q > 63 }):
		return pdrError(r, "QFIs %v: %w", d.GetQfis(), ErrUnsupported)
	case f.GetAction() == api.Action_FORW && f.GetDestinationInterface() != api.Interface_CORE:
		return farError(r, "Destination Interface %v for Source Interface ACCESS: %w", f.GetDestinationInterface(), ErrUnsupported)
	case f.GetOuterHeaderCreation() != nil:
		return farError(r, "Outer Header Creation towards CORE: %w", ErrUnsupported)
	}
	return checkPrefix(r)
}

func checkDownlink(r *api.Rule) error {
	d, f := r.GetDetect(), r.GetForward()
	ohc := f.GetOuterHeaderCreation()
	switch {
	case len(Keys(r)) == 0:
		return pdrError(r, "no UE IP address: %w", ErrUnsupported)
	case d.GetFTeid() != nil || r.GetOuterHeaderRemoval():
		return pdrError(r, "F-TEID or Outer Header Removal for Source Interface CORE: %w", ErrUnsupported)
	case len(d.GetQfis()) > 0:
		return pdrError(r, "QFI for Source Interface CORE: %w", ErrUnsupported)
	case f.GetAction() == api.Action_FORW && f.GetDestinationInterface() != api.Interface_ACCESS:
		return farError(r, "Destination Interface %v for Source Interface CORE: %w", f.GetDestinationInterface(), ErrUnsupported)
	case f.GetAction() == api.Action_FORW && (ohc.GetTeid() == 0 || ohc.GetIpv4() == 0):
		return farError(r, "Outer Header Creation to %#x, TEID %d: %w", ohc.GetIpv4(), ohc.GetTeid(), ErrUnsupported)
	case f.Dscp != nil && f.GetDscp() > 63:
		return farError(r, "DSCP %d: %w", f.GetDscp(), ErrUnsupported)
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

func checkQERs(s *api.Session, r *api.Rule) error {
	meters := 0
	for _, id := range r.GetQerIds() {
		q := FindQER(s, id)
		if q == nil {
			return pdrError(r, "QER %d: %w", id, ErrNoRule)
		}
		if MBR(q, r.GetDetect().GetSourceInterface()) != 0 {
			meters++
		}
	}
	if meters > MaxMeters {
		return pdrError(r, "%d QERs with an MBR: %w", meters, ErrUnsupported)
	}
	return nil
}

// FindQER returns the QER of s with this id, or nil.
func FindQER(s *api.Session, id uint32) *api.QER {
	for _, q := range s.GetQers() {
		if q.GetId() == id {
			return q
		}
	}
	return nil
}

// MBR returns the bit/s that q allows packets from source; 0: any.
func MBR(q *api.QER, source api.Interface) uint64 {
	if source == api.Interface_ACCESS {
		return q.GetUplinkMbrBps()
	}
	return q.GetDownlinkMbrBps()
}

// GateClosed reports whether q stops packets from source.
func GateClosed(q *api.QER, source api.Interface) bool {
	if source == api.Interface_ACCESS {
		return q.GetUplinkGateClosed()
	}
	return q.GetDownlinkGateClosed()
}

func pdrError(r *api.Rule, format string, args ...any) error {
	return &RuleError{api.RuleType_PDR_RULE, r.GetPdrId(), fmt.Errorf(format, args...)}
}

func farError(r *api.Rule, format string, args ...any) error {
	return &RuleError{api.RuleType_FAR_RULE, r.GetFarId(), fmt.Errorf(format, args...)}
}
