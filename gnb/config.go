package gnb

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"plumbline/yamltext"
)

// ErrConfig is wrapped by every error about what a [Config] says.
var ErrConfig = errors.New("gnb: configuration")

// overhead is how many octets G-PDUs add to a user packet on N3: IPv4 (20), UDP
// (8), GTP-U with optional word (12), PDU Session Container (4).
const overhead = 44

// maxQFI is the largest QoS Flow Identifier. Source: TS 38.415 V18.0.0, 5.5.3.3.
const maxQFI = 63

// maxName is the longest name of a network device (IFNAMSIZ less its 0).
const maxName = 15

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
	// Namespace has the N3 device: a name in /run/netns or a path. Empty: the
	// caller's.
	Namespace string `yaml:"namespace"`
	// MTU of N3 in octets, from which the MTU of the UE devices follows (less
	// 44). 0: the MTU of the device that has Address.
	MTU int `yaml:"mtu"`
	// Peers may send to this gNB. Empty: anybody.
	Peers []netip.Prefix `yaml:"peers"`
	// EchoInterval is the time between Echo Requests to each UPF. 0: none.
	EchoInterval time.Duration `yaml:"echo_interval"`
	// DisableGSO sends every G-PDU by itself instead of leaving it to the
	// kernel to cut a burst into G-PDUs. Needed where a UPF sees a veth peer's
	// frames before they are cut (generic XDP or TC, with tx offloads on).
	DisableGSO bool `yaml:"disable_gso"`
	// SuperPackets sends what a UE's TCP hands down at once, up to 64 KiB, as one
	// G-PDU. Only for a UPF at the other end of a veth that takes user packets out
	// of such G-PDUs before they are cut; any other one would lose them.
	SuperPackets bool `yaml:"super_packets"`
}

// UE is one PDU session and the TUN device that stands for the UE. With a
// Count it is as many of them: the name gets an index from 0 on, and the
// addresses and TEIDs are counted up (IPv6 by /64 prefix).
type UE struct {
	Name      string `yaml:"name"`      // of the device, at most 15 octets
	Namespace string `yaml:"namespace"` // where the device is; as N3.Namespace
	// Addresses of the UE: IPv4, IPv6 or one of each.
	Addresses []netip.Addr `yaml:"addresses"`
	// UplinkTEID is the UPF's, DownlinkTEID the gNB's; never 0, except that the
	// UPF's F-TEID may be filled in between [ParseConfig] and [New].
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
	// Port stands for the UE in place of a device, which is then not made.
	Port Port `yaml:"-"`
}

// ReadConfig reads and validates a YAML file. Unknown keys are errors. See
// [ParseConfig].
func ReadConfig(path string) (Config, error) {
	text, err := yamltext.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("gnb: %w", err)
	}
	c, err := ParseConfig(text)
	if err != nil {
		return Config{}, fmt.Errorf("%w (%s)", err, path)
	}
	return c, nil
}

// ParseConfig reads and validates YAML text. The result has no ranges: each
// of its UEs has a Count of 1, and Routes.
func ParseConfig(text []byte) (Config, error) {
	var c Config
	if err := yamltext.Decode(text, &c); err != nil {
		return Config{}, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return c.expand()
}

// expand validates c and returns it with ranges counted out and defaults set.
// Expanding again changes nothing.
func (c Config) expand() (Config, error) {
	if err := c.N3.validate(); err != nil {
		return Config{}, err
	}
	var ues []UE
	for _, u := range c.UEs {
		more, err := u.expand(c.N3)
		if err != nil {
			return Config{}, err
		}
		ues = append(ues, more...)
	}
	if len(ues) == 0 {
		return Config{}, fmt.Errorf("%w: no ues", ErrConfig)
	}
	c.UEs = ues
	return c, unique(ues)
}

func (n N3) validate() error {
	switch {
	case !n.Address.Is4():
		return fmt.Errorf("%w: n3.address %q is not an IPv4 address", ErrConfig, n.Address)
	case n.UPF.IsValid() && !n.UPF.Is4():
		return fmt.Errorf("%w: n3.upf %q is not an IPv4 address", ErrConfig, n.UPF)
	case n.MTU != 0 && (n.MTU < minMTU+overhead || n.MTU > maxMTU):
		return fmt.Errorf("%w: n3.mtu %d is not within %d to %d", ErrConfig, n.MTU, minMTU+overhead, maxMTU)
	case n.EchoInterval < 0 || n.EchoInterval > 0 && n.EchoInterval < time.Second:
		return fmt.Errorf("%w: n3.echo_interval %v is below 1s", ErrConfig, n.EchoInterval)
	}
	return nil
}

// unique returns an error if two UEs claim the same device or downlink TEID.
func unique(ues []UE) error {
	type device struct{ namespace, name string }
	devices := make(map[device]bool, len(ues))
	teids := make(map[uint32]string, len(ues))
	for _, u := range ues {
		d := device{u.Namespace, u.Name}
		if devices[d] {
			return fmt.Errorf("%w: two ues named %q in namespace %q", ErrConfig, u.Name, u.Namespace)
		}
		devices[d] = true
		if other, taken := teids[u.DownlinkTEID]; taken {
			return fmt.Errorf("%w: downlink_teid %d of %s and %s", ErrConfig, u.DownlinkTEID, other, u.Name)
		}
		teids[u.DownlinkTEID] = u.Name
	}
	return nil
}
