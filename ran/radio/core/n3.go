package core

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/plumbline-upf/plumbline/ran/gnb"
	"github.com/plumbline-upf/plumbline/ran/radio"
)

// N3 is a core over N3: a gNB with ports as UEs.
type N3 struct {
	gnb   *gnb.GNB
	ports []*gnb.Uplink // of the UEs
	held  []bool        // packets that wait for Flush
	ways  []port
}

// port is the downlink of a UE.
type port struct {
	to  radio.Downlink
	ue  int
	qfi uint8
}

// Deliver implements [gnb.Port].
func (p *port) Deliver(packet []byte) bool { return p.to.Downlink(p.ue, p.qfi, packet) }

// OpenN3 opens the sockets of a gNB with the UEs of the cell, in their order.
func OpenN3(config gnb.Config, log *slog.Logger) (*N3, error) {
	c := &N3{ways: make([]port, len(config.UEs)), held: make([]bool, len(config.UEs))}
	for i := range config.UEs {
		c.ways[i] = port{ue: i, qfi: config.UEs[i].QFI}
		config.UEs[i].Port = &c.ways[i]
	}
	var err error
	if c.gnb, err = gnb.New(config, log); err != nil {
		return nil, err
	}
	for i := range config.UEs {
		c.ports = append(c.ports, c.gnb.Uplink(i))
	}
	return c, nil
}

// Uplink implements [radio.Core]. The QFI is that of the session.
func (c *N3) Uplink(ue int, _ uint8, packet []byte) {
	c.ports[ue].Send(packet)
	c.held[ue] = true
}

// Flush implements [radio.Core].
func (c *N3) Flush() {
	for ue, held := range c.held {
		if held {
			c.ports[ue].Flush()
			c.held[ue] = false
		}
	}
}

// Run implements [Core].
func (c *N3) Run(ctx context.Context, to radio.Downlink) error {
	for i := range c.ways {
		c.ways[i].to = to
	}
	return c.gnb.Run(ctx)
}

// MTU implements [Core].
func (c *N3) MTU() int { return c.gnb.MTU() }

// Stats returns what the gNB has counted.
func (c *N3) Stats() gnb.Stats { return c.gnb.Stats() }

// SetUplink is that of [gnb.GNB].
func (c *N3) SetUplink(ue int, teid uint32, upf netip.Addr) error {
	return c.gnb.SetUplink(ue, teid, upf)
}

// Close closes a core that was not run.
func (c *N3) Close() { c.gnb.Close() }
