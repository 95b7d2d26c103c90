package meter

import (
	"encoding/binary"
	"net"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// frameFor builds a frame of session s as a UPF that does everything right
// delivers it.
func frameFor(t testing.TB, bed *topology.Topology, d generator.Direction, stamp generator.Stamp, s generator.Session, payload int) []byte {
	t.Helper()
	stamp.TEID, stamp.QFI, stamp.UE = s.TEID, s.QFI, generator.FoldUE(s.UE)
	server := bed.N6.Peer.Address
	if s.UE.Is6() {
		server = bed.N6.Peer.Address6
	}
	src, dst := s.UE.AsSlice(), server.Addr().AsSlice()
	if d == generator.Downlink {
		src, dst = dst, src
	}
	data := stamp.Append(nil)
	if payload < generator.StampOctets {
		data = stamp.Short().Append(nil)
	}
	data = append(data, make([]byte, payload-len(data))...)
	user := serialize(t, append(ipUDP(src, dst, generator.Port), gopacket.Payload(data))...)
	ether := layers.Ethernet{SrcMAC: bed.N6.UPF.MAC, DstMAC: bed.N6.Peer.MAC, EthernetType: layers.EthernetTypeIPv4}
	if d == generator.Uplink {
		if s.UE.Is6() {
			ether.EthernetType = layers.EthernetTypeIPv6
		}
		return serialize(t, &ether, gopacket.Payload(user))
	}
	ether.SrcMAC, ether.DstMAC = bed.N3.UPF.MAC, bed.N3.Peer.MAC
	gtpu := binary.BigEndian.AppendUint16([]byte{0x34, 255}, uint16(8+len(user)))
	gtpu = binary.BigEndian.AppendUint32(gtpu, s.TEID)
	gtpu = append(gtpu, 0, 0, 0, 0x85, 1, 0, s.QFI, 0)
	outer := ipUDP(bed.N3.UPF.Address.Addr().AsSlice(), bed.N3.Peer.Address.Addr().AsSlice(), 2152)
	return serialize(t, append([]gopacket.SerializableLayer{&ether}, append(outer, gopacket.Payload(append(gtpu, user...)))...)...)
}

func ipUDP(src, dst net.IP, port layers.UDPPort) []gopacket.SerializableLayer {
	udp := &layers.UDP{SrcPort: port, DstPort: port}
	if src.To4() == nil {
		ip := &layers.IPv6{Version: 6, NextHeader: layers.IPProtocolUDP, HopLimit: 63, SrcIP: src, DstIP: dst}
		udp.SetNetworkLayerForChecksum(ip)
		return []gopacket.SerializableLayer{ip, udp}
	}
	ip := &layers.IPv4{Version: 4, Protocol: layers.IPProtocolUDP, TTL: 63, SrcIP: src, DstIP: dst}
	udp.SetNetworkLayerForChecksum(ip)
	return []gopacket.SerializableLayer{ip, udp}
}

func serialize(t testing.TB, l ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// monotonic is the clock of the stamps.
func monotonic(t testing.TB) int64 {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	return now.Nano()
}
