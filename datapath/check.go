package datapath

import (
	"fmt"
	"slices"

	"plumbline/api"
)

// Check reports what in c no datapath can do, what a datapath of capabilities
// has cannot do, and what no control plane may ask for. Drivers call it before
// anything else, so that all refuse the same with the same words.
//
// Errors: [RuleError] about the rule, wrapping [ErrUnsupported] or [ErrNoRule].
func Check(c *api.Change, has *api.Capabilities) error {
	if c.GetSeid() == 0 {
		return fmt.Errorf("datapath: SEID 0: %w", ErrUnsupported)
	}
	if len(c.GetEndMarkers()) > 0 && !has.GetEndMarker() {
		return fmt.Errorf("datapath: End Marker: %w", ErrUnsupported)
	}
	for _, m := range c.GetEndMarkers() {
		if err := checkTunnel(m, has); err != nil {
			return fmt.Errorf("datapath: End Marker %w", err)
		}
	}
	s := c.GetSession()
	if s == nil {
		return nil
	}
	if s.GetSeid() != c.GetSeid() {
		return fmt.Errorf("datapath: session %#x in a change of %#x: %w", s.GetSeid(), c.GetSeid(), ErrUnsupported)
	}
	for _, check := range []func(*api.Session, *api.Capabilities) error{checkIDs, checkRules, checkKeys, checkQERs, checkURRs, checkBARs} {
		if err := check(s, has); err != nil {
			return err
		}
	}
	return nil
}

// checkIDs: no two rules of a kind have the same ID, and rules are in order.
func checkIDs(s *api.Session, _ *api.Capabilities) error {
	pdrs := ids(s.GetRules(), (*api.Rule).GetPdrId)
	for _, kind := range []struct {
		rule api.RuleType
		ids  []uint32
	}{
		{api.RuleType_PDR_RULE, pdrs},
		{api.RuleType_QER_RULE, ids(s.GetQers(), (*api.QER).GetId)},
		{api.RuleType_URR_RULE, ids(s.GetUrrs(), (*api.URR).GetId)},
		{api.RuleType_BAR_RULE, ids(s.GetBars(), (*api.BAR).GetId)},
	} {
		for i, id := range kind.ids {
			if slices.Contains(kind.ids[:i], id) {
				return &RuleError{kind.rule, id, fmt.Errorf("there twice: %w", ErrUnsupported)}
			}
		}
	}
	for i := 1; i < len(s.GetRules()); i++ {
		if r := s.GetRules()[i]; r.GetPrecedence() < s.GetRules()[i-1].GetPrecedence() {
			return pdrError(r, "not in order of Precedence: %w", ErrUnsupported)
		}
	}
	return nil
}

func ids[T any](rules []T, id func(T) uint32) []uint32 {
	out := make([]uint32, len(rules))
	for i, r := range rules {
		out[i] = id(r)
	}
	return out
}

func checkRules(s *api.Session, has *api.Capabilities) error {
	for _, r := range s.GetRules() {
		if err := checkDetect(r, has); err != nil {
			return err
		}
		if err := checkForward(s, r, has); err != nil {
			return err
		}
		for _, id := range r.GetQerIds() {
			if FindQER(s, id) == nil {
				return pdrError(r, "QER %d: %w", id, ErrNoRule)
			}
		}
		for _, id := range r.GetUrrIds() {
			if FindURR(s, id) == nil {
				return pdrError(r, "URR %d: %w", id, ErrNoRule)
			}
		}
	}
	return nil
}

// checkKeys: without filters, one rule to a key.
func checkKeys(s *api.Session, has *api.Capabilities) error {
	if has.GetFilters() {
		return nil
	}
	seen := map[Key]bool{}
	for _, r := range s.GetRules() {
		for _, k := range Keys(r) {
			if seen[k] {
				return pdrError(r, "matches the same F-TEID or UE IP address as another PDR: %w", ErrUnsupported)
			}
			seen[k] = true
		}
	}
	return nil
}

func checkQERs(s *api.Session, _ *api.Capabilities) error {
	for _, q := range s.GetQers() {
		if q.GetQfi() > 63 {
			return &RuleError{api.RuleType_QER_RULE, q.GetId(), fmt.Errorf("QFI %d: %w", q.GetQfi(), ErrUnsupported)}
		}
		if rate := max(q.GetUplinkMbrBps(), q.GetDownlinkMbrBps()); rate > MaxMBR {
			return &RuleError{api.RuleType_QER_RULE, q.GetId(), fmt.Errorf("MBR %d bit/s: %w", rate, ErrUnsupported)}
		}
	}
	return nil
}

func checkURRs(s *api.Session, has *api.Capabilities) error {
	if len(s.GetUrrs()) > 0 && !has.GetUsage() {
		return &RuleError{api.RuleType_URR_RULE, s.GetUrrs()[0].GetId(), fmt.Errorf("usage reporting: %w", ErrUnsupported)}
	}
	return nil
}

func checkBARs(s *api.Session, has *api.Capabilities) error {
	if len(s.GetBars()) > 0 && !has.GetBuffering() {
		return &RuleError{api.RuleType_BAR_RULE, s.GetBars()[0].GetId(), fmt.Errorf("buffering: %w", ErrUnsupported)}
	}
	return nil
}

func pdrError(r *api.Rule, format string, args ...any) error {
	return &RuleError{api.RuleType_PDR_RULE, r.GetPdrId(), fmt.Errorf(format, args...)}
}

func farError(r *api.Rule, format string, args ...any) error {
	return &RuleError{api.RuleType_FAR_RULE, r.GetFarId(), fmt.Errorf(format, args...)}
}
