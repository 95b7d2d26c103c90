/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PARSE_P4
#define PARSE_P4
#include "fields.p4"

/* parse - headers of a frame: a tunnel's with the user packet in it, or a user packet
 *
 * What is not known here ends the parser early, and the stages hand the packet to the
 * CPU: IPv4 options, extension headers of IPv6 and of GTP-U, all but G-PDUs. Whether UDP
 * port 2152 is a tunnel of ours depends on the address, which is looked up later: until
 * then the outer headers may be those of a user packet, too.
 */
#ifdef NO_OUTER6
#define PARSE_UDP6 parse_ports
#else
#define PARSE_UDP6 parse_udp
#endif
#define PARSE_STATES PARSE_FRAME PARSE_INSIDE
#define PARSE_FRAME \
	state parse_ethernet { \
		packet.extract(h.eth); \
		transition select(h.eth.type) { \
			ETH_TAG: parse_tag; \
			ETH_IP4: parse_ip4; \
			ETH_IP6: parse_ip6; \
			default: accept; \
		} \
	} \
	state parse_tag { \
		packet.extract(h.tag); \
		transition select(h.tag.type) { \
			ETH_IP4: parse_ip4; \
			ETH_IP6: parse_ip6; \
			default: accept; \
		} \
	} \
	state parse_ip4 { \
		packet.extract(h.ip4); \
		transition select(IP4_SELECT, h.ip4.protocol) { \
			(IP4_WHOLE, PROTO_UDP): parse_udp; \
			(IP4_WHOLE, PROTO_TCP): parse_ports; \
			(IP4_WHOLE, PROTO_SCTP): parse_ports; \
			default: accept; \
		} \
	} \
	state parse_ip6 { \
		packet.extract(h.ip6); \
		transition select(IP6_SELECT, h.ip6.next) { \
			(IP6_VERSION, PROTO_UDP): PARSE_UDP6; \
			(IP6_VERSION, PROTO_TCP): parse_ports; \
			(IP6_VERSION, PROTO_SCTP): parse_ports; \
			default: accept; \
		} \
	} \
	state parse_ports { \
		packet.extract(h.ports); \
		transition accept; \
	} \
	state parse_udp { \
		packet.extract(h.ports); \
		packet.extract(h.udp); \
		transition select(h.ports.dst) { \
			GTPU_PORT: look_gtpu; \
			default: accept; \
		} \
	} \
	state look_gtpu { \
		transition select(packet.lookahead<bit<16>>()) { \
			0x30ff &&& 0xf8ff: parse_gtpu; \
			default: accept; \
		} \
	}

/* From GTP-U on, and the user packet, for fronts with a way of their own to it. */
#define PARSE_INSIDE \
	state parse_gtpu { \
		packet.extract(h.gtpu); \
		transition select(GTPU_SELECT) { \
			GTPU_BARE: parse_user; \
			default: parse_optional; \
		} \
	} \
	state parse_optional { \
		packet.extract(h.optional); \
		transition select(GTPU_E, h.optional.next) { \
			(NO_E, _): parse_user; \
			(WITH_E, EXT_NONE): parse_user; \
			(WITH_E, EXT_PSC): look_psc; \
			default: accept; \
		} \
	} \
	state look_psc { \
		transition select(packet.lookahead<bit<8>>()) { \
			1: parse_psc; \
			default: accept; \
		} \
	} \
	state parse_psc { \
		packet.extract(h.psc); \
		transition select(h.psc.next) { \
			EXT_NONE: parse_user; \
			default: accept; \
		} \
	} \
	state parse_user { \
		transition select(packet.lookahead<bit<8>>()) { \
			0x45: parse_user4; \
			0x60 &&& 0xf0: parse_user6; \
			default: accept; \
		} \
	} \
	state parse_user4 { \
		packet.extract(h.user4); \
		transition select(USER4_SELECT, h.user4.protocol) { \
			(USER4_WHOLE, PROTO_UDP): parse_user_ports; \
			(USER4_WHOLE, PROTO_TCP): parse_user_ports; \
			(USER4_WHOLE, PROTO_SCTP): parse_user_ports; \
			default: accept; \
		} \
	} \
	state parse_user6 { \
		packet.extract(h.user6); \
		transition select(h.user6.next) { \
			PROTO_UDP: parse_user_ports; \
			PROTO_TCP: parse_user_ports; \
			PROTO_SCTP: parse_user_ports; \
			default: accept; \
		} \
	} \
	state parse_user_ports { \
		packet.extract(h.user_ports); \
		transition accept; \
	}

#endif
