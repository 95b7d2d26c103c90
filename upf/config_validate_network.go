package upf

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/endpoint"
	"github.com/plumbline-upf/plumbline/internal/netdev"
	"github.com/plumbline-upf/plumbline/upf/n4"
)

// Limits of what a configuration may have.
const (
	maxGTPU   = 7 // endpoints beside N3
	maxSlices = 255
	maxName   = 64
	maxLabels = 32 // names in one list
	minEcho   = 60 * time.Second
)

// checkN4 checks how PFCP is spoken.
func (c *Config) checkN4(m *checks) {
	m.Want(isHost(c.N4.Address), "n4.address", c.N4.Address, "a unicast IP address of this machine")
	for i, peer := range c.N4.Peers {
		key, p := fmt.Sprintf("n4.peers[%d]", i), peer.Address
		m.Want(p.IsValid() && p == p.Masked() && !p.Addr().Is4In6(), key, p,
			"a prefix without host bits, such as 10.4.0.0/24")
		for j, name := range peer.LeaveOut {
			m.OneOf(fmt.Sprintf("%s.leave_out[%d]", key, j), name, n4.LeaveOutNames()...)
		}
	}
	for i, a := range c.N4.Associate {
		m.Want(isHost(a) && a.Is4() == c.N4.Address.Is4(), fmt.Sprintf("n4.associate[%d]", i), a,
			"the unicast address of a CP function, of the same IP version as n4.address")
	}
	for _, d := range []struct {
		key        string
		value      Duration
		least, max time.Duration
	}{
		{"n4.heartbeat_interval", c.N4.HeartbeatInterval, time.Second, time.Hour},
		{"restoration_period", c.RestorationPeriod, 0, time.Hour},
		{"meter_burst", c.MeterBurst, time.Millisecond, 10 * time.Second},
		{"n4.t1", c.N4.T1, 10 * time.Millisecond, time.Minute},
		{"n4.busy_poll", c.N4.BusyPoll, 0, time.Millisecond},
	} {
		v := time.Duration(d.value)
		m.Want(v >= d.least && v <= d.max, d.key, v, fmt.Sprintf("%v to %v", d.least, d.max))
	}
	m.Want(c.N4.N1 >= 1 && c.N4.N1 <= 20, "n4.n1", c.N4.N1, "1 to 20")
	l := &c.N4.Limits
	for _, n := range []struct {
		key   string
		value int
		least int
	}{
		{"associations", l.Associations, 1},
		{"associations_per_address", l.AssociationsPerAddress, 1},
		{"sessions_per_association", l.SessionsPerAssociation, 0},
		{"requests_per_second", l.RequestsPerSecond, 0},
		{"reports_per_second", l.ReportsPerSecond, 0},
	} {
		m.Want(n.value >= n.least && n.value <= MaxSessions, "n4.limits."+n.key, n.value,
			fmt.Sprintf("%d to %d", n.least, MaxSessions))
	}
}

// checkGTPU checks the endpoints beside N3, and what N3 has beside its address.
func (c *Config) checkGTPU(m *checks) {
	m.Want(isIPv6(c.N3.Address6), "n3.address6", c.N3.Address6, "a unicast IPv6 address of this machine, or none")
	m.names("n3.network_instances", c.N3.NetworkInstances)
	m.vlan("n3.vlan", c.N3.VLAN, c.Datapath)
	e := time.Duration(c.N3.EchoInterval)
	m.Want(e == 0 || e >= minEcho && e <= time.Hour, "n3.echo_interval", e, fmt.Sprintf("0, or %v to 1h", minEcho))
	m.Want(len(c.GTPU) <= maxGTPU, "gtpu", len(c.GTPU), fmt.Sprintf("at most %d endpoints", maxGTPU))
	seen := []string{"n3", "n6"}
	at := []netip.Addr{c.N3.Address}
	tags := map[uint32]bool{endpoint.Tag(c.N3.Address6): c.N3.Address6.IsValid()}
	for i := range c.GTPU {
		g, key := &c.GTPU[i], fmt.Sprintf("gtpu[%d]", i)
		m.name(key+".name", g.Name, &seen)
		m.Want(netdev.IsName(g.Device) || g.Device == "" && !c.takesDevices(), key+".device", g.Device,
			"the name of a network device")
		m.Want(g.Address.Is4() && isHost(g.Address) && !slices.Contains(at, g.Address), key+".address", g.Address,
			"a unicast IPv4 address of this machine that no other endpoint has")
		at = append(at, g.Address)
		m.Want(isIPv6(g.Address6), key+".address6", g.Address6, "a unicast IPv6 address of this machine, or none")
		if tag := endpoint.Tag(g.Address6); g.Address6.IsValid() {
			m.Want(!tags[tag], key+".address6", g.Address6, "an address of which no other endpoint has the 28-bit hash: choose another")
			tags[tag] = true
		}
		m.OneOf(key+".interface", g.Interface, InterfaceAccess, InterfaceCore)
		m.names(key+".network_instances", g.NetworkInstances)
		m.vlan(key+".vlan", g.VLAN, c.Datapath)
	}
}

// isIPv6 says whether a can be an optional IPv6 address of one machine.
func isIPv6(a netip.Addr) bool { return !a.IsValid() || a.Is6() && !a.Is4In6() && isHost(a) }

// checkSlices checks pools and slices.
func (c *Config) checkSlices(m *checks) {
	var pools, named []string
	for i := range c.Pools {
		key := fmt.Sprintf("pools[%d]", i)
		m.name(key+".name", c.Pools[i].Name, &pools)
		m.Want(len(c.Pools[i].Prefixes) > 0, key+".prefixes", "", "prefixes")
	}
	c.checkPrefixes(m)
	m.Want(len(c.Slices) <= maxSlices, "slices", len(c.Slices), fmt.Sprintf("at most %d", maxSlices))
	for i := range c.Slices {
		s, key := &c.Slices[i], fmt.Sprintf("slices[%d]", i)
		m.name(key+".name", s.Name, &named)
		m.names(key+".dnns", s.DNNs)
		m.names(key+".network_instances", s.NetworkInstances)
		for _, p := range s.Pools {
			m.OneOf(key+".pools", p, pools...)
		}
		m.Want(s.MaxSessions >= 0 && s.MaxSessions <= MaxSessions, key+".max_sessions", s.MaxSessions,
			fmt.Sprintf("0 to %d", MaxSessions))
		m.Want(s.SNSSAI.Set || len(s.DNNs)+len(s.NetworkInstances) > 0, key, "", "s_nssai, dnns or network_instances")
	}
}

// checkPrefixes checks that pools have unicast prefixes and do not overlap.
func (c *Config) checkPrefixes(m *checks) {
	var all []netip.Prefix
	for i := range c.Pools {
		for j, p := range c.Pools[i].Prefixes {
			key := fmt.Sprintf("pools[%d].prefixes[%d]", i, j)
			ok := p.IsValid() && p == p.Masked() && isHost(p.Addr()) && !p.Addr().IsLoopback()
			if ok && p.Addr().Is4() {
				ok = p.Bits() >= 8
			} else if ok {
				ok = p.Bits() >= 32 && p.Bits() <= 64
			}
			m.Want(ok, key, p, "a unicast prefix without host bits, IPv4 of 8 bits or more, IPv6 of 32 to 64")
			m.Want(!slices.ContainsFunc(all, p.Overlaps), key, p, "a prefix that no other overlaps")
			all = append(all, p)
		}
	}
}

// checkStore checks where state is kept.
func (c *Config) checkStore(m *checks) {
	s := &c.Store
	m.Want(s.Path == "" || filepath.IsAbs(s.Path) && isPrintable(s.Path), "store.path", s.Path, "an absolute path")
	m.OneOf("store.sync", s.Sync, SyncNone, SyncInterval, SyncAlways)
	m.OneOf("store.after_reboot", s.AfterReboot, RebootRestore, RebootForget)
	m.Want(s.Path == "" || s.Redis.Address == "", "store.redis.address", s.Redis.Address, "only one of store.path and store.redis")
	m.Want(isPrintable(s.Redis.Address), "store.redis.address", s.Redis.Address, "HOST:PORT, or the path of a Unix socket")
	m.cpus("xdp.spread", c.XDP.Spread)
	p := c.XDP.Pin
	m.Want(p == "" || filepath.IsAbs(p) && isPrintable(p), "xdp.pin", p, "an absolute path in bpffs, such as /sys/fs/bpf/plumbline")
}

// name checks that value is a short word that is not in seen yet, and adds it.
func (c *checks) name(key, value string, seen *[]string) {
	c.Want(value != "" && len(value) <= maxName && isPrintable(value) && !slices.Contains(*seen, value),
		key, value, fmt.Sprintf("a name of at most %d characters that no other has", maxName))
	*seen = append(*seen, value)
}

// names checks a list of DNNs or Network Instances.
func (c *checks) names(key string, list []string) {
	c.Want(len(list) <= maxLabels, key, len(list), fmt.Sprintf("at most %d", maxLabels))
	var seen []string
	for _, n := range list {
		c.name(key, n, &seen)
	}
}

// cpus checks a list of CPUs.
func (c *checks) cpus(key string, cpus []int) {
	const most, last = 64, 1023
	c.Want(len(cpus) <= most, key, len(cpus), fmt.Sprintf("at most %d CPUs", most))
	for i, cpu := range cpus {
		c.Want(cpu >= 0 && cpu <= last && !slices.Contains(cpus[:i], cpu), fmt.Sprintf("%s[%d]", key, i), cpu,
			fmt.Sprintf("the number of a CPU, 0 to %d, each once", last))
	}
}

// check checks how the AF_XDP datapath works.
func (a *AFXDP) check(m *checks) {
	const queues, leastFrames, frames = 64, 512, 1 << 20
	m.OneOf("afxdp.mode", a.Mode, ModeAdaptive, ModePoll, ModeInterrupt)
	m.Want(a.Queues >= 0 && a.Queues <= queues, "afxdp.queues", a.Queues, fmt.Sprintf("0 to %d", queues))
	m.cpus("afxdp.cpus", a.CPUs)
	m.Want(a.Frames >= leastFrames && a.Frames <= frames, "afxdp.frames", a.Frames, fmt.Sprintf("%d to %d", leastFrames, frames))
}
