package upf

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
			"f:2:3: n4.adress: no such key, perhaps address: want one of address, associate, busy_poll, heartbeat_interval, limits, n1, peers, release, t1",
			"f: n3.address: not set: want a unicast IPv4 address of this machine",
			"f: n3.device: not set: want the name of a network device",
			"f: n6.device: not set: want the name of a network device"}},
		{"unknown section", "n9: {}\n", []string{
			"f:1:1: n9: no such key: want one of afxdp, api, buffer, bus, data_networks, datapath, forwarding_policies, gtpu, log, meter_burst, metrics, n3, n4, n6, node_id, p4, pools, predefined_rules, restoration_period, router_advertisement, sessions, slices, store, tc, tun, xdp"}},
		{"all mistakes of types at once", "sessions: {max: lots}\nmetrics: {allow_remote: perhaps}\nn4: {address: 10.4.0}\n", []string{
			`f:1:17: sessions.max: "lots": want a whole number`,
			`f:2:25: metrics.allow_remote: "perhaps": want true or false`,
			`f:3:15: n4.address: "10.4.0": want an IP address, such as 10.4.0.1`,
			"f: n3.address: not set: want a unicast IPv4 address of this machine",
			"f: n3.device: not set: want the name of a network device",
			"f: n6.device: not set: want the name of a network device"}},
		{"twice", "datapath: xdp\ndatapath: model\n", []string{
			"f:2:1: datapath: set twice",
			"f: n4.address: not set: want a unicast IP address of this machine",
			"f: n3.address: not set: want a unicast IPv4 address of this machine",
			"f: n3.device: not set: want the name of a network device",
			"f: n6.device: not set: want the name of a network device"}},
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
			"f:1:5: an anchor or alias: want plain mappings, sequences and scalars",
			"f:2:5: an anchor or alias: want plain mappings, sequences and scalars",
			"f: n4.address: not set: want a unicast IP address of this machine",
			"f: n3.address: not set: want a unicast IPv4 address of this machine"}},
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
			`f:7:11: datapath: "dpdk": want auto or xdp or tc or afxdp or tun or tap or p4 or model or agents`,
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
		{"P4", minimal + `
datapath: p4
p4: {target: "192.0.2.7", election_id: 0, ca_file: /etc/ca.pem, certificate_file: /etc/upf.pem, ports: [{device: a/b, port: 510}, {device: x, port: 1}, {device: x, port: 1}]}
`, []string{
			`f:7:14: p4.target: "192.0.2.7": want host:port of a P4Runtime server, unix:FILE, or nothing`,
			"f:7:40: p4.election_id: 0: want 1 or more",
			`f:7:52: p4.ca_file: "/etc/ca.pem": want nothing without p4.tls: true`,
			`f:7:104: p4.ports: "n3": want a port for each device of N3, N6, gtpu and data_networks`,
			`f:7:104: p4.ports: "n6": want a port for each device of N3, N6, gtpu and data_networks`,
			`f:7:114: p4.ports[0].device: "a/b": want the name of a TAP device that no other port has`,
			"f:7:125: p4.ports[0].port: 510: want 0 to 509, a number that no other port has",
			`f:7:162: p4.ports[2].device: "x": want the name of a TAP device that no other port has`,
			"f:7:171: p4.ports[2].port: 1: want 0 to 509, a number that no other port has",
			"f: p4.key_file: not set: want a file with p4.certificate_file, and nothing without"}},
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
			`f:6:60: pools[1].prefixes: not set: want prefixes`,
			`f:6:67: pools[1].name: "a": want a name of at most 64 characters that no other has`,
			`f:7:17: slices[0].name: not set: want a name of at most 64 characters that no other has`,
			`f:7:28: slices[0].pools: "b": want a or a`,
			`f:7:42: slices[0].s_nssai: "1-2": want an S-NSSAI: SST, or SST-SD with six hex digits, such as 1-0a0b0c`,
			`f:7:59: slices[0].uplink_mbr: "much": want a bit rate, such as 600Mbit/s`,
			`f:7:66: slices[1]: not set: want s_nssai, dnns or network_instances`,
			`f:8:12: xdp.pin: "here": want an absolute path in bpffs, such as /sys/fs/bpf/plumbline`,
			`f:9:15: store.path: "here": want an absolute path`,
			`f:9:27: store.sync: "later": want none or interval or always`,
			`f: and 2 more`}},
		{"an IPv6 address of two endpoints", `
n4: {address: 10.4.0.1}
n3: {device: n3, address: 10.3.0.1, address6: "fd03::1"}
n6: {device: n6}
gtpu: [{name: n9, device: n9, address: 10.9.0.1, address6: "fd03::1", interface: core}]
`, []string{
			`f:5:60: gtpu[0].address6: fd03::1: want an address of which no other endpoint has the 28-bit hash: choose another`}},
		{"N4, GTP-U, slices, store: values", `
n4: {address: 10.4.0.1, associate: [0.0.0.0], heartbeat_interval: 1ms, n1: 0, limits: {associations: 0}}
n3: {device: n3, address: 10.3.0.1, echo_interval: 1s, vlan: 4095}
n6: {device: n6}
gtpu: [{name: n3, device: n9, address: 10.3.0.1, interface: dn}]
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
			`f:5:61: gtpu[0].interface: "dn": want access or core`,
			`f:6:44: pools[0].prefixes[1]: 10.45.1.0/24: want a prefix that no other overlaps`,
			`f:6:60: pools[1].prefixes: not set: want prefixes`,
			`f:6:67: pools[1].name: "a": want a name of at most 64 characters that no other has`,
			`f:7:10: slices[0]: not set: want s_nssai, dnns or network_instances`,
			`f:7:17: slices[0].name: not set: want a name of at most 64 characters that no other has`,
			`f:7:28: slices[0].pools: "b": want a or a`,
			`f:8:12: xdp.pin: "here": want an absolute path in bpffs, such as /sys/fs/bpf/plumbline`,
			`f:9:15: store.path: "here": want an absolute path`,
			`f:9:27: store.sync: "later": want none or interval or always`,
			`f:9:48: store.after_reboot: "dream": want restore or forget`,
			`f:9:72: store.redis.address: "h:1": want only one of store.path and store.redis`}},
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
		{"VLANs with tap", `
datapath: tap
n4: {address: 10.4.0.1}
n3: {address: 10.3.0.1, vlan: 30}
`, []string{`f:4:31: n3.vlan: 30: want 0: datapath tap tags no frames, datapaths xdp and tc do`}},
		{"pattern of device names", minimal + "tun: {device: 'u%d'}", []string{
			`f:5:15: tun.device: "u%d": want the beginning of the name of a network device, at most 12 octets`}},
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
