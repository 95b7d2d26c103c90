package stages

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Config says where a model UPF stands.
type Config struct {
	Endpoints   []datapath.Endpoint
	N6          datapath.N6
	MaxSessions uint64
	Now         func() (ns uint64) // clock of meters, buffer and limits
	Buffer      BufferLimits       // zero value: [DefaultBufferLimits]
	MTU         int                // octets of IP packet on all links; 0: any fits
	Router4     netip.Addr         // of ICMP errors: see [Links]
	Router6     netip.Addr
	Hosts       []netip.Addr         // of this host: see [Hosts]
	Advertise   *RouterAdvertisement // nil: not done
	Secret      []byte               // of [Redirects]
	// MeterBurst is how much of a rate may come at once; 0: [DefaultBurst].
	MeterBurst time.Duration
	Paused     bool // until [UPF.Resume]
	// Quiet says when no Error Indication is sent: see [datapath.Restart].
	Quiet *datapath.Quiet
	// Send takes what leaves of its own accord: buffered packets, End Markers,
	// answers to GTP-U signalling. It is called with the UPF locked. Nil: lost.
	Send func(packet []byte)
}

// UPF is the model as a [datapath.Driver]. It has no devices: frames go through
// [UPF.FromN3] and [UPF.FromN6].
type UPF struct {
	cfg    Config
	stages Stages
	events datapath.Events

	mu       sync.Mutex
	sessions *Sessions
	drops    map[datapath.Reason]uint64
	answers  Limiter
	restart  datapath.Restart
	paused   bool // frames that come are lost
}

// answersPerSecond bounds what strangers can make the UPF send.
const answersPerSecond = 100

// New returns a UPF without sessions.
func New(cfg Config) *UPF {
	if cfg.Buffer == (BufferLimits{}) {
		cfg.Buffer = DefaultBufferLimits
	}
	if cfg.MTU == 0 {
		cfg.MTU = maxPacket
	}
	if cfg.Send == nil {
		cfg.Send = func([]byte) {}
	}
	u := &UPF{
		cfg:     cfg,
		drops:   map[datapath.Reason]uint64{},
		answers: Limiter{PerSecond: answersPerSecond},
		paused:  cfg.Paused,
		restart: datapath.Restart{Quiet: cfg.Quiet},
	}
	u.sessions = NewSessions(SessionsConfig{
		Name: "model", Endpoints: cfg.Endpoints, N6: &u.cfg.N6, Max: cfg.MaxSessions, MeterBurst: cfg.MeterBurst, Now: cfg.Now,
		Index: rulesByKey{}, Stages: &u.stages,
	})
	u.stages = Stages{
		Tables: u.sessions, Now: cfg.Now, Post: u.events.Post,
		Buffer: NewBuffer(cfg.Buffer, cfg.Now, func(r datapath.Reason) { u.drops[r]++ }),
		Links:  links{&u.cfg}, Answers: NewAnswers(), Advertise: cfg.Advertise, Bridge: NewBridge(nil),
		N6:        heapNetworks(&u.cfg),
		Redirects: NewRedirects(cfg.Secret), Names: NewNames(nil), Endpoints: cfg.Endpoints, Hosts: hostList(cfg.Hosts),
	}
	return u
}

// Capabilities implements [datapath.Driver]: what is true here is done.
func (u *UPF) Capabilities() *api.Capabilities {
	return Capabilities("model", u.cfg.Endpoints, &u.cfg.N6, u.cfg.MaxSessions)
}

// Capabilities is what the model can do, and so a datapath that has it as its slow
// path.
func Capabilities(name string, endpoints []datapath.Endpoint, n6 *datapath.N6, maxSessions uint64) *api.Capabilities {
	c := &api.Capabilities{
		Name: name, MaxSessions: maxSessions,
		TunnelToTunnel: true, Filters: true, Usage: true, Buffering: true, EndMarker: true,
		NetworkInstances: n6.Instances(), ForwardingPolicies: n6.PolicyNames(),
		FramedRoutes: true, Hosts: true, Marking: true, PacketRate: true, Gbr: true, Duplicate: true, Redirect: true,
		Ethernet: n6.HasEthernet(), Unstructured: true, Encapsulations: true, DroppedDownlink: true, BeforeEnforcement: true,
		ContainerDeletion: true, Replacement: true,
	}
	for _, e := range endpoints {
		if e.Address.IsValid() {
			c.N3Ipv4 = append(c.N3Ipv4, ueKey(e.Address).IPv4)
		}
		if e.Address6.IsValid() {
			c.N3Ipv6 = append(c.N3Ipv6, e.Address6.AsSlice())
		}
	}
	return c
}

// local reports whether a is an address of an endpoint.
func (u *UPF) local(a netip.Addr) bool { return datapath.Has(u.cfg.Endpoints, a) }

// Apply implements [datapath.Driver].
func (u *UPF) Apply(_ context.Context, c *api.Change) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	released := func(o Out) { // the packet itself first
		others, copies := o.Others, o.Copies
		o.Others, o.Copies = nil, nil
		if f := u.finish(o); f.Reason == datapath.ReasonNone {
			u.cfg.Send(f.Packet)
		}
		u.send(others)
		u.send(copies)
	}
	return u.sessions.Apply(c, u.Capabilities(), released, u.signal)
}

// Usage implements [datapath.Driver].
func (u *UPF) Usage(seid uint64) (*api.SessionUsage, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sessions.Usage(seid)
}

// Buffered is what waits for UEs that are idle.
func (u *UPF) Buffered() datapath.Buffered { return u.stages.Buffer.Occupancy() }

// Next implements [datapath.Driver].
func (u *UPF) Next(ctx context.Context) (*api.Event, error) { return u.events.Next(ctx) }

// Settle implements [datapath.Driver]. The model holds nothing from before. Who
// sends to a TEID that we do not have is told so from now on only: until here it
// may be that of a session which is about to be installed again.
func (u *UPF) Settle(context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.restart.Settle()
	return nil
}

// Drops implements [datapath.Driver].
func (u *UPF) Drops() (map[string]uint64, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	drops := map[string]uint64{}
	for _, r := range datapath.Reasons() {
		if r.IsDrop() {
			drops[r.String()] = u.drops[r]
		}
	}
	return drops, nil
}

// Sweep gives up buffered packets that have waited too long, which otherwise
// happens when another packet or change of their session comes.
func (u *UPF) Sweep() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for range sweepTurns {
		u.stages.Sweep()
	}
}

// Close implements [datapath.Driver].
func (u *UPF) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	for seid := range u.sessions.all {
		u.stages.Release(seid, nil, true, nil)
	}
	u.events.Close()
	return nil
}

// hostList is the [Hosts] of the UPF.
type hostList []netip.Addr

// Has implements [Hosts].
func (l hostList) Has(a netip.Addr) bool { return slices.Contains(l, a) }

// links is the [Links] of the UPF.
type links struct{ *Config }

// MTU implements [Links].
func (l links) MTU(*Rule, netip.Addr) int { return l.Config.MTU }

// Router implements [Links].
func (l links) Router(v6 bool) netip.Addr {
	if v6 {
		return l.Router6
	}
	return l.Router4
}

// rulesByKey is the [Index] of the model.
type rulesByKey map[datapath.Key][]*Rule

// Candidates implements [Index].
func (m rulesByKey) Candidates(k datapath.Key) []*Rule { return m[k] }

// Bind implements [Index].
func (m rulesByKey) Bind(k datapath.Key, rules []*Rule) { m[k] = rules }

// Unbind implements [Index].
func (m rulesByKey) Unbind(k datapath.Key) { delete(m, k) }
