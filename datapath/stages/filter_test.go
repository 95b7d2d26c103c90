package stages

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/datapath/api"
)

func octets(t testing.TB, s string) user {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Packets from the remote end, 198.18.0.1 or 2001:db8:99::1, to the UE,
// 10.45.0.1 or 2001:db8:45:1::7; ports 1000 and 9.
const (
	addrs4 = "c6120001 0a2d0001"
	addrs6 = "20010db8009900000000000000000001 20010db8004500010000000000000007"

	udp4       = "45b80024 00070000 4011 0000" + addrs4 + "03e80009 00100000 0000000000000000"
	udp4First  = "45b80024 00072000 4011 0000" + addrs4 + "03e80009 00100000 0000000000000000"
	udp4Later  = "45b80024 00070002 4011 0000" + addrs4 + "03e80009 00100000 0000000000000000"
	udp4Option = "46b80028 00070000 4011 0000" + addrs4 + "01010100 03e80009 00100000 0000000000000000"
	udp4Cut    = "45b80016 00070000 4011 0000" + addrs4 + "03e8"
	icmp4      = "4500001c 00070000 4001 0000" + addrs4 + "0800 f7ff 00000000"
	esp4       = "4500001c 00070000 4032 0000" + addrs4 + "01020304 00000001"
	ah4        = "45000020 00070000 4033 0000" + addrs4 + "06040000 01020304 00000001"

	udp6        = "6b8abcde 0010 11 40" + addrs6 + "03e80009 00100000 0000000000000000"
	tcp6        = "60000000 0014 06 40" + addrs6 + "03e80009 00000000 00000000 50000000 00000000"
	udp6HopDest = "60000000 0020 00 40" + addrs6 + "3c00010400000000 1100010400000000 03e80009 00100000 0000000000000000"
	udp6Routing = "60000000 0028 2b 40" + addrs6 + "1102040000000000 0000000000000000 0000000000000000 03e80009 00100000 0000000000000000"
	udp6First   = "60000000 0018 2c 40" + addrs6 + "1100000100000001 03e80009 00100000 0000000000000000"
	udp6Atomic  = "60000000 0018 2c 40" + addrs6 + "1100000000000001 03e80009 00100000 0000000000000000"
	udp6Later   = "60000000 0018 2c 40" + addrs6 + "1100000900000001 03e80009 00100000 0000000000000000"
	udp6ExtCut  = "60000000 0008 00 40" + addrs6 + "1101010400000000"
	icmp6       = "60000000 0008 3a ff" + addrs6 + "8000 0000 00010001"
	esp6Dest    = "60000000 0010 3c 40" + addrs6 + "3200010400000000 0102030400000001"
	ah6         = "60000000 000c 33 40" + addrs6 + "1101000001020304 00000001"
	none6       = "60000000 0000 3b 40" + addrs6
)

func filter(f func(f *api.Filter)) *api.Filter {
	in := &api.Filter{}
	f(in)
	return in
}

func ports(first, last uint32) []*api.PortRange { return []*api.PortRange{{First: first, Last: last}} }

func number(n uint32) *uint32 { return &n }

func pfx(bits uint32, address ...byte) *api.Prefix {
	size := 4
	if address[0] == 0x20 {
		size = 16
	}
	return &api.Prefix{Address: append(address, make([]byte, size-len(address))...), Bits: bits}
}

// TestFilter: which packets a filter matches; all others of the table it does
// not.
func TestFilter(t *testing.T) {
	all := map[string]string{
		"udp4": udp4, "udp4First": udp4First, "udp4Later": udp4Later, "udp4Option": udp4Option, "udp4Cut": udp4Cut,
		"icmp4": icmp4, "esp4": esp4, "ah4": ah4,
		"udp6": udp6, "tcp6": tcp6, "udp6HopDest": udp6HopDest, "udp6Routing": udp6Routing, "udp6First": udp6First,
		"udp6Atomic": udp6Atomic, "udp6Later": udp6Later, "udp6ExtCut": udp6ExtCut, "icmp6": icmp6, "esp6Dest": esp6Dest,
		"ah6": ah6, "none6": none6,
	}
	const (
		v4      = "udp4 udp4First udp4Later udp4Option udp4Cut icmp4 esp4 ah4 "
		v6      = "udp6 tcp6 udp6HopDest udp6Routing udp6First udp6Atomic udp6Later udp6ExtCut icmp6 esp6Dest ah6 none6 "
		withUDP = "udp4 udp4First udp4Option udp6 udp6HopDest udp6Routing udp6First udp6Atomic " // and their ports
	)
	for _, tc := range []struct {
		name string
		in   *api.Filter
		want string
	}{
		{"any", &api.Filter{}, v4 + v6},
		{"UDP", &api.Filter{Protocol: number(17)}, withUDP + "udp4Later udp4Cut udp6Later"},
		{"TCP", &api.Filter{Protocol: number(6)}, "tcp6"},
		{"ICMP", &api.Filter{Protocol: number(1)}, "icmp4"},
		{"ICMPv6", &api.Filter{Protocol: number(58)}, "icmp6"},
		{"protocol 0 is not any", &api.Filter{Protocol: number(0)}, "udp6ExtCut"},
		{"remote port", filter(func(f *api.Filter) { f.RemotePorts = ports(1000, 1000) }), withUDP + "tcp6"},
		{"local port", filter(func(f *api.Filter) { f.LocalPorts = ports(9, 9) }), withUDP + "tcp6"},
		{"port ranges", filter(func(f *api.Filter) {
			f.RemotePorts = append(ports(1, 999), ports(1000, 65535)...)
			f.LocalPorts = append(ports(8, 9), ports(20, 30)...)
		}), withUDP + "tcp6"},
		{"another remote port", filter(func(f *api.Filter) { f.RemotePorts = ports(9, 999) }), ""},
		{"another local port", filter(func(f *api.Filter) { f.LocalPorts = ports(10, 65535) }), ""},
		{"remote IPv4 prefix", &api.Filter{Remote: pfx(15, 198, 18)}, v4},
		{"remote IPv4 prefix of 0 bits", &api.Filter{Remote: pfx(0, 0)}, v4},
		{"another remote IPv4 prefix", &api.Filter{Remote: pfx(32, 198, 18, 0, 2)}, ""},
		{"local IPv4 address", &api.Filter{Local: pfx(32, 10, 45, 0, 1)}, v4},
		{"a prefix with bits behind it", &api.Filter{Local: pfx(8, 10, 99, 99, 99)}, v4},
		{"remote IPv6 prefix", &api.Filter{Remote: pfx(48, 0x20, 1, 0xd, 0xb8, 0, 0x99)}, v6},
		{"local IPv6 prefix of 0 bits", &api.Filter{Local: pfx(0, 0x20)}, v6},
		{"another local IPv6 prefix", &api.Filter{Local: pfx(64, 0x20, 1, 0xd, 0xb8, 0, 0x45, 0, 2)}, ""},
		{"remote and local the other way round", &api.Filter{Remote: pfx(32, 10, 45, 0, 1)}, ""},
		{"DSCP EF", &api.Filter{Tos: 0xb8, TosMask: 0xfc}, "udp4 udp4First udp4Later udp4Option udp4Cut udp6"},
		{"ToS outside of the mask", &api.Filter{Tos: 0xbb, TosMask: 0xfc}, "udp4 udp4First udp4Later udp4Option udp4Cut udp6"},
		{"mask 0 compares nothing", &api.Filter{Tos: 0xff}, v4 + v6},
		{"SPI", &api.Filter{Spi: number(0x01020304)}, "esp4 ah4 esp6Dest ah6"},
		{"SPI of ESP", &api.Filter{Spi: number(0x01020304), Protocol: number(50)}, "esp4 esp6Dest"},
		{"another SPI", &api.Filter{Spi: number(0)}, ""},
		{"flow label", &api.Filter{FlowLabel: number(0xabcde)}, "udp6"},
		{"flow label 0", &api.Filter{FlowLabel: number(0)}, strings.ReplaceAll(v6, "udp6 ", "")},
		{"all at once", &api.Filter{
			Protocol: number(17), Remote: pfx(32, 198, 18, 0, 1), RemotePorts: ports(1000, 1000),
			Local: pfx(24, 10, 45), LocalPorts: ports(9, 9), Tos: 0xb8, TosMask: 0xff,
		}, "udp4 udp4First udp4Option"},
	} {
		f := newFilter(tc.in)
		want := map[string]bool{}
		for _, name := range strings.Fields(tc.want) {
			want[name] = true
		}
		for name, packet := range all {
			u, reason := parseUser(octets(t, packet))
			if reason != 0 {
				t.Fatalf("%s: %v", name, reason)
			}
			down := fieldsOf(u, false)
			if got := f.match(&down); got != want[name] {
				t.Errorf("%s: %s: match %v, want %v", tc.name, name, got, want[name])
			}
			up := fieldsOf(turned(u), true)
			if got := f.match(&up); got != want[name] {
				t.Errorf("%s: %s, uplink: match %v, want %v", tc.name, name, got, want[name])
			}
		}
	}
}

// turned is the packet in the other direction: addresses and ports change
// places.
func turned(u user) user {
	out := append(user(nil), u...)
	at, size := 12, 4
	if u.isIPv6() {
		at, size = 8, 16
	}
	copy(out[at:], u[at+size:at+2*size])
	copy(out[at+size:], u[at:at+size])
	if p := u.upper(); p.hasPorts() {
		from := len(u) - len(p.payload)
		copy(out[from:], p.payload[2:4])
		copy(out[from+2:], p.payload[:2])
	}
	return out
}
