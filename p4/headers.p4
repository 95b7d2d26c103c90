/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HEADERS_P4
#define HEADERS_P4
#include "fields.p4"
#include "sizes.p4"

/* Headers as they are on the wire, and what the stages know of a packet.
 *
 * A front with parts that are apart has headers between them, FRONT_HEADERS. One with
 * NO_OUTER6 has no tunnels over IPv6. One whose parser puts the user packet into the same headers,
 * be it in a tunnel or not, has its addresses in keys as they are there: SRC4 and so on.
 */
#ifndef SRC4
#define SRC4		m.src4
#define DST4		m.dst4
#define SRC6		m.src6
#define SRC6_REST	m.src6_rest
#define DST6		m.dst6
#define DST6_REST	m.dst6_rest
#endif
#ifndef FRONT_HEADERS
#define FRONT_HEADERS
#define FRONT_META
#define BROKEN_BITS	1
#define FITS_BITS	1
#endif

const bit<16> ETH_IP4 = 0x0800;
const bit<16> ETH_IP6 = 0x86dd;
const bit<16> ETH_TAG = 0x8100;

const bit<8> PROTO_TCP = 6;
const bit<8> PROTO_UDP = 17;
const bit<8> PROTO_SCTP = 132;

const bit<16> GTPU_PORT = 2152;
const bit<8> GTPU_GPDU = 255;
const bit<8> EXT_NONE = 0;
const bit<8> EXT_PSC = 0x85;	/* PDU Session Container: TS 29.281 V18.1.0, figure 5.2.1-3 */

const bit<8> TTL_OUTER = 64;

/* Between the target and the driver. Source: P4Runtime 1.4.1, 6.4.6. */
@controller_header("packet_in")
header packet_in_h {
	bit<16> ingress_port;
	bit<8> reason;	/* enum upf_count: why it is not treated here */
}

@controller_header("packet_out")
header packet_out_h {
	bit<16> egress_port;
}

header ethernet_h {
	bit<48> dst;
	bit<48> src;
	bit<16> type;
}

#ifndef PORT_TYPE
#define PORT_TYPE	bit<9>
#endif

header tag_h {
	TAG_FIELDS
	bit<16> type;
}

header ip4_h {
	IP4_FIRST
	bit<8> tos;
	bit<16> octets;
	bit<16> id;
	IP4_FRAGMENT
	bit<8> ttl;
	bit<8> protocol;
	bit<16> checksum;
	bit<32> src;
	bit<32> dst;
}

header ip6_h {
	IP6_FIRST
	bit<16> octets;
	bit<8> next;
	bit<8> hop_limit;
	bit<64> src_prefix;
	bit<64> src_rest;
	bit<64> dst_prefix;
	bit<64> dst_rest;
}

/* The first octets of TCP, UDP and SCTP. */
header l4_ports_h {
	bit<16> src;
	bit<16> dst;
}

header udp_rest_h {
	bit<16> octets;
	bit<16> checksum;
}

header udp_h {
	bit<16> src;
	bit<16> dst;
	bit<16> octets;
	bit<16> checksum;
}

/* TS 29.281 V18.1.0, 5.1. */
header gtpu_h {
	GTPU_FIRST
	bit<8> type;
	bit<16> octets;	/* behind these 8 */
	bit<32> teid;
}

header gtpu_optional_h {
	bit<16> sequence;
	bit<8> npdu;
	bit<8> next;
}

/* PDU Session Container of 4 octets, which is without further fields.
 * Source: TS 38.415 V18.0.0, 5.5.2; TS 29.281 V18.1.0, 5.2.2.7.
 */
header psc_h {
	bit<8> words;	/* 1 */
	PSC_FIELDS
	bit<8> next;
}

struct headers_t {
	FRONT_HEADERS
	packet_in_h packet_in;
	packet_out_h packet_out;
	ethernet_h eth;
	tag_h tag;
	/* What is put on. */
	ip4_h out4;
#ifndef NO_OUTER6
	ip6_h out6;
#endif
	udp_h out_udp;
	gtpu_h out_gtpu;
	gtpu_optional_h out_optional;
	psc_h out_psc;
	/* What came: a tunnel's headers and the user packet in it, or the user packet. */
	ip4_h ip4;
	ip6_h ip6;
	l4_ports_h ports;
	udp_rest_h udp;
	gtpu_h gtpu;
	gtpu_optional_h optional;
	psc_h psc;
	ip4_h user4;
	ip6_h user6;
	l4_ports_h user_ports;
}

/* What becomes of a packet. */
const bit<2> FATE_FORWARD = 0;
const bit<2> FATE_DROP = 1;
const bit<2> FATE_CPU = 2;

struct meta_t {
	bit<2> fate;
	bit<8> reason;		/* enum upf_count, of a packet that does not leave here */
	bit<16> frame;		/* octets of the whole frame that came */
	bit<8> before;		/* of these, in front of the user packet */
	bit<BROKEN_BITS> broken;		/* the parser did not come to an end */
	bit<48> now;		/* µs */

	/* Where it came from. */
	bit<8> network;		/* number of the data network of the port, from 1 on; 0: none */
	bit<1> n3;		/* the port takes G-PDUs */
	bit<8> endpoint;	/* of the UPF, at which a tunnel ends; 0: none */
	bit<1> tunnelled;	/* a G-PDU to it */
	bit<QFI_BITS> qfi;		/* of the container; 64: there is none */

	/* The user packet, and what filters look at. */
	bit<1> v6;
	bit<1> fragment;	/* or behind an extension header of IPv6: ports were not read */
	bit<1> scope;		/* a router forwards from and to these addresses */
	bit<16> octets;		/* from its IP header on */
	bit<8> ttl;
	bit<8> tos;
	bit<8> protocol;
	bit<16> src_port;
	bit<16> dst_port;
	bit<32> src4;
	bit<32> dst4;
	bit<64> src6;
	bit<64> src6_rest;
	bit<64> dst6;
	bit<64> dst6_rest;

	/* PDR. */
	bit<RULE_BITS> rule;	/* 0: none yet */
	bit<8> expected;	/* what before is to be, for the counters of the rule; 0: anything */
	bit<LIST_BITS> filter_list;	/* whose filters say which; 0: none */
	bit<1> uplink;		/* the UE is the source */
	bit<1> check;		/* the UE address is compared */
	bit<32> ue4;
	bit<64> ue6;

	/* FAR and QERs. */
	bit<1> tunnel;		/* it leaves with an outer header */
	bit<8> way;		/* else: of N6 */
	bit<PEER_BITS> peer;
	bit<32> teid;
	bit<1> has_qfi;
	bit<MARK_BITS> mark_qfi;
	bit<PDU_TYPE_BITS> pdu_type;
	bit<1> has_dscp;
	bit<DSCP_BITS> dscp;
	bit<METER_BITS> bucket;	/* 0: none */
	bit<SLICE_BITS> slice;	/* 0: none */
	bit<FITS_BITS> fits;
#ifndef FEW_STAGES
	bit<1> closed;		/* the gate */
	bit<METER_BITS> bucket2; /* 0: none */
#endif
#ifndef METER_RATES
	bit<48> octet_time;	/* of bucket, bucket2 and slice: 2^-24 ns */
	bit<48> octet_time2;
	bit<48> octet_time3;
	bit<48> tolerance;	/* 2^-8 ns */
	bit<48> tolerance2;
	bit<48> tolerance3;
#endif

	/* Next hop. */
#ifndef NO_OUTER6
	bit<1> peer6;
#endif
	bit<32> local4;
	bit<32> peer4;
#ifndef NO_OUTER6
	bit<64> local6;
	bit<64> local6_rest;
	bit<64> peer6_prefix;
	bit<64> peer6_rest;
#endif
	bit<HOP_BITS> hop;	/* 0: not resolved */
	PORT_TYPE port;
	bit<1> tagged;
	bit<VID_BITS> vid;
	bit<48> hop_src;
	bit<48> hop_dst;
	bit<16> mtu;

	bit<FLOW_BITS> flow;
	bit<16> around;		/* octets that are put around the user packet, from the IP header on */
	FRONT_META
}

#endif
