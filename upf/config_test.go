package upf

import (
	"net/netip"
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
		P4:       P4{DeviceID: 1, ElectionID: 1},
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
p4:
  target: 192.0.2.7:9559
  device_id: 2
  election_id: 3
  replace: true
  ports: [{device: n3, port: 1}, {device: n6, port: 2}]
  tls: true
  ca_file: /etc/ca.pem
  certificate_file: /etc/upf.pem
  key_file: /etc/upf.key
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
		P4: P4{Target: "192.0.2.7:9559", DeviceID: 2, ElectionID: 3, Replace: true, Ports: []P4Port{{"n3", 1}, {"n6", 2}},
			TLS: true, CAFile: "/etc/ca.pem", CertificateFile: "/etc/upf.pem", KeyFile: "/etc/upf.key"},
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
