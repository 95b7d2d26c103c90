/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FIELDS_P4
#define FIELDS_P4

/* Fields that are shorter than an octet, and what the stages do with them.
 *
 * With WHOLE_OCTETS they are parts of longer ones. That is for p4c-dpdk, which would make of
 * each of them, and of each part of an address, some variables, and more of these than a SWX
 * pipeline can address: 256 octets. Comparisons with < and > are alone there, since the
 * compiler loses them within &&. As it does, <= and >= within ||, ! within both, and ?: within
 * any condition: no stage has these.
 */
#ifdef WHOLE_OCTETS
/* Headers: headers.p4. */
#define TAG_FIELDS	bit<16> priority_vid;
#define IP4_FIRST	bit<8> version_ihl;
#define IP4_FRAGMENT	bit<16> flags_fragment;
#define IP6_FIRST \
	bit<8> version_class; \
	bit<8> class_label; \
	bit<16> label;
#define GTPU_FIRST	bit<8> flags;
#define PSC_FIELDS \
	bit<8> pdu_type_flags; \
	bit<8> marks_qfi;
#define VID_BITS	16
#define QFI_BITS	8
#define MARK_BITS	8
#define PDU_TYPE_BITS	8
#define DSCP_BITS	8
#define FLOW_BITS	16
#define TAG_VID(tag)	(tag.priority_vid & 0xfff)
#define IHL(ip)		(ip.version_ihl & 0xf)
#define VERSION4(ip)	(ip.version_ihl >> 4)
#define VERSION6(ip)	(ip.version_class >> 4)
#define IS_FRAGMENT(ip)	(ip.flags_fragment & 0x3fff) != 0
#define IP6_CLASS(ip)	(ip.version_class << 4) | (ip.class_label >> 4)
#define PSC_QFI(psc)	psc.marks_qfi & 0x3f
#define DSCP(tos)	tos >> 2

/* Parser: parse.p4. */
#define IP4_SELECT	h.ip4.version_ihl, h.ip4.flags_fragment
#define IP4_WHOLE	0x45, 0 &&& 0x3fff
#define IP6_SELECT	h.ip6.version_class
#define IP6_VERSION	0x60 &&& 0xf0
#define GTPU_SELECT	h.gtpu.flags
#define GTPU_BARE	0 &&& 7
#define GTPU_E		h.gtpu.flags
#define NO_E		0 &&& 4
#define WITH_E		4 &&& 4
#define USER4_SELECT	h.user4.flags_fragment
#define USER4_WHOLE	0 &&& 0x3fff

/* Scope of addresses: detect.p4. */
#define SCOPE \
	m.scope = 1; \
	if (m.v6 == 0) { \
		SCOPE4(m.src4) \
		SCOPE4(m.dst4) \
	} else { \
		SCOPE6(m.src6) \
		SCOPE6(m.dst6) \
	}
#define SCOPE4(address) \
	if (address < 0x01000000) { \
		m.scope = 0; \
	} else if (address > 0xdfffffff) { \
		m.scope = 0; \
	} else if (address > 0x7effffff) { \
		if (address < 0x80000000) { \
			m.scope = 0; \
		} else if (address > 0xa9fdffff) { \
			if (address < 0xa9ff0000) { \
				m.scope = 0; \
			} \
		} \
	}
#define SCOPE6(address) \
	if (address == 0) { \
		m.scope = 0; \
	} else if (address > 0xfe7fffffffffffff) { \
		if (address < 0xfec0000000000000) { \
			m.scope = 0; \
		} else if (address > 0xfeffffffffffffff) { \
			m.scope = 0; \
		} \
	}

/* New headers: emit.p4. */
#define PUT_VERSION4(ip) ip.version_ihl = 0x45;
#define PUT_DONT_FRAGMENT(ip) ip.flags_fragment = 0x4000;
#define PUT_CLASS m.dscp << 2
#define FLOW_PORT m.flow | 0xc000
#define PUT_GTPU(gtpu) gtpu.flags = 0x30;
#define PUT_E(gtpu) gtpu.flags = 0x34;
#define PUT_QFI(psc) psc.marks_qfi = (psc.marks_qfi & 0xc0) | m.mark_qfi;
#define PUT_PSC(psc) \
	psc.pdu_type_flags = m.pdu_type << 4; \
	psc.marks_qfi = m.mark_qfi;
#define PUT_TAG(tag) tag.priority_vid = m.vid;
#else
/* Headers: headers.p4. */
#define TAG_FIELDS \
	bit<3> pcp; \
	bit<1> dei; \
	bit<12> vid;
#define IP4_FIRST \
	bit<4> version; \
	bit<4> ihl;
#define IP4_FRAGMENT \
	bit<3> flags; \
	bit<13> fragment;
#define IP6_FIRST \
	bit<4> version; \
	bit<8> traffic_class; \
	bit<20> flow_label;
#define GTPU_FIRST \
	bit<3> version; \
	bit<1> protocol_type; \
	bit<1> spare; \
	bit<1> e; \
	bit<1> s; \
	bit<1> pn;
#define PSC_FIELDS \
	bit<4> pdu_type; \
	bit<4> flags; \
	bit<2> marks;	/* PPP and RQI, or N3/N9 delay and new IE flag */ \
	bit<6> qfi;
#define VID_BITS	12
#define QFI_BITS	7
#define MARK_BITS	6
#define PDU_TYPE_BITS	4
#define DSCP_BITS	6
#define FLOW_BITS	32
#define TAG_VID(tag)	tag.vid
#define IHL(ip)		ip.ihl
#define VERSION4(ip)	ip.version
#define VERSION6(ip)	ip.version
#define IS_FRAGMENT(ip)	(ip.flags[0:0] == 1 || ip.fragment != 0)
#define IP6_CLASS(ip)	ip.traffic_class
#define PSC_QFI(psc)	1w0 ++ psc.qfi
#define DSCP(tos)	tos[7:2]

/* Parser: parse.p4. */
#define IP4_SELECT	h.ip4.version, h.ip4.ihl, h.ip4.flags[0:0], h.ip4.fragment
#define IP4_WHOLE	4, 5, 0, 0
#define IP6_SELECT	h.ip6.version
#define IP6_VERSION	6
#define GTPU_SELECT	h.gtpu.e, h.gtpu.s, h.gtpu.pn
#define GTPU_BARE	(0, 0, 0)
#define GTPU_E		h.gtpu.e
#define NO_E		0
#define WITH_E		1
#define USER4_SELECT	h.user4.fragment, h.user4.flags[0:0]
#define USER4_WHOLE	0, 0

/* Scope of addresses: detect.p4. */
#define SCOPE \
	if (m.v6 == 0) { \
		scope4(); \
	} else { \
		scope6(); \
	}

/* New headers: emit.p4. */
#define PUT_VERSION4(ip) \
	ip.version = 4; \
	ip.ihl = 5;
#define PUT_DONT_FRAGMENT(ip) \
	ip.flags = 2; \
	ip.fragment = 0;
#define PUT_CLASS m.dscp ++ 2w0
#define FLOW_PORT 2w3 ++ m.flow[31:18]
#define PUT_GTPU(gtpu) \
	gtpu.version = 1; \
	gtpu.protocol_type = 1; \
	gtpu.spare = 0; \
	gtpu.e = 0; \
	gtpu.s = 0; \
	gtpu.pn = 0;
#define PUT_E(gtpu) gtpu.e = 1;
#define PUT_QFI(psc) psc.qfi = m.mark_qfi;
#define PUT_PSC(psc) \
	psc.pdu_type = m.pdu_type; \
	psc.flags = 0; \
	psc.marks = 0; \
	psc.qfi = m.mark_qfi;
#define PUT_TAG(tag) \
	tag.pcp = 0; \
	tag.dei = 0; \
	tag.vid = m.vid;
#endif

/* Ports of SDF filters: a driver makes prefixes of a range for a target that has none. */
#ifdef NO_RANGES
#define RANGE ternary
#else
#define RANGE range
#endif

#endif
