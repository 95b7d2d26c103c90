package upf

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
)

// MSS is a TCP Maximum Segment Size in octets; as text a number, "true" for
// what fits the MTUs ([datapath.ClampToMTU]), "false" or "0" for any.
type MSS int

// Bounds of an MSS that is set: what every IPv4 host takes, and what an IP packet
// holds. Source: RFC 9293, 3.7.1.
const minMSS, maxMSS = 536, 65495

// UnmarshalText reads "true", "false" or "1360".
func (m *MSS) UnmarshalText(text []byte) error {
	switch s := string(text); s {
	case "true":
		*m = datapath.ClampToMTU
	case "false", "0", "":
		*m = 0
	default:
		n, err := strconv.Atoi(s)
		if err != nil || n < minMSS || n > maxMSS {
			return fmt.Errorf("MSS %q: want true, false, or %d to %d", s, minMSS, maxMSS)
		}
		*m = MSS(n)
	}
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (m MSS) MarshalText() ([]byte, error) {
	switch m {
	case datapath.ClampToMTU:
		return []byte("true"), nil
	case 0:
		return []byte("false"), nil
	}
	return strconv.AppendInt(nil, int64(m), 10), nil
}

// DSCP is a Differentiated Services Code Point and 1; 0: none. As text "" or 0 to
// 63.
type DSCP uint8

// UnmarshalText reads "" or "46".
func (d *DSCP) UnmarshalText(text []byte) error {
	if *d = 0; len(text) == 0 {
		return nil
	}
	n, err := strconv.ParseUint(string(text), 10, 6)
	if err != nil {
		return fmt.Errorf("DSCP %q: want 0 to 63", text)
	}
	*d = DSCP(n + 1)
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (d DSCP) MarshalText() ([]byte, error) {
	if d == 0 {
		return nil, nil
	}
	return strconv.AppendUint(nil, uint64(d)-1, 10), nil
}

// PortRange is ports with both ends in it; as text "1024-65535". The zero value is
// the default.
type PortRange struct{ First, Last uint16 }

// UnmarshalText reads "1024-65535", or "".
func (r *PortRange) UnmarshalText(text []byte) error {
	*r = PortRange{}
	if len(text) == 0 {
		return nil
	}
	first, last, _ := strings.Cut(string(text), "-")
	a, errA := strconv.ParseUint(first, 10, 16)
	b, errB := strconv.ParseUint(last, 10, 16)
	if errA != nil || errB != nil || a == 0 || a > b {
		return fmt.Errorf("ports %q: want FIRST-LAST", text)
	}
	*r = PortRange{uint16(a), uint16(b)}
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (r PortRange) MarshalText() ([]byte, error) {
	if r == (PortRange{}) {
		return nil, nil
	}
	return fmt.Appendf(nil, "%d-%d", r.First, r.Last), nil
}

// Bounds of a NAT: prefixes that the programs compare, and addresses in all.
const (
	maxNATPrefixes = 8
	minNATBits     = 20
)

// nat checks a NAT; UE addresses come from pools.
func (c *checks) nat(key string, n *NAT, pools []Pool) {
	c.Want(len(n.Addresses) <= maxNATPrefixes, key+".addresses", len(n.Addresses), fmt.Sprintf("at most %d prefixes", maxNATPrefixes))
	for i, p := range n.Addresses {
		at := fmt.Sprintf("%s.addresses[%d]", key, i)
		ok := p.IsValid() && p.Addr().Is4() && p == p.Masked() && p.Bits() >= minNATBits && isHost(p.Addr())
		c.Want(ok, at, p, fmt.Sprintf("an IPv4 prefix without host bits, of %d bits or more", minNATBits))
		for _, o := range n.Addresses[:i] {
			c.Want(!o.Overlaps(p), at, p, "a prefix that no other overlaps")
		}
		for _, pool := range pools {
			for _, ue := range pool.Prefixes {
				c.Want(!ue.Overlaps(p), at, p, "addresses that no UE has")
			}
		}
	}
	d := n.driver()
	size := int(d.LastPort) - int(d.FirstPort) + 1
	c.Want(d.BlockPorts >= 1 && d.BlockPorts <= size, key+".block_ports", n.BlockPorts, fmt.Sprintf("1 to %d", size))
	c.Want(d.BlocksPerUE >= 1 && d.BlocksPerUE <= size, key+".blocks_per_ue", n.BlocksPerUE, fmt.Sprintf("1 to %d", size))
	for _, t := range []struct {
		key   string
		value time.Duration
		least time.Duration
	}{
		{"udp_timeout", d.UDP, 2 * time.Minute}, {"tcp_timeout", d.TCP, 2*time.Hour + 4*time.Minute},
		{"transitory_timeout", d.Transitory, 4 * time.Minute}, {"icmp_timeout", d.ICMP, time.Minute},
	} {
		c.Want(t.value >= t.least && t.value <= 240*time.Hour, key+"."+t.key, t.value, fmt.Sprintf("%v to 240h", t.least))
	}
}

// driver returns the NAT as a datapath knows it, with defaults for what is not
// set.
func (n *NAT) driver() *datapath.NAT {
	d := datapath.DefaultNAT(n.Addresses...)
	if n.Ports != (PortRange{}) {
		d.FirstPort, d.LastPort = n.Ports.First, n.Ports.Last
	}
	d.BlockPorts, d.BlocksPerUE = cmp.Or(n.BlockPorts, d.BlockPorts), cmp.Or(n.BlocksPerUE, d.BlocksPerUE)
	d.UDP, d.TCP = cmp.Or(time.Duration(n.UDPTimeout), d.UDP), cmp.Or(time.Duration(n.TCPTimeout), d.TCP)
	d.Transitory = cmp.Or(time.Duration(n.TransitoryTimeout), d.Transitory)
	d.ICMP = cmp.Or(time.Duration(n.ICMPTimeout), d.ICMP)
	return d
}

// some returns n for a datapath, nil if it has no addresses.
func (n *NAT) some() *datapath.NAT {
	if len(n.Addresses) == 0 {
		return nil
	}
	return n.driver()
}
