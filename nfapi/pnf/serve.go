package pnf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// Why a connection has ended.
var (
	errSilent   = errors.New("the vnf says nothing") // it has begun and makes no progress
	errClosed   = errors.New("the vnf has closed the connection")
	errUnwanted = errors.New("the vnf has closed the connection and said nothing: is this pnf one that it waits for, by its address?")
	errProfile  = errors.New("profile has to be that of the vnf")
)

// serve answers one VNF until the connection ends; then everything has stopped. started
// says whether a PHY was started.
func (p *PNF) serve(ctx context.Context, conn *transport.P5) (started bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var reporter sync.WaitGroup
	defer reporter.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	s := p.session(conn)
	defer func() {
		s.end()
		p.state.Store(int32(idle))
	}()
	p.forget()
	reporter.Go(func() { p.sendErrors(ctx, conn) })
	var silent atomic.Bool
	watchdog := time.AfterFunc(p.config.P5.Timeout, func() {
		silent.Store(true)
		conn.Close()
	})
	defer watchdog.Stop()
	for {
		if err := p.message(s, conn); err != nil {
			gone := errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
			switch {
			case silent.Load():
				err = fmt.Errorf("%w for %v", errSilent, p.config.P5.Timeout)
			case gone && s.spoken:
				err = errClosed
			case gone:
				err = errUnwanted
			case errors.Is(err, transport.ErrFraming) && !s.spoken:
				err = fmt.Errorf("the first message of the vnf is none of %v: %w: %w", p.profile, err, errProfile)
			}
			return s.started, err
		}
		p.state.Store(int32(s.state))
		if s.started {
			watchdog.Stop()
		} else {
			watchdog.Reset(p.config.P5.Timeout)
		}
	}
}

// session is a new one for a connection.
func (p *PNF) session(conn *transport.P5) *session {
	s := &session{log: p.log, all: p.phys, local: conn.LocalAddr(), remote: conn.RemoteAddr()}
	for _, phy := range p.phys {
		phy.vnf, phy.vnfAddr = noAddress, conn.RemoteAddr().Addr().Unmap()
	}
	s.assigned = func(phys []*phy) {
		for _, e := range p.endpoints {
			e.assign(phys)
		}
	}
	s.admit = func(changed *phy) { changed.socket.admit() }
	return s
}

// message takes one message and answers it. An error ends the connection.
func (p *PNF) message(s *session, conn *transport.P5) error {
	h, m, err := conn.Receive()
	var bad *nfapi.Error
	var out []outgoing
	var after func()
	switch {
	case err != nil && !errors.As(err, &bad):
		return err
	case !s.spoken && (bad != nil || !slices.Contains(fromVNF[:], h.MessageID)):
		// Headers of another profile give lengths and messages that mean nothing.
		return fmt.Errorf("the first message of the vnf is none of %v, by which it is %v: %w", p.profile, h.MessageID, errProfile)
	case bad != nil:
		s.warn("p5 message cannot be decoded", "message", h.MessageID, "phy", h.PhyID, "profile", conn.Profile(), "err", err)
		out = s.malformed(&h)
	default:
		s.spoken = true
		out, after = s.handle(conn.Profile(), h.PhyID, m)
	}
	for _, o := range out {
		if err := conn.Send(o.phy, o.m); err != nil {
			return err
		}
	}
	if after != nil {
		after()
	}
	return nil
}

// errorPause is the time between two ERROR.indications: 100 per second at most.
const errorPause = 10 * time.Millisecond

// sendErrors sends ERROR.indications until ctx ends, or one cannot be sent, which is the
// end of the connection.
func (p *PNF) sendErrors(ctx context.Context, conn *transport.P5) {
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-p.errors:
			m := nfapi.ErrorIndication{SFN: r.sfn, Slot: r.slot, Message: uint8(r.message), ErrorCode: uint8(r.code)}
			p.log.Debug("ERROR.indication", "phy", r.phy, "slot", fmt.Sprintf("%d.%d", r.sfn, r.slot), "message", r.message, "code", r.code, "err", r.err)
			if err := conn.Send(r.phy, &m); err != nil {
				if !errors.Is(err, net.ErrClosed) {
					p.log.Warn("p5: ERROR.indication cannot be sent", "err", err)
				}
				return
			}
			p.errorsSent.Add(1)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(errorPause):
		}
	}
}

// forget drops ERROR.indications that were for another VNF.
func (p *PNF) forget() {
	for {
		select {
		case <-p.errors:
		default:
			return
		}
	}
}
