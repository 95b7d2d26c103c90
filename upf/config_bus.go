package upf

import (
	"fmt"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/redisconn"
	"github.com/plumbline-upf/plumbline/upf/bus/wire"
)

// Bus joins control plane and datapaths that are processes of their own, through
// Redis. [RoleUPF] has none.
type Bus struct {
	Redis Redis `yaml:"redis" json:"redis"`
	// Agent is the name of this datapath, which makes the role RoleDatapath.
	Agent string `yaml:"agent" json:"agent"`
	// Agents are the datapaths of this control plane (DatapathAgents).
	Agents []Agent `yaml:"agents" json:"agents"`
	// Timeout is how long an agent has to answer before a request is refused.
	Timeout Duration `yaml:"timeout" json:"timeout"`
}

// Agent is a datapath of a control plane.
type Agent struct {
	Name string `yaml:"name" json:"name"`
	// Number is in the SEIDs of its sessions, so it must stay what it is.
	Number int `yaml:"number" json:"number"` // 0 to 255
	// GTPU is where it terminates GTP-U; devices are its own matter.
	GTPU []GTPU `yaml:"gtpu" json:"gtpu"`
}

// Role is what a process does of a UPF.
type Role string

// Values of [Role].
const (
	RoleUPF      Role = "upf"      // everything
	RoleN4       Role = "n4"       // the control plane
	RoleDatapath Role = "datapath" // a datapath of it
)

// Role says which process c is the configuration of.
func (c *Config) Role() Role {
	switch {
	case c.Datapath == DatapathAgents:
		return RoleN4
	case c.Bus.Agent != "":
		return RoleDatapath
	}
	return RoleUPF
}

// maxAgents is how many numbers there are.
const maxAgents = 256

// checkBus checks what only a process of a UPF that is several has.
func (c *Config) checkBus(m *checks) {
	b := &c.Bus
	m.Want(isPrintable(b.Redis.Address) && (c.Role() == RoleUPF || b.Redis.Address != ""), "bus.redis.address", b.Redis.Address,
		"HOST:PORT, or the path of a Unix socket")
	m.Want(b.Agent == "" || wire.ValidAgent(b.Agent), "bus.agent", b.Agent, "a name of letters, digits, '-', '_' and '.'")
	m.Want(b.Agent == "" || len(b.Agents) == 0, "bus.agents", len(b.Agents), "only one of bus.agent and bus.agents")
	t := time.Duration(b.Timeout)
	m.Want(t >= 100*time.Millisecond && t <= time.Minute, "bus.timeout", t, "100ms to 1m")
	if c.Role() == RoleN4 {
		m.Want(len(b.Agents) > 0 && len(b.Agents) <= maxAgents, "bus.agents", len(b.Agents), fmt.Sprintf("1 to %d", maxAgents))
	}
	c.checkAgents(m)
	var names []string
	for i := range b.Agents {
		names = append(names, b.Agents[i].Name)
	}
	for i := range c.Slices {
		if a := c.Slices[i].Agent; a != "" && c.Role() == RoleN4 {
			m.OneOf(fmt.Sprintf("slices[%d].agent", i), a, names...)
		}
	}
}

func (c *Config) checkAgents(m *checks) {
	var names []string
	var numbers []int
	for i := range c.Bus.Agents {
		a, key := &c.Bus.Agents[i], fmt.Sprintf("bus.agents[%d]", i)
		m.Want(wire.ValidAgent(a.Name) && !slices.Contains(names, a.Name), key+".name", a.Name,
			"a name of letters, digits, '-', '_' and '.' that no other agent has")
		m.Want(a.Number >= 0 && a.Number < maxAgents && !slices.Contains(numbers, a.Number), key+".number", a.Number,
			fmt.Sprintf("0 to %d, a number that no other agent has", maxAgents-1))
		names, numbers = append(names, a.Name), append(numbers, a.Number)
		m.Want(len(a.GTPU) > 0 && len(a.GTPU) <= maxGTPU+1, key+".gtpu", len(a.GTPU), fmt.Sprintf("1 to %d endpoints", maxGTPU+1))
		var endpoints []string
		for j := range a.GTPU {
			g, key := &a.GTPU[j], fmt.Sprintf("%s.gtpu[%d]", key, j)
			m.name(key+".name", g.Name, &endpoints)
			m.Want(g.Device == "", key+".device", g.Device, "none: devices are in the agent's configuration")
			m.Want(g.Address.Is4() && isHost(g.Address), key+".address", g.Address, "a unicast IPv4 address of the agent's machine")
			m.Want(isIPv6(g.Address6), key+".address6", g.Address6, "a unicast IPv6 address of the agent's machine, or none")
			if g.Interface != "" { // else any
				m.OneOf(key+".interface", g.Interface, InterfaceAccess, InterfaceCore)
			}
			m.names(key+".network_instances", g.NetworkInstances)
		}
	}
}

// server is how to connect.
func (r *Redis) server() redisconn.Config {
	return redisconn.Config{Address: r.Address, Username: r.Username, PasswordFile: r.PasswordFile, TLS: r.TLS, CAFile: r.CAFile}
}
