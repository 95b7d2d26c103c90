package p4

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"strings"
	"testing"
	"time"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/afxdp"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/p4/bmv2"
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

// place is where a bed stands.
type place struct {
	endpoints []datapath.Endpoint
	n6        *datapath.N6
	ports     []afxdp.Port
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

// bed is an offload between a host and the executor in the process. Nothing runs by itself.
type bed struct {
	testing.TB
	*Driver
	host     *host
	offload  *offload
	recorder *recorder
	can      *api.Capabilities
	lane     *lane
	learnt   [][]byte // frames that came to the CPU since rules do not fit
	logged   *bytes.Buffer
}

func newBed(t testing.TB) *bed {
	t.Helper()
	return newBedAt(t, place{bedEndpoints, &bedN6, bedPorts})
}

func newBedAt(t testing.TB, at place) *bed {
	t.Helper()
	b := &bed{TB: t, host: newHost(at), can: stages.Capabilities("test", at.endpoints, at.n6, bedSessions), logged: &bytes.Buffer{}}
	d := &Driver{
		log: slog.New(slog.NewTextHandler(b.logged, nil)), relink: make(chan struct{}, 1),
		headers: make(chan headerSeen, 64), connection: &connection{},
	}
	b.Driver = d
	d.ctx, d.stop = context.WithCancel(context.Background())
	b.check(d.readPipeline())
	d.local = newLocal(b.host.clock, d.log)
	d.local.changed, d.local.seen = d.changed, func(frame []byte) { b.learnt = append(b.learnt, bytes.Clone(frame)) }
	cfg := &Config{Config: afxdp.Config{Endpoints: at.endpoints, N6: *at.n6, Log: d.log}}
	b.recorder = &recorder{target: d.connection, after: func([]*p4rt.Update) { b.wantWhole() }}
	b.offload = newOffload(cfg, b.host, b.recorder, d.schema, at.ports)
	b.offload.buckets.now, b.offload.now = b.host.clock, b.host.clock
	d.offload, b.offload.relink, b.offload.lost = b.offload, d.link, d.leave
	d.links = &links{
		schema: d.schema, own: func() []netip.Addr { return []netip.Addr{n3, n36} }, ports: func() []afxdp.Port { return at.ports },
		exits: bedExits, routes: bedRoutes, n6: at.n6, number: portOf,
		peers: b.offload.peersInUse, shares: b.offload.sharesInUse, hops: newNumbers[afxdp.Exit](uint32(d.schema.tables[tableHops].size - 1)),
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
	c, err := connectBy(b.ctx, conn, b.local.server.Local(conn), localDevice, 1, b.pipeline, false, nil)
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

// apply changes a session as [Driver.Apply] does.
func (b *bed) apply(c *api.Change) error {
	if err := b.offload.begin(b.ctx, c); err != nil {
		return err
	}
	b.host.mu.Lock()
	err := b.host.sessions.Apply(c, b.can, func(stages.Out) {}, func(stages.Datagram) {})
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
	b.eachEntry(func(table string, _ *bmv2.Entry, _ string) { all[table]++ })
	return all
}

// eachEntry calls do for each entry, but those of links.
func (b *bed) eachEntry(do func(table string, e *bmv2.Entry, action string)) {
	b.Helper()
	last := func(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
	i := b.local.live.Load().instance
	i.View(func(tx *bmv2.Tx) {
		for _, t := range i.Program().Tables() {
			switch name := last(t.Name); name {
			case tableTunnels, tableUEs4, tableUEs6, tableFramed4, tableFramed6, tableFilters4, tableFilters6, tableRules:
				b.check(tx.Entries(t.ID, func(e *bmv2.Entry) bool {
					do(name, e, last(i.Program().Actions()[e.Action].Name))
					return true
				}))
			}
		}
	})
}

// wantWhole states that what a key leads to is there: its PDR, or a list and the PDRs in it.
func (b *bed) wantWhole() {
	b.Helper()
	rules, lists, ends := map[string]bool{}, map[string][]string{}, map[string]bool{}
	b.eachEntry(func(table string, e *bmv2.Entry, action string) {
		switch {
		case table == tableRules:
			rules[string(e.Match[0].Value)] = true
		case action == actionFiltered:
			lists[string(e.Match[0].Value)] = append(lists[string(e.Match[0].Value)], string(e.Params[0]))
		case action == actionUnfiltered:
			ends[string(e.Match[0].Value)] = true
		}
	})
	b.eachEntry(func(table string, e *bmv2.Entry, action string) {
		switch action {
		case actionOne, actionOneBare:
			if !rules[string(e.Params[0])] {
				b.Errorf("table %s: rule %x is not there", table, e.Params[0])
			}
		case actionSeveral, actionSeveralBare:
			list := lists[string(e.Params[0])]
			if len(list) == 0 && !ends[string(e.Params[0])] {
				b.Errorf("table %s: list %x is not there", table, e.Params[0])
			}
			for _, r := range list {
				if !rules[r] {
					b.Errorf("table %s: rule %x of list %x is not there", table, r, e.Params[0])
				}
			}
		}
	})
}

// held is what the offload keeps of sessions: numbers that are given out, and keys.
func (b *bed) held() map[string]int {
	o := b.offload
	all := map[string]int{
		"sessions": len(o.sessions), "keys": len(o.keys), "peers": len(o.peers.of), "uses": len(o.uses),
		"slots": o.slots.used(), "lists": len(o.lists.of), "buckets": len(o.buckets.of), "rest": len(o.rest), "routes": o.routes,
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
