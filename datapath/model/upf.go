package model

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"

	"plumbline/api"
	"plumbline/datapath"
	"plumbline/gtpu"
)

// Config says where a model UPF stands.
type Config struct {
	N3Address   netip.Addr
	MaxSessions uint64
	Now         func() (ns uint64) // clock of the meters
}

// UPF is the model as a [datapath.Driver]. It has no devices: frames go through
// [UPF.FromN3] and [UPF.FromN6].
type UPF struct {
	cfg    Config
	stages Stages

	mu       sync.Mutex
	sessions map[uint64]*session
	uplink   map[uint32]*bound
	downlink map[netip.Prefix]*bound // /32 and /64
	drops    map[datapath.Reason]uint64
	events   datapath.Events
}

type session struct {
	rules  []*bound
	meters map[meterKey]*Meter
}

// bound is a rule in force.
type bound struct {
	Rule
	seid  uint64
	pdrID uint32
	teid  uint32
	ues   []netip.Prefix
}

type meterKey struct {
	qer    uint32
	uplink bool
}

// New returns a UPF without sessions.
func New(cfg Config) *UPF {
	u := &UPF{
		cfg:      cfg,
		sessions: map[uint64]*session{},
		uplink:   map[uint32]*bound{},
		downlink: map[netip.Prefix]*bound{},
		drops:    map[datapath.Reason]uint64{},
	}
	u.stages = Stages{Tables: tables{u}, N3: cfg.N3Address, Now: cfg.Now}
	return u
}

var _ datapath.Driver = (*UPF)(nil)

type tables struct{ *UPF }

func (t tables) Uplink(teid uint32) *Rule { return t.uplink[teid].rule() }

func (t tables) Downlink(ue netip.Addr) *Rule { return t.downlink[uePrefix(ue)].rule() }

func (b *bound) rule() *Rule {
	if b == nil {
		return nil
	}
	return &b.Rule
}

// uePrefix returns what a UE's address is known by: an IPv4 address, or the
// first 64 bits of an IPv6 address.
func uePrefix(a netip.Addr) netip.Prefix {
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // cannot fail: bits fits the family
	return p
}

// Frame is what becomes of a frame.
type Frame struct {
	Reason datapath.Reason // ReasonNone: Packet is sent
	Packet []byte          // an IP packet, out on N6 (uplink) or N3 (downlink)
	Uplink bool
}

// FromN3 treats a frame that arrives on N3.
func (u *UPF) FromN3(frame []byte) Frame {
	u.mu.Lock()
	defer u.mu.Unlock()
	message, reason := u.datagram(frame)
	if reason != datapath.ReasonNone {
		return u.finish(nil, reason, true)
	}
	packet, reason := u.stages.Uplink(message)
	return u.finish(packet, reason, true)
}

// FromN6 treats a frame that arrives on N6.
func (u *UPF) FromN6(frame []byte) Frame {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(frame) < lenEthernet {
		return u.finish(nil, datapath.PassHost, false)
	}
	switch binary.BigEndian.Uint16(frame[12:]) {
	case etherIPv4, etherIPv6:
		packet, reason := u.stages.Downlink(frame[lenEthernet:])
		return u.finish(packet, reason, false)
	}
	return u.finish(nil, datapath.PassHost, false)
}

func (u *UPF) finish(packet []byte, reason datapath.Reason, uplink bool) Frame {
	if reason != datapath.ReasonNone {
		u.drops[reason]++
	}
	return Frame{Reason: reason, Packet: packet, Uplink: uplink}
}

// datagram returns the UDP payload of a frame to the GTP-U address and port.
func (u *UPF) datagram(frame []byte) ([]byte, datapath.Reason) {
	if len(frame) < lenEthernet+lenIPv4 || binary.BigEndian.Uint16(frame[12:]) != etherIPv4 {
		return nil, datapath.PassHost
	}
	ip := frame[lenEthernet:]
	if ip[0]>>4 != 4 || user(ip).destination() != u.cfg.N3Address || ip[9] != protoUDP {
		return nil, datapath.PassHost
	}
	if binary.BigEndian.Uint16(ip[6:])&maskFragment != 0 {
		return nil, datapath.PassFragment
	}
	packet, reason := parseIPv4(ip)
	if reason != datapath.ReasonNone {
		return nil, reason
	}
	udp := packet[4*int(packet[0]&0xf):]
	if len(udp) < lenUDP || binary.BigEndian.Uint16(udp[2:]) != gtpu.Port {
		return nil, datapath.PassHost
	}
	return udp[lenUDP:], datapath.ReasonNone
}

// Capabilities implements [datapath.Driver].
func (u *UPF) Capabilities() *api.Capabilities {
	n3 := u.cfg.N3Address.As4()
	return &api.Capabilities{
		Name:        "model",
		MaxSessions: u.cfg.MaxSessions,
		N3Ipv4:      []uint32{binary.BigEndian.Uint32(n3[:])},
	}
}

// Usage implements [datapath.Driver].
func (u *UPF) Usage(seid uint64) (*api.SessionUsage, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.sessions[seid]
	if s == nil {
		return nil, fmt.Errorf("model: SEID %#x: %w", seid, datapath.ErrNoSession)
	}
	usage := &api.SessionUsage{Rules: make([]*api.Usage, len(s.rules))}
	for i, r := range s.rules {
		usage.Rules[i] = &api.Usage{
			PdrId:          r.pdrID,
			Packets:        r.Counters.Packets,
			Octets:         r.Counters.Octets,
			DroppedPackets: r.Counters.Dropped,
		}
	}
	return usage, nil
}

// Next implements [datapath.Driver].
func (u *UPF) Next(ctx context.Context) (*api.Event, error) { return u.events.Next(ctx) }

// Settle implements [datapath.Driver]. The model holds nothing from before.
func (u *UPF) Settle(context.Context) error { return nil }

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

// Close implements [datapath.Driver].
func (u *UPF) Close() error { return nil }

// Apply implements [datapath.Driver].
func (u *UPF) Apply(_ context.Context, c *api.Change) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	old := u.sessions[c.GetSeid()]
	if c.GetSession() == nil {
		if old == nil {
			return fmt.Errorf("model: SEID %#x: %w", c.GetSeid(), datapath.ErrNoSession)
		}
		u.unbind(old)
		delete(u.sessions, c.GetSeid())
		return nil
	}
	if old == nil && uint64(len(u.sessions)) >= u.cfg.MaxSessions {
		return fmt.Errorf("model: %d sessions: %w", len(u.sessions), datapath.ErrFull)
	}
	s, err := u.compile(c.GetSession(), old)
	if err != nil {
		return err
	}
	if old != nil {
		u.unbind(old)
	}
	u.bind(s)
	u.sessions[c.GetSeid()] = s
	return nil
}

func (u *UPF) bind(s *session) {
	for _, r := range s.rules {
		if r.teid != 0 {
			u.uplink[r.teid] = r
		}
		for _, p := range r.ues {
			u.downlink[p] = r
		}
	}
}

func (u *UPF) unbind(s *session) {
	for _, r := range s.rules {
		if r.teid != 0 {
			delete(u.uplink, r.teid)
		}
		for _, p := range r.ues {
			delete(u.downlink, p)
		}
	}
}
