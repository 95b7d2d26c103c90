package p4

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	p4rt "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/afxdp"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// logbook is a target that does nothing, and what it was asked for.
type logbook struct {
	p4rt.P4RuntimeClient
	schema *schema
	asked  []string
}

func (r *logbook) Write(_ context.Context, in *p4rt.WriteRequest, _ ...grpc.CallOption) (*p4rt.WriteResponse, error) {
	for _, u := range in.GetUpdates() {
		for name, t := range r.schema.tables {
			if t.id == u.GetEntity().GetTableEntry().GetTableId() {
				r.asked = append(r.asked, u.GetType().String()+" "+name)
			}
		}
	}
	return &p4rt.WriteResponse{}, nil
}

func (r *logbook) Read(_ context.Context, in *p4rt.ReadRequest, _ ...grpc.CallOption) (p4rt.P4Runtime_ReadClient, error) {
	r.asked = append(r.asked, "read counters")
	return &counts{of: in.GetEntities()}, nil
}

func (r *logbook) SetForwardingPipelineConfig(context.Context, *p4rt.SetForwardingPipelineConfigRequest, ...grpc.CallOption) (*p4rt.SetForwardingPipelineConfigResponse, error) {
	r.asked = append(r.asked, "pipeline")
	return &p4rt.SetForwardingPipelineConfigResponse{}, nil
}

// counts answers with cells as they were asked for, each with one packet of 100 octets.
type counts struct {
	grpc.ClientStream
	of []*p4rt.Entity
}

func (c *counts) Recv() (*p4rt.ReadResponse, error) {
	for _, e := range c.of {
		e.GetCounterEntry().Data = &p4rt.CounterData{PacketCount: 1, ByteCount: 100}
	}
	return &p4rt.ReadResponse{Entities: c.of}, nil
}

// sums is an engine without sessions, and what was counted for it.
type sums struct {
	engine
	total datapath.Total
}

func (s *sums) Keys(uint64) ([]datapath.Key, error) { return nil, datapath.ErrNoSession }

func (s *sums) Count(_ *stages.Rule, n datapath.Total) {
	s.total.Packets += n.Packets
	s.total.Octets += n.Octets
	s.total.Dropped += n.Dropped
}

// TestBeginKept: a target that went on while it was away forwards nothing between the reading of its counters and its
// pipeline beginning anew, which would not be counted.
func TestBeginKept(t *testing.T) {
	for _, tt := range []struct {
		name string
		kept bool
		want []string
		sum  datapath.Total
	}{
		{"went on", true, []string{"DELETE ports", "read counters", "read counters", "read counters", "pipeline", "INSERT ports"}, datapath.Total{Packets: 1, Octets: 100 - bare, Dropped: 1}},
		{"restarted", false, []string{"pipeline", "INSERT ports"}, datapath.Total{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &Driver{connection: &connection{}, ctx: t.Context(), log: slog.New(slog.DiscardHandler)}
			if err := d.readPipeline(); err != nil {
				t.Fatal(err)
			}
			s := d.schema
			r, e := &logbook{schema: s}, &sums{}
			c := &client{rpc: r, schema: s, kept: tt.kept}
			d.connection.now.Store(c)
			var cfg Config
			d.offload = newOffload(&cfg, e, d.connection, s, nil)
			d.offload.sessions[1] = &session{seid: 1, state: installed, slots: []*slot{{slotKey: slotKey{header: bare}, index: 1, rule: &stages.Rule{}, there: true}}}
			d.links = &links{
				schema: s, own: func() []netip.Addr { return nil }, exits: func() map[nexthop.Peer]afxdp.Exit { return nil },
				ports: func() []afxdp.Port { return []afxdp.Port{{Name: "n3"}} }, routes: func() []afxdp.Route { return nil }, n6: &cfg.N6,
				number: portOf, peers: func() map[nexthop.Peer]uint32 { return nil }, shares: func() map[uint32]share { return nil }, hops: newNumbers[afxdp.Exit](1),
			}
			d.links.clear()
			if err := d.links.sync(t.Context(), d.connection); err != nil {
				t.Fatal(err)
			}
			r.asked = nil
			if err := d.begin(c); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, r.asked); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if e.total != tt.sum {
				t.Errorf("counted %+v, want %+v", e.total, tt.sum)
			}
		})
	}
}
