package p4

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"plumbline/api"
	"plumbline/datapath"
	"plumbline/datapath/afxdp"
	"plumbline/datapath/model"
	"plumbline/datapath/nexthop"
	"plumbline/p4/bmv2"
	"plumbline/p4/compiled"
)

// The bed: two addresses of the UPF on N3, and two data networks.
//
//	gNBs 10.3.0.2, .3, fd03::2 ─── device 0, N3: UPF ─┬─ device 1: internet
//	          10.3.0.1, fd03::1                       └─ device 2: corp
var (
	n3, n36   = netip.MustParseAddr("10.3.0.1"), netip.MustParseAddr("fd03::1")
	gnb, gnb2 = netip.MustParseAddr("10.3.0.2"), netip.MustParseAddr("10.3.0.3")
	gnb6      = netip.MustParseAddr("fd03::2")
)

var bedEndpoints = []datapath.Endpoint{{Name: "n3", Device: "n3", Address: n3, Address6: n36}}

var bedN6 = datapath.N6{
	Networks: []datapath.DataNetwork{
		{Name: "internet", NetworkInstances: []string{"internet"}, Device: "n6"},
		{Name: "corp", NetworkInstances: []string{"corp"}, Device: "corp"},
	},
	Policies: []datapath.ForwardingPolicy{{Name: "marked", DSCP: 10}},
}

var bedPorts = []afxdp.Port{
	{Number: 0, Name: "n3", MAC: [6]byte{2, 0, 0, 0, 0, 1}, MTU: bedMTU, Locals: []netip.Addr{n3, n36}},
	{Number: 1, Name: "n6", MAC: [6]byte{2, 0, 0, 0, 0, 2}, MTU: bedMTU, Network: 1},
	{Number: 2, Name: "corp", MAC: [6]byte{2, 0, 0, 0, 0, 3}, MTU: bedMTU, Network: 2},
}

const (
	bedMTU      = 9000
	bedSessions = 64
)

// host is an engine without I/O: the sessions of package model.
type host struct {
	mu       sync.Mutex
	sessions *model.Sessions
	stages   model.Stages
	index    byKey
	now      uint64 // ns
	counted  map[*model.Counters]datapath.Total
	events   []api.EventKind
}

func newHost() *host {
	h := &host{index: byKey{}, now: 1e9, counted: map[*model.Counters]datapath.Total{}}
	h.sessions = model.NewSessions(model.SessionsConfig{
		Name: "test", Endpoints: bedEndpoints, N6: &bedN6, Max: bedSessions, Now: h.clock, Index: h.index, Stages: &h.stages,
	})
	h.stages = model.Stages{
		Tables: h.sessions, Now: h.clock, Redirects: model.NewRedirects(nil), Names: model.NewNames(nil), Bridge: model.NewBridge(nil),
		Buffer: model.NewBuffer(model.DefaultBufferLimits, h.clock, func(datapath.Reason) {}), Endpoints: bedEndpoints,
		Post: func(e *api.Event) { h.events = append(h.events, e.GetKind()) },
	}
	return h
}

func (h *host) clock() uint64 { return h.now }

// byKey is a [model.Index].
type byKey map[datapath.Key][]*model.Rule

func (m byKey) Candidates(k datapath.Key) []*model.Rule  { return m[k] }
func (m byKey) Bind(k datapath.Key, rules []*model.Rule) { m[k] = rules }
func (m byKey) Unbind(k datapath.Key)                    { delete(m, k) }

// Candidates implements engine.
func (h *host) Candidates(k datapath.Key) []*model.Rule {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.index[k]
}

// Keys implements engine.
func (h *host) Keys(seid uint64) ([]datapath.Key, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions.Keys(seid)
}

// Count implements engine.
func (h *host) Count(r *model.Rule, n datapath.Total) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := h.counted[r.Counters]
	sum.Add(n)
	h.counted[r.Counters] = sum
	h.stages.MeasureMany(r, n)
}

// Stages implements engine.
func (h *host) Stages() *model.Stages { return &h.stages }

// recorder is a target that notes what is written, and may fail.
type recorder struct {
	target
	writes [][]*p4rt.Update
	// refuse says with what an update is refused, fail whether a write is lost; nil: never.
	refuse func(u *p4rt.Update) error
	fail   func(n int) error // n: writes before it
	// after is called when a write has been done.
	after func(updates []*p4rt.Update)
}

func (r *recorder) write(ctx context.Context, updates []*p4rt.Update) (map[int]error, error) {
	n := len(r.writes)
	r.writes = append(r.writes, updates)
	if r.fail != nil {
		if err := r.fail(n); err != nil {
			return nil, err
		}
	}
	refused, let := map[int]error{}, []*p4rt.Update(nil)
	var at []int
	for i, u := range updates {
		if r.refuse != nil {
			if err := r.refuse(u); err != nil {
				refused[i] = err
				continue
			}
		}
		let, at = append(let, u), append(at, i)
	}
	more, err := r.target.write(ctx, let)
	for i, why := range more {
		refused[at[i]] = why
	}
	if r.after != nil {
		r.after(updates)
	}
	return refused, err
}

// bed is an offload between a host and the executor in the process. Nothing runs by itself.
type bed struct {
	testing.TB
	*Driver
	host     *host
	offload  *offload
	recorder *recorder
	lane     *lane
	learnt   [][]byte // frames that came to the CPU since rules do not fit
	logged   *bytes.Buffer
}

func newBed(t testing.TB) *bed {
	t.Helper()
	b := &bed{TB: t, host: newHost(), logged: &bytes.Buffer{}}
	d := &Driver{
		log: slog.New(slog.NewTextHandler(b.logged, nil)), relink: make(chan struct{}, 1),
		headers: make(chan headerSeen, 64), connection: &connection{},
	}
	b.Driver = d
	d.ctx, d.stop = context.WithCancel(context.Background())
	b.check(func() (err error) { d.pipeline, err = newPipeline(compiled.V1Model()); return err }())
	b.check(func() (err error) { d.schema, err = newSchema(d.pipeline.info); return err }())
	d.local = newLocal(b.host.clock, d.log)
	d.local.changed, d.local.seen = d.changed, func(frame []byte) { b.learnt = append(b.learnt, bytes.Clone(frame)) }
	cfg := &Config{Config: afxdp.Config{Endpoints: bedEndpoints, N6: bedN6, Log: d.log}}
	b.recorder = &recorder{target: d.connection}
	b.offload = newOffload(cfg, b.host, b.recorder, d.schema, bedPorts)
	b.offload.buckets.now = b.host.clock
	d.offload, b.offload.relink = b.offload, d.link
	d.links = &links{
		schema: d.schema, own: func() []netip.Addr { return []netip.Addr{n3, n36} }, ports: func() []afxdp.Port { return bedPorts },
		exits: bedExits, routes: bedRoutes, n6: &bedN6, number: portOf,
		peers: b.offload.peersInUse, hops: newNumbers[afxdp.Exit](uint32(d.schema.tables[tableHops].size - 1)),
	}
	b.check(d.begin(b.dial()))
	b.lane = &lane{l: d.local}
	t.Cleanup(b.close)
	return b
}

// dial makes a client of the executor, and takes it for the connection.
func (b *bed) dial() *client {
	b.Helper()
	conn, err := b.local.server.Dial()
	b.check(err)
	c, err := connect(b.ctx, conn, localDevice, 1, b.pipeline, false, nil)
	b.check(err)
	b.connection.now.Store(c)
	return c
}

func (b *bed) close() {
	b.stop()
	b.lane.Close()
	if c := b.connection.now.Swap(nil); c != nil {
		_ = c.close()
	}
	b.local.server.Close()
}

func (b *bed) check(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func bedExits() map[nexthop.Peer]afxdp.Exit {
	exit := func(n byte) afxdp.Exit { return afxdp.Exit{Device: 0, MAC: [6]byte{2, 3, 0, 0, 0, n}, MTU: bedMTU} }
	return map[nexthop.Peer]afxdp.Exit{
		{Local: n3, Addr: gnb}: exit(1), {Local: n3, Addr: gnb2}: exit(2), {Local: n36, Addr: gnb6}: exit(3),
	}
}

// bedRoutes are a gateway of each data network, for both IP versions.
func bedRoutes() (all []afxdp.Route) {
	for way := range bedN6.Ways() {
		device := 1 + bedN6.Of(way)
		for _, p := range []string{"0.0.0.0/0", "::/0"} {
			exit := &afxdp.Exit{Device: device, MAC: [6]byte{2, 6, 0, 0, 0, byte(device)}, MTU: bedMTU}
			all = append(all, afxdp.Route{Way: way, Prefix: netip.MustParsePrefix(p), Exit: exit})
		}
	}
	return all
}

var bedCapabilities = model.Capabilities("test", bedEndpoints, &bedN6, bedSessions)

// apply changes a session as [Driver.Apply] does.
func (b *bed) apply(c *api.Change) error {
	if err := b.offload.begin(b.ctx, c); err != nil {
		return err
	}
	b.host.mu.Lock()
	err := b.host.sessions.Apply(c, bedCapabilities, func(model.Out) {}, func(model.Datagram) {})
	_, gone := b.host.sessions.Keys(c.GetSeid())
	b.host.mu.Unlock()
	b.offload.end(c.GetSeid(), gone != nil)
	return err
}

// set applies a session, or the end of one if it has no rules.
func (b *bed) set(s *api.Session) {
	b.Helper()
	c := &api.Change{Seid: s.GetSeid(), Session: s}
	if len(s.GetRules()) == 0 {
		c.Session = nil
	}
	b.check(b.apply(c))
}

// settle puts into the target what waits, batch by batch.
func (b *bed) settle() {
	b.Helper()
	for range 100 {
		if len(b.offload.queue) == 0 {
			return
		}
		all, was, _ := b.offload.next()
		b.check(b.offload.install(b.ctx, all, was))
	}
	b.Fatal("the queue does not become empty")
}

// learn lets the offload know what stood in front of packets that came to the CPU. It reports
// whether something has been changed in the target.
func (b *bed) learn() bool {
	b.Helper()
	for _, frame := range b.learnt {
		if h, ok := lookAt(frame); ok {
			b.offload.front(h, time.Now().Add(time.Hour))
		}
	}
	b.learnt = nil
	changed := len(b.offload.queue) > 0
	for _, ks := range b.offload.keys {
		ks.seen = time.Time{} // time goes by
	}
	b.settle()
	return changed
}

// fate is what the target makes of a frame.
type fate struct {
	cpu     bool
	dropped bool
	device  int
	frame   []byte
}

// Send implements [afxdp.Outcome].
func (f *fate) Send(_, device int, head, payload []byte, _ bool) {
	f.cpu, f.device, f.frame = false, device, append(bytes.Clone(head), payload...)
}

// Drop implements [afxdp.Outcome].
func (f *fate) Drop(int) { f.cpu, f.dropped = false, true }

func (b *bed) send(device int, frame []byte) fate {
	f := fate{cpu: true}
	b.lane.Process(device, [][]byte{bytes.Clone(frame)}, &f)
	return f
}

// entries returns how many entries tables of the executor have, those of links left out.
func (b *bed) entries() map[string]int {
	b.Helper()
	all := map[string]int{}
	i := b.local.live.Load().instance
	i.View(func(tx *bmv2.Tx) {
		for _, t := range i.Program().Tables() {
			switch name := t.Name[strings.LastIndexByte(t.Name, '.')+1:]; name {
			case tableTunnels, tableUEs4, tableUEs6, tableFramed4, tableFramed6, tableFilters4, tableFilters6, tableRules:
				n, err := tx.Len(t.ID)
				b.check(err)
				if n > 0 {
					all[name] = n
				}
			}
		}
	})
	return all
}

// held is what the offload keeps of sessions: numbers that are given out, and keys.
func (b *bed) held() map[string]int {
	o := b.offload
	all := map[string]int{
		"sessions": len(o.sessions), "keys": len(o.keys), "peers": len(o.peers.of), "uses": len(o.uses),
		"slots": len(o.slots.of), "lists": len(o.lists.of), "buckets": len(o.buckets.of), "rest": len(o.rest), "routes": o.routes,
	}
	maps.DeleteFunc(all, func(_ string, n int) bool { return n == 0 })
	return all
}

// wantEmpty states that nothing is left of any session.
func (b *bed) wantEmpty() {
	b.Helper()
	if left := b.entries(); len(left) > 0 {
		b.Errorf("the target still has %v", left)
	}
	if left := b.held(); len(left) > 0 {
		b.Errorf("the offload still holds %v", left)
	}
}

// wantQuiet states that nothing has been logged as an error.
func (b *bed) wantQuiet() {
	b.Helper()
	if bytes.Contains(b.logged.Bytes(), []byte("level=ERROR")) {
		b.Errorf("logged: %s", b.logged)
	}
	b.logged.Reset()
}
