package gnb

import (
	"errors"
	"log/slog"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/internal/netdev"
)

const goodN3 = "n3: {address: 10.3.0.2, upf: 10.3.0.1}\n"

func TestParseConfig(t *testing.T) {
	got, err := ParseConfig([]byte(`
n3:
  address: 10.3.0.2
  upf: 10.3.0.1
  namespace: gnb
  mtu: 1500
  peers: [10.3.0.0/24]
  echo_interval: 60s
  disable_gso: true
ues:
  - name: ue
    addresses: [10.64.0.255, "fd64::1"]
    uplink_teid: 0x1000
    downlink_teid: 0x2000
    qfi: 9
    count: 2
  - name: solo
    namespace: ue
    addresses: [10.65.0.1]
    uplink_teid: 1
    downlink_teid: 2
    upf: 10.3.0.9
`), false)
	if err != nil {
		t.Fatal(err)
	}
	upf := netip.MustParseAddr("10.3.0.1")
	addresses := func(s ...string) (as []netip.Addr) {
		for _, a := range s {
			as = append(as, netip.MustParseAddr(a))
		}
		return as
	}
	want := Config{
		N3: N3{
			Address: netip.MustParseAddr("10.3.0.2"), UPF: upf, Namespace: "gnb", MTU: 1500,
			Peers:        []netip.Prefix{netip.MustParsePrefix("10.3.0.0/24")},
			EchoInterval: time.Minute, DisableGSO: true,
		},
		UEs: []UE{
			{Name: "ue0", Addresses: addresses("10.64.0.255", "fd64::1"), UplinkTEID: 0x1000,
				DownlinkTEID: 0x2000, QFI: 9, UPF: upf, Routes: []netip.Prefix{}, Count: 1},
			{Name: "ue1", Addresses: addresses("10.64.1.0", "fd64:0:0:1::1"), UplinkTEID: 0x1001,
				DownlinkTEID: 0x2001, QFI: 9, UPF: upf, Routes: []netip.Prefix{}, Count: 1},
			{Name: "solo", Namespace: "ue", Addresses: addresses("10.65.0.1"), UplinkTEID: 1,
				DownlinkTEID: 2, UPF: netip.MustParseAddr("10.3.0.9"),
				Routes: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}, Count: 1},
		},
	}
	equal := cmp.Comparer(func(a, b netip.Addr) bool { return a == b })
	equalPrefix := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	if diff := cmp.Diff(want, got, equal, equalPrefix); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	again, err := got.expand(false)
	if diff := cmp.Diff(got, again, equal, equalPrefix); diff != "" || err != nil {
		t.Errorf("expanded again: %v\n%s", err, diff)
	}
}

// TestReadConfigExample reads the file that documents every key.
func TestReadConfigExample(t *testing.T) {
	c, err := ReadConfig("../../deploy/gnb.yaml", false)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.UEs) != 11 || c.UEs[10].Name != "ran9" {
		t.Errorf("got %d UEs, %+v; want 11", len(c.UEs), c.UEs)
	}
}

func TestParseConfigErrors(t *testing.T) {
	ue := func(s string) string { return goodN3 + "ues: [" + s + "]" }
	for _, tc := range []struct{ name, in, want string }{
		{"empty", "", "n3.address"},
		{"no ues", goodN3, "ues: none: want at least one"},
		{"tag", "ues: !!seq [x]", "a tag"},
		{"alias", "n3: &a {}\nues: [*a]", "an anchor or alias"},
		{"deep", "ues: " + strings.Repeat("[", 1<<19), "nested too deep"},
		{"unknown key", goodN3 + "ue: []", "ue"},
		{"IPv6 on N3", "n3: {address: 'fd00::1'}", "1:15: n3.address: fd00::1: want a unicast IPv4 address of this machine"},
		{"not an address", "n3: {address: gnb}", "gnb"},
		{"small MTU", "n3: {address: 10.3.0.2, mtu: 1300}", "n3.mtu: 1300: want 1324 to"},
		{"echo storm", "n3: {address: 10.3.0.2, echo_interval: 1ms}", "echo_interval"},
		{"no name", ue("{addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}"), "name"},
		{"name of a path", ue("{name: ../all, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}"), "../all"},
		{"name of a pattern", ue("{name: ue%d, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}"), "ue%d"},
		{"long name", ue("{name: abcdefghijklmn, count: 101, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}"), "abcdefghijklmn100"},
		{"no address", ue("{name: ue, uplink_teid: 1, downlink_teid: 2}"), "0 IPv4 and 0 IPv6"},
		{"two IPv4", ue("{name: ue, addresses: [10.64.0.1, 10.64.0.2], uplink_teid: 1, downlink_teid: 2}"), "2 IPv4"},
		{"multicast", ue("{name: ue, addresses: [224.0.0.1], uplink_teid: 1, downlink_teid: 2}"), "224.0.0.1"},
		{"range leaves IPv4", ue("{name: ue, count: 3, addresses: [255.255.255.254], uplink_teid: 1, downlink_teid: 2}"), "end at 0.0.0.0"},
		{"TEID 0", ue("{name: ue, addresses: [10.64.0.1], uplink_teid: 1}"), "downlink_teid: not set"},
		{"range leaves 32 bits", ue("{name: ue, count: 2, addresses: [10.64.0.1], uplink_teid: 0xffffffff, downlink_teid: 2}"), "32 bits"},
		{"TEID of 33 bits", ue("{name: ue, addresses: [10.64.0.1], uplink_teid: 0x100000000, downlink_teid: 2}"), `2:55: ues[0].uplink_teid: "0x100000000": want a whole number, 0 to 4294967295`},
		{"QFI", ue("{name: ue, qfi: 64, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}"), "2:23: ues[0].qfi: 64: want 0 to 63"},
		{"count", ue("{name: ue, count: 1000000, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}"), "count: 1000000"},
		{"address of no machine", "n3: {address: 0.0.0.0}", "n3.address: 0.0.0.0: want a unicast IPv4 address of this machine"},
		{"UPF of no machine", "n3: {address: 10.3.0.2, upf: 0.0.0.0}", "1:30: n3.upf: 0.0.0.0: want a unicast IPv4 address"},
		{"peers with host bits", "n3: {address: 10.3.0.2, peers: [10.3.0.1/24]}", "n3.peers[0]: 10.3.0.1/24: want an IPv4 prefix without host bits"},
		{"IPv6 peers", "n3: {address: 10.3.0.2, peers: ['fd00::/64']}", "n3.peers[0]: fd00::/64: want an IPv4 prefix"},
		{"namespace of N3 by a path from here", "n3: {address: 10.3.0.2, namespace: ../x}", `n3.namespace: "../x": want a name as in 'ip netns', or an absolute path`},
		{"namespace of a UE", ue("{name: ue, namespace: .., addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}"), `ues[0].namespace: "..": want a name`},
		{"name of the loopback device", ue("{name: lo, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}"), `name: "lo": want the name of a new device`},
		{"name with a colon", ue("{name: 'a:b', addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}"), `name: "a:b": want the name of a new device`},
		{"route with host bits", ue("{name: ue, routes: [0.0.0.0/0, 10.6.0.1/24], addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}"),
			"2:38: ues[0].routes[1]: 10.6.0.1/24: want a prefix without host bits, such as 10.6.0.0/24, each once"},
		{"route twice", ue("{name: ue, routes: ['::/0', '::/0'], addresses: ['fd64::1'], uplink_teid: 1, downlink_teid: 2}"), "ues[0].routes[1]: ::/0: want"},
		{"loopback UE", ue("{name: ue, addresses: ['::1'], uplink_teid: 1, downlink_teid: 2}"), "ues[0].addresses[0]: ::1: want the unicast address of a UE"},
		{"broadcast UE", ue("{name: ue, addresses: [255.255.255.255], uplink_teid: 1, downlink_teid: 2}"), "255.255.255.255: want the unicast address of a UE"},
		{"no uplink TEID", ue("{name: ue, addresses: [10.64.0.1], downlink_teid: 2}"), "2:7: ues[0].uplink_teid: not set: want the UPF's"},
		{"no UPF", "n3: {address: 10.3.0.2}\nues: [{name: ue, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}]", "n3.upf: not set: want the UPF's address, as ues[0] has none"},
		{"IPv6 upf", ue("{name: ue, upf: 'fd00::1', addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}"), "upf"},
		{"same name", ue("{name: ue, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}, " +
			"{name: ue, addresses: [10.64.0.2], uplink_teid: 3, downlink_teid: 4}"), `2:84: ues[1].name: "ue": want a name that no other has in this namespace: it is of ues[0]`},
		{"same downlink TEID", ue("{name: ue0, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}, " +
			"{name: ue1, addresses: [10.64.0.2], uplink_teid: 3, downlink_teid: 2}"), "ues[1].downlink_teid: 2: want a TEID that no other has: it is of ues[0]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseConfig([]byte(tc.in), false)
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want ErrConfig about %q", err, tc.want)
			}
		})
	}
}

// TestNewIncomplete: a file that lacks what comes over N4 is good for that alone.
func TestNewIncomplete(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{goodN3 + "ues: [{name: ue, count: 2, addresses: [10.64.0.1], downlink_teid: 2}]",
			"ues[0].uplink_teid: not set: want the UPF's, from 1 on, unless sessions are set up over N4"},
		{"n3: {address: 10.3.0.2}\nues: [{name: ue0, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2, upf: 10.3.0.1}, " +
			"{name: ue, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 1}]",
			"n3.upf: not set: want the UPF's address, as ues[1] has none of its own, unless sessions are set up over N4"},
	} {
		c, err := ParseConfig([]byte(tc.in), true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseConfig([]byte(tc.in), false); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("without N4: got %v, want ErrConfig about %q", err, tc.want)
		}
		want := regexp.MustCompile(`ues\[\d\]`).ReplaceAllString // ranges are counted out: the entries are others
		if _, err = New(c, slog.New(slog.DiscardHandler)); !errors.Is(err, ErrConfig) || !strings.Contains(want(err.Error(), "ue"), want(tc.want, "ue")) {
			t.Errorf("New: got %v, want ErrConfig about %q", err, tc.want)
		}
	}
}

// TestParseConfigAll: all that is wrong is said at once, each at its place.
func TestParseConfigAll(t *testing.T) {
	_, err := ParseConfig([]byte(`n3: {address: 'fd00::1', mtu: 1, echo_interval: 1ms}
ues:
- {name: a/b, qfi: 64, count: 1001, addresses: [0.0.0.0, 10.64.0.1], upf: 'fd00::2'}
- {name: ue, addresses: [10.64.0.1, 10.64.0.2], downlink_teid: 1, up: 1}
`), false)
	want := []string{
		"1:15: n3.address: fd00::1: want a unicast IPv4 address of this machine",
		"1:31: n3.mtu: 1: want 1324 to 65535, or 0 for that of the device",
		"1:49: n3.echo_interval: 1ms: want at least 1s, or 0 for none",
		"3:3: ues[0].uplink_teid: not set: want the UPF's, from 1 on, unless sessions are set up over N4",
		"3:3: ues[0].downlink_teid: not set: want the gNB's, from 1 on",
		"3:10: ues[0].name: \"a/b\": want " + netdev.NewName,
		"3:20: ues[0].qfi: 64: want 0 to 63",
		"3:31: ues[0].count: 1001: want 1 to 1000",
		"3:49: ues[0].addresses[0]: 0.0.0.0: want the unicast address of a UE",
		"3:75: ues[0].upf: fd00::2: want a unicast IPv4 address",
		"4:25: ues[1].addresses: 2 IPv4 and 0 IPv6: want one, or one of each",
		"4:67: ues[1].up: no such key, perhaps upf: want one of addresses, count, downlink_teid, name, namespace, qfi, routes, upf, uplink_teid",
		"n3.upf: not set: want the UPF's address, as ues[1] has none of its own, unless sessions are set up over N4",
	}
	for i := range want {
		want[i] = "gnb: configuration: " + want[i]
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
