package upf

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// netips compares the addresses of a Config by value.
var netips = cmpopts.EquateComparable(netip.Addr{}, netip.AddrPort{}, netip.Prefix{})

const minimal = `
n4: {address: 10.4.0.1}
n3: {device: n3, address: 10.3.0.1}
n6: {device: n6}
`

func TestParseDefaults(t *testing.T) {
	got, err := Parse("upf.yaml", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		NodeID: "10.4.0.1",
		N4: N4{
			Address: netip.MustParseAddr("10.4.0.1"), HeartbeatInterval: Duration(30 * time.Second), T1: Duration(3 * time.Second), N1: 3,
			Limits: N4Limits{Associations: 1024, AssociationsPerAddress: 16},
		},
		N3:                  N3{Device: "n3", Address: netip.MustParseAddr("10.3.0.1")},
		N6:                  N6{Device: "n6"},
		Datapath:            "xdp",
		RouterAdvertisement: RouterAdvertisement{Lifetime: Duration(9000 * time.Second)},
		Buffer: Buffer{
			Packets: 256, Octets: 524288, TotalPackets: 1048576, TotalOctets: 67108864,
			Duration: Duration(30 * time.Second), MaxDuration: Duration(10 * time.Minute),
		},
		MeterBurst: Duration(250 * time.Millisecond), RestorationPeriod: Duration(30 * time.Second),
		XDP:      XDP{Mode: "auto"},
		AFXDP:    AFXDP{Mode: "adaptive", Frames: 16384, ZeroCopy: true},
		TUN:      TUN{Device: "plumb", MTU: 1500},
		Sessions: Sessions{Max: 65536},
		Store:    Store{Sync: SyncInterval, AfterReboot: RebootRestore, Redis: Redis{Prefix: "plumbline"}},
		Bus:      Bus{Redis: Redis{Prefix: "plumbline"}, Timeout: Duration(2 * time.Second)},
		Metrics:  Metrics{Address: netip.MustParseAddrPort("127.0.0.1:9090")},
		API:      API{Socket: "/run/plumbline/upf.sock", Move: true},
		Log:      Log{Level: "info", Format: "text"},
	}
	if diff := cmp.Diff(want, got, netips); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestParseEveryKey sets each key to something else than its default.
func TestParseEveryKey(t *testing.T) {
	got, err := Parse("upf.yaml", []byte(`
# A comment, and one at the end of a line.
node_id: upf.example.org # like this
n4:
  address: "2001:db8::4"
  peers: [10.4.0.0/24, 10.9.9.9, {address: "2001:db8::/32", leave_out: [usage_information, packet_counts]}]
  associate: ["2001:db8::5"]
  heartbeat_interval: 1m
  t1: 500ms
  n1: 4
  release: true
  busy_poll: 90us
  limits: {associations: 5, associations_per_address: 2, sessions_per_association: 1000, requests_per_second: 50000, reports_per_second: 7000}
n3: {device: eth0, address: 10.3.0.1, address6: "2001:db8::3", vlan: 103, network_instances: [access], interface_types: [n3, s1-u], echo_interval: 60s}
gtpu:
  - {name: n9, device: eth1, address: 10.9.0.1, address6: "2001:db8::9", vlan: 109, interface: core, interface_types: [s5-s8-u], network_instances: [n9, transit]}
n6:
  device: eth0
  vlan: 4094
  gateway: 10.6.0.2
  gateway6: fe80::1
  gateways: [10.6.0.3]
  network_instances: [internet]
  mss_clamp: true
  nat: {addresses: [198.51.100.0/29], ports: 2000-2999, block_ports: 100, blocks_per_ue: 2, udp_timeout: 3m, tcp_timeout: 3h, transitory_timeout: 5m, icmp_timeout: 2m}
data_networks:
  - {name: corp, device: eth2, vlan: 7, network_instances: [corp.example], gateways: [10.6.0.2, "2001:db8::2"], mss_clamp: 1360}
  - {name: lan, device: eth3, ethernet: true}
forwarding_policies:
  - {name: filter, data_network: corp, gateways: [10.6.0.66], dscp: 46}
router_advertisement: {enabled: true, lifetime: 1h, mtu: 1400, dns: ["2001:db8:53::1"], other: true}
buffer: {packets: 10, octets: 200000, total_packets: 1000, total_octets: 1000000, duration: 5s, max_duration: 1h}
restoration_period: 5s
meter_burst: 20ms
datapath: model
xdp: {mode: generic, pin: /sys/fs/bpf/upf, spread: [2, 3]}
tun: {device: ue, mtu: 9000, workers: 3, ring: true, addresses: [10.45.0.1/16], routes: [10.46.0.0/16]}
sessions: {max: 1000000}
pools:
  - {name: internet, prefixes: [10.45.0.0/16, "2001:db8:45::/48"]}
slices:
  - name: embb
    s_nssai: 1-0a0b0c
    dnns: [internet]
    network_instances: [internet]
    pools: [internet]
    uplink_mbr: 1.5 Gbit/s
    downlink_mbr: 3000kbit/s
    max_sessions: 5000
  - {name: any-urllc, s_nssai: 2}
predefined_rules:
  - {name: free, precedence: 10, flows: [permit out udp from 198.51.100.0/24 53 to assigned], drop: true, qfi: 7, uplink_mbr: 1, downlink_mbr: 2kbit/s}
store:
  path: /var/lib/plumbline
  sync: always
  after_reboot: forget
  redis: {username: upf, password_file: /etc/password, tls: true, ca_file: /etc/ca.pem, prefix: upf1}
metrics: {address: "0.0.0.0:9191", allow_remote: true}
api: {socket: /tmp/upf.sock, move: false}
log: {level: debug, format: json}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		NodeID: "upf.example.org",
		N4: N4{Address: netip.MustParseAddr("2001:db8::4"), Peers: []N4Peer{
			{Address: netip.MustParsePrefix("10.4.0.0/24")}, {Address: netip.MustParsePrefix("10.9.9.9/32")},
			{Address: netip.MustParsePrefix("2001:db8::/32"), LeaveOut: []string{"usage_information", "packet_counts"}}},
			Associate:         []netip.Addr{netip.MustParseAddr("2001:db8::5")},
			HeartbeatInterval: Duration(time.Minute), T1: Duration(500 * time.Millisecond), N1: 4, Release: true, BusyPoll: Duration(90 * time.Microsecond),
			Limits: N4Limits{Associations: 5, AssociationsPerAddress: 2, SessionsPerAssociation: 1000, RequestsPerSecond: 50000, ReportsPerSecond: 7000},
		},
		N3: N3{
			Device: "eth0", Address: netip.MustParseAddr("10.3.0.1"), Address6: netip.MustParseAddr("2001:db8::3"), VLAN: 103,
			InterfaceTypes: []InterfaceType{"n3", "s1-u"}, NetworkInstances: []string{"access"}, EchoInterval: Duration(time.Minute),
		},
		GTPU: []GTPU{{
			Name: "n9", Device: "eth1", Address: netip.MustParseAddr("10.9.0.1"), Address6: netip.MustParseAddr("2001:db8::9"), VLAN: 109,
			Interface: InterfaceCore, InterfaceTypes: []InterfaceType{"s5-s8-u"}, NetworkInstances: []string{"n9", "transit"},
		}},
		N6: N6{Device: "eth0", VLAN: 4094, Gateway: netip.MustParseAddr("10.6.0.2"), NetworkInstances: []string{"internet"}, Gateways: []netip.Addr{netip.MustParseAddr("10.6.0.3")},
			Gateway6: netip.MustParseAddr("fe80::1"), MSSClamp: -1, NAT: NAT{
				Addresses: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/29")}, Ports: PortRange{2000, 2999},
				BlockPorts: 100, BlocksPerUE: 2, UDPTimeout: Duration(3 * time.Minute), TCPTimeout: Duration(3 * time.Hour),
				TransitoryTimeout: Duration(5 * time.Minute), ICMPTimeout: Duration(2 * time.Minute),
			}},
		DataNetworks: []DataNetwork{{
			Name: "corp", Device: "eth2", VLAN: 7, NetworkInstances: []string{"corp.example"},
			Gateways: []netip.Addr{netip.MustParseAddr("10.6.0.2"), netip.MustParseAddr("2001:db8::2")}, MSSClamp: 1360,
		}, {Name: "lan", Device: "eth3", Ethernet: true}},
		Policies: []ForwardingPolicy{{Name: "filter", DataNetwork: "corp", Gateways: []netip.Addr{netip.MustParseAddr("10.6.0.66")}, DSCP: 47}},
		RouterAdvertisement: RouterAdvertisement{
			Enabled: true, Lifetime: Duration(time.Hour), MTU: 1400, DNS: []netip.Addr{netip.MustParseAddr("2001:db8:53::1")}, Other: true,
		},
		Buffer: Buffer{
			Packets: 10, Octets: 200000, TotalPackets: 1000, TotalOctets: 1000000,
			Duration: Duration(5 * time.Second), MaxDuration: Duration(time.Hour),
		},
		MeterBurst: Duration(20 * time.Millisecond), RestorationPeriod: Duration(5 * time.Second),
		Datapath: "model",
		XDP:      XDP{Mode: "generic", Pin: "/sys/fs/bpf/upf", Spread: []int{2, 3}},
		AFXDP:    AFXDP{Mode: "adaptive", Frames: 16384, ZeroCopy: true},
		TUN: TUN{
			Device: "ue", MTU: 9000, Workers: 3, Ring: true, Addresses: []netip.Prefix{netip.MustParsePrefix("10.45.0.1/16")},
			Routes: []netip.Prefix{netip.MustParsePrefix("10.46.0.0/16")},
		},
		Sessions: Sessions{Max: 1000000},
		Pools: []Pool{{Name: "internet", Prefixes: []netip.Prefix{
			netip.MustParsePrefix("10.45.0.0/16"), netip.MustParsePrefix("2001:db8:45::/48")}}},
		Slices: []Slice{
			{
				Name: "embb", SNSSAI: SNSSAI{SST: 1, SD: 0x0a0b0c, Set: true}, DNNs: []string{"internet"},
				NetworkInstances: []string{"internet"}, Pools: []string{"internet"},
				UplinkMBR: 1_500_000_000, DownlinkMBR: 3_000_000, MaxSessions: 5000,
			},
			{Name: "any-urllc", SNSSAI: SNSSAI{SST: 2, SD: NoSD, Set: true}},
		},
		Predefined: []PredefinedRule{{
			Name: "free", Precedence: 10, Flows: []string{"permit out udp from 198.51.100.0/24 53 to assigned"}, Drop: true,
			QFI: 7, UplinkMBR: 1, DownlinkMBR: 2000,
		}},
		Store: Store{Path: "/var/lib/plumbline", Sync: SyncAlways, AfterReboot: RebootForget, Redis: Redis{
			Username: "upf", PasswordFile: "/etc/password", TLS: true, CAFile: "/etc/ca.pem", Prefix: "upf1"}},
		Bus:     Bus{Redis: Redis{Prefix: "plumbline"}, Timeout: Duration(2 * time.Second)},
		Metrics: Metrics{Address: netip.MustParseAddrPort("0.0.0.0:9191"), AllowRemote: true},
		API:     API{Socket: "/tmp/upf.sock"},
		Log:     Log{Level: "debug", Format: "json"},
	}
	if diff := cmp.Diff(want, got, netips); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestParseMistakes(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []string // lines of the error
	}{
		{"nothing", "", []string{
			"f: n4.address: not set: want a unicast IP address of this machine",
			"f: n3.address: not set: want a unicast IPv4 address of this machine",
			"f: n3.device: not set: want the name of a network device",
			"f: n6.device: not set: want the name of a network device"}},
		{"unknown key", "n4:\n  adress: 10.4.0.1\n", []string{
			"f:2:3: n4.adress: no such key: want one of address, associate, busy_poll, heartbeat_interval, limits, n1, peers, release, t1",
			"f: n3.address: not set: want a unicast IPv4 address of this machine",
			"f: n3.device: not set: want the name of a network device",
			"f: n6.device: not set: want the name of a network device"}},
		{"unknown section", "n9: {}\n", []string{
			"f:1:1: n9: no such key: want one of afxdp, api, buffer, bus, data_networks, datapath, forwarding_policies, gtpu, log, meter_burst, metrics, n3, n4, n6, node_id, pools, predefined_rules, restoration_period, router_advertisement, sessions, slices, store, tc, tun, xdp"}},
		{"all mistakes of types at once", "sessions: {max: lots}\nmetrics: {allow_remote: perhaps}\nn4: {address: 10.4.0}\n", []string{
			`f:1:17: sessions.max: "lots": want a decimal number`,
			`f:2:25: metrics.allow_remote: "perhaps": want true or false`,
			`f:3:15: n4.address: "10.4.0": want an IP address, such as 10.4.0.1`,
			"f: n3.address: not set: want a unicast IPv4 address of this machine",
			"f: n3.device: not set: want the name of a network device",
			"f: n6.device: not set: want the name of a network device"}},
		{"twice", "datapath: xdp\ndatapath: model\n", []string{
			"f:2:1: mapping key \"datapath\" already defined at [1:1]"}},
		{"no mapping", "n4: 10.4.0.1\n", []string{
			"f:1:5: n4: want keys and values: address, associate, busy_poll, heartbeat_interval, limits, n1, peers, release, t1",
			"f: n3.address: not set: want a unicast IPv4 address of this machine",
			"f: n3.device: not set: want the name of a network device",
			"f: n6.device: not set: want the name of a network device"}},
		{"no list", "n4: {peers: 10.4.0.0/24}\n", []string{
			"f:1:13: n4.peers: want a list, such as [10.4.0.0/24]",
			"f: n4.address: not set: want a unicast IP address of this machine",
			"f: n3.address: not set: want a unicast IPv4 address of this machine",
			"f: n3.device: not set: want the name of a network device",
			"f: n6.device: not set: want the name of a network device"}},
		{"alias", "n3: &a {device: n3}\nn6: *a\n", []string{
			"f:1:5: an anchor or alias: want plain mappings, sequences and scalars"}},
		{"tag", "n6: {gateways: !!seq [10.6.0.2]}\n", []string{
			"f:1:16: a tag: want plain mappings, sequences and scalars"}},
		{"deep", "n4: " + strings.Repeat("[", 16_000), []string{
			"f:1:69: nested too deep"}},
		{"two documents", "datapath: xdp\n---\ndatapath: xdp\n", []string{
			"f:3:1: a second YAML document: want one"}},
		{"values", minimal + `
node_id: 10.4.0
datapath: dpdk
xdp: {mode: offload}
sessions: {max: 0}
metrics: {address: "10.0.0.1:9090"}
api: {socket: upf.sock}
log: {level: loud, format: xml}
`, []string{
			`f:6:10: node_id: "10.4.0": want an IP address or a domain name`,
			`f:7:11: datapath: "dpdk": want auto or xdp or tc or afxdp or tun or tap or model or agents`,
			`f:8:13: xdp.mode: "offload": want auto or native or generic`,
			`f:9:17: sessions.max: 0: want 1 to 16777216`,
			`f:10:20: metrics.address: 10.0.0.1:9090: want a loopback address, or metrics.allow_remote: true (the page has no authentication)`,
			`f:11:15: api.socket: "upf.sock": want an absolute path of at most 103 octets`,
			`f:12:14: log.level: "loud": want debug or info or warn or error`,
			`f:12:28: log.format: "xml": want text or json`}},
		{"addresses", `
n4: {address: 0.0.0.0, peers: [10.4.0.1/24, {address: 10.4.0.2, leave_out: [cause]}]}
n3: {device: a-name-too-long-for-linux, address: 2001:db8::1}
n6: {device: a/b, gateway: 2001:db8::2, gateway6: 10.6.0.2}
`, []string{
			`f:2:15: n4.address: 0.0.0.0: want a unicast IP address of this machine`,
			`f:2:32: n4.peers[0]: 10.4.0.1/24: want a prefix without host bits, such as 10.4.0.0/24`,
			`f:2:77: n4.peers[1].leave_out[0]: "cause": want usage_information or packet_counts or event_time_stamps or paging_policy_indication or load_control`,
			`f:3:14: n3.device: "a-name-too-long-for-linux": want the name of a network device`,
			`f:3:50: n3.address: 2001:db8::1: want a unicast IPv4 address of this machine`,
			`f:4:14: n6.device: "a/b": want the name of a network device`,
			`f:4:28: n6.gateway: 2001:db8::2: want the unicast IPv4 address of another machine, or none`,
			`f:4:51: n6.gateway6: 10.6.0.2: want the unicast IPv6 address of another machine, or none`}},
		{"Router Advertisement", `
n4: {address: 10.4.0.1}
n3: {device: n3, address: 10.3.0.1}
n6: {device: n6}
router_advertisement: {lifetime: 0s, mtu: 1279, dns: [10.0.0.53, "fe80::1%eth0"]}
`, []string{
			`f:5:34: router_advertisement.lifetime: 0s: want 1s to 18h12m15s`,
			`f:5:43: router_advertisement.mtu: 1279: want 0, or 1280 to 65535`,
			`f:5:55: router_advertisement.dns[0]: 10.0.0.53: want a unicast IPv6 address`,
			`f:5:66: router_advertisement.dns[1]: fe80::1%eth0: want a unicast IPv6 address`}},
		{"buffer", `
n4: {address: 10.4.0.1}
n3: {device: n3, address: 10.3.0.1}
n6: {device: n6}
buffer: {packets: 0, octets: 1000, total_packets: -1, total_octets: 0, duration: 1ms, max_duration: 48h}
`, []string{
			`f:5:19: buffer.packets: 0: want 1 to 1073741824`,
			`f:5:30: buffer.octets: 1000: want 131072 to 68719476736`,
			`f:5:51: buffer.total_packets: -1: want 1 to 1073741824`,
			`f:5:69: buffer.total_octets: 0: want 131072 to 68719476736`,
			`f:5:82: buffer.duration: 1ms: want 1s to 24h0m0s`,
			`f:5:101: buffer.max_duration: 48h0m0s: want buffer.duration to 24h0m0s`}},
		{"N4, GTP-U, slices, store", `
n4: {address: 10.4.0.1, associate: [0.0.0.0], heartbeat_interval: 1ms, t1: soon, n1: 0, limits: {associations: 0}}
n3: {device: n3, address: 10.3.0.1, echo_interval: 1s}
n6: {device: n6}
gtpu: [{name: n3, device: n9, address: 10.3.0.1, interface: dn}]
pools: [{name: a, prefixes: [10.45.0.0/16, 10.45.1.0/24]}, {name: a}]
slices: [{name: "", pools: [b], s_nssai: 1-2, uplink_mbr: much}, {name: x}]
xdp: {pin: here}
store: {path: here, sync: later, after_reboot: dream, redis: {address: "h:1"}}
`, []string{
			`f:2:37: n4.associate[0]: 0.0.0.0: want the unicast address of a CP function, of the same IP version as n4.address`,
			`f:2:67: n4.heartbeat_interval: 1ms: want 1s to 1h0m0s`,
			`f:2:76: n4.t1: "soon": want a duration, such as 30s`,
			`f:2:86: n4.n1: 0: want 1 to 20`,
			`f:2:112: n4.limits.associations: 0: want 1 to 16777216`,
			`f:3:52: n3.echo_interval: 1s: want 0, or 1m0s to 1h`,
			`f:5:15: gtpu[0].name: "n3": want a name of at most 64 characters that no other has`,
			`f:5:40: gtpu[0].address: 10.3.0.1: want a unicast IPv4 address of this machine that no other endpoint has`,
			`f:5:61: gtpu[0].interface: "dn": want access or core`,
			`f:6:44: pools[0].prefixes[1]: 10.45.1.0/24: want a prefix that no other overlaps`,
			`f:6:67: pools[1].name: "a": want a name of at most 64 characters that no other has`,
			`f:7:17: slices[0].name: not set: want a name of at most 64 characters that no other has`,
			`f:7:28: slices[0].pools: "b": want a or a`,
			`f:7:42: slices[0].s_nssai: "1-2": want an S-NSSAI: SST, or SST-SD with six hex digits, such as 1-0a0b0c`,
			`f:7:59: slices[0].uplink_mbr: "much": want a bit rate, such as 600Mbit/s`,
			`f:7:66: slices[1]: not set: want s_nssai, dnns or network_instances`,
			`f:8:12: xdp.pin: "here": want an absolute path in bpffs, such as /sys/fs/bpf/plumbline`,
			`f:9:15: store.path: "here": want an absolute path`,
			`f:9:27: store.sync: "later": want none or interval or always`,
			`f:9:48: store.after_reboot: "dream": want restore or forget`,
			`f: and 2 more`}},
		{"N4, GTP-U, slices, store: values", `
n4: {address: 10.4.0.1, associate: [0.0.0.0], heartbeat_interval: 1ms, n1: 0, limits: {associations: 0}}
n3: {device: n3, address: 10.3.0.1, echo_interval: 1s, vlan: 4095, address6: "fd03::1"}
n6: {device: n6}
gtpu: [{name: n3, device: n9, address: 10.3.0.1, interface: dn, address6: "fd03::1"}]
pools: [{name: a, prefixes: [10.45.0.0/16, 10.45.1.0/24]}, {name: a}]
slices: [{name: "", pools: [b]}]
xdp: {pin: here}
store: {path: here, sync: later, after_reboot: dream, redis: {address: "h:1"}}
`, []string{
			`f:2:37: n4.associate[0]: 0.0.0.0: want the unicast address of a CP function, of the same IP version as n4.address`,
			`f:2:67: n4.heartbeat_interval: 1ms: want 1s to 1h0m0s`,
			`f:2:76: n4.n1: 0: want 1 to 20`,
			`f:2:102: n4.limits.associations: 0: want 1 to 16777216`,
			`f:3:52: n3.echo_interval: 1s: want 0, or 1m0s to 1h`,
			`f:3:62: n3.vlan: 4095: want 1 to 4094, or 0 for frames without a tag`,
			`f:5:15: gtpu[0].name: "n3": want a name of at most 64 characters that no other has`,
			`f:5:40: gtpu[0].address: 10.3.0.1: want a unicast IPv4 address of this machine that no other endpoint has`,
			`f:5:91: gtpu[0].address6: fd03::1: want one that no other endpoint has, nor its tag, which is a matter of chance: take another`,
			`f:5:61: gtpu[0].interface: "dn": want access or core`,
			`f:6:44: pools[0].prefixes[1]: 10.45.1.0/24: want a prefix that no other overlaps`,
			`f:6:67: pools[1].name: "a": want a name of at most 64 characters that no other has`,
			`f:7:10: slices[0]: not set: want s_nssai, dnns or network_instances`,
			`f:7:17: slices[0].name: not set: want a name of at most 64 characters that no other has`,
			`f:7:28: slices[0].pools: "b": want a or a`,
			`f:8:12: xdp.pin: "here": want an absolute path in bpffs, such as /sys/fs/bpf/plumbline`,
			`f:9:15: store.path: "here": want an absolute path`,
			`f:9:27: store.sync: "later": want none or interval or always`,
			`f:9:48: store.after_reboot: "dream": want restore or forget`,
			`f:9:72: store.redis.address: "h:1": want only one of store.path and store.redis`,
			`f: pools[1].prefixes: not set: want prefixes`}},
		{"VLANs where no datapath tags", `
datapath: tun
n4: {address: 10.4.0.1}
n3: {address: 10.3.0.1, vlan: 30}
n6: {vlan: 60}
gtpu: [{name: n9, address: 10.9.0.1, interface: core, vlan: 90}]
data_networks: [{name: corp, vlan: 7}]
`, []string{
			`f:4:31: n3.vlan: 30: want 0: datapath tun tags no frames, datapaths xdp and tc do`,
			`f:5:12: n6.vlan: 60: want 0: datapath tun tags no frames, datapaths xdp and tc do`,
			`f:6:61: gtpu[0].vlan: 90: want 0: datapath tun tags no frames, datapaths xdp and tc do`,
			`f:7:36: data_networks[0].vlan: 7: want 0: datapath tun tags no frames, datapaths xdp and tc do`}},
		{"more than anybody reads", "n4: {peers: [" + strings.Repeat("1,", 30) + "1]}", append(
			slices.Collect(func(yield func(string) bool) {
				for i := range 20 {
					yield(fmt.Sprintf(`f:1:%d: n4.peers[%d]: "1": want a prefix, such as 10.4.0.0/24`, 14+2*i, i))
				}
			}), "f: and 15 more")},
		{"too long", strings.Repeat("# ....\n", 10000), []string{
			"f: longer than 16384 octets, which no configuration is"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("f", []byte(tc.in))
			got := "no error"
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, strings.Split(got, "\n")); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte("n4: &a {address: 1.2.3.4}\nn3: *a\n<<: *a\n"))
	f.Add([]byte("{n4: {peers: [[[[1.2.3.4/33]]]]}}"))
	f.Add([]byte("n4:\n  address: fe80::1%eth0\n  peers: [::/0]\nn3:\n  address: 1.1.1.1\ndatapath: model\nnode_id: 'yes'\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		c, err := Parse("f", in)
		if err != nil {
			return
		}
		out, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse("again", out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if diff := cmp.Diff(c, again, netips, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("-first +again\n%s", diff)
		}
	})
}
