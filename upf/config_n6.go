package upf

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/netdev"
)

// maxGateways is how many next hops flows are spread over.
const maxGateways = 8

// checkDataNetworks checks what there is beside N6's device and gateways.
func (c *Config) checkDataNetworks(m *checks) {
	m.gateways("n6.gateways", c.N6.Gateways)
	m.nat("n6.nat", &c.N6.NAT, c.Pools)
	m.vlan("n6.vlan", c.N6.VLAN, c.Datapath)
	named, instances := []string{nameN6}, []string{}
	m.instances("n6.network_instances", c.N6.NetworkInstances, &instances)
	devices := []string{c.N6.Device}
	m.Want(len(c.DataNetworks)+len(c.Policies) < datapath.MaxWays, "data_networks", len(c.DataNetworks),
		fmt.Sprintf("at most %d with n6 and forwarding_policies", datapath.MaxWays))
	for i := range c.DataNetworks {
		n, key := &c.DataNetworks[i], fmt.Sprintf("data_networks[%d]", i)
		m.name(key+".name", n.Name, &named)
		m.Want(netdev.IsName(n.Device) && !slices.Contains(devices, n.Device) || n.Device == "" && !c.takesDevices(),
			key+".device", n.Device, "the name of a network device that no other data network has")
		devices = append(devices, n.Device)
		m.instances(key+".network_instances", n.instances(), &instances)
		m.gateways(key+".gateways", n.Gateways)
		m.nat(key+".nat", &n.NAT, c.Pools)
		m.Want(!n.Ethernet || len(n.Gateways) == 0, key+".gateways", n.Gateways, "none: an Ethernet data network is bridged")
		m.vlan(key+".vlan", n.VLAN, c.Datapath)
		m.Want(!n.Ethernet || n.VLAN == 0, key+".vlan", n.VLAN, "0: an Ethernet data network has frames with any tag")
	}
	var policies []string
	for i := range c.Policies {
		p, key := &c.Policies[i], fmt.Sprintf("forwarding_policies[%d]", i)
		m.name(key+".name", p.Name, &policies)
		m.Want(p.DataNetwork == "" || slices.Contains(named, p.DataNetwork), key+".data_network", p.DataNetwork, "the name of a data network")
		m.gateways(key+".gateways", p.Gateways)
	}
}

// vlan checks a VID. Source: IEEE Std 802.1Q-2022, table 9-2.
func (c *checks) vlan(key string, vid int, datapath string) {
	const last = 4094
	c.Want(vid >= 0 && vid <= last, key, vid, fmt.Sprintf("1 to %d, or 0 for frames without a tag", last))
	untagged := slices.Contains([]string{DatapathAFXDP, DatapathTUN, DatapathTAP, DatapathP4}, datapath)
	c.Want(vid == 0 || !untagged, key, vid, fmt.Sprintf("0: datapath %s tags no frames, datapaths %s and %s do", datapath, DatapathXDP, DatapathTC))
}

// tagged returns the key of a VLAN, or "" if there is none.
func (c *Config) tagged() string {
	for i := range c.GTPU {
		if c.GTPU[i].VLAN != 0 {
			return fmt.Sprintf("gtpu[%d].vlan", i)
		}
	}
	for i := range c.DataNetworks {
		if c.DataNetworks[i].VLAN != 0 {
			return fmt.Sprintf("data_networks[%d].vlan", i)
		}
	}
	switch {
	case c.N3.VLAN != 0:
		return "n3.vlan"
	case c.N6.VLAN != 0:
		return "n6.vlan"
	}
	return ""
}

// gateways checks a list of next hops.
func (c *checks) gateways(key string, list []netip.Addr) {
	c.Want(len(list) <= maxGateways, key, len(list), fmt.Sprintf("at most %d", maxGateways))
	for i, a := range list {
		c.Want(isHost(a) && a.Zone() == "" && !slices.Contains(list[:i], a), fmt.Sprintf("%s[%d]", key, i), a,
			"the unicast address of another machine, each once")
	}
}

// instances checks Network Instances, of which each means one data network.
func (c *checks) instances(key string, list []string, seen *[]string) {
	c.Want(len(list) <= maxLabels, key, len(list), fmt.Sprintf("at most %d", maxLabels))
	for _, n := range list {
		taken := slices.ContainsFunc(*seen, func(s string) bool { return s != n && strings.EqualFold(s, n) })
		c.Want(!taken, key, n, "a name that no other has in other letters")
		c.name(key, n, seen)
	}
}

// nameN6 is the name of the data network of [N6].
const nameN6 = "n6"

func (n *DataNetwork) instances() []string {
	if len(n.NetworkInstances) == 0 {
		return []string{n.Name}
	}
	return n.NetworkInstances
}

// dataNetworks returns all data networks and forwarding policies.
func dataNetworks(c *Config) datapath.N6 {
	first := datapath.DataNetwork{
		Name: nameN6, Device: c.N6.Device, VLAN: uint16(c.N6.VLAN), NetworkInstances: c.N6.NetworkInstances, Gateways: slices.Clone(c.N6.Gateways),
		NAT: c.N6.NAT.some(), MSSClamp: int(c.N6.MSSClamp),
	}
	for _, a := range []netip.Addr{c.N6.Gateway6, c.N6.Gateway} {
		if a.IsValid() && !slices.Contains(first.Gateways, a) {
			first.Gateways = slices.Insert(first.Gateways, 0, a)
		}
	}
	all := datapath.N6{Networks: []datapath.DataNetwork{first}}
	for i := range c.DataNetworks {
		n := &c.DataNetworks[i]
		all.Networks = append(all.Networks, datapath.DataNetwork{
			Name: n.Name, Device: n.Device, VLAN: uint16(n.VLAN), NetworkInstances: n.instances(), Gateways: n.Gateways,
			NAT: n.NAT.some(), MSSClamp: int(n.MSSClamp),
			Ethernet: n.Ethernet,
		})
	}
	for _, p := range c.Policies {
		all.Policies = append(all.Policies, datapath.ForwardingPolicy{
			Name: p.Name, DataNetwork: p.DataNetwork, Gateways: p.Gateways, DSCP: int(p.DSCP) - 1,
		})
	}
	return all
}
