/* SPDX-License-Identifier: Apache-2.0 */
/* The UPF for the architecture tna of Tofino 1.
 *
 *	ingress:  parse ► detect ► forward ► verdict ─┬► take off ► port of the next hop
 *	                                              ├► CPU port
 *	                                              └► bin: the recirculation port
 *	egress:   parse ► forward_out ► enforce ► measure ► emit,   packet_in,   or drop
 *
 * The egress sees the user packet, of which it reads nothing: what it needs to know goes with it in a header.
 * What the ingress drops goes through the egress of a port from which nothing leaves, since reasons are
 * counted there.
 *
 * docs/p4-tna.md says what is left to the CPU.
 */
#include <core.p4>
#include <tna.p4>

#ifndef SESSIONS
#define SESSIONS	131072
#endif
#define RULE_BITS	18
#ifndef METERS
#define METERS		65536		/* MBRs of sessions, of a direction each */
#define METER_BITS	16
#define BUCKETS		65536		/* PDRs with an MBR */
#endif
#ifndef UE6S
#define UE6S		32768		/* of the sessions, those with an IPv6 prefix */
#endif
#ifndef ROUTES4
#define ROUTES4		8192
#define ROUTES6		4096
#endif
#ifndef FILTERS4
#define FILTERS4	1024
#define FILTERS6	512
#endif
#ifndef DATA_ROUTES4
#define DATA_ROUTES4	8192
#define DATA_ROUTES6	1024
#endif
#ifndef CPU_PORT
#define CPU_PORT	192		/* PCIe */
#endif
#ifndef BIN_PORT
#define BIN_PORT	68		/* recirculation, of pipe 0 */
#endif
#define FRAME_CHECK	4		/* octets of the FCS, which the target counts */

#define FEW_STAGES
#define NO_OUTER6
#define NO_RANGES
#define NO_WIDE_KEYS
#define METER_RATES
#define COUNTS_USER_OCTETS

/* The user packet, where the parser has put it. */
#define SRC4		h.user4.src
#define DST4		h.user4.dst
#define SRC6		h.user6.src_prefix
#define SRC6_REST	h.user6.src_rest
#define DST6		h.user6.dst_prefix
#define DST6_REST	h.user6.dst_rest

/* What an entry of a TEID says: of the UE only the IPv4 address. hold is as cpu, before it is known whether the packet is
 * for the UE.
 */
#define KEY_CPU	hold
#define KEY_ACTIONS \
	action hold(bit<8> reason) { \
		m.held = reason; \
	}
#define ONE	bit<RULE_BITS> rule, bit<1> check, bit<32> ue4
#define SEVERAL	bit<LIST_BITS> number, bit<1> check, bit<32> ue4
#define CHECK \
		m.check = check; \
		m.ue4 = ue4;

/* From ingress to egress, laid out as containers of Tofino are. */
#define BRIDGE_OCTETS	15
header bridge_h {
	bit<16> octets;
	bit<8> tos;
	bit<8> reason;
	@padding bit<7> pad_hop;
	bit<13> hop;
	bit<12> peer;
	bit<14> flow;
	bit<18> rule;
	@padding bit<7> pad_port;
	bit<9> port;
	@padding bit<2> pad_fate;
	bit<1> container;	/* of a tunnel that goes on: it follows */
	bit<1> v6;
	bit<1> tunnel;
	bit<1> tunnelled;
	bit<2> fate;
}
/* What shows a G-PDU, from the IP header on. */
header gpdu_start_h {
	bit<176> to_port;
	bit<16> port;
	bit<32> to_gtpu;
	bit<8> flags;
	bit<8> type;
}
#define FRONT_HEADERS \
	bridge_h bridge; \
	psc_h container;
#define BROKEN_BITS	16
#define FITS_BITS	8
#define FRONT_META \
	bit<1> own;		/* to an address of this host */ \
	bit<1> carry;		/* one off the TTL carries in the header checksum */ \
	bit<8> held;		/* reason, of a UE whose packets are for the CPU */ \
	bit<1> crooked;		/* lengths of GTP-U and IP do not agree */ \
	bit<1> stranger;	/* another UE address */ \
	bit<16> tail; \
	bit<16> whole;		/* octets of a frame with this user packet, with its FCS */ \
	bit<16> leaving;	/* octets that would leave, from the IP header on, less 1 */ \
	bit<16> room;		/* 0: above the MTU */ \
	bit<16> inside;		/* octets behind the outer GTP-U header */ \
	bit<16> missing; \
	bit<1> has_teid; \
	bit<1> has_peer; \
	bit<1> has_hop;

#include "drop.p4"
#include "sizes.p4"
#include "headers.p4"

/* A counter of Tofino counts frames, with what Ethernet puts around a short packet; octets of
 * user packets are counted in registers. A register is in one stage: there are several, and
 * the highest bits of the index say which.
 */
struct usage_t {
	bit<32> octets;
	bit<32> packets;
}
#define BANK_BITS	15
#define BANK(name, number) \
	Register<usage_t, bit<BANK_BITS>>(1 << BANK_BITS) name##number; \
	RegisterAction<usage_t, bit<BANK_BITS>, bit<32>>(name##number) name##number##_add = { \
		void apply(inout usage_t usage) { \
			usage.octets = usage.octets + (bit<32>)m.octets; \
			usage.packets = usage.packets + 1; \
		} \
	};
#define COUNT_BANK(name, index, number) \
	if (index[RULE_BITS - 1:BANK_BITS] == number) { \
		name##number##_add.execute(index[BANK_BITS - 1:0]); \
	}
#define COUNTER(name, size, bits) COUNTER_##name(name)
#define COUNT(name, index) COUNT_##name(name, index)
#define COUNTER_forwarded(name) BANK(name, 0) BANK(name, 1) BANK(name, 2) BANK(name, 3) \
	BANK(name, 4) BANK(name, 5) BANK(name, 6) BANK(name, 7)
#define COUNT_forwarded(name, index) \
	COUNT_BANK(name, index, 0) \
	else COUNT_BANK(name, index, 1) \
	else COUNT_BANK(name, index, 2) \
	else COUNT_BANK(name, index, 3) \
	else COUNT_BANK(name, index, 4) \
	else COUNT_BANK(name, index, 5) \
	else COUNT_BANK(name, index, 6) \
	else COUNT_BANK(name, index, 7)
#define FORWARDED	m.reason == REASON_NONE
#define COUNTER_refused(name)
#define COUNT_refused(name, index)

/* Meters of Tofino, with their rates: a cell for each MBR of a direction. Octets of what is around a
 * user packet between ingress and egress are taken off: Ethernet, the header of this program, the FCS. The highest
 * bits of a bucket say the bank. fits is 0 for red.
 */
#define AROUND	(14 + BRIDGE_OCTETS + FRAME_CHECK)
#define METER_BANK_BITS	14
#define METER_BANK(name, bits) Meter<bit<bits>>(1 << bits, MeterType_t.BYTES, 0, 1, 1) name;
#define METER_TAKE(name, number) m.fits = name.execute(index = number, adjust_byte_count = AROUND);
#define METER(name, size, bits) METER_##name
#define METER_RUN(name, index) METER_RUN_##name
#define METER_session_meter \
	METER_BANK(session_meter0, METER_BANK_BITS) \
	METER_BANK(session_meter1, METER_BANK_BITS) \
	METER_BANK(session_meter2, METER_BANK_BITS) \
	METER_BANK(session_meter3, METER_BANK_BITS)
#define METER_RUN_session_meter \
	if (m.bucket[15:14] == 0) { \
		METER_TAKE(session_meter0, m.bucket[13:0]) \
	} else if (m.bucket[15:14] == 1) { \
		METER_TAKE(session_meter1, m.bucket[13:0]) \
	} else if (m.bucket[15:14] == 2) { \
		METER_TAKE(session_meter2, m.bucket[13:0]) \
	} else { \
		METER_TAKE(session_meter3, m.bucket[13:0]) \
	}
#define METER_slice_meter METER_BANK(slice_meter, SLICE_BITS)
#define METER_RUN_slice_meter METER_TAKE(slice_meter, m.slice)

#include "parse.p4"
#include "detect.p4"
#include "forward.p4"
#include "enforce.p4"
#include "measure.p4"
#include "emit.p4"

#include "tna_ingress.p4"
#include "tna_egress.p4"

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
