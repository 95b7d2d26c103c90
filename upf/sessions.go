package upf

import (
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/n4"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// sessionConfig is what the session manager has to know of c, besides where to
// keep sessions.
func (c *Config) sessionConfig() session.Config {
	s := session.Config{
		MaxSessions: c.Sessions.Max,
		Endpoints:   c.sessionEndpoints(),
	}
	for _, p := range c.Pools {
		s.Pools = append(s.Pools, session.Pool{Name: p.Name, Prefixes: p.Prefixes})
	}
	for i := range c.Predefined {
		s.Predefined = append(s.Predefined, c.Predefined[i].session())
	}
	for i := range c.Slices {
		slice := c.Slices[i].session(uint32(i + 1))
		slice.Agents = c.agentNumbers(c.Slices[i].Agent)
		s.Slices = append(s.Slices, slice)
	}
	return s
}

// sessionEndpoints is where GTP-U is terminated, as the session manager knows it.
func (c *Config) sessionEndpoints() []session.Endpoint {
	if c.Role() == RoleN4 {
		return c.agentEndpoints()
	}
	var list []session.Endpoint
	for _, e := range endpoints(c) {
		list = append(list, sessionEndpoint(&e))
	}
	return list
}

func sessionEndpoint(e *datapath.Endpoint) session.Endpoint {
	out := session.Endpoint{Name: e.Name, NetworkInstances: e.NetworkInstances}
	if e.Address.IsValid() {
		out.IPv4 = e.Address.As4()
	}
	if e.Address6.IsValid() {
		out.IPv6 = e.Address6.As16()
	}
	for _, x := range e.Interfaces {
		out.Interfaces = append(out.Interfaces, session.Interface(x))
	}
	for _, x := range e.InterfaceTypes {
		out.InterfaceTypes = append(out.InterfaceTypes, session.InterfaceType(x))
	}
	return out
}

// session is the slice as the session manager knows it, under that number.
func (s *Slice) session(number uint32) session.Slice {
	out := session.Slice{
		Number: number, DNNs: s.DNNs, NetworkInstances: s.NetworkInstances, Pools: s.Pools,
		UplinkMBR: session.BitsPerSecond(s.UplinkMBR), DownlinkMBR: session.BitsPerSecond(s.DownlinkMBR),
		MaxSessions: s.MaxSessions,
	}
	if s.SNSSAI.Set {
		out.SNSSAI = session.Some(session.SNSSAI{SST: s.SNSSAI.SST, SD: s.SNSSAI.SD})
	}
	return out
}

// capabilities is what N4 advertises over datapaths that can do what can says.
func (c *Config) capabilities(can *api.Capabilities) n4.Capabilities {
	return n4.Capabilities{Capabilities: can, UEAddresses: len(c.Pools) > 0, Predefined: len(c.Predefined) > 0}
}

// n4Config is what N4 has to know of c, besides where to keep and to hear things,
// over datapaths that can do what can says.
func (c *Config) n4Config(can *api.Capabilities) n4.Config {
	l := &c.N4.Limits
	handlers := 0
	peers, forms := c.N4.peers()
	if c.Role() == RoleN4 {
		handlers = handlersOfAgents
	}
	return n4.Config{
		Handlers: handlers,
		Listen:   netip.AddrPortFrom(c.N4.Address, pfcp.Port), NodeID: c.NodeID, Peers: peers, Forms: forms,
		Associate: c.N4.Associate, Release: c.N4.Release, Capabilities: c.capabilities(can),
		HeartbeatInterval: time.Duration(c.N4.HeartbeatInterval), T1: time.Duration(c.N4.T1), N1: c.N4.N1,
		MaxAssociations: l.Associations, MaxAssociationsPerAddress: l.AssociationsPerAddress,
		MaxSessionsPerAssociation: l.SessionsPerAssociation, MaxSessions: c.Sessions.Max,
		RequestsPerSecond: l.RequestsPerSecond, ReportsPerSecond: l.ReportsPerSecond, BusyPoll: time.Duration(c.N4.BusyPoll),
	}
}

// peers are who may send us anything, and what they are not sent.
func (c *N4) peers() (peers []netip.Prefix, forms []n4.PeerForm) {
	for _, p := range c.Peers {
		peers = append(peers, p.Address)
		form := n4.PeerForm{Prefix: p.Address}
		for _, name := range p.LeaveOut {
			l, _ := n4.ParseLeaveOut(name)
			form.LeaveOut |= l
		}
		if form.LeaveOut != 0 {
			forms = append(forms, form)
		}
	}
	return peers, forms
}
