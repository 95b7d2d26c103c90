package vnf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"syscall"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// conn is the P5 connection of one PNF.
type conn struct {
	vnf  *VNF
	pnf  *pnf
	p5   *transport.P5
	log  *slog.Logger
	proc *procedure
	from string // the PNF's address

	cells []*cell.Config // what the PHYs were configured with
	lost  error          // the connection was
	quiet time.Time      // until then, messages that are not understood are not logged

	looked time.Time // when it was asked last whether a PHY is silent
	since  time.Time // only silence behind it counts
}

const (
	// look is the interval of the check for silent PHYs.
	look = 250 * time.Millisecond
	// stoodStill is after how long without a look this process cannot have run.
	stoodStill = 4 * look
)

// incoming is a message of P5, or why there are no more.
type incoming struct {
	header nfapi.Header
	body   nfapi.Message
	err    error
}

func newConn(v *VNF, p *pnf, p5 *transport.P5) *conn {
	c := &conn{
		vnf: v, pnf: p, p5: p5, log: v.log.With("pnf", p.config.Name),
		cells: make([]*cell.Config, len(p.phys)),
	}
	c.proc = newProcedure(p5.Profile, v.config.Timeouts, p.config.PHYs, c)
	return c
}

// run leads the PNF through P5 until it is gone, or ctx has ended and it is stopped.
func (c *conn) run(ctx context.Context) {
	c.from = c.p5.RemoteAddr().String()
	level := slog.LevelInfo
	if c.pnf.again { // the peer has received the reason of the rejection
		level = slog.LevelDebug
	}
	c.log.Log(ctx, level, "p5: connected", "from", c.from)
	done := make(chan struct{})
	messages := make(chan incoming)
	go c.receive(messages, done)
	for _, y := range c.pnf.phys {
		y.begin([]netip.Addr{c.p5.RemoteAddr().Addr()})
	}
	c.looked = time.Now()
	c.proc.connected(c.looked)
	stop := ctx.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !c.proc.over() && c.lost == nil {
		c.publish()
		select {
		case m := <-messages:
			c.take(m)
		case <-stop:
			stop = nil
			c.proc.stop(time.Now())
		case <-timer.C:
		}
		timer.Reset(c.passed(time.Now()))
	}
	for _, y := range c.pnf.phys {
		y.stop()
	}
	c.p5.Close()
	close(done)
	for range messages { // until the receiver has ended
	}
	c.ended()
}

// receive hands on what comes.
func (c *conn) receive(messages chan<- incoming, done <-chan struct{}) {
	defer close(messages)
	for {
		h, m, err := c.p5.Receive()
		select {
		case messages <- incoming{h, m, err}:
		case <-done:
			return
		}
		var body *nfapi.Error
		if err != nil && !errors.As(err, &body) {
			return
		}
	}
}

// take takes a message in.
func (c *conn) take(m incoming) {
	var body *nfapi.Error
	switch {
	case errors.As(m.err, &body):
		if now := time.Now(); now.After(c.quiet) {
			c.quiet = now.Add(time.Second)
			c.log.Warn("p5: message not understood", "message", m.header.MessageID, "error", m.err)
		}
		return
	case errors.Is(m.err, io.EOF), errors.Is(m.err, syscall.ECONNRESET):
		c.lost = c.proc.unanswered(errors.New("the pnf has closed the connection"))
		return
	case m.err != nil:
		c.lost = c.proc.unanswered(m.err)
		return
	}
	if e, ok := m.body.(*nfapi.ErrorIndication); ok {
		c.errorIndication(m.header.PhyID, e)
		return
	}
	c.proc.received(m.header.PhyID, m.body, time.Now())
}

// errorIndication counts what the PNF complains of.
func (c *conn) errorIndication(phy uint16, e *nfapi.ErrorIndication) {
	c.vnf.mu.Lock()
	c.pnf.status.Errors++
	c.vnf.mu.Unlock()
	for _, y := range c.pnf.phys {
		if y.id == phy {
			y.complained(e, time.Now())
		}
	}
}

// passed executes due actions, and returns the time until the next one. If this process has stood
// still, pending answers and SLOT.indications are read first, before their absence is treated as a
// failure.
func (c *conn) passed(now time.Time) time.Duration {
	gone := now.Sub(c.looked)
	if gone > stoodStill {
		c.looked, c.since, gone = now, now, 0
	}
	if grace := c.since.Add(look).Sub(now); grace > 0 {
		return grace
	}
	if due := c.proc.due(); !due.IsZero() && !now.Before(due) {
		c.proc.elapsed(now)
	}
	if gone >= look {
		c.looked, gone = now, 0
		c.listen(now)
	}
	next := look - gone
	if due := c.proc.due(); !due.IsZero() {
		next = max(min(due.Sub(now), next), 0)
	}
	return next
}

// listen gives the PNF up if one of its PHYs has not been heard for long.
func (c *conn) listen(now time.Time) {
	for _, y := range c.pnf.phys {
		if silent := min(y.silent(now), now.Sub(c.since)); silent > c.vnf.config.Timeouts.Silence {
			c.lost = fmt.Errorf("phy %d: no SLOT.indication for %v", y.id, silent.Round(time.Millisecond))
		}
	}
}

// publish makes the stages known.
func (c *conn) publish() {
	c.vnf.mu.Lock()
	defer c.vnf.mu.Unlock()
	s := &c.pnf.status
	s.Stage, s.Address = c.proc.pnf.stage.String(), c.from
	for i := range c.proc.phys {
		u := &c.proc.phys[i]
		s.PHYs[i].Stage, s.PHYs[i].Reason = u.stage.String(), ""
		if u.reason != nil {
			s.PHYs[i].Reason = u.reason.Error()
		}
	}
}

// ended says why.
func (c *conn) ended() {
	reason := errors.Join(c.proc.err, c.lost)
	c.vnf.mu.Lock()
	s := &c.pnf.status
	s.Stage, s.Address = stageIdle.String(), ""
	for i := range s.PHYs {
		s.PHYs[i].Stage = stageIdle.String()
	}
	if reason != nil {
		s.Reason = reason.Error()
	}
	c.vnf.mu.Unlock()
	switch {
	case c.lost != nil:
		c.tell(-1, "p5: connection lost", c.lost)
	case c.proc.err == nil:
		c.log.Info("p5: stopped")
	}
}

// The actions of a procedure: [actor].

func (c *conn) send(phy uint16, m nfapi.Message) {
	c.log.Debug("p5: sent", "phy", phy, "message", m.MessageID())
	if err := c.p5.Send(phy, m); err != nil {
		c.lost = fmt.Errorf("%v: %w", m.MessageID(), err)
	}
}

func (c *conn) cell(i int) ([]nfapi.TLV, error) {
	y := c.pnf.phys[i]
	cell, err := y.cellFor(c.pnf.p7[i].LocalAddr(), c.p5.LocalAddr().Addr())
	if err != nil {
		return nil, err
	}
	c.cells[i] = cell
	return any(cell).(interface {
		TLVs(nfapi.Profile) []nfapi.TLV
	}).TLVs(c.p5.Profile()), nil
}

// params has messages taken from where PARAM.response says that the PHY has P7, too.
func (c *conn) params(i int, m *nfapi.ParamResponse) {
	hosts := []netip.Addr{c.p5.RemoteAddr().Addr()}
	for j := range m.TLVs {
		t := &m.TLVs[j]
		if a, ok := netip.AddrFromSlice(t.Value); ok && (t.Tag == nfapi.TagP7PNFAddressIpv4 || t.Tag == nfapi.TagP7PNFAddressIpv6) && !a.IsUnspecified() {
			hosts = append(hosts, a.Unmap())
		}
	}
	c.pnf.phys[i].begin(hosts)
}

func (c *conn) started(i int) {
	c.pnf.told[0], c.pnf.told[1+i], c.pnf.again = "", "", false
	c.log.Info("phy runs", "phy", c.pnf.phys[i].id)
	c.pnf.phys[i].start(c.cells[i], time.Now())
}

func (c *conn) stopped(i int) { c.pnf.phys[i].stop() }

func (c *conn) wrong(i int, err error) { c.tell(i, "p5: failed", err) }

// tell logs a failure of a PHY, or of the PNF if i is -1. Repeated identical failures are logged once.
func (c *conn) tell(i int, text string, err error) {
	log, level := c.log, slog.LevelWarn
	if i >= 0 {
		log = log.With("phy", c.pnf.phys[i].id)
	}
	same := c.pnf.told[1+i] == err.Error()
	if same {
		level = slog.LevelDebug
	}
	c.pnf.told[1+i] = err.Error()
	if i < 0 {
		c.pnf.again = same
	}
	log.Log(context.Background(), level, text, "error", err)
}
