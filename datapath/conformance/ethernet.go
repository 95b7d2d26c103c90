package conformance

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// Ethernet PDU sessions 11 and 12 are on the data network "lan": F-TEIDs 11 and 12,
// the gNB's 0x111 and 0x112. Their UEs' MAC addresses end in 11 and 12, that of a
// host of the data network in 99.

const etherTest = 0x88b5 // IEEE 802, local experimental

// ether makes a frame; tags are TPID << 16 | TCI.
func ether(to, from byte, ethertype uint16, payload []byte, tags ...uint32) []byte {
	b := append(append([]byte{}, etherMAC(to)...), etherMAC(from)...)
	for _, t := range tags {
		b = binary.BigEndian.AppendUint32(b, t)
	}
	return append(binary.BigEndian.AppendUint16(b, ethertype), payload...)
}

// etherMAC is a MAC address; 0xff: of all.
func etherMAC(last byte) []byte {
	if last == 0xff {
		return []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	}
	return []byte{0x42, 0, 0, 0, 0, last} // whose first octet looks like IPv4
}

// anyFrame is a frame whose payload nobody knows.
func anyFrame(to, from byte, tags ...uint32) []byte {
	return ether(to, from, etherTest, []byte("any octets"), tags...)
}

// etherSession is session 10 + n; changes may make another one of it.
func etherSession(n uint32, changes ...func(up, down *api.Rule)) *api.Session {
	up := &api.Rule{
		PdrId: 1, FarId: 1, OuterHeaderRemoval: true, QerIds: []uint32{1}, UrrIds: []uint32{1},
		Detect:  &api.Detect{FTeid: &api.FTEID{Teid: 10 + n, Ipv4: v4(N3Address)}},
		Forward: &api.Forward{Action: api.Action_FORW, DestinationInterface: api.Interface_CORE, NetworkInstance: "lan"},
	}
	down := &api.Rule{
		PdrId: 2, FarId: 2, QerIds: []uint32{1}, UrrIds: []uint32{1},
		Detect: &api.Detect{SourceInterface: api.Interface_CORE, EthernetSession: true, NetworkInstance: "lan"},
		Forward: &api.Forward{
			Action: api.Action_FORW, DestinationInterface: api.Interface_ACCESS,
			OuterHeaderCreation: &api.OuterHeaderCreation{Teid: 0x110 + n, Ipv4: v4(GNBAddress)},
		},
	}
	for _, change := range changes {
		change(up, down)
	}
	return &api.Session{
		Seid: uint64(10 + n), PduType: api.PDUType_ETHERNET, Rules: []*api.Rule{up, down},
		Qers: []*api.QER{{Id: 1, Qfi: 9}}, Urrs: []*api.URR{{Id: 1, MacAddresses: true}},
	}
}

func v4(a netip.Addr) uint32 { return binary.BigEndian.Uint32(a.AsSlice()) }

// etherUp is a frame of UE 10 + n as it arrives on N3.
func etherUp(n int, frame []byte) []byte {
	return onN3(message(fmt.Sprintf("34 ff LEN %08x 0000 00 85 01 10 09 00", 10+n), frame))
}

// etherDown is a G-PDU with a frame to UE 10 + n as it leaves on N3. The flow, by
// which it has a source port, is that of the IP packet in it.
func etherDown(n int, sport uint16, dscp uint8, frame []byte) []byte {
	return outN3(GNBAddress, GNBMAC, sport, dscp, message(fmt.Sprintf("34 ff LEN %08x 0000 00 85 01 00 09 00", 0x110+n), frame))
}

// learn is the first frame of UE 10 + n, to the host: the slow path takes it.
func learn(n int) step {
	p := etherUpRow("", n, anyFrame(99, byte(10+n)))
	p.slow = true
	p.events = []*api.Event{macs(n, true, byte(10+n))}
	return frames(1, p)
}

// learnIn is the same in another VLAN: the address is known.
func learnIn(n int, tags ...uint32) step {
	p := etherUpRow("", n, anyFrame(99, byte(10+n), tags...))
	p.slow = true
	return frames(1, p)
}

// hear is a frame of the host to UE 10 + n, by which it may be heard of first.
func hear(n int, tags ...uint32) step {
	return frames(1, hears(etherDownRow(n, anyFrame(byte(10+n), 99, tags...))))
}

// macs is the event that UE 10 + n has addresses, or has them no more.
func macs(n int, detected bool, last byte) *api.Event {
	e := &api.Event{Kind: api.EventKind_MAC_ADDRESSES, Seid: uint64(10 + n), RuleId: 1}
	if detected {
		e.MacsDetected = [][]byte{etherMAC(last)}
	} else {
		e.MacsRemoved = [][]byte{etherMAC(last)}
	}
	return e
}

// etherUpRow is a frame of UE 10 + n that leaves on the data network as it is.
func etherUpRow(name string, n int, frame []byte) packet {
	return packet{
		name: name, port: N3, in: etherUp(n, frame), want: frame, frame: true,
		seid: uint64(10 + n), pdr: 1, octets: uint64(len(frame)), urrs: []uint32{1},
	}
}

// etherDownRow is a frame to UE 10 + n.
func etherDownRow(n int, frame []byte) packet {
	return packet{
		port: N6LAN, in: frame, want: etherDown(n, 0xc000, 0, frame),
		seid: uint64(10 + n), pdr: 2, octets: uint64(len(frame)), urrs: []uint32{1},
	}
}

// dropRow is p, dropped.
func dropRow(p packet, reason datapath.Reason) packet {
	p.want, p.frame, p.reason = nil, false, reason
	return p
}

// hairpin is a frame of UE 11 to UE 12.
func hairpin(frame []byte) packet {
	return packet{
		port: N3, in: etherUp(1, frame), want: etherDown(2, 0xc000, 0, frame),
		seid: 11, pdr: 1, octets: uint64(len(frame)), urrs: []uint32{1},
		also: []packet{{seid: 12, pdr: 2, octets: uint64(len(frame)), urrs: []uint32{1}, downlink: true}},
	}
}

// unknown is a frame to an address that nobody has.
func unknown(frame []byte) packet {
	return packet{port: N6LAN, in: frame, reason: datapath.DropNoMAC}
}

// reserved is a frame to 01:80:c2:00:00:xx: up to 0f no bridge relays it.
func reserved(last, from byte) []byte {
	f := anyFrame(0, from)
	copy(f, []byte{0x01, 0x80, 0xc2, 0, 0, last})
	return f
}

// toAll is a frame to all, of UE 11.
func toAll() packet { return toGroup(anyFrame(0xff, 11)) }

// toGroup is one to a group.
func toGroup(frame []byte) packet {
	p := etherUpRow("", 1, frame)
	p.slow = true
	p.also = []packet{{seid: 12, pdr: 2, octets: uint64(len(frame)), urrs: []uint32{1}, downlink: true}}
	p.sent = [][]byte{etherDown(2, 0xc000, 0, frame)[14:]}
	return p
}

// filtered lets both PDRs of a session match frames with the filter only.
func etherFilter(f *api.EthernetFilter) func(up, down *api.Rule) {
	return func(up, down *api.Rule) {
		up.Detect.EthernetFilters, down.Detect.EthernetFilters = []*api.EthernetFilter{f}, []*api.EthernetFilter{f}
	}
}

var etherScripts = []script{
	{"Ethernet: learnt, then both ways", []step{
		install(etherSession(1)), learn(1),
		frames(2, etherUpRow("", 1, anyFrame(99, 11))), hear(1), frames(2, etherDownRow(1, anyFrame(11, 99))),
		learnIn(1, 0x88a80003, 0x8100a007), frames(1, etherUpRow("", 1, anyFrame(99, 11, 0x88a80003, 0x8100a007))),
		frames(1, unknown(anyFrame(11, 99, 0x8100a007))), learnIn(1, 0x8100a007), hear(1, 0x8100a007),
		frames(1, etherDownRow(1, anyFrame(11, 99, 0x8100a007))), frames(1, etherDownRow(1, anyFrame(11, 99, 0x8100e000))),
		frames(1, unknown(anyFrame(12, 99))),
		frames(1, packet{port: N6LAN, in: ether(11, 99, 0x8100, []byte("ab")), reason: datapath.DropEthernetShort}),
		frames(1, packet{port: N3, in: etherUp(1, ether(99, 11, 0x8100, []byte("ab"))), reason: datapath.DropEthernetShort}),
		frames(1, packet{port: N3, in: etherUp(1, anyFrame(99, 11)[:13]), reason: datapath.DropEthernetShort}),
		remove(11), frames(1, unknown(anyFrame(11, 99))),
	}},
	{"Ethernet: from UE to UE, and nothing back to where it came from", []step{
		install(etherSession(1)), install(etherSession(2)), learn(1), learn(2),
		frames(2, hairpin(anyFrame(12, 11))), learnIn(1, 0x8100a007), learnIn(2, 0x8100a007), frames(1, hairpin(anyFrame(12, 11, 0x8100a007))),
		frames(1, dropRow(etherUpRow("", 1, anyFrame(11, 11)), datapath.DropNoMAC)),
		frames(1, toAll()),
		frames(1, dropRow(etherUpRow("", 2, anyFrame(99, 11)), datapath.DropMAC)), // of another
		frames(1, dropRow(etherUpRow("", 1, anyFrame(99, 0xff)), datapath.DropMAC)),
		frames(1, hairpin(anyFrame(12, 11))),
		remove(12), frames(1, etherUpRow("", 1, anyFrame(12, 11))), // whom nobody knows any more
	}},
	{"Ethernet: a gate of the other UE, and one of one's own", []step{
		install(etherSession(1)), install(etherSession(2)), learn(1), learn(2),
		install(change(etherSession(2), func(s *api.Session) { s.Qers[0].DownlinkGateClosed = true })),
		frames(1, func() packet {
			p := dropRow(hairpin(anyFrame(12, 11)), datapath.DropGate)
			p.seid, p.pdr, p.also = 12, 2, []packet{{seid: 11, pdr: 1, octets: 24, urrs: []uint32{1}}}
			return p
		}()),
		install(change(etherSession(1), func(s *api.Session) { s.Qers[0].UplinkGateClosed = true })),
		frames(1, dropRow(etherUpRow("", 1, anyFrame(99, 11)), datapath.DropGate)),
	}},
	{"Ethernet: sizes", []step{
		install(etherSession(1)), learn(1),
		frames(1, etherUpRow("", 1, ether(99, 11, etherTest, make([]byte, MTU)))), learnIn(1, 0x8100a007),
		frames(1, etherUpRow("", 1, ether(99, 11, etherTest, make([]byte, MTU), 0x8100a007))),
		frames(1, dropRow(etherUpRow("", 1, ether(99, 11, etherTest, make([]byte, MTU+1))), datapath.DropMTU)),
		frames(1, dropRow(etherUpRow("", 1, ether(99, 11, etherTest, make([]byte, MTU), 0x88a80001, 0x8100a007)), datapath.DropMTU)),
		frames(1, etherUpRow("", 1, ether(99, 11, etherTest, nil))),
	}},
	{"Ethernet: an address of the data network is no UE's", []step{
		install(etherSession(1)), install(etherSession(2)), learn(1), learn(2), hear(1),
		frames(1, dropRow(etherUpRow("", 2, anyFrame(0xff, 99)), datapath.DropMAC)), frames(2, etherUpRow("", 1, anyFrame(99, 11))),
		// One that a UE had first goes to the data network with the first frame from there.
		frames(1, bySlowPath(etherUpRow("", 2, anyFrame(99, 98)), macs(2, true, 98))), frames(1, hairpin(anyFrame(98, 11))),
		frames(1, bySlowPath(etherDownRow(1, anyFrame(11, 98)), macs(2, false, 98))),
		frames(1, etherUpRow("", 1, anyFrame(98, 11))), frames(1, etherDownRow(1, anyFrame(11, 98))),
		frames(1, dropRow(etherUpRow("", 2, anyFrame(99, 98)), datapath.DropMAC)),
	}},
	{"Ethernet: the SMF says to whom an address may move", []step{
		install(etherSession(1)), install(etherSession(2)), learn(1), learn(2), hear(1),
		frames(1, bySlowPath(etherUpRow("", 1, anyFrame(99, 50)), macs(1, true, 50))),
		frames(1, dropRow(etherUpRow("", 2, anyFrame(99, 50)), datapath.DropMAC)), install(allowed(2, 50, 60)),
		frames(1, dropRow(etherUpRow("", 2, anyFrame(99, 50)), datapath.DropMAC)), install(allowed(2, 50, 50)),
		frames(1, bySlowPath(etherUpRow("", 2, anyFrame(99, 50)), macs(1, false, 50), macs(2, true, 50))),
		frames(1, etherUpRow("", 2, anyFrame(99, 50))), frames(1, etherDownRow(2, anyFrame(50, 99))),
		frames(1, dropRow(etherUpRow("", 1, anyFrame(99, 50)), datapath.DropMAC)),
	}},
	{"Ethernet: an address in each VLAN", []step{
		install(etherSession(1)), install(etherSession(2)), learn(1), learn(2),
		frames(1, bySlowPath(etherUpRow("", 1, anyFrame(99, 51, 0x8100000a)), macs(1, true, 51))),
		frames(1, bySlowPath(etherUpRow("", 2, anyFrame(99, 51, 0x81000014)), macs(2, true, 51))),
		frames(1, bySlowPath(etherUpRow("", 2, anyFrame(99, 51, 0x88a8001e, 0x8100000a)))),
		frames(1, dropRow(etherUpRow("", 2, anyFrame(99, 51, 0x8100000a)), datapath.DropMAC)),
		frames(1, hears(etherDownRow(1, anyFrame(51, 99, 0x8100000a)))), frames(1, hears(etherDownRow(2, anyFrame(51, 99, 0x81000014)))),
		frames(1, hears(etherDownRow(2, anyFrame(51, 99, 0x88a8001e, 0x8100000a)))), frames(1, unknown(anyFrame(51, 99))),
	}},
	{"Ethernet: what no bridge relays", []step{
		install(etherSession(1)), install(etherSession(2)), learn(1), learn(2),
		frames(1, dropRow(etherUpRow("", 1, reserved(0x00, 11)), datapath.DropNoMAC)), frames(1, dropRow(etherUpRow("", 1, reserved(0x0f, 11)), datapath.DropNoMAC)),
		frames(1, unknown(reserved(0x01, 99))), frames(1, unknown(reserved(0x0e, 99))), frames(1, toGroup(reserved(0x10, 11))),
	}},
	etherFilters(), etherSDF(), etherBuffered(), etherMeter(),
}

// bySlowPath is p by the slow path, and with these events.
func bySlowPath(p packet, events ...*api.Event) packet {
	p.slow, p.events = true, events
	return p
}

// hears is p by the one path or the other.
func hears(p packet) packet {
	p.slow, p.either = true, true
	return p
}

// allowed is session 10 + n, whose uplink frames have a source in a range.
func allowed(n uint32, first, last byte) *api.Session {
	return etherSession(n, func(up, _ *api.Rule) {
		up.Detect.EthernetFilters = []*api.EthernetFilter{{Macs: []*api.MACs{{Source: etherMAC(first), SourceUpper: etherMAC(last)}}}}
	})
}

func etherFilters() script {
	vid, pcp := uint32(7), uint32(5)
	s := etherSession(1)
	voice := etherSession(1, etherFilter(&api.EthernetFilter{
		Ethertype: etherTest, CTag: &api.VLANTag{Vid: &vid, Pcp: &pcp}, Macs: []*api.MACs{{Source: etherMAC(50)}, {Destination: etherMAC(90), DestinationUpper: etherMAC(100)}},
	}))
	for i, r := range voice.Rules {
		r.PdrId += 4
		s.Rules[i].Precedence = 9
	}
	s.Rules = append(voice.Rules[:1:1], s.Rules...)
	tagged := etherUpRow("", 1, anyFrame(99, 11, 0x8100a007))
	tagged.pdr = 5
	return script{"Ethernet: filters choose the PDR", []step{
		install(s), learn(1), frames(1, bySlowPath(tagged)), frames(1, tagged), learnIn(1, 0x8100a008), frames(1, etherUpRow("", 1, anyFrame(99, 11, 0x8100a008))),
		frames(1, etherUpRow("", 1, anyFrame(101, 11, 0x8100a007))), frames(1, etherUpRow("", 1, ether(99, 11, 0x88b6, nil, 0x8100a007))),
		install(etherSession(1, func(up, _ *api.Rule) { up.Detect.Qfis = []uint32{3} })),
		frames(1, packet{port: N3, in: etherUp(1, anyFrame(99, 11)), reason: datapath.DropQFI}),
		install(etherSession(1, etherFilter(&api.EthernetFilter{Ethertype: 0x0800}))),
		frames(1, packet{port: N3, in: etherUp(1, anyFrame(99, 11)), reason: datapath.DropSDFFilter}),
		frames(1, packet{port: N6LAN, in: anyFrame(11, 99), reason: datapath.DropSDFFilter}),
	}}
}

// etherSDF: an SDF filter inside, and DSCP and flow of the IP packet for the outer
// header.
func etherSDF() script {
	udp := uint32(17)
	s := etherSession(1, etherFilter(&api.EthernetFilter{Filters: []*api.Filter{
		{Protocol: &udp, RemotePorts: []*api.PortRange{{First: 1, Last: 2}}}, {Protocol: &udp, LocalPorts: []*api.PortRange{{First: 9, Last: 9}}},
	}}))
	in := user{src: far, dst: ue1, ttl: 64, tos: 46 << 2, port: 4242, payload: 8}
	frame := ether(11, 99, 0x0800, append(in.bytes(), "padding"...), 0x81000001)
	down := etherDownRow(1, frame)
	down.want = etherDown(1, sourcePortOf(in), 46, frame)
	return script{"Ethernet: SDF filter in a filter", []step{
		install(etherSession(1)), learn(1), learnIn(1, 0x81000001), hear(1, 0x81000001), install(s), frames(2, down),
		frames(1, packet{port: N6LAN, in: frame[:40], reason: datapath.DropSDFFilter}),
		frames(1, packet{port: N6LAN, in: anyFrame(11, 99), reason: datapath.DropSDFFilter}),
	}}
}

// sourcePortOf is the outer source port of a flow of UDP over IPv4.
func sourcePortOf(u user) uint16 {
	h := v4(u.src) ^ v4(u.dst) ^ (uint32(u.port)<<16 | 9)
	return 0xc000 | uint16(h*0x9e3779b1>>18)
}

func etherBuffered() script {
	idle := etherSession(1, func(_, down *api.Rule) { down.Forward = &api.Forward{Action: api.Action_BUFF} })
	wait := packet{port: N6LAN, in: anyFrame(11, 99), reason: datapath.PassBuffer}
	first := etherDownRow(1, anyFrame(11, 99))
	return script{"Ethernet: buffered, released, and fast again", []step{
		install(etherSession(1)), learn(1), hear(1), install(idle), frames(2, wait),
		install(etherSession(1)), left(first.want[14:], first.want[14:]),
		frames(2, first), counted(11, 2, counters{Packets: 5, Octets: 5 * 24}),
	}}
}

func etherMeter() script {
	s := etherSession(1)
	s.Qers[0].UplinkMbrBps = 1000 // 125 octets a second; a burst is three packets of 1500, and the one that begins it
	small := etherUpRow("", 1, ether(99, 11, etherTest, make([]byte, 1486)))
	return script{"Ethernet: MBR", []step{
		install(etherSession(1)), learn(1), install(s), frames(4, small), frames(1, dropRow(small, datapath.DropMBR)),
	}}
}

// BenchEtherFrames returns an uplink and a downlink frame of [Sessions]'s first
// session, were it an Ethernet PDU session, with an IP packet with payload octets
// of UDP payload.
func BenchEtherFrames(payload int) (uplink, downlink []byte) {
	u, d := up4, down4
	u.payload, d.payload = payload, payload
	return onN3(message(pscUL("00000001"), ether(99, 11, 0x0800, u.bytes()))), ether(11, 99, 0x0800, d.bytes())
}
