package conformance

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/slot"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// vnfCase is a case; running has the PHY run before it begins, else it begins where the
// VNF has not yet connected.
type vnfCase struct {
	Case
	running bool
	run     func(b *vnfBench)
}

// vnfBench is the PNF that a VNF under test sees.
type vnfBench struct {
	*trial
	all  []vnfCase
	link *link
	p7   *endpoint
	air  *air
	cell cell.Config
	phy  uint16 // as the VNF calls it
}

func newVNFBench(_ context.Context, _ *Config) (bench, error) {
	return &vnfBench{all: vnfCases()}, nil
}

func (b *vnfBench) cases() []Case {
	var all []Case
	for _, c := range b.all {
		all = append(all, c.Case)
	}
	return all
}

func (b *vnfBench) close() { b.renew() }

// renew drops the connection.
func (b *vnfBench) renew() {
	if b.air != nil {
		b.air.stop()
		b.air = nil
	}
	if b.link != nil {
		b.link.Close()
		b.link = nil
	}
	if b.p7 != nil {
		b.p7.close()
		b.p7 = nil
	}
}

func (b *vnfBench) perform(i int, t *trial) {
	b.trial = t
	c := &b.all[i]
	switch {
	case !c.running:
		b.renew()
	case b.air == nil || b.link.lost() != nil || b.air.ended():
		b.begin(0)
	}
	c.run(b)
	if !c.running {
		b.renew()
	}
}

// dial connects. A VNF may still be busy with the previous connection: rejected attempts are
// repeated until it sends a message.
func (b *vnfBench) dial() incoming {
	b.renew()
	var why error
	for end := time.Now().Add(b.config.Connect); time.Now().Before(end) && b.ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		p5, err := transport.DialP5(b.ctx, b.config.p5())
		if why = err; err != nil {
			continue
		}
		b.link = newLink(p5, b.config.taint)
		first, err := b.link.wait(b.trial, time.Until(end), func(*incoming) bool { return true })
		if err == nil {
			b.open()
			return first
		}
		why = err
		b.link.Close()
		b.link = nil
	}
	b.absent = true
	b.fatal("a VNF that takes a PNF", fmt.Errorf("not within %v: %w", b.config.Connect, why))
	return incoming{}
}

// open opens P7.
func (b *vnfBench) open() {
	at := b.config.P7
	if !at.IsValid() || at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(b.link.LocalAddr().Addr(), at.Port())
	}
	b.air = newAir()
	var err error
	if b.p7, err = listen(at, b.link.Profile(), b.config.taint, b.air.take); err != nil {
		b.fatal("a socket for P7", err)
	}
}

// order is the procedure.
var order = []nfapi.MessageID{
	nfapi.MsgPNFParamRequest, nfapi.MsgPNFConfigRequest, nfapi.MsgPNFStartRequest, nfapi.MsgParamRequest, nfapi.MsgConfigRequest, nfapi.MsgStartRequest,
}

// begin connects and answers everything; slots begin at one. When it returns the PHY
// runs.
func (b *vnfBench) begin(from slot.Number) {
	b.follow(b.dial(), nfapi.MsgStartRequest)
	b.run(from)
}

// follow answers the requests of the procedure up to one, which is answered as well.
func (b *vnfBench) follow(m incoming, to nfapi.MessageID) {
	for i, id := range order {
		if i > 0 {
			m = b.next(id)
		}
		b.check(m.id == id, id.String(), m.String())
		b.answer(&m)
		if id == to {
			return
		}
	}
}

// next waits for a request of P5.
func (b *vnfBench) next(id nfapi.MessageID) incoming {
	m, err := b.link.wait(b.trial, b.config.Patience, func(*incoming) bool { return true })
	if err != nil {
		b.fatal(id.String(), err)
	}
	return m
}

// answer answers a request as a PNF does that can do all.
func (b *vnfBench) answer(m *incoming) {
	b.did("%v", b.reply(m.phy, b.response(m)))
}

// reply sends a message of P5.
func (b *vnfBench) reply(phy uint16, m nfapi.Message) nfapi.MessageID {
	reaches := m
	if b.config.taint.answered != nil {
		reaches = b.config.taint.answered(m)
	}
	if err := b.link.Send(phy, reaches); err != nil {
		b.fatal(m.MessageID().String()+" that can be sent", err)
	}
	return m.MessageID()
}

// response is the answer to a request.
func (b *vnfBench) response(m *incoming) nfapi.Message {
	p := b.link.Profile()
	switch r := m.m.(type) {
	case *nfapi.PNFParamRequest:
		return b.abilities(p)
	case *nfapi.PNFConfigRequest:
		return &nfapi.PNFConfigResponse{}
	case *nfapi.PNFStartRequest:
		return &nfapi.PNFStartResponse{}
	case *nfapi.PNFStopRequest:
		return &nfapi.PNFStopResponse{}
	case *nfapi.ParamRequest:
		a := &nfapi.ParamResponse{TLVs: cell.PNFEndpointTLVs(p, b.p7.local())}
		a.NumTLVs = uint8(len(a.TLVs))
		return a
	case *nfapi.ConfigRequest:
		b.phy = m.phy
		b.configured(r)
		return &nfapi.ConfigResponse{}
	case *nfapi.StartRequest:
		if p == nfapi.OAI2024 {
			return &nfapi.StartResponse2024{}
		}
		return &nfapi.StartResponse{}
	case *nfapi.StopRequest:
		if p == nfapi.Aerial {
			return &nfapi.StopIndication{}
		}
		return &nfapi.StopResponse{}
	}
	b.check(false, "a request", m.String())
	return nil
}

// abilities is PNF_PARAM.response: eight PHYs, so that a VNF finds as many as it has.
func (b *vnfBench) abilities(p nfapi.Profile) nfapi.Message {
	const phys = 8
	general := nfapi.PNFParamGeneral{MaximumNumberPHYs: phys}
	var list nfapi.PNFPHY
	for i := range uint16(phys) {
		list.PHYs = append(list.PHYs, nfapi.PNFPHYInfo{
			PHYConfigIndex: i + 1, RFConfigs: []uint16{0}, DownlinkChannelBandwidthSupported: 100, UplinkChannelBandwidthSupported: 100,
			NumberOfDLLayersSupported: 4, NumberOfULLayersSupported: 4, Maximum3GPPReleaseSupported: 1 << 7,
		})
	}
	one, err := p.EncodeTLV(nfapi.TagPNFParamGeneral, &general)
	if err != nil {
		b.fatal("PNF_PARAM.response", err)
	}
	two, err := p.EncodeTLV(nfapi.TagPNFPHY, &list)
	if err != nil {
		b.fatal("PNF_PARAM.response", err)
	}
	return &nfapi.PNFParamResponse{NumTLVs: 2, TLVs: []nfapi.TLV{one, two}}
}

// configured reads CONFIG.request.
func (b *vnfBench) configured(m *nfapi.ConfigRequest) {
	c, problems := cell.FromTLVs(b.link.Profile(), m.TLVs)
	if err := problems.Err(); err != nil {
		b.fatal("CONFIG.request without faults", err)
	}
	b.check(c.P7.IsValid() && c.P7.Port() != 0, "TLVs 0100 and 0102, where the VNF has P7", c.P7.String())
	if c.P7.Addr().IsUnspecified() {
		c.P7 = netip.AddrPortFrom(b.link.RemoteAddr().Addr(), c.P7.Port())
	}
	b.cell = c
	b.p7.mu.Lock()
	b.p7.to = c.P7
	b.p7.mu.Unlock()
}

// run begins slots.
func (b *vnfBench) run(from slot.Number) {
	b.air.start(b, from)
}

// quiet has nothing of some kind come for a while.
func (b *vnfBench) quiet(long time.Duration, what string, wanted func(*incoming) bool) {
	m, err := b.link.wait(b.trial, long, wanted)
	b.check(err != nil, what, m.text(err == nil))
}

// serves has the VNF lead a new connection to slots.
func (b *vnfBench) serves() {
	b.did("a new connection")
	b.begin(0)
	b.requests(1)
}

// requests has the VNF ask for something in slots that have been announced since.
func (b *vnfBench) requests(n int) {
	had := b.air.requests()
	b.check(b.awaitFor(b.config.Patience, func() bool { return b.air.requests() >= had+n }), fmt.Sprintf("%d requests for slots that were announced", n), fmt.Sprint(b.air.requests()-had))
}
