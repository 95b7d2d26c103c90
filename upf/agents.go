package upf

import (
	"context"
	"fmt"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/upf/bus/controlplane"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// handlersOfAgents is how many requests wait for agents at once: an answer takes
// some round trips, so for 100 k requests/s of 1 ms each there are 100 under way.
const handlersOfAgents = 512

// openAgents opens the bus to the datapaths that are other processes. To the rest
// of the service it is one datapath.
func (s *Service) openAgents(ctx context.Context) (datapath.Driver, error) {
	c := s.config
	agents := map[uint8]string{}
	for i := range c.Bus.Agents {
		agents[uint8(c.Bus.Agents[i].Number)] = c.Bus.Agents[i].Name
	}
	u, err := controlplane.Open(ctx, controlplane.Config{
		Server: c.Bus.Redis.server(), Prefix: c.Bus.Redis.Prefix, Agents: agents,
		Timeout: time.Duration(c.Bus.Timeout), Changed: s.agentsChanged, Log: s.log,
	})
	if err != nil {
		return nil, fmt.Errorf("bus.redis.address: %s: %w", c.Bus.Redis.Address, err)
	}
	return u, nil
}

// agentsChanged tells CP functions what the datapaths can do now that one came
// or went, or another one took its place.
func (s *Service) agentsChanged() {
	e := s.advertiser.Load()
	if e == nil {
		return // not yet; it is called again when there is one
	}
	e.SetCapabilities(s.config.capabilities(s.driver.Capabilities()))
}

// withAgents completes what the session manager has to know: where sessions can
// be placed.
func (s *Service) withAgents(c *session.Config) {
	if u, ok := s.driver.(*controlplane.Upper); ok {
		c.AgentUp = u.Up
	}
}

// agentEndpoints lists where the agents terminate GTP-U.
func (c *Config) agentEndpoints() []session.Endpoint {
	var list []session.Endpoint
	for i := range c.Bus.Agents {
		a := &c.Bus.Agents[i]
		for j := range a.GTPU {
			place := a.GTPU[j].endpoint()
			e := sessionEndpoint(&place)
			e.Name, e.Agent = a.Name+"/"+e.Name, uint8(a.Number)
			list = append(list, e)
		}
	}
	return list
}

// agentNumbers is the number of the agent of that name; "": any.
func (c *Config) agentNumbers(name string) []uint8 {
	for i := range c.Bus.Agents {
		if name != "" && c.Bus.Agents[i].Name == name {
			return []uint8{uint8(c.Bus.Agents[i].Number)}
		}
	}
	return nil
}
