package gnb

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
)

// ErrConfig is wrapped by every error about what a [Config] says.
var ErrConfig = errors.New("gnb: configuration")

// overhead is how many octets G-PDUs add to a user packet on N3: IPv4 (20), UDP
// (8), GTP-U with optional word (12), PDU Session Container (4).
const overhead = 44

// maxQFI is the largest QoS Flow Identifier. Source: TS 38.415 V18.0.0, 5.5.3.3.
const maxQFI = 63

// Config says where the gNB is and which UEs it has.
type Config struct {
	N3  N3   `yaml:"n3"`
	UEs []UE `yaml:"ues"`
}

// N3 is the gNB's end of the user plane.
type N3 struct {
	// Address is the gNB's IPv4 address on N3; it must be on a device.
	Address netip.Addr `yaml:"address"`
	// UPF is where UEs without an address of their own send uplink G-PDUs.
	UPF netip.Addr `yaml:"upf"`
	// Namespace has the N3 device: a name in /run/netns or an absolute path. Empty:
	// the caller's.
	Namespace string `yaml:"namespace"`
	// MTU of N3 in octets, from which the MTU of the UE devices follows (less
	// 44). 0: the MTU of the device that has Address.
	MTU int `yaml:"mtu"`
	// Peers may send to this gNB. Empty: any peer.
	Peers []netip.Prefix `yaml:"peers"`
	// EchoInterval is the time between Echo Requests to each UPF. 0: none.
	EchoInterval time.Duration `yaml:"echo_interval"`
	// DisableGSO sends every G-PDU separately instead of letting the kernel segment a burst into
	// G-PDUs. Needed where a UPF sees a veth peer's frames before segmentation (generic XDP or TC,
	// with tx offloads on).
	DisableGSO bool `yaml:"disable_gso"`
	// SuperPackets sends what a UE's TCP hands down at once, up to 64 KiB, as one
	// G-PDU. Only for a UPF at the other end of a veth that takes user packets out
	// of such G-PDUs before they are cut; any other one would lose them.
	SuperPackets bool `yaml:"super_packets"`
}

// UE is one PDU session and the TUN device of the UE. With a Count it is a range of UEs: the name
// gets an index from 0 on, and the addresses and TEIDs are incremented (IPv6 by /64 prefix).
type UE struct {
	Name      string `yaml:"name"`      // of the device, at most 15 octets
	Namespace string `yaml:"namespace"` // where the device is; as N3.Namespace
	// Addresses of the UE: IPv4, IPv6 or one of each.
	Addresses []netip.Addr `yaml:"addresses"`
	// UplinkTEID is the UPF's, DownlinkTEID the gNB's; never 0, except that the UPF's F-TEID may be
	// filled in between [ParseConfig] and [New], if requested.
	UplinkTEID   uint32 `yaml:"uplink_teid"`
	DownlinkTEID uint32 `yaml:"downlink_teid"`
	// QFI of uplink packets, 1 to 63. 0: no PDU Session Container.
	QFI uint8 `yaml:"qfi"`
	// UPF is the address of the UPF's F-TEID. Unset: that of N3.
	UPF netip.Addr `yaml:"upf"`
	// Routes go through the device. Absent: everything, if the device has a
	// namespace, else nothing.
	Routes []netip.Prefix `yaml:"routes"`
	Count  int            `yaml:"count"` // 0 means 1
	// Port replaces the device of the UE, which is then not created.
	Port Port `yaml:"-"`
}

// ReadConfig reads and validates a YAML file. Unknown keys are errors. See
// [ParseConfig].
func ReadConfig(path string, n4 bool) (Config, error) {
	text, err := yamltext.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("gnb: %w", err)
	}
	return parseConfig(path, text, n4)
}

// ParseConfig reads and validates YAML text. The result has no ranges: each
// of its UEs has a Count of 1, and Routes. With n4 the UPF's F-TEIDs are still to come,
// over N4; without it the file has to have them.
//
// Errors: [yamltext.ConfigError] with all mistakes, which wraps [ErrConfig].
func ParseConfig(text []byte, n4 bool) (Config, error) { return parseConfig("", text, n4) }

func parseConfig(name string, text []byte, n4 bool) (Config, error) {
	var in, out Config
	err := yamltext.Reader{Of: ErrConfig}.Parse(name, text, &in, func(m *yamltext.Checks) { out = in.expandInto(m, n4) })
	if err != nil {
		return Config{}, err
	}
	return out, nil
}

// Validate returns all that is wrong with c, in an error that wraps [ErrConfig]: what [New]
// refuses. With n4 the UPF's F-TEIDs may be missing, as in [ParseConfig].
func (c Config) Validate(n4 bool) error {
	_, err := c.expand(n4)
	return err
}

// expand validates c and returns it with ranges counted out and defaults set.
// Expanding again changes nothing.
func (c Config) expand(n4 bool) (Config, error) {
	var m yamltext.Checks
	c = c.expandInto(&m, n4)
	return c, m.Err(ErrConfig)
}

// expandInto is expand that notes what is wrong.
func (c Config) expandInto(m *yamltext.Checks, n4 bool) Config {
	m.Under("n3", c.N3.Validate())
	if len(c.UEs) == 0 {
		m.Note("ues", "none: want at least one")
	}
	alone := slices.IndexFunc(c.UEs, func(u UE) bool { return !u.UPF.IsValid() })
	m.Want(n4 || c.N3.UPF.IsValid() || alone < 0, "n3.upf", "",
		fmt.Sprintf("the UPF's address, as ues[%d] has none of its own, unless sessions are set up over N4", alone))
	u := unique{m: m, devices: map[device]string{}, teids: map[uint32]string{}}
	var ues []UE
	for i, ue := range c.UEs {
		key := fmt.Sprintf("ues[%d]", i)
		more, err := ue.expand(c.N3, n4)
		m.Under(key, err)
		u.add(key, more)
		ues = append(ues, more...)
	}
	c.UEs = ues
	return c
}

// Validate returns all that is wrong with the values, in an error that wraps [ErrConfig].
func (n N3) Validate() error {
	var m yamltext.Checks
	m.Want(isHost(n.Address), "address", n.Address, "a unicast IPv4 address of this machine")
	m.Want(!n.UPF.IsValid() || isHost(n.UPF), "upf", n.UPF, aHost)
	checkNamespace(&m, n.Namespace)
	for i, p := range n.Peers {
		m.Want(p.Addr().Is4() && p == p.Masked(), fmt.Sprintf("peers[%d]", i), p, "an IPv4 prefix without host bits, such as 10.3.0.0/24")
	}
	m.Want(n.MTU == 0 || n.MTU >= MinMTU+overhead && n.MTU <= maxMTU, "mtu", n.MTU,
		fmt.Sprintf("%d to %d, or 0 for that of the device", MinMTU+overhead, maxMTU))
	m.Want(n.EchoInterval == 0 || n.EchoInterval >= time.Second, "echo_interval", n.EchoInterval, "at least 1s, or 0 for none")
	return m.Err(ErrConfig)
}

const aHost = "a unicast IPv4 address"

// isHost says whether a can be the IPv4 address of one machine.
func isHost(a netip.Addr) bool {
	return a.Is4() && !a.IsUnspecified() && !a.IsMulticast() && a != netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

type device struct{ namespace, name string }

// unique finds UEs that claim the same device or downlink TEID.
type unique struct {
	m       *yamltext.Checks
	devices map[device]string // the entry that has it
	teids   map[uint32]string
}

// add adds the UEs of an entry, of which it notes the first that claims what is taken.
func (u *unique) add(key string, ues []UE) {
	saidDevice, saidTEID := false, false
	for _, ue := range ues {
		d := device{ue.Namespace, ue.Name}
		if other, taken := u.devices[d]; taken && !saidDevice {
			u.m.Want(false, key+".name", ue.Name, "a name that no other has in this namespace: it is of "+other)
			saidDevice = true
		}
		if other, taken := u.teids[ue.DownlinkTEID]; taken && !saidTEID {
			u.m.Want(false, key+".downlink_teid", ue.DownlinkTEID, "a TEID that no other has: it is of "+other)
			saidTEID = true
		}
		u.devices[d], u.teids[ue.DownlinkTEID] = key, key
	}
}
