package conformance

import (
	"net/netip"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

var (
	ue9  = netip.MustParseAddr("10.45.0.9")
	up9  = user{src: ue9, dst: far, ttl: 64, port: 1000, payload: 32}
	dn9  = user{src: far, dst: ue9, ttl: 64, port: 1000, payload: 32}
	ue13 = netip.MustParseAddr("10.45.0.13")
	up13 = user{src: ue13, dst: far, ttl: 64, port: 1000, payload: 32}
)

const (
	port9  = 0xfc37 // far and ue9, ports 1000 and 9, either way
	port13 = 0xda6f // the same of ue13
)

func relayedSession() *api.Session {
	up := relay(1, 0x30, N3Address, api.Interface_ACCESS, api.Interface_CORE, "n9", tunnel(0x130, PeerAddress))
	up.Detect.UeAddress = &api.UEAddress{Ipv4: ipv4(ue9)}
	down := relay(2, 0x31, N9Address, api.Interface_CORE, api.Interface_ACCESS, "", tunnel(0x131, GNBAddress))
	up.UrrIds, down.UrrIds = []uint32{1}, []uint32{1}
	return &api.Session{Seid: relayed, Rules: []*api.Rule{up, down}, Urrs: []*api.URR{{Id: 1}}}
}

func remarkedSession() *api.Session {
	r := relay(1, 0x32, N3Address, api.Interface_ACCESS, api.Interface_CORE, "n9", tunnel(0x132, PeerAddress))
	r.QerIds = []uint32{1}
	return &api.Session{Seid: remarked, Rules: []*api.Rule{r}, Qers: []*api.QER{{Id: 1, Qfi: 7}}}
}

func strippedSession() *api.Session {
	r := relay(1, 0x36, N3Address, api.Interface_ACCESS, api.Interface_CORE, "n9", tunnel(0x136, PeerAddress))
	r.QerIds, r.DropsContainer = []uint32{1}, true
	return &api.Session{Seid: stripped, Rules: []*api.Rule{r}, Qers: []*api.QER{{Id: 1, Qfi: 7}}}
}

// toN9 is a row of session relayed: GTP-U headers in and out around a packet.
func toN9(name, in, out string, u user) packet {
	return packet{
		name: "relay, " + name, port: N3, in: onN3(gpdu(in, u)), want: outN9(port9, gpdu(out, u)),
		seid: relayed, pdr: 1, octets: size4, urrs: []uint32{1},
	}
}

func toN3(name, in, out string, u user) packet {
	return packet{
		name: "relay, " + name, port: N3, in: onN9(gpdu(in, u)), want: outN3(GNBAddress, GNBMAC, port9, 0, gpdu(out, u)),
		seid: relayed, pdr: 2, octets: size4, urrs: []uint32{1}, downlink: true,
	}
}

func toN9Marked(name, in, out string) packet {
	return packet{
		name: "relay, " + name, port: N3, in: onN3(gpdu(in, up13)), want: outN9(port13, gpdu(out, up13)),
		seid: remarked, pdr: 1, octets: size4,
	}
}

// toN9Stripped is of a rule with GTP-U Extension Header Deletion.
func toN9Stripped(name, in, out string) packet {
	return slowly(packet{
		name: "relay, " + name, port: N3, in: onN3(gpdu(in, up13)), want: outN9(port13, gpdu(out, up13)),
		seid: stripped, pdr: 1, octets: size4,
	})
}

// relayRows: from tunnel to tunnel. The user packet is not touched; extension
// headers that an intermediate node has to forward go on.
var relayRows = []packet{
	toN9("N3 to N9, no container: 4G", "30ff LEN 00000030", "30ff LEN 00000130", up9),
	toN9("N3 to N9, container", pscUL("00000030"), "34ff LEN 00000130 0000 00 85 01 10 09 00", up9),
	toN9("TTL 1 is not the relay's", pscUL("00000030"), "34ff LEN 00000130 0000 00 85 01 10 09 00", ttl(up9, 1)),
	toN9("sequence number stays behind", "32ff LEN 00000030 0007 00 00", "30ff LEN 00000130", up9),
	toN9("container behind a sequence number", "36ff LEN 00000030 0007 00 85 01 10 09 00", "34ff LEN 00000130 0000 00 85 01 10 09 00", up9),
	toN9("container of 8 octets", "34ff LEN 00000030 0000 00 85 02 18 09 01 020304 00", "34ff LEN 00000130 0000 00 85 02 18 09 01 020304 00", up9),
	toN9("PDCP PDU number goes on", "34ff LEN 00000030 0000 00 c0 01 0001 85 01 10 09 00", "34ff LEN 00000130 0000 00 c0 01 0001 85 01 10 09 00", up9),
	slowly(toN9("UDP port is for this hop", "34ff LEN 00000030 0000 00 40 01 0868 85 01 10 09 00", "34ff LEN 00000130 0000 00 85 01 10 09 00", up9)),
	slowly(toN9("only a UDP port", "34ff LEN 00000030 0000 00 40 01 0868 00", "30ff LEN 00000130", up9)),
	toN9("two containers", "34ff LEN 00000030 0000 00 85 01 10 09 85 01 10 08 00", "34ff LEN 00000130 0000 00 85 01 10 09 85 01 10 08 00", up9),
	toN9("sequence number before a longer container", "36ff LEN 00000030 0007 00 85 02 18 09 01 020304 00", "34ff LEN 00000130 0000 00 85 02 18 09 01 020304 00", up9),
	toN9("unknown type that goes on", "37ff LEN 00000030 0007 09 10 02 abcdef010203 00", "34ff LEN 00000130 0000 00 10 02 abcdef010203 00", up9),
	toN9("unknown type that its end has to comprehend", "34ff LEN 00000030 0000 00 8a 01 6162 00", "34ff LEN 00000130 0000 00 8a 01 6162 00", up9),
	toN9("the same, behind a container", "34ff LEN 00000030 0000 00 85 01 10 09 8a 02 616263646566 00",
		"34ff LEN 00000130 0000 00 85 01 10 09 8a 02 616263646566 00", up9),
	slowly(toN9("the same, beside one for this hop", "34ff LEN 00000030 0000 00 40 01 0868 bf 01 6162 00", "34ff LEN 00000130 0000 00 bf 01 6162 00", up9)),
	{
		name: "relay, unknown type that each node has to comprehend", port: N3, in: onN3(gpdu("34ff LEN 00000030 0000 00 ca 01 6162 00", up9)),
		reason: datapath.DropGTPUExtType, sent: told(N3Address, GNBAddress, extensionsKnown),
	},
	toN3("N9 to N3, no container", "30ff LEN 00000031", "30ff LEN 00000131", dn9),
	toN3("N9 to N3, container", "34ff LEN 00000031 0000 00 85 01 00 09 00", "34ff LEN 00000131 0000 00 85 01 00 09 00", dn9),
	toN3("N9 to N3, RQI goes on", "34ff LEN 00000031 0000 00 85 01 00 49 00", "34ff LEN 00000131 0000 00 85 01 00 49 00", dn9),
	toN3("N9 to N3, paging policy goes on", "34ff LEN 00000031 0000 00 85 02 00 89 60000000 00", "34ff LEN 00000131 0000 00 85 02 00 89 60000000 00", dn9),
	toN9Marked("QFI is marked anew", pscUL("00000032"), "34ff LEN 00000132 0000 00 85 01 10 07 00"),
	toN9Marked("QFI is marked anew, the rest stays", "34ff LEN 00000032 0000 00 85 01 1f c9 00", "34ff LEN 00000132 0000 00 85 01 1f c7 00"),
	toN9Marked("QFI is marked, PDU type by direction", "30ff LEN 00000032", "34ff LEN 00000132 0000 00 85 01 10 07 00"),
	toN9Marked("QFI of a longer container", "34ff LEN 00000032 0000 00 85 02 18 c9 01 020304 00", "34ff LEN 00000132 0000 00 85 02 18 c7 01 020304 00"),
	toN9Marked("QFI of the first container, behind another header", "34ff LEN 00000032 0000 00 c0 01 0001 85 01 10 09 85 01 10 08 00",
		"34ff LEN 00000132 0000 00 c0 01 0001 85 01 10 07 85 01 10 08 00"),
	slowly(toN9Marked("a container of ours comes first", "34ff LEN 00000032 0000 00 c0 01 0001 00", "34ff LEN 00000132 0000 00 85 01 10 07 c0 01 0001 00")),
	toN9Stripped("container deleted", "34ff LEN 00000036 0000 00 85 01 10 05 00", "30ff LEN 00000136"),
	toN9Stripped("container of 8 octets deleted", "36ff LEN 00000036 0007 00 85 02 18 09 01 020304 00", "30ff LEN 00000136"),
	toN9Stripped("no container to delete, and none made for the QFI", "30ff LEN 00000036", "30ff LEN 00000136"),
	toN9Stripped("container deleted, PDCP PDU number goes on", "34ff LEN 00000036 0000 00 c0 01 0001 85 01 10 05 00",
		"34ff LEN 00000136 0000 00 c0 01 0001 00"),
	toN9Stripped("container deleted, unknown type behind it goes on", "34ff LEN 00000036 0000 00 85 01 10 05 8a 01 6162 00",
		"34ff LEN 00000136 0000 00 8a 01 6162 00"),
	{name: "relay, spoofed", port: N3, in: onN3(gpdu(pscUL("00000030"), up4)), reason: datapath.DropUEAddress},
	{name: "relay, T-PDU is IP version 0", port: N3, in: onN9(message("30ff LEN 00000031", make([]byte, 40))), reason: datapath.DropIPVersion},
}

// relaySignals: what goes on behind the packets.
var relaySignals = []packet{
	{
		name: "relay, End Marker", port: N3, in: onN9(message("30fe LEN 00000031", nil)), reason: datapath.PassSignalling,
		sent: told(N3Address, GNBAddress, "30fe 0000 00000131"),
	},
	{
		name: "relay, End Marker with a container", port: N3, in: onN9(message("34fe LEN 00000031 0000 00 85 01 00 09 00", nil)),
		reason: datapath.PassSignalling, sent: told(N3Address, GNBAddress, "34fe 0008 00000131 0000 00 85 01 00 09 00"),
	},
	{
		name: "relay, End Marker, container deleted", port: N3, in: onN3(message("34fe LEN 00000036 0000 00 85 01 10 05 00", nil)),
		reason: datapath.PassSignalling, sent: told(N9Address, PeerAddress, "30fe 0000 00000136"),
	},
	{
		name: "relay, End Marker of a tunnel that nobody has", port: N3, in: onN9(message("30fe LEN 00000099", nil)),
		reason: datapath.PassSignalling,
	},
	{
		name: "relay, Echo Request on N9", port: N3, in: onN9(message("3201 LEN 00000000 0007 00 00", nil)),
		reason: datapath.PassSignalling, sent: told(N9Address, PeerAddress, "3202 0006 00000000 0007 00 00 0e00"),
	},
	{
		name: "relay, Error Indication", port: N3, in: onN9(message("321a LEN 00000000 0000 00 00 10 00000130 85 0004 0a090002", nil)),
		reason: datapath.PassSignalling,
		events: []*api.Event{{
			Kind: api.EventKind_ERROR_INDICATION, Seid: relayed, RuleId: 1,
			Tunnel: &api.Tunnel{Teid: 0x130, Ipv4: ipv4(PeerAddress)},
		}},
	},
	{
		name: "relay, Error Indication about a tunnel that nobody uses", port: N3,
		in:     onN9(message("321a LEN 00000000 0000 00 00 10 00000130 85 0004 0a090003", nil)),
		reason: datapath.PassSignalling,
	},
	{
		name: "relay, Error Indication cut short", port: N3,
		in:     onN9(message("321a LEN 00000000 0000 00 00 10 00000130 85 0004 0a09", nil)),
		reason: datapath.PassSignalling,
	},
}
