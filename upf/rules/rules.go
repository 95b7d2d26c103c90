// Package rules compiles sessions to what datapaths take, and is the only
// producer of it: a [session.Session] becomes an [api.Session] that goes over
// the bus, and what the datapath says against it becomes a [session.Error].
//
// One PDR becomes one rule, and another one for each predefined rule that is
// active for it; a PDR of an application that is not known becomes none.
//
// Source: TS 29.244 V18.6.0, 5.2.1A.
package rules

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/upf/bus"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// Compiler is a [session.Datapath] at the other end of a bus.
type Compiler struct {
	Bus bus.Bus
}

var _ session.Datapath = Compiler{}

// compilations are used again: whoever is given a change keeps nothing of it.
var compilations = sync.Pool{New: func() any { return new(compilation) }}

// Install makes the datapath hold a session. Errors: [*session.Error].
func (c Compiler) Install(ctx context.Context, ch *session.Change) error {
	o := compilations.Get().(*compilation)
	defer compilations.Put(o)
	return c.apply(ctx, o.compile(ch))
}

// Remove takes a session out of the datapath. Errors: [*session.Error].
func (c Compiler) Remove(ctx context.Context, seid uint64) error {
	return c.apply(ctx, &api.Change{Seid: seid})
}

func (c Compiler) apply(ctx context.Context, change *api.Change) error {
	if err := c.Bus.Apply(ctx, change); err != nil {
		return sessionError(err)
	}
	return nil
}

// ruleTypes is the Failed Rule ID's type of each kind of rule.
var ruleTypes = map[api.RuleType]session.RuleType{
	api.RuleType_PDR_RULE: session.RulePDR,
	api.RuleType_FAR_RULE: session.RuleFAR,
	api.RuleType_QER_RULE: session.RuleQER,
	api.RuleType_URR_RULE: session.RuleURR,
	api.RuleType_BAR_RULE: session.RuleBAR,
}

// sessionError says what a datapath's error means to the CP function.
func sessionError(err error) error {
	e := &session.Error{Cause: session.CauseSystemFailure, Err: fmt.Errorf("datapath: %w", err)}
	var rule *datapath.RuleError
	if errors.As(err, &rule) {
		e.Cause = session.CauseRuleFailure
		e.HasRule, e.Rule, e.RuleID = true, ruleTypes[rule.Type], rule.ID
		if rule.Type == api.RuleType_PDR_RULE {
			e.RuleID &= maskPDR // it may be a predefined rule of that PDR
		}
		e.Err = fmt.Errorf("datapath: %w", rule.Err)
	}
	switch {
	case errors.Is(err, datapath.ErrFull):
		e.Cause = session.CauseNoResources
	case rule == nil && errors.Is(err, datapath.ErrPDUType):
		e.Cause, e.OffendingIE = session.CauseServiceNotSupported, session.IEPDNType
	case rule == nil && errors.Is(err, datapath.ErrUnsupported):
		e.Cause = session.CauseServiceNotSupported
	}
	return e
}
