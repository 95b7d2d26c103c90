package gnb

import (
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
`))
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
	again, err := got.expand()
	if diff := cmp.Diff(got, again, equal, equalPrefix); diff != "" || err != nil {
		t.Errorf("expanded again: %v\n%s", err, diff)
	}
}

// TestReadConfigExample reads the file that documents every key.
func TestReadConfigExample(t *testing.T) {
	c, err := ReadConfig("../deploy/gnb.yaml")
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
		{"IPv6 on N3", "n3: {address: 'fd00::1'}", "1:15: n3.address: fd00::1: want an IPv4 address"},
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
		{"range leaves IPv4", ue("{name: ue, count: 2, addresses: [255.255.255.255], uplink_teid: 1, downlink_teid: 2}"), "end at 0.0.0.0"},
		{"TEID 0", ue("{name: ue, addresses: [10.64.0.1], uplink_teid: 1}"), "downlink_teid: not set"},
		{"range leaves 32 bits", ue("{name: ue, count: 2, addresses: [10.64.0.1], uplink_teid: 0xffffffff, downlink_teid: 2}"), "32 bits"},
		{"TEID of 33 bits", ue("{name: ue, addresses: [10.64.0.1], uplink_teid: 0x100000000, downlink_teid: 2}"), `2:55: ues[0].uplink_teid: "0x100000000": want a whole number, 0 to 4294967295`},
		{"QFI", ue("{name: ue, qfi: 64, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}"), "2:23: ues[0].qfi: 64: want 0 to 63"},
		{"count", ue("{name: ue, count: 1000000, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}"), "count: 1000000"},
		{"IPv6 upf", ue("{name: ue, upf: 'fd00::1', addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}"), "upf"},
		{"same name", ue("{name: ue, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}, " +
			"{name: ue, addresses: [10.64.0.2], uplink_teid: 3, downlink_teid: 4}"), `2:84: ues[1].name: "ue": want a name that no other has in this namespace: it is of ues[0]`},
		{"same downlink TEID", ue("{name: ue0, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}, " +
			"{name: ue1, addresses: [10.64.0.2], uplink_teid: 3, downlink_teid: 2}"), "ues[1].downlink_teid: 2: want a TEID that no other has: it is of ues[0]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseConfig([]byte(tc.in))
			if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want ErrConfig about %q", err, tc.want)
			}
		})
	}
}

// TestNewIncomplete asks for a gNB that does not know where to send.
func TestNewIncomplete(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{goodN3 + "ues: [{name: ue, count: 2, addresses: [10.64.0.1], downlink_teid: 2}]", `ue "ue0": no uplink_teid`},
		{"n3: {address: 10.3.0.2}\nues: [{name: ue, addresses: [10.64.0.1], uplink_teid: 1, downlink_teid: 2}]", `ue "ue": no upf`},
	} {
		c, err := ParseConfig([]byte(tc.in))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = New(c, slog.New(slog.DiscardHandler)); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got %v, want ErrConfig about %q", err, tc.want)
		}
	}
}

// TestParseConfigAll: all that is wrong is said at once, each at its place.
func TestParseConfigAll(t *testing.T) {
	_, err := ParseConfig([]byte(`n3: {address: 'fd00::1', mtu: 1, echo_interval: 1ms}
ues:
- {name: a/b, qfi: 64, count: 1001, addresses: [0.0.0.0, 10.64.0.1], upf: 'fd00::2'}
- {name: ue, addresses: [10.64.0.1, 10.64.0.2], downlink_teid: 1, up: 1}
`))
	want := []string{
		"1:15: n3.address: fd00::1: want an IPv4 address of this machine",
		"1:31: n3.mtu: 1: want 1324 to 65535, or 0 for that of the device",
		"1:49: n3.echo_interval: 1ms: want at least 1s, or 0 for none",
		"3:3: ues[0].downlink_teid: not set: want the gNB's, from 1 on",
		"3:10: ues[0].name: \"a/b\": want the name of a device: 1 to 15 octets, no '/', '%' or space",
		"3:20: ues[0].qfi: 64: want 0 to 63",
		"3:31: ues[0].count: 1001: want 1 to 1000",
		"3:49: ues[0].addresses[0]: 0.0.0.0: want the unicast address of a UE",
		"3:75: ues[0].upf: fd00::2: want an IPv4 address",
		"4:25: ues[1].addresses: 2 IPv4 and 0 IPv6: want one, or one of each",
		"4:67: ues[1].up: no such key, perhaps upf: want one of addresses, count, downlink_teid, name, namespace, qfi, routes, upf, uplink_teid",
	}
	for i := range want {
		want[i] = "gnb: configuration: " + want[i]
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
