// Package oracle is a UPF for tests that shares no code with the datapaths that it judges, nor
// with package stages, which is their slow path: it reads api rules and frames by itself, and
// leaves headers and checksums to gopacket, rates to package exact.
//
//	frame ► parse.go ► match.go: PDR ► oracle.go: FAR, QERs, URRs ► build.go ► packets that leave
//
// It knows a part of what a UPF does, [Capabilities], and [Judged] leaves out of a script what is
// beyond it: NAT, redirection, copies, names of flows, outer headers other than GTP-U, Ethernet
// and unstructured PDU sessions, GBR and packet rates, GTP-U signalling, F-TEIDs of the UPF itself
// as destination, hostile octets. For these there are the tables of package conformance.
//
// Source: TS 29.244 V18.6.0, 5.2 to 5.4, 8.2; TS 29.281 V18.1.0, 5.1 and 5.2; RFC 791, 792, 1812,
// 4443, 8200.
package oracle

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
	"github.com/plumbline-upf/plumbline/datapath/conformance/exact"
)

// Capabilities says which rules the oracle knows.
var Capabilities = &api.Capabilities{
	Name: "oracle", MaxSessions: conformance.MaxSessions,
	N3Ipv4: []uint32{number(conformance.N3Address), number(conformance.N9Address)}, N3Ipv6: [][]byte{conformance.N3Address6.AsSlice()},
	TunnelToTunnel: true, Filters: true, Usage: true, Buffering: true, EndMarker: true, FramedRoutes: true,
	BeforeEnforcement: true, ContainerDeletion: true, NetworkInstances: []string{"internet", "corp", "corp.example"},
}

// Oracle is a UPF in the bed of package conformance, with a clock of its own.
type Oracle struct {
	// Unsure: a meter's verdict was too close for who counts in 2^-8 ns. What follows is not
	// comparable.
	Unsure bool

	now      time.Duration
	sessions map[uint64]*session
	meters   map[meterKey]*meter
	sent     [][]byte
	events   []*api.Event
	drops    map[string]uint64
}

// session is what is known of one.
type session struct {
	*api.Session
	rules     []*rule
	urrs      map[uint32]*urr
	held      []held            // in the buffer, the oldest first
	fragments map[datagram]seen // first fragments
}

// rule is a PDR with what it has counted.
type rule struct {
	*api.Rule
	session                  *session
	packets, octets, dropped uint64
	told                     map[api.EventKind]bool // while it buffers
}

// held is a packet in the buffer.
type held struct {
	pdr uint32
	in  arrived
	at  time.Duration
}

// arrived is a user packet and how it came.
type arrived struct {
	packet
	tunnel  bool
	qfi     uint8 // of the PDU Session Container
	pduType uint8
	marked  bool // there was a container
}

type meterKey struct {
	seid   uint64 // 0: shared
	id     uint32 // of the QER, or its Shared
	uplink bool
}

type meter struct {
	*exact.Meter
	bps uint64
}

// bufferedFor is how long a packet waits, and bufferedMost how many of a session do:
// docs/buffering.md.
const (
	bufferedFor  = 30 * time.Second
	bufferedMost = 256
)

// New returns one without sessions.
func New() *Oracle {
	return &Oracle{sessions: map[uint64]*session{}, meters: map[meterKey]*meter{}, drops: map[string]uint64{}}
}

// Capabilities implements [datapath.Driver].
func (o *Oracle) Capabilities() *api.Capabilities { return Capabilities }

// Settle implements [datapath.Driver].
func (o *Oracle) Settle(context.Context) error { return nil }

// Close implements [datapath.Driver].
func (o *Oracle) Close() error { return nil }

// EventWait implements random.Datapath.
func (o *Oracle) EventWait() time.Duration { return 0 }

// Pass implements random.Datapath.
func (o *Oracle) Pass(d time.Duration) {
	o.now += d
	for _, m := range o.meters {
		m.Pass(d)
	}
	for _, s := range o.sessions {
		o.expire(s)
	}
}

// Next implements [datapath.Driver].
func (o *Oracle) Next(ctx context.Context) (*api.Event, error) {
	if len(o.events) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	e := o.events[0]
	o.events = o.events[1:]
	return e, nil
}

// Drops implements [datapath.Driver].
func (o *Oracle) Drops() (map[string]uint64, error) {
	all := map[string]uint64{}
	for _, r := range datapath.Reasons() {
		if r.IsDrop() {
			all[r.String()] = o.drops[r.String()]
		}
	}
	return all, nil
}

// Sent implements [conformance.Datapath].
func (o *Oracle) Sent(testing.TB) [][]byte {
	sent := o.sent
	o.sent = nil
	return sent
}

// Usage implements [datapath.Driver].
func (o *Oracle) Usage(seid uint64) (*api.SessionUsage, error) {
	s := o.sessions[seid]
	if s == nil {
		return nil, datapath.ErrNoSession
	}
	all := &api.SessionUsage{}
	for _, r := range s.rules {
		all.Rules = append(all.Rules, &api.Usage{PdrId: r.PdrId, Packets: r.packets, Octets: r.octets, DroppedPackets: r.dropped})
	}
	for _, u := range s.Urrs {
		all.Urrs = append(all.Urrs, s.urrs[u.Id].usage())
	}
	return all, nil
}

// Frame implements [conformance.Datapath].
func (o *Oracle) Frame(_ testing.TB, port conformance.Port, frame []byte) conformance.Outcome {
	out := o.frame(port, frame)
	o.count(out.Reason)
	return out
}

func (o *Oracle) count(reason datapath.Reason) {
	if reason.IsDrop() {
		o.drops[reason.String()]++
	}
}

func (o *Oracle) frame(port conformance.Port, frame []byte) conformance.Outcome {
	if port != conformance.N3 {
		in := arrived{packet: parse(frame[14:])}
		all := o.towards(in.dst)
		if len(all) == 0 {
			return conformance.Outcome{Reason: datapath.PassHost}
		}
		all = slices.DeleteFunc(all, func(r *rule) bool { n := networkOf(r.Detect.GetNetworkInstance()); return n != anyNetwork && n != port })
		if len(all) == 0 {
			return conformance.Outcome{Reason: datapath.DropNetwork}
		}
		return o.detected(all, in)
	}
	outer := parse(frame[14:])
	in, teid := parseGPDU(outer)
	all := o.ofTunnel(teid, outer.dst)
	if len(all) == 0 {
		o.sent = append(o.sent, errorIndication(outer, teid))
		return conformance.Outcome{Reason: datapath.DropNoPDR}
	}
	return o.detected(all, in)
}

// detected treats a packet for which these PDRs compete.
func (o *Oracle) detected(all []*rule, in arrived) conformance.Outcome {
	r, reason := o.detect(all, in)
	if reason != datapath.ReasonNone {
		return conformance.Outcome{Reason: reason}
	}
	reason = o.forward(r, in)
	if reason != datapath.ReasonNone {
		r.dropped++
		o.report(r, in, reason)
		return conformance.Outcome{Reason: reason}
	}
	reason = o.enforce(r, in)
	switch {
	case reason != datapath.ReasonNone:
		r.dropped++
		return conformance.Outcome{Reason: reason}
	case r.Forward.Action == api.Action_BUFF:
		return conformance.Outcome{Reason: o.buffer(r, in)}
	}
	o.measure(r, in)
	all2 := leave(r, in)
	o.sent = append(o.sent, all2[1:]...)
	return conformance.Outcome{Packet: all2[0]}
}

// forward says why the FAR does not let a packet go.
func (o *Oracle) forward(r *rule, in arrived) datapath.Reason {
	f := r.Forward
	switch f.Action {
	case api.Action_BUFF:
		return datapath.ReasonNone
	case api.Action_DROP:
		switch {
		case f.Spent:
			return datapath.DropQuota
		case f.Incomplete:
			return datapath.DropIncomplete
		}
		return datapath.DropFAR
	}
	toTunnel := f.OuterHeaderCreation != nil
	if in.tunnel != toTunnel { // it is routed: RFC 1812, 5.3.1 and 5.3.7
		if in.ttl <= 1 {
			return datapath.DropTTL
		}
		if !isRouted(in.src) || !isRouted(in.dst) {
			return datapath.DropScope
		}
	}
	if !toTunnel && slices.Contains(conformance.HostAddresses, in.dst) {
		return datapath.DropLocal
	}
	if in.tunnel != toTunnel && len(in.octets) > room(r, in) && (in.v6 || in.dontFragment) {
		return datapath.DropMTU
	}
	return datapath.ReasonNone
}

// isRouted reports whether routers forward packets from and to an address.
func isRouted(a netip.Addr) bool {
	if a.Is4() {
		b := a.As4()
		return b[0] != 0 && b[0] != 127 && b[0] < 224 && !a.IsLinkLocalUnicast()
	}
	return !a.IsMulticast() && !a.IsLinkLocalUnicast() && !netip.MustParsePrefix("::/64").Contains(a)
}

// enforce is gates, quotas and meters.
func (o *Oracle) enforce(r *rule, in arrived) datapath.Reason {
	uplink := r.uplink()
	spent := false
	for _, id := range r.UrrIds {
		spent = spent || r.session.urrs[id].spent(uplink)
	}
	for _, id := range r.UrrIds {
		if u := r.session.urrs[id]; u.BeforeEnforcement {
			o.begin(r, u)
			if !spent {
				o.add(r, u, len(in.octets))
			}
		}
	}
	for _, id := range r.QerIds {
		if q := r.session.qer(id); uplink && q.UplinkGateClosed || !uplink && q.DownlinkGateClosed {
			return datapath.DropGate
		}
	}
	for _, id := range r.UrrIds {
		o.begin(r, r.session.urrs[id])
	}
	if spent {
		return datapath.DropQuota
	}
	var all []*meter
	for _, id := range r.QerIds {
		if m := o.meters[keyOf(r.session.Seid, r.session.qer(id), uplink)]; m != nil {
			all = append(all, m)
		}
	}
	for _, m := range all {
		ok, sure := m.Conforms()
		o.Unsure = o.Unsure || !sure
		if !ok {
			return datapath.DropMBR
		}
	}
	for _, m := range all {
		m.Take(len(in.octets))
	}
	return datapath.ReasonNone
}

func (r *rule) uplink() bool { return r.Detect.SourceInterface == api.Interface_ACCESS }

func (s *session) qer(id uint32) *api.QER {
	return s.Qers[slices.IndexFunc(s.Qers, func(q *api.QER) bool { return q.Id == id })]
}

func keyOf(seid uint64, q *api.QER, uplink bool) meterKey {
	if q.Shared != 0 {
		return meterKey{0, q.Shared, uplink}
	}
	return meterKey{seid, q.Id, uplink}
}

// measure counts a packet that is forwarded.
func (o *Oracle) measure(r *rule, in arrived) {
	r.packets++
	r.octets += uint64(len(in.octets))
	for _, id := range r.UrrIds {
		if u := r.session.urrs[id]; !u.BeforeEnforcement {
			o.add(r, u, len(in.octets))
		}
	}
}

// Apply implements [datapath.Driver]. Which changes are refused is asked where the datapaths ask.
func (o *Oracle) Apply(_ context.Context, c *api.Change) error {
	if err := datapath.Check(c, Capabilities); err != nil {
		return err
	}
	if err := conformance.DataNetworks.Check(c.GetSession()); err != nil {
		return err
	}
	old := o.sessions[c.Seid]
	if c.Session == nil && old == nil {
		return datapath.ErrNoSession
	}
	if err := o.clash(c); err != nil {
		return err
	}
	var made *session
	if c.Session != nil {
		made = o.made(proto.CloneOf(c.Session), old)
		o.sessions[c.Seid] = made
	} else {
		delete(o.sessions, c.Seid)
	}
	o.meter()
	if old != nil {
		o.release(old, made, c.DropBuffered)
	}
	for _, m := range c.EndMarkers {
		o.sent = append(o.sent, endMarker(m))
	}
	return nil
}

// clash says which PDR has a key that another session has.
func (o *Oracle) clash(c *api.Change) error {
	for _, r := range c.GetSession().GetRules() {
		for seid, s := range o.sessions {
			if seid == c.Seid {
				continue
			}
			for _, other := range s.Rules {
				if slices.ContainsFunc(datapath.Keys(r), func(k datapath.Key) bool { return slices.Contains(datapath.Keys(other), k) }) {
					return &datapath.RuleError{Type: api.RuleType_PDR_RULE, ID: r.PdrId, Err: datapath.ErrClash}
				}
			}
		}
	}
	return nil
}

// made is a session with the counts of what it was, if that is there.
func (o *Oracle) made(in *api.Session, old *session) *session {
	s := &session{Session: in, urrs: map[uint32]*urr{}, fragments: map[datagram]seen{}}
	if old != nil {
		s.fragments = old.fragments
	}
	for _, u := range in.Urrs {
		now := &urr{URR: u}
		if old != nil && old.urrs[u.Id] != nil {
			was := *old.urrs[u.Id]
			now = &was
			now.URR = u
			if !u.StartOfTraffic || !old.urrs[u.Id].StartOfTraffic {
				now.begun = false
			}
		}
		s.urrs[u.Id] = now
		o.relimit(in.Seid, now)
	}
	for _, r := range in.Rules {
		if r.Detect == nil {
			r.Detect = &api.Detect{}
		}
		if r.Forward == nil {
			r.Forward = &api.Forward{}
		}
		now := &rule{Rule: r, told: map[api.EventKind]bool{}}
		if old != nil {
			for _, was := range old.rules {
				if was.PdrId == r.PdrId {
					now.packets, now.octets, now.dropped, now.told = was.packets, was.octets, was.dropped, was.told
				}
			}
		}
		now.session = s
		s.rules = append(s.rules, now)
	}
	return s
}

// meter makes the meters those of the sessions that are there.
func (o *Oracle) meter() {
	used := map[meterKey]bool{}
	for _, s := range o.sessions {
		for _, r := range s.rules {
			for _, id := range r.QerIds {
				q, uplink := s.qer(id), r.uplink()
				bps := q.DownlinkMbrBps
				if uplink {
					bps = q.UplinkMbrBps
				}
				if bps == 0 {
					continue
				}
				k := keyOf(s.Seid, q, uplink)
				used[k] = true
				next := &meter{exact.NewMBR(bps, burst), bps}
				if was := o.meters[k]; was != nil {
					if was.bps == bps {
						continue
					}
					was.Become(next.Meter)
					next.Meter = was.Meter
				}
				o.meters[k] = next
			}
		}
	}
	for k := range o.meters {
		if !used[k] {
			delete(o.meters, k)
		}
	}
}

// burst is how much of a rate may come at once: docs/architecture.md, Meters.
const burst = 250 * time.Millisecond
