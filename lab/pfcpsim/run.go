package pfcpsim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Result is what became of one step.
type Result struct {
	Step    Step
	Skipped string        // why it was left out; "": it was not
	Took    time.Duration // until the response
	Err     error
}

// noPackets is why a step is left out.
const noPackets = "no way to send packets"

// Run does a scenario's steps in turn, until one fails, and tells each result.
// The error is that of the failed step.
func (p *Peer) Run(ctx context.Context, s *Scenario, tell func(Result)) error {
	for name, value := range s.Vars {
		if _, ok := p.vars[name]; !ok {
			p.vars[name] = value
		}
	}
	maps.Copy(p.vars, p.cfg.Vars)
	for i, step := range s.Steps {
		r := p.Do(ctx, step)
		if tell != nil {
			tell(r)
		}
		if r.Err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, step.Verb, r.Err)
		}
	}
	return nil
}

// Do does one step.
func (p *Peer) Do(ctx context.Context, s Step) Result {
	r := Result{Step: s}
	if s.Expect != "none" { // what a scenario names may stand in what it expects
		if s.Expect, r.Err = expand(s.Expect, p.vars); r.Err != nil {
			return r
		}
	}
	if s.With, r.Err = expand(s.With, p.vars); r.Err != nil {
		return r
	}
	if s.Answer, r.Err = expand(s.Answer, p.vars); r.Err != nil {
		return r
	}
	if text, err := expand(s.SEID, p.vars); err == nil {
		s.SEID = fmt.Sprint(text)
	}
	start := time.Now()
	alone := s.Packets && p.cfg.Traffic == nil
	switch {
	case alone && awaited[s.Verb] != 0:
		r.Skipped = noPackets
	case alone && messages[s.Verb] != 0:
		s.Expect = nil
		r.Err = p.ask(ctx, s)
	case messages[s.Verb] != 0:
		r.Err = p.ask(ctx, s)
	case awaited[s.Verb] != 0:
		r.Err = p.hear(ctx, s)
	default:
		r.Skipped, r.Err = p.other(ctx, s)
	}
	r.Took = time.Since(start)
	return r
}

// ask sends a request and looks at the response.
func (p *Peer) ask(ctx context.Context, s Step) error {
	kind := messages[s.Verb]
	nodes, err := build(kind, s.With)
	if err != nil {
		return err
	}
	h := pfcp.Header{Type: kind}
	if h.SEID, nodes, err = p.address(kind, s, nodes); err != nil {
		return err
	}
	body, err := AppendNodes(nil, nodes)
	if err != nil {
		return err
	}
	p.sequence = (p.sequence + 1) & (1<<24 - 1)
	h.Sequence = p.sequence
	datagram, err := pfcp.Append(nil, h, raw{kind, body})
	if err != nil {
		return err
	}
	response, err := p.exchange(ctx, h, datagram, s.Within)
	if s.Expect == "none" {
		if err == nil {
			return fmt.Errorf("got %s, want no response: %w", response.Header.Type, ErrExpected)
		}
		if errors.Is(err, ErrNoResponse) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	return p.answered(s, response)
}

// address completes a request: the SEID in its header, and the IEs that follow
// from who we are, in front of the others.
func (p *Peer) address(kind pfcp.MessageType, s Step, nodes []Node) (uint64, []Node, error) {
	var seid uint64
	var own []Node
	switch kind {
	case pfcp.MsgHeartbeatRequest:
		own = []Node{{Type: pfcp.IERecoveryTimeStamp, Value: &p.recovery}}
	case pfcp.MsgAssociationSetupRequest:
		own = []Node{p.nodeID(), {Type: pfcp.IERecoveryTimeStamp, Value: &p.recovery}}
	case pfcp.MsgAssociationUpdateRequest, pfcp.MsgAssociationReleaseRequest, pfcp.MsgSessionSetDeletionRequest, pfcp.MsgSessionSetModifyRequest:
		own = []Node{p.nodeID()}
	case pfcp.MsgSessionEstablishmentRequest:
		p.seids++
		p.sessions[s.Session] = &seids{cp: p.seids}
		p.vars["cp_seid"] = fmt.Sprint(p.seids)
		own = []Node{p.nodeID(), {Type: pfcp.IEFSEID, Value: p.fseid()}}
	case pfcp.MsgSessionModificationRequest, pfcp.MsgSessionDeletionRequest:
		known, ok := p.sessions[s.Session]
		if !ok && s.SEID == "" {
			return 0, nil, fmt.Errorf("session %q: %w", s.Session, ErrName)
		}
		if ok {
			seid = known.up
		}
	}
	if s.SEID != "" {
		if err := set(reflect.ValueOf(&seid).Elem(), s.SEID); err != nil {
			return 0, nil, err
		}
	}
	if s.Bare {
		return seid, nodes, nil
	}
	var missing []Node
	for _, n := range own {
		if !has(nodes, n.Type) {
			missing = append(missing, n)
		}
	}
	return seid, append(missing, nodes...), nil
}

func has(nodes []Node, t pfcp.IEType) bool {
	for _, n := range nodes {
		if n.Type == t {
			return true
		}
	}
	return false
}

func (p *Peer) nodeID() Node {
	return Node{Type: pfcp.IENodeID, Value: &pfcp.NodeID{Addr: p.local}}
}

func (p *Peer) fseid() *pfcp.FSEID {
	f := &pfcp.FSEID{SEID: p.seids}
	if p.local.Is4() {
		f.IPv4 = p.local
	} else {
		f.IPv6 = p.local
	}
	return f
}

// answered looks at a response, and learns from it.
func (p *Peer) answered(s Step, m Message) error {
	for _, n := range m.IEs {
		if f, ok := n.Value.(*pfcp.FSEID); ok && m.Header.Type == pfcp.MsgSessionEstablishmentResponse {
			p.sessions[s.Session].up = f.SEID
			p.vars["up_seid"] = fmt.Sprint(f.SEID)
		}
	}
	if s.Expect == nil {
		return accepted(m)
	}
	match := matcher{m.Header.Type, p.vars}
	if err := match.nodes(m.IEs, s.Expect); err != nil {
		return fmt.Errorf("%w\n%s", err, m)
	}
	return nil
}

// accepted is what is expected if nothing else is said.
func accepted(m Message) error {
	for _, n := range m.IEs {
		if c, ok := n.Value.(*pfcp.Cause); ok && !c.Accepted() {
			return fmt.Errorf("refused: %w\n%s", ErrExpected, m)
		}
	}
	return nil
}

// hear waits for a request of the UP function, looks at it and answers.
func (p *Peer) hear(ctx context.Context, s Step) error {
	within := s.Within
	if within == 0 {
		within = 2 * time.Second
	}
	r, err := p.next(ctx, awaited[s.Verb], within)
	if err != nil {
		return err
	}
	match := matcher{r.message.Header.Type, p.vars}
	if err := match.nodes(r.message.IEs, s.With); err != nil {
		return fmt.Errorf("%w\n%s", err, r.message)
	}
	if s.Answer == "none" {
		return nil
	}
	return p.respond(r, s.Answer)
}

// next returns the first request of a type that was not answered yet.
func (p *Peer) next(ctx context.Context, kind pfcp.MessageType, within time.Duration) (request, error) {
	for deadline := time.Now().Add(within); ; {
		for i, r := range p.waiting {
			if r.message.Header.Type == kind {
				p.waiting = append(p.waiting[:i], p.waiting[i+1:]...)
				return r, nil
			}
		}
		left := time.Until(deadline)
		if left <= 0 {
			return request{}, fmt.Errorf("no %s in %s: %w", kind, within, ErrExpected)
		}
		if _, err := p.await(ctx, min(left, 20*time.Millisecond), nil); !errors.Is(err, ErrNoResponse) {
			return request{}, err
		}
	}
}

// respond answers a request: accepted, and what a step says.
func (p *Peer) respond(r request, ies any) error {
	kind := r.message.Header.Type + 1
	nodes, err := build(kind, ies)
	if err != nil {
		return err
	}
	if !has(nodes, pfcp.IECause) {
		c := pfcp.CauseRequestAccepted
		nodes = append([]Node{{Type: pfcp.IECause, Value: &c}}, nodes...)
	}
	if !kind.IsSession() && !has(nodes, pfcp.IENodeID) {
		nodes = append([]Node{p.nodeID()}, nodes...)
	}
	body, err := AppendNodes(nil, nodes)
	if err != nil {
		return err
	}
	return p.answer(r, body)
}

// Address reads "ADDRESS" or "ADDRESS:PORT"; the port is 8805 by default.
func Address(text string) (netip.AddrPort, error) {
	if addr, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return netip.AddrPortFrom(addr, pfcp.Port), nil
	}
	return netip.ParseAddrPort(text)
}
