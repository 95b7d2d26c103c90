package p4

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/afxdp"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/p4/compiled"
)

// noLinks knows no MTU.
type noLinks struct{}

func (noLinks) MTU(*stages.Rule, netip.Addr) int { return 1500 }
func (noLinks) Router(bool) netip.Addr           { return netip.Addr{} }
func (noLinks) Least() int                       { return 1500 }
func (noLinks) MTUs(int) (n6, tunnel int)        { return 1500, 1500 }

// rig is an engine with a target in the process, without devices.
type rig struct {
	*vector.Engine
	offload *offload
	local   *local
}

func newRig(b testing.TB, endpoints []datapath.Endpoint, n6 datapath.N6, sessions int) *rig {
	b.Helper()
	cfg := Config{Config: afxdp.Config{Endpoints: endpoints, N6: n6, Log: slog.New(slog.DiscardHandler), MaxSessions: sessions}}
	var ports []afxdp.Port
	for i := range endpoints {
		p := afxdp.Port{Number: len(ports), Name: endpoints[i].Name, MTU: 1500}
		for _, a := range []netip.Addr{endpoints[i].Address, endpoints[i].Address6} {
			if a.IsValid() {
				p.Locals = append(p.Locals, a)
			}
		}
		ports = append(ports, p)
	}
	for i := range n6.Networks {
		ports = append(ports, afxdp.Port{Number: len(ports), Name: n6.Networks[i].Name, MTU: 1500, Network: i + 1, Ethernet: n6.Networks[i].Ethernet})
	}
	p, err := newPipeline(compiled.V1Model())
	if err != nil {
		b.Fatal(err)
	}
	l := newLocal(cfg.Clock(), cfg.Log)
	conn, err := l.server.Dial()
	if err != nil {
		b.Fatal(err)
	}
	c, err := connectBy(b.Context(), conn, l.server.Local(conn), localDevice, 1, p, false, nil)
	if err != nil {
		b.Fatal(err)
	}
	r := &rig{vector.New(vector.Config{Name: name, Endpoints: cfg.Endpoints, N6: cfg.N6, MaxSessions: sessions, Links: noLinks{}}), nil, l}
	way := &connection{}
	way.now.Store(c)
	r.offload = newOffload(&cfg, r.Engine, way, c.schema, ports)
	links := &links{
		schema: c.schema, own: func() []netip.Addr { return nil }, ports: func() []afxdp.Port { return ports },
		exits: func() map[nexthop.Peer]afxdp.Exit { return nil }, routes: func() []afxdp.Route { return nil }, n6: &cfg.N6, number: portOf,
		peers: r.offload.peersInUse, shares: r.offload.sharesInUse, hops: newNumbers[afxdp.Exit](100),
	}
	r.offload.relink = func() {
		if err := links.sync(b.Context(), way); err != nil {
			b.Error(err)
		}
	}
	if err := r.offload.reset(b.Context(), false, func() error {
		links.clear()
		return c.setPipeline(b.Context(), p)
	}); err != nil {
		b.Fatal(err)
	}
	go r.offload.run(b.Context())
	b.Cleanup(func() {
		r.offload.close()
		if err := c.close(); err != nil {
			b.Error(err)
		}
		l.server.Close()
	})
	return r
}

func (r *rig) apply(ctx context.Context, c *api.Change) error {
	if err := r.offload.begin(ctx, c); err != nil {
		return err
	}
	err := r.Apply(ctx, c)
	r.offload.end(c.GetSeid(), c.GetSession() == nil)
	return err
}
