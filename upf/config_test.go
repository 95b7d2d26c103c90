package upf

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

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
		NodeID:   "10.4.0.1",
		N4:       N4{Address: netip.MustParseAddr("10.4.0.1")},
		N3:       N3{Device: "n3", Address: netip.MustParseAddr("10.3.0.1")},
		N6:       N6{Device: "n6"},
		Datapath: "xdp",
		XDP:      XDP{Mode: "auto"},
		Sessions: Sessions{Max: 65536},
		Metrics:  Metrics{Address: netip.MustParseAddrPort("127.0.0.1:9090")},
		API:      API{Socket: "/run/plumbline/upf.sock"},
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
  peers: [10.4.0.0/24, 10.9.9.9, "2001:db8::/32"]
n3: {device: eth0, address: 10.3.0.1}
n6:
  device: eth0
  gateway: 10.6.0.2
  gateway6: fe80::1
datapath: model
xdp: {mode: generic}
sessions: {max: 1000000}
metrics: {address: "0.0.0.0:9191", allow_remote: true}
api: {socket: /tmp/upf.sock}
log: {level: debug, format: json}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		NodeID: "upf.example.org",
		N4: N4{Address: netip.MustParseAddr("2001:db8::4"), Peers: []netip.Prefix{
			netip.MustParsePrefix("10.4.0.0/24"), netip.MustParsePrefix("10.9.9.9/32"), netip.MustParsePrefix("2001:db8::/32")}},
		N3: N3{Device: "eth0", Address: netip.MustParseAddr("10.3.0.1")},
		N6: N6{Device: "eth0", Gateway: netip.MustParseAddr("10.6.0.2"),
			Gateway6: netip.MustParseAddr("fe80::1")},
		Datapath: "model",
		XDP:      XDP{Mode: "generic"},
		Sessions: Sessions{Max: 1000000},
		Metrics:  Metrics{Address: netip.MustParseAddrPort("0.0.0.0:9191"), AllowRemote: true},
		API:      API{Socket: "/tmp/upf.sock"},
		Log:      Log{Level: "debug", Format: "json"},
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
			"f:2:3: n4.adress: no such key: want one of address, peers"}},
		{"unknown section", "n9: {}\n", []string{
			"f:1:1: n9: no such key: want one of api, datapath, log, metrics, n3, n4, n6, node_id, sessions, xdp"}},
		{"all mistakes of types at once", "sessions: {max: lots}\nmetrics: {allow_remote: perhaps}\nn4: {address: 10.4.0}\n", []string{
			`f:1:17: sessions.max: "lots": want a decimal number`,
			`f:2:25: metrics.allow_remote: "perhaps": want true or false`,
			`f:3:15: n4.address: "10.4.0": want an IP address, such as 10.4.0.1`}},
		{"twice", "datapath: xdp\ndatapath: model\n", []string{
			"f:2:1: mapping key \"datapath\" already defined at [1:1]"}},
		{"no mapping", "n4: 10.4.0.1\n", []string{
			"f:1:5: n4: want keys and values: address, peers"}},
		{"no list", "n4: {peers: 10.4.0.0/24}\n", []string{
			"f:1:13: n4.peers: want a list, such as [10.4.0.0/24]"}},
		{"alias", "n3: &a {device: n3}\nn6: *a\n", []string{
			"f:1:5: n3: want keys and values: address, device",
			"f:2:5: n6: want keys and values: device, gateway, gateway6"}},
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
			`f:7:11: datapath: "dpdk": want xdp or model`,
			`f:8:13: xdp.mode: "offload": want auto or native or generic`,
			`f:9:17: sessions.max: 0: want 1 to 16777216`,
			`f:10:20: metrics.address: 10.0.0.1:9090: want a loopback address, or metrics.allow_remote: true (the page has no authentication)`,
			`f:11:15: api.socket: "upf.sock": want an absolute path of at most 103 octets`,
			`f:12:14: log.level: "loud": want debug or info or warn or error`,
			`f:12:28: log.format: "xml": want text or json`}},
		{"addresses", `
n4: {address: 0.0.0.0, peers: [10.4.0.1/24]}
n3: {device: a-name-too-long-for-linux, address: 2001:db8::1}
n6: {device: a/b, gateway: 2001:db8::2, gateway6: 10.6.0.2}
`, []string{
			`f:2:15: n4.address: 0.0.0.0: want a unicast IP address of this machine`,
			`f:2:32: n4.peers[0]: 10.4.0.1/24: want a prefix without host bits, such as 10.4.0.0/24`,
			`f:3:50: n3.address: 2001:db8::1: want a unicast IPv4 address of this machine`,
			`f:3:14: n3.device: "a-name-too-long-for-linux": want the name of a network device`,
			`f:4:14: n6.device: "a/b": want the name of a network device`,
			`f:4:28: n6.gateway: 2001:db8::2: want the unicast IPv4 address of another machine, or none`,
			`f:4:51: n6.gateway6: 10.6.0.2: want the unicast IPv6 address of another machine, or none`}},
		{"more than anybody reads", "n4: {peers: [" + strings.Repeat("1,", 30) + "1]}", append(
			slices.Collect(func(yield func(string) bool) {
				for i := range 20 {
					yield(fmt.Sprintf(`f:1:%d: n4.peers[%d]: "1": want a prefix, such as 10.4.0.0/24`, 14+2*i, i))
				}
			}), "f: and 11 more")},
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

// TestLoadExample keeps the file that is shipped valid, with every key in it and
// every default as it is.
func TestLoadExample(t *testing.T) {
	path := filepath.Join("..", "deploy", "upf.yaml")
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := decoder{positions: map[string]position{}}
	d.decode(data, Default())
	for _, key := range keys("", reflect.TypeFor[Config]()) {
		if _, ok := d.positions[key]; !ok {
			t.Errorf("%s: no key %s", path, key)
		}
	}
	want := Default()
	want.NodeID, want.N4.Address, want.N3, want.N6.Device = c.NodeID, c.N4.Address, c.N3, c.N6.Device // have no default
	if diff := cmp.Diff(want, c, netips, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s: -default +file\n%s", path, diff)
	}
}

// keys lists the keys of a configuration, sections first.
func keys(prefix string, t reflect.Type) []string {
	var list []string
	for i := range t.NumField() {
		f := t.Field(i)
		key := prefix + f.Tag.Get("yaml")
		list = append(list, key)
		if f.Type.Kind() == reflect.Struct && f.Type.PkgPath() == t.PkgPath() {
			list = append(list, keys(key+".", f.Type)...)
		}
	}
	return list
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
