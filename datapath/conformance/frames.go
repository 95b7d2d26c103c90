package conformance

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// The frames of the tables are made by gopacket, GTP-U headers by hand.

var ghostMAC = [6]byte{2, 0, 0, 0, 0, 0xfe} // sender of all frames that arrive

// user is an IP packet of a UE.
type user struct {
	src, dst netip.Addr
	ttl      uint8
	tos      uint8 // or Traffic Class
	port     uint16
	payload  int // octets behind the UDP header
	raw      []byte
}

var (
	ue2   = netip.MustParseAddr("10.45.0.2")
	ue1   = netip.MustParseAddr("10.45.0.1")
	ue16  = netip.MustParseAddr("2001:db8:45:1::7") // in the prefix of session 1
	far   = netip.MustParseAddr("198.18.0.1")       // beyond the gateway
	far6  = netip.MustParseAddr("2001:db8:99::1")
	other = netip.MustParseAddr("10.45.0.99") // no UE has it
)

func (u user) bytes() []byte {
	if u.raw != nil {
		return u.raw
	}
	udp := &layers.UDP{SrcPort: layers.UDPPort(u.port), DstPort: 9}
	payload := gopacket.Payload(make([]byte, u.payload))
	if u.src.Is4() {
		ip := &layers.IPv4{
			Version: 4, TTL: u.ttl, TOS: u.tos, Id: 7, Protocol: layers.IPProtocolUDP,
			SrcIP: u.src.AsSlice(), DstIP: u.dst.AsSlice(),
		}
		must(udp.SetNetworkLayerForChecksum(ip))
		return serialize(ip, udp, payload)
	}
	ip := &layers.IPv6{
		Version: 6, HopLimit: u.ttl, TrafficClass: u.tos, NextHeader: layers.IPProtocolUDP,
		SrcIP: u.src.AsSlice(), DstIP: u.dst.AsSlice(),
	}
	must(udp.SetNetworkLayerForChecksum(ip))
	return serialize(ip, udp, payload)
}

func serialize(l ...gopacket.SerializableLayer) []byte {
	buf := gopacket.NewSerializeBuffer()
	must(gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...))
	return buf.Bytes()
}

func must(err error) {
	if err != nil {
		panic(err) // a row of the table is wrong
	}
}

func ethernet(dst, src [6]byte, proto layers.EthernetType, packet []byte) []byte {
	return serialize(&layers.Ethernet{DstMAC: net.HardwareAddr(dst[:]), SrcMAC: net.HardwareAddr(src[:]), EthernetType: proto},
		gopacket.Payload(packet))
}

func etherType(packet []byte) layers.EthernetType {
	if len(packet) > 0 && packet[0]>>4 == 6 {
		return layers.EthernetTypeIPv6
	}
	return layers.EthernetTypeIPv4
}

// onN6 is a user packet as it arrives on N6; outN6 as it leaves there.
func onN6(u user) []byte {
	b := u.bytes()
	return ethernet(N6MAC, ghostMAC, etherType(b), b)
}

func outN6(dst [6]byte, u user) []byte {
	b := u.bytes()
	return ethernet(dst, N6MAC, etherType(b), b)
}

// outer is the IP and UDP header of a frame on N3 or N9.
type outer struct {
	src, dst netip.Addr
	sport    uint16
	dport    uint16
	tos      uint8
	df       bool
	checksum bool // of UDP
	options  []layers.IPv4Option
	flags    layers.IPv4Flag
	pad      int    // octets behind the IP packet
	label    uint32 // Flow Label, of IPv6
}

var fromGNB = outer{src: GNBAddress, dst: N3Address, sport: 2152, dport: 2152}

func (o outer) frame(dst, src [6]byte, gtpu []byte) []byte {
	packet := o.packet(gtpu)
	return append(ethernet(dst, src, etherType(packet), packet), make([]byte, o.pad)...)
}

func (o outer) packet(gtpu []byte) []byte {
	udp := &layers.UDP{SrcPort: layers.UDPPort(o.sport), DstPort: layers.UDPPort(o.dport)}
	if o.src.Is6() {
		ip := &layers.IPv6{
			Version: 6, HopLimit: 64, TrafficClass: o.tos, FlowLabel: o.label, NextHeader: layers.IPProtocolUDP,
			SrcIP: o.src.AsSlice(), DstIP: o.dst.AsSlice(),
		}
		must(udp.SetNetworkLayerForChecksum(ip))
		return o.withoutChecksum(serialize(ip, udp, gopacket.Payload(gtpu)), gtpu)
	}
	ip := &layers.IPv4{
		Version: 4, TTL: 64, TOS: o.tos, Protocol: layers.IPProtocolUDP, Flags: o.flags,
		SrcIP: o.src.AsSlice(), DstIP: o.dst.AsSlice(), Options: o.options,
	}
	if o.df {
		ip.Flags = layers.IPv4DontFragment
	}
	must(udp.SetNetworkLayerForChecksum(ip))
	return o.withoutChecksum(serialize(ip, udp, gopacket.Payload(gtpu)), gtpu)
}

func (o outer) withoutChecksum(packet, gtpu []byte) []byte {
	if !o.checksum {
		at := len(packet) - len(gtpu) - 2
		packet[at], packet[at+1] = 0, 0
	}
	return packet
}

// onN3 is a GTP-U message in a datagram from the gNB.
func onN3(gtpu []byte) []byte { return fromGNB.frame(N3MAC, ghostMAC, gtpu) }

// onN9 is a GTP-U message in a datagram from the UPF on N9.
func onN9(gtpu []byte) []byte {
	return outer{src: PeerAddress, dst: N9Address, sport: 2152, dport: 2152}.frame(N9MAC, ghostMAC, gtpu)
}

// outN9 is a G-PDU as it leaves on N9.
func outN9(sport uint16, gtpu []byte) []byte {
	return outer{src: N9Address, dst: PeerAddress, sport: sport, dport: 2152, df: true}.frame(PeerMAC, N9MAC, gtpu)
}

// told is a GTP-U message that the UPF sends of its own accord, in hex.
func told(from, to netip.Addr, message string) [][]byte {
	return [][]byte{outer{src: from, dst: to, sport: 2152, dport: 2152, df: true}.packet(octets(message))}
}

// octets reads hex with spaces.
func octets(s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	must(err)
	return b
}

// errorIndication answers a G-PDU from the gNB to a TEID that nobody has.
func errorIndication(teid string) [][]byte {
	return told(N3Address, GNBAddress, "361a 0014 00000000 0000 00 40  01 0868 00  10 "+teid+"  85 0004 0a030001")
}

// outN3 is a G-PDU as it leaves on N3. sport is the source port of the outer
// header, one per flow of the user.
func outN3(peer netip.Addr, mac [6]byte, sport uint16, dscp uint8, gtpu []byte) []byte {
	o := outer{src: N3Address, dst: peer, sport: sport, dport: 2152, tos: dscp << 2, df: true}
	return o.frame(mac, N3MAC, gtpu)
}

// gpdu is a GTP-U header in hex and a user packet behind it. LEN in the header
// stands for the right Length.
func gpdu(header string, u user) []byte { return message(header, u.bytes()) }

func message(header string, payload []byte) []byte {
	header = strings.ReplaceAll(header, " ", "")
	size := len(strings.ReplaceAll(header, "LEN", "0000"))/2 - 8 + len(payload)
	header = strings.ReplaceAll(header, "LEN", fmt.Sprintf("%04x", size))
	b, err := hex.DecodeString(header)
	must(err)
	return append(b, payload...)
}

// BenchFrames returns an uplink and a downlink frame with 64 octets of UDP
// payload, for benchmarks that put TEID and UE address in.
func BenchFrames() (uplink, downlink []byte) { return BenchFramesOf(64) }

// BenchFramesOf is [BenchFrames] with payload octets.
func BenchFramesOf(payload int) (uplink, downlink []byte) {
	u, d := up4, down4
	u.payload, d.payload = payload, payload
	return onN3(gpdu(pscUL("00000001"), u)), onN6(d)
}
