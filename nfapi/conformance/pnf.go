package conformance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// state is where PNF and PHY are.
type state int

// The states of a PNF under test. The last three are those of a PHY of a PNF that is
// RUNNING.
const (
	absent state = iota // not connected, or nothing is known
	pnfIdle
	pnfConfigured
	phyIdle
	phyConfigured
	phyRunning
)

var stateNames = [...]string{"not connected", "PNF IDLE", "PNF CONFIGURED", "PHY IDLE", "PHY CONFIGURED", "PHY RUNNING"}

func (s state) String() string { return stateNames[s] }

// pnfCase is a case and the state that it begins in.
type pnfCase struct {
	Case
	in  state
	run func(b *pnfBench)
}

// phyID is our number of the PHY.
const phyID = 1

// pnfBench is the VNF that a PNF under test sees.
type pnfBench struct {
	*trial
	all      []pnfCase
	listener *transport.P5Listener
	arrived  chan *transport.P5
	link     *link
	p7       *endpoint
	state    state
	index    nfapi.PHYRFConfig // the PHY of the PNF that is used
	cell     cell.Config       // what a PHY that is configured has
	handle   uint32            // of the last PUSCH
	line     clock.Timeline    // the PNF's clock according to node sync
	ahead    int               // slots that SLOT.indication is before its slot
	lastT1   uint32
	seen     seen
}

// newPNFBench listens.
func newPNFBench(ctx context.Context, c *Config) (bench, error) {
	l, err := transport.ListenP5(c.p5())
	if err != nil {
		return nil, fmt.Errorf("conformance: %w", err)
	}
	b := &pnfBench{all: pnfCases(), listener: l, arrived: make(chan *transport.P5), handle: 0x1000}
	go b.accept(ctx)
	if c.Listening != nil {
		c.Listening(l.Addr())
	}
	return b, nil
}

// accept hands on PNFs until the listener is closed. One that comes while another is
// here waits.
func (b *pnfBench) accept(ctx context.Context) {
	defer close(b.arrived)
	for {
		p5, err := b.listener.Accept()
		switch {
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			if err == nil {
				p5.Close()
			}
			return
		case err != nil:
			continue
		}
		select {
		case b.arrived <- p5:
		case <-ctx.Done():
			p5.Close()
			return
		}
	}
}

func (b *pnfBench) cases() []Case {
	var all []Case
	for _, c := range b.all {
		all = append(all, c.Case)
	}
	return all
}

func (b *pnfBench) close() {
	b.renew()
	b.listener.Close()
}

// renew drops the connection.
func (b *pnfBench) renew() {
	if b.link != nil {
		b.link.Close()
		b.p7.close()
		b.link = nil
	}
	b.state = absent
}

func (b *pnfBench) perform(i int, t *trial) {
	b.trial = t
	b.bring(b.all[i].in)
	b.link.drain()
	b.all[i].run(b)
}

// connect waits for the PNF, and requests its parameters.
func (b *pnfBench) connect() {
	b.renew()
	var p5 *transport.P5
	select {
	case p5 = <-b.arrived:
	case <-b.ctx.Done():
	case <-time.After(b.config.Connect):
	}
	if p5 == nil {
		b.absent = true
		b.check(false, "a PNF that connects", fmt.Sprintf("none within %v", b.config.Connect))
	}
	b.link, b.ahead = newLink(p5, b.config.taint), 0
	at := b.config.P7
	if !at.IsValid() || at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(p5.LocalAddr().Addr(), at.Port())
	}
	b.seen.reset()
	var err error
	if b.p7, err = listen(at, b.config.Profile, b.config.taint, b.seen.take); err != nil {
		b.link.Close()
		b.link = nil
		b.fatal("a socket for P7", err)
	}
	b.state = pnfIdle
	b.learn(b.expect(0, &nfapi.PNFParamRequest{}, codeOK))
	b.p7.speak(b.profile())
}

// profile is the PNF's, by its headers.
func (b *pnfBench) profile() nfapi.Profile { return b.link.Profile() }

// learn takes the first PHY that a PNF says it has.
func (b *pnfBench) learn(m *incoming) {
	b.index = nfapi.PHYRFConfig{PHYID: phyID, PHYConfigIndex: 1} // as OpenAirInterface counts, if the PNF does not say
	r, ok := m.m.(*nfapi.PNFParamResponse)
	if !ok {
		return
	}
	for i := range r.TLVs {
		var list nfapi.PNFPHY
		if r.TLVs[i].Tag != nfapi.TagPNFPHY || b.profile().DecodeTLV(&r.TLVs[i], &list) != nil || len(list.PHYs) == 0 {
			continue
		}
		b.index.PHYConfigIndex = list.PHYs[0].PHYConfigIndex
		if len(list.PHYs[0].RFConfigs) > 0 {
			b.index.RFConfigIndex = list.PHYs[0].RFConfigs[0]
		}
	}
}

// bring brings the PNF into a state.
func (b *pnfBench) bring(to state) {
	if b.link == nil || b.link.lost() != nil || b.state == absent || to == pnfIdle && b.state != pnfIdle {
		b.connect()
	}
	if b.state == phyRunning && to < phyRunning {
		b.pass(phyID, nfapi.MsgStopRequest)
	}
	switch {
	case to == pnfConfigured && b.state > pnfConfigured, to == phyIdle && b.state > phyIdle:
		b.pass(0, nfapi.MsgPNFStopRequest)
		b.pass(0, nfapi.MsgPNFConfigRequest) // it creates PHYs again
	}
	for b.state < to {
		switch b.state {
		case pnfIdle:
			b.pass(0, nfapi.MsgPNFConfigRequest)
		case pnfConfigured:
			b.pass(0, nfapi.MsgPNFStartRequest)
		case phyIdle:
			b.configure(b.config.Cell)
		case phyConfigured:
			b.start()
		default:
			b.check(false, "a state", b.state.String())
		}
	}
}

// after is the state behind a request that was answered with OK.
var after = map[nfapi.MessageID]state{
	nfapi.MsgPNFConfigRequest: pnfConfigured, nfapi.MsgPNFStartRequest: phyIdle, nfapi.MsgPNFStopRequest: pnfConfigured,
	nfapi.MsgConfigRequest: phyConfigured, nfapi.MsgStartRequest: phyRunning, nfapi.MsgStopRequest: phyConfigured,
}

// pass sends a request that has to be answered with OK.
func (b *pnfBench) pass(phy uint16, id nfapi.MessageID) *incoming {
	m := b.expect(phy, b.request(id), codeOK)
	if s, ok := after[id]; ok {
		b.state = s
	}
	return m
}

// configure configures the PHY.
func (b *pnfBench) configure(c cell.Config) {
	c.P7 = b.p7.local()
	b.expect(phyID, c.Request(b.profile()), codeOK)
	b.cell, b.state = c, phyConfigured
}

// start starts the PHY and waits for its first slots.
func (b *pnfBench) start() {
	b.seen.reset()
	b.pass(phyID, nfapi.MsgStartRequest)
	b.check(b.await(func() bool { return b.seen.ticks() >= 2 }), "SLOT.indications after START", fmt.Sprintf("%d", b.seen.ticks()))
	b.seen.mu.Lock()
	from := b.seen.from
	b.seen.mu.Unlock()
	b.p7.mu.Lock()
	b.p7.to = from
	b.p7.mu.Unlock()
}

// request makes a request that is right.
func (b *pnfBench) request(id nfapi.MessageID) nfapi.Message {
	switch m := nfapi.NewMessage(id).(type) {
	case *nfapi.PNFConfigRequest:
		tlv, err := b.profile().EncodeTLV(nfapi.TagPNFPHYRFConfig, &nfapi.PNFPHYRF{PHYs: []nfapi.PHYRFConfig{b.index, {}}})
		if err != nil {
			b.fatal("PNF_CONFIG.request", err)
		}
		m.TLVs, m.NumTLVs = []nfapi.TLV{tlv}, 1
		return m
	case *nfapi.ConfigRequest:
		c := b.config.Cell
		c.P7 = b.p7.local()
		return c.Request(b.profile())
	default:
		return m
	}
}

// answers are the messages that answer a request.
var answers = map[nfapi.MessageID][]nfapi.MessageID{
	nfapi.MsgPNFParamRequest: {nfapi.MsgPNFParamResponse}, nfapi.MsgPNFConfigRequest: {nfapi.MsgPNFConfigResponse},
	nfapi.MsgPNFStartRequest: {nfapi.MsgPNFStartResponse}, nfapi.MsgPNFStopRequest: {nfapi.MsgPNFStopResponse},
	nfapi.MsgParamRequest: {nfapi.MsgParamResponse}, nfapi.MsgConfigRequest: {nfapi.MsgConfigResponse},
	nfapi.MsgStartRequest: {nfapi.MsgStartResponse, nfapi.MsgStartResponse2024},
	nfapi.MsgStopRequest:  {nfapi.MsgStopResponse, nfapi.MsgStopIndication},
}

// ask sends a request and waits for its answer. An ERROR.indication about the request is
// one, too: STOP.request has no other for a refusal.
func (b *pnfBench) ask(phy uint16, m nfapi.Message) (*incoming, error) {
	id := m.MessageID()
	b.link.drain()
	if phy != 0 {
		b.did("%v of phy %d", id, phy)
	} else {
		b.did("%v", id)
	}
	if err := b.link.Send(phy, m); err != nil {
		return nil, fmt.Errorf("it cannot be sent: %w", err)
	}
	return b.answer(phy, id)
}

// answer waits for the answer to a request.
func (b *pnfBench) answer(phy uint16, id nfapi.MessageID) (*incoming, error) {
	plain := of(answers[id]...)
	got, err := b.link.wait(b.trial, b.config.Timeout, func(m *incoming) bool {
		e, isError := m.m.(*nfapi.ErrorIndication)
		return plain(m) || isError && nfapi.MessageID(e.Message) == id && e.ErrorCode != codeOK
	})
	if err != nil {
		return nil, err
	}
	if got.phy != phy && got.id != nfapi.MsgErrorIndication {
		return nil, fmt.Errorf("%v for phy %d, it was sent to phy %d", &got, got.phy, phy)
	}
	return &got, nil
}

// code is that of an answer.
func code(m *incoming) uint32 {
	if m.m == nil {
		return 0xffff
	}
	if e, ok := m.m.(*nfapi.ErrorIndication); ok {
		return uint32(e.ErrorCode)
	}
	c, _ := nfapi.CodeOf(m.m) // STOP.indication has none: it stopped
	return c
}

// expect sends a request, and requires one of some error codes in the answer.
func (b *pnfBench) expect(phy uint16, m nfapi.Message, codes ...uint32) *incoming {
	got, err := b.ask(phy, m)
	return b.judge(m.MessageID(), got, err, codes...)
}

// judge has an answer be there, with one of some codes.
func (b *pnfBench) judge(id nfapi.MessageID, got *incoming, err error, codes ...uint32) *incoming {
	var names []string
	ok := false
	for _, c := range codes {
		names = append(names, codeText(c))
		ok = ok || err == nil && code(got) == c
	}
	expected := fmt.Sprintf("%v with error code %s", answers[id][0], strings.Join(names, " or "))
	if err != nil {
		b.fatal(expected, err)
	}
	b.check(ok, expected, got.String())
	return got
}

// same checks that a PNF is still in the state in which it was.
func (b *pnfBench) same() {
	switch b.state {
	case pnfIdle:
		b.expect(0, &nfapi.PNFParamRequest{}, codeOK)
	case pnfConfigured:
		b.expect(0, b.request(nfapi.MsgPNFConfigRequest), codeOK)
	case phyIdle:
		b.expect(phyID, &nfapi.ParamRequest{}, codeOK)
	case phyConfigured:
		b.configure(b.config.Cell)
	case phyRunning:
		b.expect(phyID, &nfapi.ParamRequest{}, codeInvalidState)
		had := b.seen.ticks()
		b.require(b.await(func() bool { return b.seen.ticks() > had }), "further SLOT.indications", "none")
	}
}
