package datapath

import (
	"fmt"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Check reports what in c no datapath can do, what a datapath of capabilities
// has cannot do, and what no control plane may ask for. Drivers call it before
// anything else, so that all refuse the same with the same words.
//
// It is the one judge of what a datapath can do. What TS 29.244 allows has been
// judged by package session before. Numbers, lengths and references are looked at
// here all the same: an agent takes changes from Redis, and no change may lead a
// datapath out of its tables.
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
		if e := m.GetTunnel().GetEncapsulation(); e != api.Encapsulation_GTPU {
			return fmt.Errorf("datapath: End Marker with encapsulation %v: %w", e, ErrUnsupported)
		}
		if m.GetQfi() > maxQFI {
			return fmt.Errorf("datapath: End Marker of QFI %d: %w", m.GetQfi(), ErrUnsupported)
		}
		if err := checkTunnel(m.GetTunnel(), has); err != nil {
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
	for _, check := range []func(*api.Session, *api.Capabilities) error{
		checkType, checkIDs, checkRules, checkKeys, checkQERs, checkURRs, checkBARs,
	} {
		if err := check(s, has); err != nil {
			return err
		}
	}
	return nil
}

// What a session may have at most. Every driver has room for so many, or says
// [ErrFull].
const (
	MaxRules        = 1024 // PDRs, QERs, URRs, and BARs
	MaxRefs         = 16   // QERs, and URRs, of a PDR
	MaxFilters      = 1024 // of a PDR
	MaxPorts        = 32   // ranges, of one side of an SDF filter
	MaxFramedRoutes = 64   // of a PDR
	MaxDuplicates   = 8    // of a FAR
)

// need is something that not every datapath can do, and whether a rule asks for
// it.
type need struct {
	asked, has bool
	what       string
}

// lacks returns the first that is asked for and not to be had, or "".
func lacks(needs ...need) string {
	for _, n := range needs {
		if n.asked && !n.has {
			return n.what
		}
	}
	return ""
}

func checkType(s *api.Session, has *api.Capabilities) error {
	kind := s.GetPduType()
	what := lacks(
		need{kind == api.PDUType_ETHERNET, has.GetEthernet(), "Ethernet PDU session"},
		need{kind == api.PDUType_UNSTRUCTURED, has.GetUnstructured(), "unstructured PDU session"},
		need{api.PDUType_name[int32(kind)] == "", false, "unknown PDU session type"},
	)
	if what != "" {
		return fmt.Errorf("datapath: %s: %w", what, ErrPDUType)
	}
	return nil
}

// checkIDs: no two rules of a kind have the same ID, and rules are in order.
func checkIDs(s *api.Session, _ *api.Capabilities) error {
	if n := max(len(s.GetRules()), len(s.GetQers()), len(s.GetUrrs()), len(s.GetBars())); n > MaxRules {
		return fmt.Errorf("datapath: %d rules of a kind: %w", n, ErrUnsupported)
	}
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
		if err := checkDetect(s, r, has); err != nil {
			return err
		}
		if err := checkForward(s, r, has); err != nil {
			return err
		}
		if n := max(len(r.GetQerIds()), len(r.GetUrrIds())); n > MaxRefs {
			return pdrError(r, "%d QERs or URRs: %w", n, ErrUnsupported)
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

func pdrError(r *api.Rule, format string, args ...any) error {
	return &RuleError{api.RuleType_PDR_RULE, r.GetPdrId(), fmt.Errorf(format, args...)}
}

func farError(r *api.Rule, format string, args ...any) error {
	return &RuleError{api.RuleType_FAR_RULE, r.GetFarId(), fmt.Errorf(format, args...)}
}
