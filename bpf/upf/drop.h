/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* Every reason for which the datapath drops a packet: X(name, text). This one
 * list makes the C enum, the index of the counter, and (go generate in package
 * datapath) the Go constant, the metric label and the text.
 */
#define UPF_DROPS(X) \
	X(IP_SHORT,      "packet ends inside its IP header or before the length that it announces") \
	X(IP_VERSION,    "T-PDU is neither IPv4 nor IPv6") \
	X(TTL,           "TTL or Hop Limit of the user packet ran out") \
	X(GTPU_SHORT,    "packet ends inside its GTP-U header or before the Length that it announces") \
	X(GTPU_VERSION,  "GTP version is not 1, or protocol type is GTP'") \
	X(GTPU_EXT,      "GTP-U extension header of length 0, or more than eight of them") \
	X(GTPU_EXT_TYPE, "GTP-U extension header that an endpoint must comprehend, of unknown type") \
	X(NO_PDR,        "no PDR matches the F-TEID") \
	X(DEVICE,        "GTP-U that arrived on a device of a data network, or an empty datagram to the GTP-U port; datagrams that the kernel has merged count once") \
	X(NETWORK,       "came from another data network than that of the PDI") \
	X(UE_ADDRESS,    "source is not the UE IP address of the PDI") \
	X(QFI,           "QFI is not one of the PDI, or there is none") \
	X(SDF_FILTER,    "no SDF filter of the PDRs matches") \
	X(GATE,          "QER gate is closed") \
	X(MBR,           "above the QER's MBR") \
	X(PACKET_RATE,   "above the QER's packet rate") \
	X(QUOTA,         "a quota of the PDR's URRs is used up: of volume, time or events") \
	X(FAR,           "FAR says DROP") \
	X(INCOMPLETE,    "PDR has no FAR yet, or its FAR forwards to a tunnel that it does not name yet") \
	X(SCOPE,         "from or to an address that routers do not forward: of one link, loopback, unspecified, multicast, broadcast, reserved") \
	X(UNWRAP,        "bare packet without the outer header that the PDR says is to be removed") \
	X(REDIRECT,      "FAR redirects: answered here, or nothing that can be redirected") \
	X(COPY,          "a copy that the FAR asks for could not be made or sent; the packet itself was treated") \
	X(COPY_FULL,     "more packets to copy than the slow path takes: their copies are lost; the packets themselves were treated") \
	X(BUFFER_FULL,   "FAR says BUFF and the session has all in the buffer that it may have") \
	X(BUFFER_TOTAL,  "FAR says BUFF and there is no room in the buffer for any session") \
	X(BUFFER_AGE,    "buffered for too long") \
	X(BUFFER_END,    "buffered when its rule went away or the control plane gave it up") \
	X(NAT_MAPPING,   "no mapping of the NAT for it, or nothing that a NAT translates") \
	X(NAT_FULL,      "no port, block or mapping of the NAT is left for the UE") \
	X(NO_ROUTE,      "the host has no route to the peer of the tunnel") \
	X(N6_ROUTE,      "the host's route leads out of another device than that of the UE's data network") \
	X(NEXT_HOP,      "next hop cannot be resolved") \
	X(MTU,           "longer than the next hop's MTU and not to be fragmented") \
	X(LOCAL,         "user packet to an address of the UPF itself") \
	X(ICMP_REDIRECT, "ICMP Redirect of this host itself to a UE, whose next hop is the tunnel") \
	X(SLOW_FULL,     "more exceptions than the slow path takes") \
	X(SPREAD_FULL,   "more packets than the queue of their CPU takes") \
	X(RX_FULL,       "more packets than user space takes from a queue of the device") \
	X(TX_FULL,       "more packets than a queue of the device sends") \
	X(TX_REFUSED,    "device takes nothing that XDP redirects to it: it is down, or a veth whose far end has neither GRO nor an XDP program; or a P4 target is away") \
	X(ETHERNET_SHORT, "frame of an Ethernet PDU session ends inside its header") \
	X(MAC,           "source is a group, or a MAC address of another Ethernet PDU session or of the data network, or one too many") \
	X(NO_MAC,        "destination is behind no Ethernet PDU session, or behind the one from which it came, or no bridge relays to it") \
	X(FLOOD,         "more copies of frames to groups than the bridge makes in a second") \
	X(PROXIED,       "ARP request or Neighbour Solicitation that the FAR lets the UPF answer") \
	X(LOOP,          "through more F-TEIDs of the UPF itself than a packet may go, one after the other") \
	X(INTERNAL,      "a helper of the kernel refused; should not happen")

/* Why a packet is handed on instead of being dropped or forwarded here. */
#define UPF_PASSES(X) \
	X(HOST,       "not user plane traffic, left to the host") \
	X(SIGNALLING, "GTP-U message other than G-PDU") \
	X(FRAGMENT,   "fragment of an outer packet") \
	X(CHANGING,   "its rule was being changed") \
	X(UNRESOLVED, "next hop not resolved, or behind a device that no port has") \
	X(TOO_BIG,    "longer than the next hop's MTU") \
	X(QUEUED,     "the slow path had packets of its rule that came before") \
	X(RULES,      "matched by rules that the fast path does not have") \
	X(NAME,       "the name of its flow decides, and the slow path has to look at it") \
	X(N6,         "needs more of NAT or MSS clamp than the fast path does") \
	X(BRIDGE,     "frame of which a bridge has to learn, or to a group") \
	X(BUFFER,     "FAR says BUFF: it waits in the buffer") \
	X(ANSWER,     "dropped by the slow path, with an answer to its sender") \
	X(SPLIT,      "super-packet to be cut, or checksum to be finished, before it is treated")

enum upf_count {
	COUNT_NONE,
#define X(name, text) DROP_##name,
	UPF_DROPS(X)
#undef X
#define X(name, text) PASS_##name,
	UPF_PASSES(X)
#undef X
	COUNT_MAX
};

#define IS_PASS(count) ((count) >= PASS_HOST)
