// Package rules compiles sessions to what datapaths take, and is the only
// producer of it: a [session.Session] becomes an [api.Session] that goes over
// the bus, and what the datapath says against it becomes a [session.Error].
//
// Source: TS 29.244 V18.6.0, 5.2.1A.
package rules

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"plumbline/api"
	"plumbline/bus"
	"plumbline/datapath"
	"plumbline/session"
)

// Compiler is a [session.Datapath] at the other end of a bus.
type Compiler struct {
	Bus bus.Bus
}

var _ session.Datapath = Compiler{}

// Install makes the datapath hold a session. Errors: [*session.Error].
func (c Compiler) Install(ctx context.Context, ch *session.Change) error {
	return c.apply(ctx, &api.Change{Seid: ch.Session.SEID, Session: Compile(ch.Session)})
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
}

// sessionError says what a datapath's error means to the CP function.
func sessionError(err error) error {
	e := &session.Error{Cause: session.CauseSystemFailure, Err: fmt.Errorf("datapath: %w", err)}
	var rule *datapath.RuleError
	if errors.As(err, &rule) {
		e.Cause = session.CauseRuleFailure
		e.HasRule, e.Rule, e.RuleID = true, ruleTypes[rule.Type], rule.ID
		e.Err = fmt.Errorf("datapath: %w", rule.Err)
	}
	switch {
	case errors.Is(err, datapath.ErrFull):
		e.Cause = session.CauseNoResources
	case rule == nil && errors.Is(err, datapath.ErrUnsupported):
		e.Cause = session.CauseServiceNotSupported
	}
	return e
}

// Compile returns what a datapath has to know of s. Of the QERs it has those
// that a PDR names.
func Compile(s *session.Session) *api.Session {
	out := &api.Session{Seid: s.SEID, Rules: make([]*api.Rule, len(s.PDRs))}
	for i := range s.PDRs {
		out.Rules[i] = compileRule(s, &s.PDRs[i])
	}
	for i := range s.QERs {
		if named(s, s.QERs[i].ID) {
			out.Qers = append(out.Qers, compileQER(&s.QERs[i]))
		}
	}
	return out
}

// named reports whether a PDR names the QER.
func named(s *session.Session, id uint32) bool {
	for i := range s.PDRs {
		for _, q := range s.PDRs[i].QERIDs {
			if q == id {
				return true
			}
		}
	}
	return false
}

// interfaces is the datapaths' number of each interface.
var interfaces = map[session.Interface]api.Interface{
	session.Access: api.Interface_ACCESS,
	session.Core:   api.Interface_CORE,
}

func compileRule(s *session.Session, r *session.PDR) *api.Rule {
	d := &api.Detect{
		SourceInterface: interfaces[r.PDI.SourceInterface],
		NetworkInstance: r.PDI.NetworkInstance,
	}
	if f := r.PDI.FTEID; f.TEID != 0 {
		d.FTeid = &api.FTEID{Teid: f.TEID, Ipv4: ipv4(f.IPv4)}
	}
	if a := r.PDI.UEAddress; !a.IsZero() {
		d.UeAddress = &api.UEAddress{
			Ipv4:       ipv4(a.IPv4),
			Ipv6Prefix: binary.BigEndian.Uint64(a.IPv6Prefix[:]),
		}
	}
	if r.PDI.QFIs != 0 {
		for q := uint8(1); q < 64; q++ {
			if r.PDI.QFIs.Has(q) {
				d.Qfis = append(d.Qfis, uint32(q))
			}
		}
	}
	return &api.Rule{
		PdrId:              uint32(r.ID),
		Precedence:         r.Precedence,
		Detect:             d,
		QerIds:             r.QERIDs,
		FarId:              r.FARID,
		Forward:            compileFAR(s.FAR(r.FARID)),
		OuterHeaderRemoval: r.OuterHeaderRemoval,
	}
}

// compileFAR leaves out the Forwarding Parameters of a FAR that drops.
func compileFAR(f *session.FAR) *api.Forward {
	if f.ApplyAction != session.Forward {
		return &api.Forward{Action: api.Action_DROP}
	}
	p := &f.Forwarding
	out := &api.Forward{
		Action:               api.Action_FORW,
		DestinationInterface: interfaces[p.DestinationInterface],
		NetworkInstance:      p.NetworkInstance,
	}
	if o := p.OuterHeaderCreation; o.TEID != 0 {
		out.OuterHeaderCreation = &api.OuterHeaderCreation{Teid: o.TEID, Ipv4: ipv4(o.IPv4)}
	}
	if p.HasDSCP {
		dscp := uint32(p.DSCP)
		out.Dscp = &dscp
	}
	return out
}

// compileQER makes a closed gate of an MBR of 0: no packet conforms to it, and
// to a datapath 0 means that there is no limit. The GBR needs nothing: below
// the MBR no packet is dropped.
func compileQER(q *session.QER) *api.QER {
	out := &api.QER{
		Id:                 q.ID,
		UplinkGateClosed:   q.UplinkGateClosed,
		DownlinkGateClosed: q.DownlinkGateClosed,
		Qfi:                uint32(q.QFI),
	}
	if q.HasMBR {
		out.UplinkMbrBps, out.DownlinkMbrBps = uint64(q.MBR.Uplink), uint64(q.MBR.Downlink)
		out.UplinkGateClosed = out.UplinkGateClosed || q.MBR.Uplink == 0
		out.DownlinkGateClosed = out.DownlinkGateClosed || q.MBR.Downlink == 0
	}
	return out
}

// ipv4 is a as the datapaths' API has it: the first octet on the wire highest.
func ipv4(a session.IPv4) uint32 { return binary.BigEndian.Uint32(a[:]) }
