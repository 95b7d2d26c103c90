package p4

import (
	"context"
	"log/slog"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"plumbline/api"
	"plumbline/datapath"
	"plumbline/datapath/afxdp"
	"plumbline/datapath/model"
	"plumbline/datapath/nexthop"
	"plumbline/datapath/vector"
	"plumbline/p4/compiled"
)

// noLinks knows no MTU.
type noLinks struct{}

func (noLinks) MTU(*model.Rule, netip.Addr) int { return 1500 }
func (noLinks) Router(bool) netip.Addr          { return netip.Addr{} }
func (noLinks) Least() int                      { return 1500 }
func (noLinks) MTUs(int) (n6, tunnel int)       { return 1500, 1500 }

// benchRig is an engine with a target in the process, without devices.
type benchRig struct {
	*vector.Engine
	offload *offload
	local   *local
}

func newBenchRig(b *testing.B, sessions int) *benchRig {
	cfg := Config{Config: afxdp.Config{
		Endpoints: []datapath.Endpoint{{Name: "N3", Address: netip.MustParseAddr("10.3.0.1")}},
		N6:        datapath.N6{Networks: []datapath.DataNetwork{{Name: "internet"}}}, Log: slog.New(slog.DiscardHandler), MaxSessions: sessions,
	}}
	ports := []afxdp.Port{{Number: 0, Name: "n3", MTU: 1500, Locals: []netip.Addr{cfg.Endpoints[0].Address}}, {Number: 1, Name: "n6", MTU: 1500, Network: 1}}
	p, err := newPipeline(compiled.V1Model())
	if err != nil {
		b.Fatal(err)
	}
	l := newLocal(cfg.Clock(), cfg.Log)
	conn, err := l.server.Dial()
	if err != nil {
		b.Fatal(err)
	}
	c, err := connect(b.Context(), conn, l.server.Local(conn), localDevice, 1, p, false, nil)
	if err != nil {
		b.Fatal(err)
	}
	r := &benchRig{vector.New(vector.Config{Name: name, Endpoints: cfg.Endpoints, N6: cfg.N6, MaxSessions: sessions, Links: noLinks{}}), nil, l}
	way := &connection{}
	way.now.Store(c)
	r.offload = newOffload(&cfg, r.Engine, way, c.schema, ports)
	links := &links{
		schema: c.schema, own: func() []netip.Addr { return nil }, ports: func() []afxdp.Port { return ports },
		exits: func() map[nexthop.Peer]afxdp.Exit { return nil }, routes: func() []afxdp.Route { return nil }, n6: &cfg.N6, number: portOf,
		peers: r.offload.peersInUse, hops: newNumbers[afxdp.Exit](100),
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

func (r *benchRig) apply(ctx context.Context, c *api.Change) error {
	if err := r.offload.begin(ctx, c.GetSeid()); err != nil {
		return err
	}
	err := r.Apply(ctx, c)
	r.offload.end(c.GetSeid(), c.GetSession() == nil)
	return err
}

// benchSession is session i: a PDR each way, a QER with QFI and MBR, a URR.
func benchSession(i uint32) *api.Session {
	ue := &api.UEAddress{Ipv4: 10<<24 | 1 + i}
	return &api.Session{
		Seid: uint64(i) + 1, Qers: []*api.QER{{Id: 1, Qfi: 9, UplinkMbrBps: 1e9, DownlinkMbrBps: 1e9}}, Urrs: []*api.URR{{Id: 1}},
		Rules: []*api.Rule{
			{
				PdrId: 1, FarId: 1, QerIds: []uint32{1}, UrrIds: []uint32{1}, OuterHeaderRemoval: true,
				Detect:  &api.Detect{SourceInterface: api.Interface_ACCESS, FTeid: &api.FTEID{Teid: 0x01000001 + i, Ipv4: 0x0a030001}, UeAddress: ue},
				Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE},
			},
			{
				PdrId: 2, FarId: 2, QerIds: []uint32{1}, UrrIds: []uint32{1}, Detect: &api.Detect{SourceInterface: api.Interface_CORE, UeAddress: ue},
				Forward: &api.Forward{
					Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS,
					OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 0x100 + i, Ipv4: 0x0a030002},
				},
			},
		},
	}
}

// BenchmarkSessions puts 100,000 sessions into the target, reads what all of them have counted,
// and takes them out again.
func BenchmarkSessions(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		r := newBenchRig(b, 2*n)
		step := func(what string, do func()) {
			begun := time.Now()
			do()
			b.ReportMetric(n/time.Since(begun).Seconds(), what+"/s")
		}
		changes := func(s func(i uint32) *api.Session) {
			for i := range uint32(n) {
				if err := r.apply(b.Context(), &api.Change{Seid: uint64(i) + 1, Session: s(i)}); err != nil {
					b.Fatal(err)
				}
			}
			r.offload.flush()
		}
		step("put", func() { changes(benchSession) })
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc)/n, "octets/session")
		step("read", func() {
			if err := r.offload.collectAll(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
		step("change", func() { changes(benchSession) })
		step("gone", func() { changes(func(uint32) *api.Session { return nil }) })
		if t := r.offload.entries; t[r.offload.schema.tables[tableTunnels].id] != 0 || t[r.offload.schema.tables[tableRules].id] != 0 {
			b.Errorf("entries left: %v", t)
		}
	}
}
