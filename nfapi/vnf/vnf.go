// Package vnf is the upper half of a split 5G gNB: PNFs connect to it over P5, it
// configures and starts their PHYs, and has a MAC schedule their slots over P7.
//
//	P5  PNF ─► conn ─► procedure ─► phy.start, phy.stop
//	P7  PHY ─► phy.datagram ─┬─ SLOT.indication ─► MAC.Schedule ─► DL_TTI, UL_TTI, UL_DCI, TX_DATA
//	                         ├─ RX_DATA, CRC, UCI, … ─► MAC.Indicate
//	                         └─ UL_NODE_SYNC, TIMING_INFO ─► nodeSync, lead
//
// What decides is apart from sockets and clocks: procedure (P5), ticks (SLOT.indications
// lost, repeated and far off), nodeSync (the PNF's clock), lead (delay management). One
// socket carries both indications and ticks of a PHY, so that what the PHY received in a
// slot is with the MAC before the tick that may use it.
//
// Nothing that a stranger sends changes anything: P5 takes connections of configured
// addresses, one for each PNF, P7 listens to the PNF's address alone and, from its first
// message on, to that port.
//
// Source: SCF 222 and SCF 225, as OpenAirInterface develop 2025-09 has them.
package vnf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/clock"
	"github.com/plumbline-upf/plumbline/nfapi/fapi"
	"github.com/plumbline-upf/plumbline/nfapi/transport"
)

// VNF is a VNF that listens.
type VNF struct {
	config   Config
	profile  nfapi.Profile
	log      *slog.Logger
	listener *transport.P5Listener
	pnfs     []*pnf
	lines    chan func() // what threads that keep slots have logged

	mu      sync.Mutex // of conn and status of the PNFs as well
	refused uint64
	quiet   time.Time // until then, refusals are not logged
}

// pnf is one that may connect.
type pnf struct {
	config PNF
	phys   []*phy
	p7     []*transport.P7

	conn   *conn // nil: not connected
	status PNFStats
	told   []string // of the connections: what was logged last of the PNF, and of each PHY
	again  bool     // the last connection has failed as the one before
}

// New opens the sockets of a VNF. newMAC creates the MAC of each PHY; it is called by New.
//
// Errors: [ErrConfig]; those of the sockets and of newMAC.
func New(c Config, newMAC func(pnf string, phy uint16) (fapi.MAC, error), log *slog.Logger) (_ *VNF, err error) {
	profile, err := c.check()
	if err != nil {
		return nil, err
	}
	v := &VNF{config: c, profile: profile, log: log, lines: make(chan func(), linesWaiting)}
	defer func() {
		if err != nil {
			err = errors.Join(err, v.Close())
		}
	}()
	var allow []netip.Prefix
	for i := range c.PNFs {
		p, err := v.newPNF(&c.PNFs[i], newMAC)
		if err != nil {
			return nil, err
		}
		v.pnfs = append(v.pnfs, p)
		allow = append(allow, p.config.From)
	}
	v.listener, err = transport.ListenP5(transport.P5Config{
		Network: c.P5.Network, Profile: profile, Address: c.P5.Address.String(), Allow: allow, EncapsulationPort: c.P5.SCTPUDPPort,
	})
	if err != nil {
		return nil, fmt.Errorf("vnf: %w", err)
	}
	return v, nil
}

func (v *VNF) newPNF(c *PNF, newMAC func(string, uint16) (fapi.MAC, error)) (_ *pnf, err error) {
	p := &pnf{config: *c, status: PNFStats{Name: c.Name, Stage: stageIdle.String()}, told: make([]string, 1+len(c.PHYs))}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	for _, y := range c.PHYs {
		mac, err := newMAC(c.Name, y.ID)
		if err != nil {
			return nil, fmt.Errorf("vnf: mac of pnf %q, phy %d: %w", c.Name, y.ID, err)
		}
		socket, err := transport.ListenP7(transport.P7Config{Profile: v.profile, Local: y.P7, SegmentSize: y.SegmentSize, NoChecksum: y.NoChecksum})
		if err != nil {
			return nil, fmt.Errorf("vnf: %w", err)
		}
		p.p7 = append(p.p7, socket)
		socket.Admit(transport.Nobody) // until the PNF is here
		one := &phy{
			log: v.log.With("pnf", c.Name, "phy", y.ID), id: y.ID, config: y, profile: v.profile, ahead: v.config.SlotAhead,
			resync: v.config.Timeouts.Sync, mac: mac, p7: socket, woken: make(chan struct{}, 1), lines: v.lines, now: time.Now,
		}
		if v.config.Watch != nil {
			one.watch = v.config.Watch(c.Name, y.ID)
		}
		p.phys = append(p.phys, one)
		p.status.PHYs = append(p.status.PHYs, PHYStats{ID: y.ID, Stage: stageIdle.String(), P7: socket.LocalAddr()})
	}
	return p, nil
}

// Close frees the sockets of a VNF that does not run.
func (v *VNF) Close() error {
	var errs []error
	if v.listener != nil {
		errs = append(errs, v.listener.Close())
	}
	for _, p := range v.pnfs {
		errs = append(errs, p.close())
	}
	return errors.Join(errs...)
}

func (p *pnf) close() error {
	var errs []error
	for _, s := range p.p7 {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// P5 is where PNFs connect.
func (v *VNF) P5() netip.AddrPort { return v.listener.Addr() }

// Run serves PNFs until ctx ends; then it stops their PHYs and them, and closes the
// sockets.
func (v *VNF) Run(ctx context.Context) error {
	defer clock.Reserve()()
	// The sockets are there until everything was stopped in order.
	carrying, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var carriers, conns sync.WaitGroup
	carriers.Go(func() { v.write(carrying) })
	failed := make(chan error, len(v.pnfs)*maxPHYs) // all of them may
	for _, p := range v.pnfs {
		for i, y := range p.phys {
			carriers.Go(func() {
				if err := v.receive(y, p.p7[i]); err != nil {
					failed <- err
				}
			})
			if v.config.SlotAhead.Mode == AheadAdaptive {
				carriers.Go(func() { y.keep(carrying) })
			}
		}
	}
	accepting := make(chan error, 1)
	serving, stop := context.WithCancel(ctx)
	defer stop()
	go func() { accepting <- v.accept(serving, &conns) }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	stop()
	err = errors.Join(err, v.listener.Close(), <-accepting)
	conns.Wait()
	cancel()
	err = errors.Join(err, v.Close())
	carriers.Wait()
	return err
}

// linesWaiting is how many lines of the log wait to be written; more are lost.
const linesWaiting = 16

// write logs lines of threads that keep slots, until ctx ends: the log's reader may block it.
func (v *VNF) write(ctx context.Context) {
	for {
		select {
		case line := <-v.lines:
			line()
		case <-ctx.Done():
			return
		}
	}
}

// receive lets a PHY read its socket, on an urgent thread. Because any host may send to the socket,
// the thread's CPU use is monitored: [clock.Urgent].
func (v *VNF) receive(y *phy, socket *transport.P7) error {
	defer clock.Urgent()()
	if err := socket.Receive(y.datagram); err != nil {
		return fmt.Errorf("vnf: %w", err)
	}
	return nil
}

// accept takes PNFs in until ctx ends.
func (v *VNF) accept(ctx context.Context, conns *sync.WaitGroup) error {
	for {
		p5, err := v.listener.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				p5.Close()
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("vnf: %w", err)
		case err != nil: // of one connection
			v.refuse("", err)
			continue
		}
		c := v.admit(p5)
		if c == nil {
			v.refuse(p5.RemoteAddr().String(), errors.New("no pnf that may connect from there is missing"))
			p5.Close()
			continue
		}
		conns.Go(func() {
			c.run(ctx)
			v.mu.Lock()
			defer v.mu.Unlock()
			c.pnf.conn = nil
		})
	}
}

// admit finds which PNF has connected: the first that may from there, and is not here.
func (v *VNF) admit(p5 *transport.P5) *conn {
	v.mu.Lock()
	defer v.mu.Unlock()
	from := p5.RemoteAddr().Addr().Unmap()
	for _, p := range v.pnfs {
		if p.conn == nil && p.config.From.Contains(from) {
			p.conn = newConn(v, p, p5)
			p.status.Connections++
			return p.conn
		}
	}
	return nil
}

// refuse counts a connection that is not taken, and logs it once a second.
func (v *VNF) refuse(from string, reason error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.refused++
	if now := time.Now(); now.After(v.quiet) {
		v.quiet = now.Add(time.Second)
		v.log.Warn("p5: connection refused", "from", from, "reason", reason)
	}
}

// Stats is how the VNF is doing.
func (v *VNF) Stats() Stats {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := Stats{Refused: v.refused}
	for _, p := range v.pnfs {
		one := p.status
		one.PHYs = nil
		for i, y := range p.phys {
			phy := y.stats()
			was := &p.status.PHYs[i]
			phy.Stage, phy.Reason, phy.P7, phy.Socket = was.Stage, was.Reason, was.P7, p.p7[i].Stats()
			one.PHYs = append(one.PHYs, phy)
		}
		s.PNFs = append(s.PNFs, one)
	}
	return s
}
