/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EMIT_P4
#define EMIT_P4
#include "headers.p4"

/* emit - Outer Header Removal, Outer Header Creation, and the frame
 *
 * The outer packet is atomic, its Identification 0 (RFC 6864). ECN is cleared in it, so that
 * nothing has to be carried over when it is removed (RFC 6040, compatibility mode). The UDP
 * checksum is 0 over IPv4; over IPv6 the front makes it, or has sent the packet to the CPU.
 * Source: TS 29.244 V18.6.0, 8.2.56, 8.2.64; TS 29.281 V18.1.0, 5.1; TS 38.415 V18.0.0, 5.5.2.
 */
#ifdef FEW_STAGES
#define INSIDE(octets) m.inside
#else
#define INSIDE(octets) octets - 16
#define PUT_ON4 m.octets + m.around
#define PUT_ON_GTPU4 m.octets + m.around - 20
#endif

control Emit(inout headers_t h, inout meta_t m) {
#ifndef FEW_STAGES
	/* One off TTL or Hop Limit. A wrong header checksum stays wrong: RFC 1624, equation 3. */
	action hop4(inout ip4_h ip) {
		ip.ttl = ip.ttl - 1;
		ip.checksum = ip.checksum >= 0xfeff ? ip.checksum + 0x101 : ip.checksum + 0x100;
	}
	action hop6(inout ip6_h ip) {
		ip.hop_limit = ip.hop_limit - 1;
	}

	action take_off() {
		h.ip4.setInvalid();
		h.ip6.setInvalid();
		h.ports.setInvalid();
		h.udp.setInvalid();
		h.gtpu.setInvalid();
		h.optional.setInvalid();
		h.psc.setInvalid();
	}
#endif

	action put_on4(bit<16> octets) {
		h.out4.setValid();
		PUT_VERSION4(h.out4)
		h.out4.tos = PUT_CLASS;
		h.out4.octets = octets;
		h.out4.id = 0;
		PUT_DONT_FRAGMENT(h.out4)
		h.out4.ttl = TTL_OUTER;
		h.out4.protocol = PROTO_UDP;
		h.out4.checksum = 0;
		h.out4.src = m.local4;
		h.out4.dst = m.peer4;
	}
#ifndef NO_OUTER6
	/* Flow Label: RFC 6438, 3. */
	action put_on6(bit<16> octets) {
		h.out6.setValid();
		h.out6.version = 6;
		h.out6.traffic_class = PUT_CLASS;
		h.out6.flow_label = m.flow[31:12];
		h.out6.octets = octets;
		h.out6.next = PROTO_UDP;
		h.out6.hop_limit = TTL_OUTER;
		h.out6.src_prefix = m.local6;
		h.out6.src_rest = m.local6_rest;
		h.out6.dst_prefix = m.peer6_prefix;
		h.out6.dst_rest = m.peer6_rest;
	}
#endif
	/* The source port is one for a flow of the user, from the dynamic range, so that others
	 * can spread them: TS 29.281, 4.4.2.0.
	 */
	action put_on_gtpu(bit<16> octets) {
		h.out_udp.setValid();
		h.out_udp.src = FLOW_PORT;
		h.out_udp.dst = GTPU_PORT;
		h.out_udp.octets = octets;
		h.out_udp.checksum = 0;
		h.out_gtpu.setValid();
		PUT_GTPU(h.out_gtpu)
		h.out_gtpu.type = GTPU_GPDU;
		h.out_gtpu.octets = INSIDE(octets);
		h.out_gtpu.teid = m.teid;
	}
	action put_on_optional(bit<8> next) {
		h.out_optional.setValid();
		h.out_optional.sequence = 0;
		h.out_optional.npdu = 0;
		h.out_optional.next = next;
		PUT_E(h.out_gtpu)
	}

#ifdef FEW_STAGES
#include "emit_flat.p4"
#else
	apply {
		if (m.tunnelled == 0) {
			if (m.v6 == 0) {
				hop4(h.ip4);
			} else {
				hop6(h.ip6);
			}
		} else if (m.tunnel == 0) {
			if (m.v6 == 0) {
				hop4(h.user4);
			} else {
				hop6(h.user6);
			}
		}
		if (m.tunnel == 1) {
			if (m.has_dscp == 0) {
				m.dscp = DSCP(m.tos);
			}
#ifdef NO_OUTER6
			put_on4(PUT_ON4);
			put_on_gtpu(PUT_ON_GTPU4);
#else
			if (m.peer6 == 0) {
				put_on4(PUT_ON4);
				put_on_gtpu(PUT_ON_GTPU4);
			} else {
				put_on6(m.octets + m.around - 40);
				put_on_gtpu(m.octets + m.around - 40);
			}
#endif
			/* Of a tunnel that goes on the container stays, with another QFI. */
			if (m.tunnelled == 1 && h.psc.isValid()) {
				put_on_optional(EXT_PSC);
				h.out_psc = h.psc;
				if (m.has_qfi == 1) {
					PUT_QFI(h.out_psc)
				}
			} else if (m.has_qfi == 1) {
				put_on_optional(EXT_PSC);
				h.out_psc.setValid();
				h.out_psc.words = 1;
				PUT_PSC(h.out_psc)
				h.out_psc.next = EXT_NONE;
			}
		}
		if (m.tunnelled == 1) {
			take_off();
		}

		bit<16> type = ETH_IP4;
#ifdef NO_OUTER6
		if (m.tunnel == 0 && m.v6 == 1) {
#else
		if ((m.tunnel == 1 && m.peer6 == 1) || (m.tunnel == 0 && m.v6 == 1)) {
#endif
			type = ETH_IP6;
		}
		h.eth.src = m.hop_src;
		h.eth.dst = m.hop_dst;
		if (m.tagged == 1) {
			h.eth.type = ETH_TAG;
			h.tag.setValid();
			PUT_TAG(h.tag)
			h.tag.type = type;
		} else {
			h.eth.type = type;
			h.tag.setInvalid();
		}
	}
#endif
}

#endif
