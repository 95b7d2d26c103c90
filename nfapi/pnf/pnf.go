// Package pnf is the lower half of a 5G gNB that is split at nFAPI: it has the slot
// clock and the PHYs, and does what its VNF says.
//
//	VNF ── P5 ──► session: states of PNF and PHYs ── Configure, Start, Stop ──► PHY
//	    ── P7 ──► window ─► decode ─► ring ─┐                                  ▲
//	    ◄─ P7 ── indications, SLOT.ind ◄── tick: slot n ── Requests ───────────┘
//
// At tick n, the start of air slot n, the PNF sends what the PHY said about slot n-1,
// then SLOT.indication of n+slot_ahead, and then has the PHY carry out slot n with the
// requests that came for it. A request that comes after tick n is late and lost: it is
// counted, and reported by ERROR.indication and TIMING_INFO.
//
// The PNF connects to its VNF, again and again; when the connection ends everything
// stops.
//
// Source: SCF 222.10.02, SCF 225, as OpenAirInterface develop 2025-09 has them.
package pnf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// PNF is a PNF.
type PNF struct {
	config    Config
	profile   nfapi.Profile
	log       *slog.Logger
	phys      []*phy
	endpoints []*endpoint
	errors    chan errorReport

	state                  atomic.Int32 // of the PNF
	connections            atomic.Uint64
	errorsSent, suppressed atomic.Uint64
}

// queuedErrors is how many ERROR.indications wait to be sent.
const queuedErrors = 16

// New makes a PNF with all its PHYs.
//
// Errors: [ErrConfig], those of [Config.NewPHY].
func New(c Config, log *slog.Logger) (*PNF, error) {
	c, err := c.Complete()
	if err != nil {
		return nil, err
	}
	profile, _ := nfapi.ParseProfile(c.Profile)
	p := &PNF{config: c, profile: profile, log: log, errors: make(chan errorReport, queuedErrors)}
	now := clockwork{epoch: time.Now()}
	for _, pc := range c.PHYs {
		layer, err := c.NewPHY(pc.ID)
		if err != nil {
			return nil, fmt.Errorf("pnf: phy %d: %w", pc.ID, err)
		}
		phy := &phy{config: pc, layer: layer, log: log, time: now, report: p.report}
		if c.Watch != nil {
			phy.watch = c.Watch(pc.ID)
		}
		p.phys = append(p.phys, phy)
	}
	p.endpoints = endpoints(p.phys)
	return p, nil
}

// report has an ERROR.indication sent, if there are not too many.
func (p *PNF) report(r errorReport) {
	select {
	case p.errors <- r:
	default:
		p.suppressed.Add(1)
	}
}

// Run connects to the VNF and serves it until ctx ends, which is no error. A connection
// that ends, or cannot be made, is tried again.
//
// Errors: those of the sockets of P7.
func (p *PNF) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var receivers sync.WaitGroup
	defer receivers.Wait()
	for _, e := range p.endpoints {
		if err := e.open(p.profile, p.config.P7); err != nil {
			return fmt.Errorf("pnf: %w", err)
		}
		p7 := e.p7.Load()
		defer p7.Close()
		e.assign(nil)
		receivers.Go(func() {
			if err := e.receive(); err != nil {
				cancel(fmt.Errorf("pnf: %w", err))
			}
		})
		p.log.Info("p7", "address", p7.LocalAddr())
	}
	p.connect(ctx)
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// connect serves one VNF after the other until ctx ends. The pause between attempts grows, and is
// reset after a connection on which a PHY was started.
func (p *PNF) connect(ctx context.Context) {
	pause, told, again := leastPause, "", false
	for ctx.Err() == nil {
		conn, err := transport.DialP5(ctx, transport.P5Config{
			Network: p.config.P5.Network, Profile: p.profile, Address: p.config.P5.VNF, Local: p.config.P5.Local,
			EncapsulationPort: p.config.P5.SCTPUDPPort,
		})
		if err != nil {
			again = false
		} else {
			if !again { // the same again says nothing new
				p.log.Info("connected", "vnf", conn.RemoteAddr(), "from", conn.LocalAddr())
			}
			p.connections.Add(1)
			var started bool
			if started, err = p.serve(ctx, conn); started {
				pause, told = leastPause, ""
			}
			again = !started
		}
		if ctx.Err() != nil {
			return
		}
		if text := err.Error(); text != told {
			told = text
			p.log.Warn("no vnf; trying again", "vnf", p.config.P5.VNF, "reason", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, p.config.P5.Reconnect)
	}
}
