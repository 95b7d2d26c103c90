package gnb

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"
)

const testMTU = 1456

// naiveSum is what sum gives, folded, by the book. Source: RFC 1071, 4.1.
func naiveSum(b []byte, from uint64) uint16 {
	for i, octet := range b {
		from += uint64(octet) << (8 * (1 - i%2))
	}
	for from>>16 != 0 {
		from = from>>16 + from&0xffff
	}
	return uint16(from)
}

func TestSum(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		b := make([]byte, random.IntN(200))
		for i := range b {
			b[i] = byte(random.UintN(3)) * 0x7f // often 0 and 0xfe
		}
		from := uint64(random.Uint32())
		if got, want := fold(sum(b, from)), naiveSum(b, from); got != want {
			t.Fatalf("sum of %x from %#x: got %#04x, want %#04x", b, from, got, want)
		}
	}
	if got := fold(sum(bytes.Repeat([]byte{0xff}, 65536), 1<<64-1)); got != 0xffff {
		t.Errorf("sum of ones: got %#04x, want 0xffff", got)
	}
}

// unfinishedPacket is an IPv4 or IPv6 packet of TCP or UDP whose checksum field has the
// sum of the pseudo header.
func unfinishedPacket(ipv6 bool, protocol byte, payload int) []byte {
	transport := lenTCP
	if protocol == protocolUDP {
		transport = lenUDP
	}
	var b []byte
	addresses := offIPv4Source
	if ipv6 {
		b = append(b, 0x60, 0, 0, 0, 0, 0, protocol, 64)
		binary.BigEndian.PutUint16(b[offIPv6Length:], uint16(transport+payload))
		b = append(b, bytes.Repeat([]byte{0xfd, 0x64}, 16)...)
		addresses = offIPv6Source
	} else {
		b = append(b, 0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, protocol, 0, 0, 10, 6, 0, 2, 10, 64, 0, 1)
		binary.BigEndian.PutUint16(b[offIPv4Length:], uint16(lenIPv4+transport+payload))
	}
	at := len(b)
	pseudo := naiveSum(b[addresses:], uint64(protocol)+uint64(transport+payload))
	b = append(b, make([]byte, transport+payload)...)
	field := offUDPChecksum
	if protocol == protocolTCP {
		field = offTCPChecksum
		b[at+offTCPData] = lenTCP / 4 << 4
	}
	binary.BigEndian.PutUint16(b[at:], 5001)
	binary.BigEndian.PutUint16(b[at+field:], pseudo)
	for i := at + transport; i < len(b); i++ {
		b[i] = byte(i * 7)
	}
	return b
}

func TestUnfinished(t *testing.T) {
	withTCPOptions := unfinishedPacket(false, protocolTCP, 40000)
	withTCPOptions[lenIPv4+offTCPData] = 8 << 4
	withCWR := unfinishedPacket(true, protocolTCP, 40000)
	withCWR[lenIPv6+offTCPFlags] = flagCWR
	fragment := unfinishedPacket(false, protocolTCP, 100)
	fragment[offIPv4Fragment] = 0x20
	noOffset := unfinishedPacket(false, protocolTCP, 40000)
	noOffset[lenIPv4+offTCPData] = 4 << 4
	other := unfinishedPacket(false, protocolTCP, 100)
	other[lenIPv4+offTCPChecksum]++
	for _, tc := range []struct {
		name string
		in   []byte
		want vnet
		ok   bool
	}{
		{"TCP of one segment", unfinishedPacket(false, protocolTCP, 1416), vnet{flags: 1, checksumAt: 20, checksumOff: 16}, true},
		{"TCP of more", unfinishedPacket(false, protocolTCP, 1417), vnet{1, vnetGSOTCPv4, 40, 1416, 20, 16}, true},
		{"TCP with options", withTCPOptions, vnet{1, vnetGSOTCPv4, 52, 1404, 20, 16}, true},
		{"TCP over IPv6, CWR", withCWR, vnet{1, vnetGSOTCPv6 | vnetGSOECN, 60, 1396, 40, 16}, true},
		{"UDP", unfinishedPacket(false, protocolUDP, 100), vnet{flags: 1, checksumAt: 20, checksumOff: 6}, true},
		{"UDP over IPv6", unfinishedPacket(true, protocolUDP, 0), vnet{flags: 1, checksumAt: 40, checksumOff: 6}, true},
		{"another checksum", other, vnet{}, false},
		{"a fragment", fragment, vnet{}, false},
		{"another protocol", unfinishedPacket(false, 1, 100), vnet{}, false},
		{"TCP header of 16 octets", noOffset, vnet{}, false},
		{"octets behind the packet", append(unfinishedPacket(false, protocolTCP, 100), 0), vnet{}, false},
		{"cut in the TCP header", unfinishedPacket(false, protocolTCP, 0)[:39], vnet{}, false},
		{"cut in the IPv6 header", unfinishedPacket(true, protocolTCP, 0)[:39], vnet{}, false},
		{"nothing", nil, vnet{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := &ue{local: true, mtu: testMTU}
			got, ok := u.unfinished(tc.in)
			if ok != tc.ok || ok && got != tc.want {
				t.Errorf("got %+v, %t; want %+v, %t", got, ok, tc.want, tc.ok)
			}
			u.local = false
			if _, ok := u.unfinished(tc.in); ok {
				t.Error("N3 is no veth: got a packet that is unfinished")
			}
		})
	}
}

// TestUnfinishedFull takes a packet through all values of one 16-bit word, with
// its checksum complete. One of them has by chance the pseudo header's sum in the
// checksum field: then completing it again changes nothing.
func TestUnfinishedFull(t *testing.T) {
	u := &ue{local: true, mtu: testMTU}
	taken := 0
	for word := range 1 << 16 {
		b := unfinishedPacket(false, protocolTCP, 8)
		binary.BigEndian.PutUint16(b[lenIPv4+lenTCP:], uint16(word))
		full := vnet{checksumAt: lenIPv4, checksumOff: offTCPChecksum}
		full.complete(b)
		want := hex.EncodeToString(b)
		v, ok := u.unfinished(b)
		if !ok {
			continue
		}
		taken++
		v.complete(b)
		if got := hex.EncodeToString(b); got != want {
			t.Errorf("word %#04x: got %s, want %s", word, got, want)
		}
	}
	if taken == 0 || taken > 2 {
		t.Errorf("got %d of 65536 packets for unfinished, want one, or two with both zeros", taken)
	}
}

// FuzzUnfinished: what is written before a packet from N3 lies within it, and
// segments have the device's MTU.
func FuzzUnfinished(f *testing.F) {
	for _, size := range []int{0, 100, 40000} {
		f.Add(unfinishedPacket(false, protocolTCP, size))
		f.Add(unfinishedPacket(true, protocolTCP, size))
		f.Add(unfinishedPacket(true, protocolUDP, size))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		u := &ue{local: true, mtu: testMTU}
		v, ok := u.unfinished(b)
		if !ok {
			return
		}
		if v.flags != vnetNeedsChecksum || int(v.checksumAt)+int(v.checksumOff)+2 > len(b) || !v.complete(b) {
			t.Errorf("%+v for %d octets", v, len(b))
		}
		if v.gsoType != vnetGSONone && (int(v.headers) >= len(b) || v.headers+v.gsoSize != testMTU || v.gsoSize == 0) {
			t.Errorf("%+v for %d octets, MTU %d", v, len(b), testMTU)
		}
		h, _ := parseTransport(b)
		if got := fold(sum(b[h.at:], uint64(h.pseudo))); v.flags != 0 && got != 0xffff && h.pseudo != 0 {
			t.Errorf("checksum completed: sums to %#04x, want 0xffff", got)
		}
	})
}

// TestDownlinkSuper gives a batch with a super-packet in it: the device gets all in
// their order, and it is counted as the packets that it stands for.
func TestDownlinkSuper(t *testing.T) {
	d, device := newDownlink(t)
	u := d.byTEID[testUE.DownlinkTEID]
	u.local, u.mtu = true, testMTU
	packet := unfinishedPacket(false, protocolTCP, 3000)
	datagram := octets(t, "30ff 0000 00000021")
	binary.BigEndian.PutUint16(datagram[2:], uint16(len(packet)))
	d.take(netip.AddrPortFrom(loopback, 9), octets(t, "30ff 0014 00000021"+user4), append(datagram, packet...), octets(t, "30ff 0014 00000021"+user4))

	small := hex.EncodeToString(octets(t, user4))
	super := fmt.Sprintf("%+v %x", vnet{1, vnetGSOTCPv4, 40, testMTU - 40, 20, 16}, packet)
	want := []string{small, super, small}
	if diff := cmp.Diff(want, device.packets); diff != "" {
		t.Errorf("device (-want +got):\n%s", diff)
	}
	if got, want := u.packets.Load(), uint64(2+3); got != want {
		t.Errorf("user packets: got %d, want %d", got, want)
	}
	if got, want := u.total.Load(), uint64(2*20+len(packet)+2*40); got != want {
		t.Errorf("octets: got %d, want %d", got, want)
	}
}

func TestVnet(t *testing.T) {
	v := vnet{1, 2, 0x0304, 0x0506, 0x0708, 0x090a}
	b := make([]byte, vnetHeader)
	v.put(b)
	if got := parseVnet(b); got != v {
		t.Errorf("got %+v, want %+v", got, v)
	}
	for _, tc := range []struct {
		size            int
		packets, octets uint64
	}{{40, 1, 40}, {1440, 1, 1440}, {1441, 2, 1481}, {40 + 3*1400, 3, 3 * 1440}} {
		packets, octets := vnet{gsoType: vnetGSOTCPv4, headers: 40, gsoSize: 1400}.volume(tc.size)
		if packets != tc.packets || octets != tc.octets {
			t.Errorf("%d octets: got %d packets, %d octets; want %d, %d", tc.size, packets, octets, tc.packets, tc.octets)
		}
	}
}

func TestSuperNeedsVeth(t *testing.T) {
	if _, err := openSuper(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}}); !errors.Is(err, ErrConfig) {
		t.Errorf("got %v, want %v", err, ErrConfig)
	}
}

// TestSuperFrame compares a whole frame of the packet socket.
func TestSuperFrame(t *testing.T) {
	f := frameBetween(netip.MustParseAddrPort("10.3.0.2:40000"), netip.MustParseAddrPort("10.3.0.1:2152"))
	const at = superRoom + 8
	b := make([]byte, at+44)
	s := &superN3{socket: -1}
	if err := s.send(&f, b, vnet{1, vnetGSOTCPv4, 40, 1400, 20, 16}, at); err == nil {
		t.Error("a closed socket: got no error")
	}
	header := make([]byte, vnetHeader)
	vnet{1, vnetGSOTCPv4, 40 + 50, 1400, 20 + 50, 16}.put(header)
	want := append(header, octets(t, "000000000000 000000000000 0800"+
		"4500 0050 0000 4000 4011 2695 0a030002 0a030001"+"9c40 0868 003c 0000")...)
	if diff := cmp.Diff(want, b[:superRoom]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
