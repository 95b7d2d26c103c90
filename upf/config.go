package upf

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/datapath/tun"
	"github.com/plumbline-upf/plumbline/internal/yamltext"
)

// Config is everything that an operator can set of a UPF. [Load] and [Parse]
// return only values that passed every check; who builds one in Go starts from
// [Default] and calls [Config.Validate].
type Config struct {
	// NodeID is the Node ID sent to peers: an address or an FQDN.
	// Empty: the N4 address. Source: TS 29.244 V18.6.0, 8.2.38.
	NodeID string `yaml:"node_id" json:"node_id"`
	N4     N4     `yaml:"n4" json:"n4"`
	N3     N3     `yaml:"n3" json:"n3"`
	GTPU   []GTPU `yaml:"gtpu" json:"gtpu"` // endpoints beside N3
	N6     N6     `yaml:"n6" json:"n6"`
	// DataNetworks are those beside N6's, in the order of their numbers.
	DataNetworks        []DataNetwork       `yaml:"data_networks" json:"data_networks"`
	Policies            []ForwardingPolicy  `yaml:"forwarding_policies" json:"forwarding_policies"`
	RouterAdvertisement RouterAdvertisement `yaml:"router_advertisement" json:"router_advertisement"`
	Buffer              Buffer              `yaml:"buffer" json:"buffer"`
	// RestorationPeriod is how long no Error Indication is sent for a TEID that is not
	// known, after a start and when a CP function that had given the UPF up begins anew, so
	// that CP functions can restore their sessions; 0: not at all.
	// Source: TS 23.527 V18, 4.3.2.
	RestorationPeriod Duration `yaml:"restoration_period" json:"restoration_period"`
	// MeterBurst is how much of a QER's rate may come at once, but never less than
	// three packets of 1500 octets.
	MeterBurst Duration `yaml:"meter_burst" json:"meter_burst"`
	Datapath   string   `yaml:"datapath" json:"datapath"` // DatapathAuto, DatapathXDP ...
	XDP        XDP      `yaml:"xdp" json:"xdp"`
	TC         TC       `yaml:"tc" json:"tc"`
	AFXDP      AFXDP    `yaml:"afxdp" json:"afxdp"`
	P4         P4       `yaml:"p4" json:"p4"`
	TUN        TUN      `yaml:"tun" json:"tun"`
	Sessions   Sessions `yaml:"sessions" json:"sessions"`
	Pools      []Pool   `yaml:"pools" json:"pools"`
	Slices     []Slice  `yaml:"slices" json:"slices"`
	// Predefined are what CP functions may activate by name.
	Predefined []PredefinedRule `yaml:"predefined_rules" json:"predefined_rules"`
	Store      Store            `yaml:"store" json:"store"`
	Bus        Bus              `yaml:"bus" json:"bus"`
	Metrics    Metrics          `yaml:"metrics" json:"metrics"`
	API        API              `yaml:"api" json:"api"`
	Log        Log              `yaml:"log" json:"log"`
}

// N4 is where PFCP is spoken.
type N4 struct {
	// Address listens on UDP port 8805.
	Address netip.Addr `yaml:"address" json:"address"`
	// Peers may set up an association; empty: anybody may.
	Peers []N4Peer `yaml:"peers" json:"peers"`
	// Associate are CP functions with which the UPF sets up the association.
	Associate         []netip.Addr `yaml:"associate" json:"associate"`
	HeartbeatInterval Duration     `yaml:"heartbeat_interval" json:"heartbeat_interval"`
	// T1 is how long a response is waited for, N1 how often a request is sent
	// in all. Source: TS 29.244 V18.6.0, 6.4.
	T1 Duration `yaml:"t1" json:"t1"`
	N1 int      `yaml:"n1" json:"n1"`
	// Release: at an orderly stop the associations are released, and with them
	// their sessions.
	Release bool     `yaml:"release" json:"release"`
	Limits  N4Limits `yaml:"limits" json:"limits"`
	// BusyPoll is how long after a request the sockets are asked for more before
	// they are waited for: lower response times for more of a CPU. 0: not at all.
	BusyPoll Duration `yaml:"busy_poll" json:"busy_poll"`
}

// N4Peer are CP functions that may set up an association. In YAML it may be the
// address alone.
type N4Peer struct {
	// Address is an address, or a prefix.
	Address netip.Prefix `yaml:"address" json:"address"`
	// LeaveOut names what these CP functions are not sent, as they cannot read it:
	// [n4.LeaveOutNames].
	LeaveOut []string `yaml:"leave_out" json:"leave_out,omitempty"`
}

// N4Limits are what one CP function, or all of them, may take.
type N4Limits struct {
	Associations           int `yaml:"associations" json:"associations"`                         // in all
	AssociationsPerAddress int `yaml:"associations_per_address" json:"associations_per_address"` // of one address
	SessionsPerAssociation int `yaml:"sessions_per_association" json:"sessions_per_association"` // 0: sessions.max
	RequestsPerSecond      int `yaml:"requests_per_second" json:"requests_per_second"`           // of one address; 0: any
	ReportsPerSecond       int `yaml:"reports_per_second" json:"reports_per_second"`             // to one CP function; 0: any
}

// N3 is where GTP-U is terminated.
type N3 struct {
	Device string `yaml:"device" json:"device"`
	// Address is the IPv4 address of the F-TEIDs; GTP-U is UDP port 2152.
	Address  netip.Addr `yaml:"address" json:"address"`
	Address6 netip.Addr `yaml:"address6" json:"address6"` // IPv6; not valid: none
	VLAN     int        `yaml:"vlan" json:"vlan"`         // VID of the tag of its frames on the device; 0: untagged
	// InterfaceTypes are as those of [GTPU].
	InterfaceTypes []InterfaceType `yaml:"interface_types" json:"interface_types"`
	// NetworkInstances are those of PDIs whose F-TEID is chosen here, whatever
	// their Source Interface.
	NetworkInstances []string `yaml:"network_instances" json:"network_instances"`
	// EchoInterval is how often GTP-U peers in use are asked whether they are
	// there; 0: never. Source: TS 29.281 V18.1.0, 7.2.1: not below 60 s.
	EchoInterval Duration `yaml:"echo_interval" json:"echo_interval"`
}

// N6 is where user packets leave to the data network: the first one, where there
// are several.
type N6 struct {
	Device string `yaml:"device" json:"device"` // may be N3's
	VLAN   int    `yaml:"vlan" json:"vlan"`     // VID of the tag of its frames on the device; 0: untagged
	// NetworkInstances are those that mean this data network; it is also that of
	// rules without one. Where no data network has any, every name means N6.
	NetworkInstances []string `yaml:"network_instances" json:"network_instances"`
	// Gateway and Gateway6 are the next hops of what is not on-link. Not
	// valid: the kernel's routes on the device.
	Gateway  netip.Addr `yaml:"gateway" json:"gateway"`
	Gateway6 netip.Addr `yaml:"gateway6" json:"gateway6"`
	// Gateways are more of them, of both IP versions: flows are spread over all.
	Gateways []netip.Addr `yaml:"gateways" json:"gateways"`
	NAT      NAT          `yaml:"nat" json:"nat"`
	// MSSClamp is the largest MSS that TCP may announce, either way.
	MSSClamp MSS `yaml:"mss_clamp" json:"mss_clamp"`
}

// DataNetwork is one more place where user packets leave, for PDIs and FARs with
// its Network Instances. It may have the same prefixes and next hops as others;
// UE addresses are unique over all.
type DataNetwork struct {
	Name             string       `yaml:"name" json:"name"`
	Device           string       `yaml:"device" json:"device"`
	VLAN             int          `yaml:"vlan" json:"vlan"`                           // as [N6.VLAN]
	NetworkInstances []string     `yaml:"network_instances" json:"network_instances"` // empty: its name
	Gateways         []netip.Addr `yaml:"gateways" json:"gateways"`                   // as [N6.Gateways]; empty: the kernel's routes
	NAT              NAT          `yaml:"nat" json:"nat"`
	MSSClamp         MSS          `yaml:"mss_clamp" json:"mss_clamp"`
	// Ethernet: frames of Ethernet PDU sessions leave here, and nothing else does.
	Ethernet bool `yaml:"ethernet" json:"ethernet"`
}

// NAT is IPv4 network address and port translation towards a data network. A
// value of 0 is the default: [datapath.DefaultNAT].
type NAT struct {
	// Addresses are what UEs are translated to: the UPF's alone, routed to it or
	// answered for by the host; empty: no NAT.
	Addresses []netip.Prefix `yaml:"addresses" json:"addresses"`
	Ports     PortRange      `yaml:"ports" json:"ports"` // outside
	// A UE gets ports in blocks of BlockPorts, BlocksPerUE at most.
	BlockPorts  int `yaml:"block_ports" json:"block_ports"`
	BlocksPerUE int `yaml:"blocks_per_ue" json:"blocks_per_ue"`
	// How long a mapping lasts without packets of the UE.
	UDPTimeout        Duration `yaml:"udp_timeout" json:"udp_timeout"`
	TCPTimeout        Duration `yaml:"tcp_timeout" json:"tcp_timeout"`
	TransitoryTimeout Duration `yaml:"transitory_timeout" json:"transitory_timeout"` // TCP that begins or ends
	ICMPTimeout       Duration `yaml:"icmp_timeout" json:"icmp_timeout"`
}

// ForwardingPolicy is what FARs may ask for by name.
// Source: TS 29.244 V18.6.0, 8.2.23.
type ForwardingPolicy struct {
	Name        string       `yaml:"name" json:"name"`
	DataNetwork string       `yaml:"data_network" json:"data_network"` // by name; empty: N6
	Gateways    []netip.Addr `yaml:"gateways" json:"gateways"`         // in place of the routes there; empty: those
	DSCP        DSCP         `yaml:"dscp" json:"dscp"`                 // of the user packet that leaves
}

// XDP is how the XDP datapath attaches.
type XDP struct {
	Mode string `yaml:"mode" json:"mode"` // ModeAuto, ModeNative or ModeGeneric
	// Pin is a directory in bpffs where tables and attachments stay when the
	// process ends, so that packets flow on until it is back; empty: none.
	Pin string `yaml:"pin" json:"pin"`
	// Spread are numbers of the CPUs that treat packets, each those of its UEs,
	// whichever CPU they arrive on; empty: they are treated where they arrive.
	Spread []int `yaml:"spread" json:"spread"`
	// MaxListedPDRs is how many PDRs the fast path holds that do not fit into one
	// cache line, up to MaxSessions; 0: half of Sessions.Max, and at least 1024.
	MaxListedPDRs int `yaml:"max_listed_pdrs" json:"max_listed_pdrs"`
}

// TC is what the datapath on socket buffers has beside what it shares with XDP: pins and
// limits.
type TC struct {
	// SuperPackets says that all gNBs and peers behind N3 and GTPU take G-PDUs that are
	// longer than the link's MTU, as `plumb gnb` on this machine does: packets that
	// their sender left to the kernel to be cut go through whole.
	SuperPackets bool `yaml:"super_packets" json:"super_packets"`
}

// AFXDP is how the AF_XDP datapath works.
type AFXDP struct {
	Mode string `yaml:"mode" json:"mode"` // ModeAdaptive, ModePoll or ModeInterrupt
	// Queues is how many workers there are, each with one queue of each device; 0:
	// as many as every device has queues.
	Queues int `yaml:"queues" json:"queues"`
	// CPUs are those of the workers, in turn; empty: any.
	CPUs []int `yaml:"cpus" json:"cpus"`
	// Frames is how many each worker has.
	Frames int `yaml:"frames" json:"frames"`
	// ZeroCopy lets drivers that can use the workers' memory.
	ZeroCopy bool `yaml:"zero_copy" json:"zero_copy"`
}

// Sessions limits what the UPF holds.
type Sessions struct {
	Max int `yaml:"max" json:"max"` // PFCP sessions at once, 1 to MaxSessions
}

// Metrics is the Prometheus page.
type Metrics struct {
	// Address listens on TCP; not valid: no metrics. Port 0: any free port.
	Address netip.AddrPort `yaml:"address" json:"address"`
	// AllowRemote must be set for an address that is not a loopback one: the
	// page has no authentication.
	AllowRemote bool `yaml:"allow_remote" json:"allow_remote"`
}

// API is the local interface.
type API struct {
	Socket string `yaml:"socket" json:"socket"` // absolute path; empty: no API
	// Move: root and the UPF's own user may let another datapath take the place of
	// the one that forwards, for which the process keeps the capabilities to start one.
	Move bool `yaml:"move" json:"move"`
}

// Log is what goes to stderr.
type Log struct {
	Level  string `yaml:"level" json:"level"`   // debug, info, warn or error
	Format string `yaml:"format" json:"format"` // FormatText or FormatJSON
}

// Values of [Config.Datapath], [XDP.Mode] and [Log.Format].
const (
	DatapathAuto  = "auto"  // what suits the machine and its devices best
	DatapathXDP   = "xdp"   // programs on devices, below the kernel's network stack
	DatapathTC    = "tc"    // programs on socket buffers
	DatapathAFXDP = "afxdp" // user space, frames through AF_XDP sockets
	DatapathTUN   = "tun"   // user space, UDP sockets and a TUN device
	DatapathTAP   = "tap"   // user space, UDP sockets and a TAP device
	DatapathP4    = "p4"    // a P4 pipeline, and user space for what it does not do
	DatapathModel = "model" // carries no packets
	// DatapathAgents: the datapaths are other processes, [Bus.Agents].
	DatapathAgents = "agents"

	ModeAuto      = "auto" // native where the driver has it, else generic
	ModeNative    = "native"
	ModeGeneric   = "generic"
	ModeAdaptive  = "adaptive"
	ModePoll      = "poll"
	ModeInterrupt = "interrupt"

	FormatText = "text"
	FormatJSON = "json"
)

// Limits and defaults.
const (
	// MaxSessions bounds [Sessions.Max]: the low 24 bits of a TEID are the most
	// that can name a slot and leave 8 random ones.
	MaxSessions = 1 << 24

	// DefaultSocket is where the local API listens unless configured.
	DefaultSocket = "/run/plumbline/upf.sock"

	defaultMaxSessions = 1 << 16
	// A file beyond this is not a configuration, and the YAML parser takes time
	// that grows with the square of what is nested.
	maxConfigOctets = 16 << 10
)

// Default returns the configuration that an empty file stands for. It lacks
// addresses and devices, so it is not valid yet.
func Default() *Config {
	return &Config{
		Datapath:   DatapathXDP,
		MeterBurst: Duration(stages.DefaultBurst), RestorationPeriod: Duration(30 * time.Second),
		N4: N4{
			HeartbeatInterval: Duration(30 * time.Second), T1: Duration(3 * time.Second), N1: 3,
			Limits: N4Limits{Associations: 1024, AssociationsPerAddress: 16},
		},
		RouterAdvertisement: RouterAdvertisement{Lifetime: Duration(9000 * time.Second)},
		Buffer:              defaultBuffer(),
		XDP:                 XDP{Mode: ModeAuto},
		AFXDP:               AFXDP{Mode: ModeAdaptive, Frames: 16384, ZeroCopy: true},
		P4:                  P4{DeviceID: 1, ElectionID: 1},
		TUN:                 TUN{Device: tun.DefaultPrefix, MTU: tun.DefaultMTU},
		Sessions:            Sessions{Max: defaultMaxSessions},
		Store:               Store{Sync: SyncInterval, AfterReboot: RebootRestore, Redis: Redis{Prefix: "plumbline"}},
		Bus:                 Bus{Redis: Redis{Prefix: "plumbline"}, Timeout: Duration(2 * time.Second)},
		Metrics:             Metrics{Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 9090)},
		API:                 API{Socket: DefaultSocket, Move: true},
		Log:                 Log{Level: "info", Format: FormatText},
	}
}

// Load reads and checks the configuration file at path.
//
// Errors: [ConfigError], one line per mistake; else what the file system says.
func Load(path string) (*Config, error) {
	data, err := yamltext.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return Parse(path, data)
}

// Parse reads and checks a configuration; name stands for the file in errors.
// The result is complete: every key that data leaves out has its default.
//
// Errors: [ConfigError].
func Parse(name string, data []byte) (*Config, error) {
	if len(data) > maxConfigOctets {
		var m checks
		m.Note("", "longer than %d octets, which no configuration is", maxConfigOctets)
		return nil, &ConfigError{File: name, Mistakes: m.Checks}
	}
	c := Default()
	err := yamltext.Parse(name, data, c, func(m *yamltext.Checks) {
		c.complete()
		*m = c.mistakes().Checks
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Marshal returns c as a file that [Load] reads back as the same value.
func (c *Config) Marshal() ([]byte, error) {
	b, err := yaml.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return b, nil
}

// complete derives what one key takes from another.
func (c *Config) complete() {
	if c.NodeID == "" && c.N4.Address.IsValid() {
		c.NodeID = c.N4.Address.String()
	}
}
