package random

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/conformance"
)

// dice make the choices of a script.
type dice struct{ *rand.Rand }

// one reports true one time in n.
func (d dice) one(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// some returns a part of list, in its order: each element with a chance of one
// half.
func some[T any](d dice, list []T) (out []T) {
	for _, v := range list {
		if d.one(2) {
			out = append(out, v)
		}
	}
	return out
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// The values that scripts are made of: few, so that they meet.
var (
	// 1, 0x41 and 0x81 have the same place in a table of 64.
	teids = []uint32{1, 2, 3, 0x41, 0x81, 0xdeadbe01}
	ues4  = []netip.Addr{addr("10.45.0.1"), addr("10.45.0.2"), addr("10.45.0.65"), addr("10.45.1.1")}
	ues6  = []netip.Addr{addr("2001:db8:45:1::7"), addr("2001:db8:45:2::7"), addr("fd00:45:0:1::7")}

	routes = []netip.Prefix{
		netip.MustParsePrefix("10.45.0.0/16"), netip.MustParsePrefix("10.45.1.0/24"), netip.MustParsePrefix("10.45.0.2/32"),
		netip.MustParsePrefix("192.168.0.0/17"), netip.MustParsePrefix("192.168.1.0/24"), netip.MustParsePrefix("2001:db8:45::/48"),
		netip.MustParsePrefix("2001:db8:45:2::/64"), netip.MustParsePrefix("2001:db8:46::/47"),
	}
	behind = []netip.Addr{addr("192.168.1.7"), addr("192.168.2.7"), addr("2001:db8:45:9::7"), addr("2001:db8:46:9::7")}

	remotes4 = []netip.Addr{addr("198.18.0.1"), addr("198.18.0.2"), addr("203.0.113.9"), conformance.Neighbour, conformance.Missing, addr("198.51.100.7")}
	remotes6 = []netip.Addr{addr("2001:db8:99::1"), addr("2001:db8:98::1"), conformance.Neighbour6, addr("2001:db8:51::7")}
	prefixes = []netip.Prefix{
		netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.18.0.1/32"), netip.MustParsePrefix("0.0.0.0/0"),
		netip.MustParsePrefix("2001:db8:98::/47"), netip.MustParsePrefix("2001:db8:99::1/128"), netip.MustParsePrefix("::/0"),
		netip.MustParsePrefix("10.45.0.0/25"), netip.MustParsePrefix("2001:db8:45::/47"),
	}
	ports     = []uint32{9, 80, 443, 1000, 65535}
	protocols = []uint32{1, 6, 17, 50, 51, 58, 132, 0}
	qfis      = []uint32{1, 5, 9, 63}
	classes   = []byte{0, 0xb8, 0xbb, 0x28, 0xff}
	spis      = []uint32{1, 0x01020304}
	labels    = []uint32{0, 0xabcde, 0xfffff}

	// Octets of a user packet: of the limits of URRs, and of MTU and fragments.
	sizes = []int{0, 1, 32, 33, 100, 500, 1200, 1408, 1428, 1472, 1473, 1600}

	// Where users are redirected to, and addresses of the NAT: the first that it
	// gives, and one that it does not.
	portal4, portal6 = addr("198.51.100.7"), addr("2001:db8:51::7")
	outside          = []netip.Addr{addr("198.51.100.0"), addr("198.51.100.0"), addr("198.51.100.1"), addr("198.51.100.3")}
	firstOutside     = uint32(1024) // port

	peers4 = []netip.Addr{conformance.GNBAddress, conformance.GNBAddress2}
)

func ipv4(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func prefixOf(p netip.Prefix) *api.Prefix {
	return &api.Prefix{Address: p.Addr().AsSlice(), Bits: uint32(p.Bits())}
}

func upper64(a netip.Addr) uint64 {
	b := a.As16()
	return binary.BigEndian.Uint64(b[:])
}

func optional(n uint32) *uint32 { return &n }
