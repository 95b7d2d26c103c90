package p4

import (
	"bytes"
	"encoding/binary"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// set changes octets of a header from a place on, before its checksum is made.
type set struct {
	at int
	to []byte
}

func apply(b []byte, all []set) []byte {
	for _, s := range all {
		copy(b[s.at:], s.to)
	}
	return b
}

func ipv4(from, to string, protocol byte, payload []byte, change ...set) []byte {
	b := []byte{0x45, 0, 0, 0, 0x12, 0x34, 0x40, 0, 61, protocol, 0, 0}
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(payload)))
	b = append(append(b, netip.MustParseAddr(from).AsSlice()...), netip.MustParseAddr(to).AsSlice()...)
	apply(b, change)
	binary.BigEndian.PutUint16(b[10:], internetSum(b))
	return append(b, payload...)
}

func ipv6(from, to string, next byte, payload []byte, change ...set) []byte {
	b := []byte{0x60, 0x51, 0x23, 0x45, 0, 0, next, 61}
	binary.BigEndian.PutUint16(b[4:], uint16(len(payload)))
	b = append(append(b, netip.MustParseAddr(from).AsSlice()...), netip.MustParseAddr(to).AsSlice()...)
	return append(apply(b, change), payload...)
}

func internetSum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// udpOf is a UDP datagram with octets that are all different.
func udpOf(from, to uint16, octets int) []byte {
	b := binary.BigEndian.AppendUint16(nil, from)
	b = binary.BigEndian.AppendUint16(b, to)
	b = append(binary.BigEndian.AppendUint16(b, uint16(8+octets)), 0xab, 0xcd)
	for i := range octets {
		b = append(b, byte(3*i+1))
	}
	return b
}

// gtpu is a G-PDU from its UDP header on. behind is what is between the TEID and the user packet.
func gtpuHeader(teid uint32, flags byte, behind, user []byte) []byte {
	b := udpOf(2152, 2152, 0)
	binary.BigEndian.PutUint16(b[4:], uint16(16+len(behind)+len(user)))
	b = append(b, 0x30|flags, 0xff)
	b = binary.BigEndian.AppendUint16(b, uint16(len(behind)+len(user)))
	b = binary.BigEndian.AppendUint32(b, teid)
	return append(append(b, behind...), user...)
}

// container is a PDU Session Container of an uplink packet of QFI, with a sequence number in front.
func container(qfi byte) []byte { return []byte{0x77, 0x88, 0, 0x85, 1, 0x10, qfi, 0} }

// up is a G-PDU to the UPF with a container of QFI 9.
func up(teid uint32, user []byte) []byte {
	return ethernet(0, ipv4(farGNB4, local4, inet.ProtoUDP, gtpuHeader(teid, 4, container(9), user)))
}

// ethernet is a frame to the UPF with an IP packet; vid 0: without a tag.
func ethernet(vid uint16, ip []byte) []byte {
	b := append(mac(macUPF), 2, 0, 0, 0, 0, 0xbb)
	if vid != 0 {
		b = binary.BigEndian.AppendUint16(append(b, 0x81, 0), vid|3<<13)
	}
	if ip[0]>>4 == 6 {
		return append(append(b, 0x86, 0xdd), ip...)
	}
	return append(append(b, 8, 0), ip...)
}

func mac(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v)[2:] }

// user4 and user6 are packets of UE 1, and down4 and down6 frames to a UE.
func user4(to string, octets int, change ...set) []byte {
	return ipv4(ue4(1), to, inet.ProtoUDP, udpOf(4000, 53, octets), change...)
}

func user6(to string, octets int, change ...set) []byte {
	return ipv6(ue6(1), to, inet.ProtoUDP, udpOf(4000, 53, octets), change...)
}

func down4(ue, octets int, change ...set) []byte {
	return ethernet(0, ipv4(server4, ue4(ue), inet.ProtoUDP, udpOf(53, 4000, octets), change...))
}

func down6(ue, octets int, change ...set) []byte {
	return ethernet(0, ipv6(server6, ue6(ue), inet.ProtoUDP, udpOf(53, 4000, octets), change...))
}

// frameCase is a frame that comes to a port, or from the controller for port 2, and what is to become of it.
type frameCase struct {
	name  string
	port  uint32
	frame []byte
	to    uint32          // port that it leaves by; 0: none
	why   datapath.Reason // for which it does not leave: it is dropped or handed to the CPU
}

func cut(b []byte, n int) []byte { return bytes.Clone(b[:len(b)-n]) }

func with(b []byte, at int, to ...byte) []byte { return apply(bytes.Clone(b), []set{{at, to}}) }

const moreFragments, offset1 = 0x20, 1

// frameCases are all.
func frameCases() (all []frameCase) {
	for _, some := range [][]frameCase{uplinkCases(), downlinkCases(), filteredCases(), handedCases(), limitedCases()} {
		all = append(all, some...)
	}
	return all
}

func uplinkCases() []frameCase {
	last := func(n int, b ...byte) set { return set{n, b} }
	wrong := up(teid, user4(server4, 30))
	return []frameCase{
		{"uplink", 1, up(teid, user4(server4, 30)), 2, 0},
		{"uplink, odd", 1, up(teid, user4(server4, 31)), 2, 0},
		{"uplink, no payload", 1, up(teid, ipv4(ue4(1), server4, 1, nil)), 2, 0},
		{"uplink, greatest", 1, up(teid, user4(server4, 1414)), 2, 0},
		{"uplink, IPv6", 1, up(teid, user6(server6, 30)), 2, 0},
		{"uplink over IPv6", 1, ethernet(0, ipv6(farGNB6, local6, inet.ProtoUDP, gtpuHeader(teid, 4, container(9), user4(server4, 30)))), 2, 0},
		{"uplink over IPv6, IPv6", 1, ethernet(0, ipv6(farGNB6, local6, inet.ProtoUDP, gtpuHeader(teid, 4, container(9), user6(server6, 31)))), 2, 0},
		{"no container", 1, ethernet(0, ipv4(farGNB4, local4, inet.ProtoUDP, gtpuHeader(teidPlain, 0, nil, user4(server4, 30)))), 2, 0},
		{"no container, but expected", 1, ethernet(0, ipv4(farGNB4, local4, inet.ProtoUDP, gtpuHeader(teid, 0, nil, user4(server4, 30)))), 0, datapath.PassRules},
		{"sequence number", 1, ethernet(0, ipv4(farGNB4, local4, inet.ProtoUDP, gtpuHeader(teidOptional, 2, []byte{1, 2, 3, 4}, user4(server4, 30)))), 2, 0},
		{"container, another extension behind", 1, ethernet(0, ipv4(farGNB4, local4, inet.ProtoUDP, gtpuHeader(teid, 4, []byte{1, 2, 0, 0x85, 1, 0, 9, 0xc0, 1, 0, 0, 0}, user4(server4, 30)))), 0, datapath.PassSignalling},
		{"tagged", 1, ethernet(vidAccess, ipv4(farGNB4, local4, inet.ProtoUDP, gtpuHeader(teidTagged, 4, container(9), user4(server4, 30)))), 2, 0},
		{"another tag", 1, ethernet(vidData, ipv4(farGNB4, local4, inet.ProtoUDP, gtpuHeader(teidTagged, 4, container(9), user4(server4, 30)))), 0, datapath.PassHost},
		{"longer prefix, tagged", 1, up(teid, user4("8.8.8.8", 30)), 2, 0},
		{"longest prefix", 1, up(teid, user4("8.8.8.129", 30)), 0, datapath.PassUnresolved},
		{"longer prefix, IPv6", 1, up(teid, user6("2001:db8:f::9", 30)), 2, 0},
		{"longest prefix, IPv6", 1, up(teid, user6("2001:db8:8::1", 30)), 0, datapath.PassUnresolved},
		{"to the UPF itself", 1, up(teid, user4(local4, 30)), 0, datapath.PassHost},
		{"to the UPF itself, IPv6", 1, up(teid, user6(local6, 30)), 0, datapath.PassHost},
		{"gate is closed", 1, up(teidGate, user4(server4, 30)), 0, datapath.DropGate},
		{"another source", 1, up(teid, ipv4(ue4(2), server4, inet.ProtoUDP, udpOf(1, 2, 30))), 0, datapath.DropUEAddress},
		{"another source, IPv6", 1, up(teid, ipv6(ue6(2), server6, inet.ProtoUDP, udpOf(1, 2, 30))), 0, datapath.DropUEAddress},
		{"another source that no router forwards", 1, up(teid, ipv4("169.254.1.1", server4, inet.ProtoUDP, udpOf(1, 2, 30))), 0, datapath.PassAnswer},
		{"any source", 1, up(teidAnyUE, ipv4("198.51.100.7", server4, inet.ProtoTCP, udpOf(1, 2, 30))), 2, 0},
		{"TTL ends", 1, up(teid, user4(server4, 30, last(8, 1))), 0, datapath.PassAnswer},
		{"TTL 2", 1, up(teid, user4(server4, 30, last(8, 2))), 2, 0},
		{"Hop Limit ends", 1, up(teid, user6(server6, 30, last(7, 1))), 0, datapath.PassAnswer},
		{"wrong checksum of the user", 1, with(wrong, tunnel4PSC+10, 0xfe, 0xff), 2, 0},
		{"wrong checksum of the gNB", 1, with(wrong, 14+10, 0, 1), 2, 0},
		{"to another UPF", 1, up(teidToPeer, user4(server4, 30)), 1, 0},
		{"to another UPF, TTL 1", 1, up(teidToPeer, user4(server4, 30, last(8, 1))), 1, 0},
		{"to another UPF, with a QFI", 1, up(teidToPeerQFI, user4(server4, 31)), 1, 0},
		{"to another UPF, no container came", 1, ethernet(0, ipv4(farGNB4, local4, inet.ProtoUDP, gtpuHeader(teidToPeerQFI, 0, nil, user4(server4, 31)))), 0, datapath.PassRules},
		{"to another UPF over IPv6", 1, up(teidToPeer6, user6(server6, 31)), 1, 0},
	}
}

func downlinkCases() []frameCase {
	return []frameCase{
		{"downlink", 2, down4(ueDown, 30), 1, 0},
		{"downlink, no payload", 2, ethernet(0, ipv4(server4, ue4(ueDown), 1, nil)), 1, 0},
		{"downlink, one octet", 2, ethernet(0, ipv4(server4, ue4(ueDown), inet.ProtoTCP, []byte{9, 8, 7, 6, 5})), 1, 0},
		{"downlink, greatest", 2, down4(ueDown, 1500-44-28), 1, 0},
		{"downlink, too great", 2, down4(ueDown, 1500-44-28+1), 0, datapath.PassTooBig},
		{"downlink, IPv6", 2, down6(ueDown, 30), 1, 0},
		{"downlink over IPv6", 2, down4(ueDown6, 30), 1, 0},
		{"downlink over IPv6, odd", 2, down4(ueDown6, 31), 1, 0},
		{"downlink over IPv6, greatest", 2, down4(ueDown6, 1500-64-28), 1, 0},
		{"downlink over IPv6, IPv6", 2, down6(ueDown6, 31), 1, 0},
		{"downlink over IPv6, no ports", 2, ethernet(0, ipv4(server4, ue4(ueDown6), 1, []byte{1, 2, 3})), 1, 0},
		{"downlink over IPv6, no container", 2, down6(ueDownPlain6, 33), 1, 0},
		{"downlink, DSCP of the rule", 2, down4(ueDownDSCP, 30, set{1, []byte{0x2b}}), 1, 0},
		{"downlink, DSCP of the packet", 2, down4(ueDown, 30, set{1, []byte{0xbb}}), 1, 0},
		{"downlink, Traffic Class of the packet", 2, down6(ueDown, 30, set{0, []byte{0x6b, 0xb0}}), 1, 0},
		{"downlink, fragment", 2, down4(ueDown, 30, set{6, []byte{moreFragments, offset1}}), 1, 0},
		{"downlink, wrong checksum", 2, with(down4(ueDown, 30), 14+10, 0xff, 0x7f), 1, 0},
		{"downlink, refused", 2, down4(ueDownGate, 30), 0, datapath.DropFAR},
		{"downlink, no peer", 2, down4(ueDownNoPeer, 30), 0, datapath.PassUnresolved},
		{"downlink, MTU of the next hop", 2, down4(ueDownLow, 200-44-28), 1, 0},
		{"downlink, more than that", 2, down4(ueDownLow, 200-44-28+1), 0, datapath.PassTooBig},
		{"downlink, tagged", 2, down4(ueDownTagged, 30), 1, 0},
		{"downlink from a tagged port", 2, ethernet(vidData, ipv4(server4, ue4(ueFromTagged), inet.ProtoUDP, udpOf(53, 4000, 30))), 1, 0},
		{"downlink, changing", 2, down4(ueCPU, 30), 0, datapath.PassChanging},
		{"downlink, no rule", 2, down4(ueNoRule, 30), 0, datapath.PassChanging},
		{"downlink, other headers", 2, down4(ueNotExpected, 30), 0, datapath.PassRules},
		{"framed route", 2, ethernet(0, ipv4(server4, "192.168.4.1", inet.ProtoUDP, udpOf(1, 2, 30))), 1, 0},
		{"framed route, longer", 2, ethernet(0, ipv4(server4, "192.168.5.1", inet.ProtoUDP, udpOf(1, 2, 30))), 0, datapath.DropFAR},
		{"framed route, longest", 2, ethernet(0, ipv4(server4, "192.168.5.200", inet.ProtoUDP, udpOf(1, 2, 30))), 0, datapath.PassChanging},
		{"framed route, IPv6", 2, ethernet(0, ipv6(server6, "2001:db8:f12::1", inet.ProtoUDP, udpOf(1, 2, 30))), 1, 0},
		{"framed route, any", 2, ethernet(0, ipv6(server6, "2001:db9::1", inet.ProtoUDP, udpOf(1, 2, 30))), 0, datapath.DropFAR},
		{"TTL ends", 2, down4(ueDown, 30, set{8, []byte{1}}), 0, datapath.PassAnswer},
		{"from no address", 2, ethernet(0, ipv4("0.0.0.0", ue4(ueDown), inet.ProtoUDP, udpOf(1, 2, 30))), 0, datapath.PassAnswer},
		{"from a link-local address", 2, ethernet(0, ipv6("fe80::1", ue6(ueDown), inet.ProtoUDP, udpOf(1, 2, 30))), 0, datapath.PassAnswer},
		{"packet-out", cpuPort, down4(ueDown, 30), 2, 0},
		{"packet-out, short", cpuPort, down4(ueDown, 30)[:14], 2, 0},
	}
}

func filteredCases() []frameCase {
	packet := func(to string, protocol byte, from, port uint16, change ...set) []byte {
		return ipv4(ue4(1), to, protocol, udpOf(from, port, 20), change...)
	}
	packet6 := func(to string, from, port uint16) []byte {
		return ipv6(ue6(1), to, inet.ProtoUDP, udpOf(from, port, 20))
	}
	list := func(user []byte) []byte { return up(teidList, user) }
	return []frameCase{
		{"filter: DNS", 1, list(packet("8.8.4.4", inet.ProtoUDP, 4000, 53)), 2, 0},
		{"filter: of greater priority", 1, list(packet("8.8.4.4", inet.ProtoUDP, 1000, 53)), 2, 0},
		{"filter: end of a range", 1, list(packet("1.1.1.1", inet.ProtoUDP, 1999, 9)), 2, 0},
		{"filter: behind a range", 1, list(packet("1.1.1.1", inet.ProtoUDP, 2000, 9)), 0, datapath.DropSDFFilter},
		{"filter: TCP", 1, list(packet("1.1.1.1", inet.ProtoTCP, 2000, 443)), 2, 0},
		{"filter: TCP, before a range", 1, list(packet("1.1.1.1", inet.ProtoTCP, 2000, 79)), 0, datapath.DropSDFFilter},
		{"filter: ToS", 1, list(packet("1.1.1.1", inet.ProtoSCTP, 2, 9, set{1, []byte{0xba}})), 2, 0},
		{"filter: no ports", 1, list(packet("1.1.1.1", 1, 1500, 53)), 0, datapath.DropSDFFilter},
		{"filter: QFI", 1, ethernet(0, ipv4(farGNB4, local4, inet.ProtoUDP, gtpuHeader(teidList, 4, container(5), packet("1.1.1.1", inet.ProtoUDP, 2, 9)))), 0, datapath.DropGate},
		{"filter: cpu", 1, list(packet("9.1.1.1", inet.ProtoUDP, 2, 9)), 0, datapath.PassN6},
		{"filter: fragment", 1, list(packet("1.1.1.1", inet.ProtoUDP, 2, 9, set{6, []byte{moreFragments, 0}})), 0, datapath.PassRules},
		{"filter: extension header", 1, list(ipv6(ue6(1), server6, 60, []byte{17, 0, 1, 4, 0, 0, 0, 0, 1, 2, 3, 4, 0, 8, 0, 0})), 0, datapath.PassRules},
		{"filter: DNS, IPv6", 1, list(packet6("2001:db8:8::53", 4000, 53)), 2, 0},
		{"filter: low half of a destination", 1, list(packet6("2001:db8:77::80", 1023, 9)), 2, 0},
		{"filter: high bit of it", 1, list(packet6("2001:db8:77:0:8000::", 65535, 9)), 0, datapath.DropSDFFilter},
		{"filter: nothing matches", 1, list(packet6("2001:db8:77::80", 1024, 9)), 0, datapath.PassRules},
		{"filter: of the network", 2, ethernet(0, ipv4("8.0.0.3", ue4(ueList), inet.ProtoUDP, udpOf(1, 2, 30))), 1, 0},
		{"filter: bit of the source", 2, ethernet(0, ipv4("8.0.0.2", ue4(ueList), inet.ProtoUDP, udpOf(1, 2, 30))), 0, datapath.PassRules},
	}
}

// handed are frames for the CPU.
func handedCases() []frameCase {
	request, ip := up(teid, user4(server4, 30)), down4(ueDown, 30)
	echo := ethernet(0, ipv4(farGNB4, local4, inet.ProtoUDP, append(udpOf(2152, 2152, 0), 0x32, 1, 0, 4, 0, 0, 0, 0, 1, 2, 0, 0)))
	all := []frameCase{
		{"unknown TEID", 1, up(teidUnknown, user4(server4, 30)), 0, datapath.PassRules},
		{"changing", 1, up(teidCPU, user4(server4, 30)), 0, datapath.PassChanging},
		{"rule of the CPU", 1, up(teidRuleCPU, user4(server4, 30)), 0, datapath.PassRules},
		{"no rule", 1, up(teidNoRule, user4(server4, 30)), 0, datapath.PassChanging},
		{"other headers", 1, up(teidNotExpected, user4(server4, 30)), 0, datapath.PassRules},
		{"Echo Request", 1, echo, 0, datapath.PassSignalling},
		{"unknown UE", 2, down4(ueUnknown, 30), 0, datapath.PassHost},
		{"G-PDU from the data network", 2, request, 0, datapath.PassHost},
		{"user packet from N3", 1, ip, 0, datapath.PassHost},
		{"another MAC address", 2, with(ip, 5, 0x99), 0, datapath.PassHost},
		{"ARP", 2, with(cut(ip, 16), 12, 8, 6, 0, 1), 0, datapath.PassHost},
		{"only a header", 2, ip[:14], 0, datapath.PassHost},
		{"only a header, tagged", 2, ethernet(vidData, ipv4(server4, ue4(1), 1, nil))[:20], 0, datapath.PassHost},
		{"IPv4 header is cut off", 2, ip[:33], 0, datapath.PassHost},
		{"ports are cut off", 2, ip[:36], 0, datapath.PassHost},
		{"GTP-U header is cut off", 1, request[:45], 0, datapath.PassHost},
		{"container is cut off", 1, request[:55], 0, datapath.PassHost},
		{"user header is cut off", 1, request[:65], 0, datapath.PassHost},
		{"user packet is cut off", 1, cut(request, 1), 0, datapath.PassRules},
		{"octets behind the packet", 2, append(bytes.Clone(ip), 0, 0, 0), 0, datapath.PassRules},
		{"GTP-U and IP disagree", 1, with(request, 45, 9), 0, datapath.PassHost},
		{"IPv4 options", 2, with(ip, 14, 0x46), 0, datapath.PassRules},
		{"IP version 5", 2, with(ip, 14, 0x55), 0, datapath.PassRules},
		{"IP version 5, said to be IPv6", 2, with(down6(ueDown, 30), 14, 0x50), 0, datapath.PassRules},
		{"user packet of IP version 5", 1, with(request, tunnel4PSC, 0x55), 0, datapath.PassSignalling},
	}
	return all
}

// limited are frames of which an MBR lets the first ones pass.
func limitedCases() (all []frameCase) {
	const headers = 28
	user := user4(server4, meteredOctets-headers)
	for i := range metered {
		one := []frameCase{
			{"uplink MBR", 1, up(teidMBR, user), 2, 0}, {"MBR of a slice", 1, up(teidSlice, user), 2, 0},
			{"two MBRs", 1, up(teidTwo, user), 2, 0}, {"downlink MBR", 2, down4(ueDownMBR, meteredOctets-headers), 1, 0},
		}
		for j := range one {
			if i >= meteredPasses {
				one[j].to, one[j].why = 0, datapath.DropMBR
			}
		}
		all = append(all, one...)
	}
	for i := meteredPasses; i < widePasses+2; i++ { // what the second MBR dropped was given back to the first
		one := frameCase{"first of two MBRs", 1, up(teidWide, user), 2, 0}
		if i >= widePasses {
			one.to, one.why = 0, datapath.DropMBR
		}
		all = append(all, one)
	}
	return all
}
