package tun

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

var (
	asker  = [6]byte{2, 0, 0, 0, 0, 9}
	peer   = [6]byte{2, 0, 0, 0, 0, 1}
	ours   = netip.MustParseAddr("10.45.0.1")
	ours6  = netip.MustParseAddr("2001:db8:45::1")
	theirs = netip.MustParseAddr("10.45.9.9")
	their6 = netip.MustParseAddr("fe80::9")
)

func testProxy() *proxy {
	return &proxy{dev: &device{peer: peer}, covers: func(a netip.Addr) bool { return a == ours || a == ours6 }}
}

func serialize(t testing.TB, all ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	check(t, gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...))
	return b.Bytes()
}

func arpFrame(t testing.TB, operation uint16, to, from [6]byte, source, target netip.Addr, targetMAC [6]byte) []byte {
	return serialize(t, &layers.Ethernet{DstMAC: to[:], SrcMAC: from[:], EthernetType: layers.EthernetTypeARP}, &layers.ARP{
		AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4, Operation: operation,
		SourceHwAddress: from[:], SourceProtAddress: source.AsSlice(), DstHwAddress: targetMAC[:], DstProtAddress: target.AsSlice(),
	})
}

var everybody = [6]byte{255, 255, 255, 255, 255, 255}

// TestARP: a request for a UE is answered, whole as another implementation makes it;
// others are not, nor one of a host that looks whether it is alone.
func TestARP(t *testing.T) {
	request := arpFrame(t, layers.ARPRequest, everybody, asker, theirs, ours, [6]byte{})
	want := arpFrame(t, layers.ARPReply, asker, peer, ours, theirs, asker)[:lenARP] // without padding
	if diff := cmp.Diff(want, testProxy().answer(bytes.Clone(request))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for name, b := range map[string][]byte{
		"nobody's address": arpFrame(t, layers.ARPRequest, everybody, asker, ours, theirs, [6]byte{}),
		"a reply":          arpFrame(t, layers.ARPReply, asker, asker, theirs, ours, peer),
		"a probe":          arpFrame(t, layers.ARPRequest, everybody, asker, ours, ours, [6]byte{}),
		"cut off":          request[:lenARP-1],
		"no header":        request[:10],
	} {
		if got := testProxy().answer(bytes.Clone(b)); got != nil {
			t.Errorf("%s: answered with %x", name, got)
		}
	}
}

// solicitation is a Neighbour Solicitation for target.
func solicitation(t testing.TB, from, target netip.Addr, option bool) []byte {
	to := netip.MustParseAddr("ff02::1:ff00:1")
	ip := &layers.IPv6{Version: 6, HopLimit: 255, NextHeader: layers.IPProtocolICMPv6, SrcIP: from.AsSlice(), DstIP: to.AsSlice()}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeNeighborSolicitation, 0)}
	check(t, icmp.SetNetworkLayerForChecksum(ip))
	ns := &layers.ICMPv6NeighborSolicitation{TargetAddress: target.AsSlice()}
	if option {
		ns.Options = layers.ICMPv6Options{{Type: layers.ICMPv6OptSourceAddress, Data: asker[:]}}
	}
	return serialize(t, &layers.Ethernet{DstMAC: []byte{0x33, 0x33, 0xff, 0, 0, 1}, SrcMAC: asker[:], EthernetType: layers.EthernetTypeIPv6}, ip, icmp, ns)
}

// TestNeighbourSolicitation: as TestARP.
func TestNeighbourSolicitation(t *testing.T) {
	ip := &layers.IPv6{Version: 6, HopLimit: 255, NextHeader: layers.IPProtocolICMPv6, SrcIP: ours6.AsSlice(), DstIP: their6.AsSlice()}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeNeighborAdvertisement, 0)}
	check(t, icmp.SetNetworkLayerForChecksum(ip))
	want := serialize(t, &layers.Ethernet{DstMAC: asker[:], SrcMAC: peer[:], EthernetType: layers.EthernetTypeIPv6}, ip, icmp,
		&layers.ICMPv6NeighborAdvertisement{
			Flags: 0x60, TargetAddress: ours6.AsSlice(),
			Options: layers.ICMPv6Options{{Type: layers.ICMPv6OptTargetAddress, Data: peer[:]}},
		})
	asked := solicitation(t, their6, ours6, true)
	if diff := cmp.Diff(want, testProxy().answer(bytes.Clone(asked))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	far := bytes.Clone(asked)
	far[21] = 64 // has come through a router
	for name, b := range map[string][]byte{
		"nobody's address": solicitation(t, their6, their6, true),
		"without option":   solicitation(t, their6, ours6, false),
		"a probe":          solicitation(t, netip.IPv6Unspecified(), ours6, true),
		"from afar":        far,
		"cut off":          asked[:lenSolicitation-1],
	} {
		if got := testProxy().answer(bytes.Clone(b)); got != nil {
			t.Errorf("%s: answered with %x", name, got)
		}
	}
}

// FuzzProxy: whatever comes, an answer goes to who asked, from the UEs' side.
func FuzzProxy(f *testing.F) {
	f.Add(arpFrame(f, layers.ARPRequest, everybody, asker, theirs, ours, [6]byte{}))
	f.Add(solicitation(f, their6, ours6, true))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := testProxy().answer(bytes.Clone(b))
		if got == nil {
			return
		}
		kind := binary.BigEndian.Uint16(got[12:])
		if len(got) > len(b) || [6]byte(got[6:12]) != peer || got[0]&1 != 0 || kind != inet.EtherARP && kind != inet.EtherIPv6 {
			t.Errorf("%x is answered with %x", b, got)
		}
	})
}
