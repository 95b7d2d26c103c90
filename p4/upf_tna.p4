/* SPDX-License-Identifier: Apache-2.0 */
/* The UPF for the architecture tna of Tofino 1.
 *
 *	ingress:  parse ► detect ► forward ► verdict ─┬► port of the next hop
 *	                                              ├► CPU port
 *	                                              └► bin: the recirculation port
 *	egress:   parse ► forward_out ► enforce ► measure ► emit,   packet_in,   or drop
 *
 * The ingress changes nothing. What it drops goes through the egress of a port from which
 * nothing leaves, since reasons are counted there.
 *
 * Left to the CPU: tunnels over IPv6, whose UDP checksum is one of the whole packet. Left out: the counter
 * of what a PDR has refused.
 */
#include <core.p4>
#include <tna.p4>

#ifndef SESSIONS
#define SESSIONS	131072
#endif
#define RULE_BITS	18
#ifndef METERS
#define METERS		32768		/* MBRs of sessions, of each direction */
#define METER_BITS	15
#endif
#ifndef ROUTES4
#define ROUTES4		8192
#define ROUTES6		4096
#endif
#ifndef FILTERS4
#define FILTERS4	2048
#define FILTERS6	1024
#endif
#ifndef DATA_ROUTES4
#define DATA_ROUTES4	16384
#define DATA_ROUTES6	4096
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
#define METER_RATES
#define COUNTS_USER_OCTETS

/* From ingress to egress. */
@flexible
header bridge_h {
	bit<2> fate;
	bit<8> reason;
	bit<9> port;
	bit<1> tunnelled;
	bit<1> tunnel;
	bit<1> v6;
	bit<1> uplink;
	bit<18> rule;
	bit<16> octets;
	bit<16> whole;
	bit<8> tos;
	bit<14> flow;
	bit<12> peer;
	bit<13> hop;
}
#define FRONT_HEADERS	bridge_h bridge;
#define BROKEN_BITS	16
#define FITS_BITS	8
#define FRONT_META \
	bit<8> held;		/* reason, of a UE whose packets are for the CPU */ \
	bit<1> crooked;		/* lengths of GTP-U and IP do not agree */ \
	bit<1> stranger;	/* another UE address */ \
	bit<16> tail; \
	bit<16> whole;		/* octets of the whole frame as the user packet says, with its FCS */ \
	bit<16> leaving;	/* octets that would leave, from the IP header on */ \
	bit<16> over;		/* of these, above the MTU */ \
	bit<16> inside;		/* octets behind the outer GTP-U header */ \
	bit<16> missing; \
	bit<1> has_bucket; \
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
#define COUNTER_refused(name)
#define COUNT_refused(name, index)

/* Meters of Tofino. Octets of the headers in front of user packets, and of the FCS, are taken
 * off, without a tag: a tag counts. fits is 0 for red.
 */
#define FRONT_UP	32w62
#define FRONT_DOWN	32w18
#define METER(name, size, bits) \
	Meter<bit<bits>>(size, MeterType_t.BYTES, 0, 1, 1) name##_up; \
	Meter<bit<bits>>(size, MeterType_t.BYTES, 0, 1, 1) name##_down;
#define METER_RUN(name, index) METER_RUN_##name
#define METER_RUN_session_meter \
	if (m.uplink == 1) { \
		m.fits = session_meter_up.execute(index = m.bucket, adjust_byte_count = FRONT_UP); \
	} else { \
		m.fits = session_meter_down.execute(index = m.bucket, adjust_byte_count = FRONT_DOWN); \
	}
#define METER_RUN_slice_meter \
	if (m.uplink == 1) { \
		m.fits = slice_meter_up.execute(index = 1w1 ++ m.slice, adjust_byte_count = FRONT_UP); \
	} else { \
		m.fits = slice_meter_down.execute(index = 1w0 ++ m.slice, adjust_byte_count = FRONT_DOWN); \
	}

#include "parse.p4"
#include "detect.p4"
#include "forward.p4"
#include "enforce.p4"
#include "measure.p4"
#include "emit.p4"

parser IngressParser(packet_in packet, out headers_t h, out meta_t m, out ingress_intrinsic_metadata_t intrinsic) {
	state start {
		packet.extract(intrinsic);
		packet.advance(PORT_METADATA_SIZE);
		m.fate = FATE_FORWARD;
		m.vid = 0;
		m.rule = 0;
		m.filter_list = 0;
		m.held = 0;
		m.tunnelled = 0;
		m.tunnel = 0;
		m.v6 = 0;
		m.check = 0;
		m.fragment = 0;
		m.crooked = 0;
		m.stranger = 0;
		m.src_port = 0;
		m.dst_port = 0;
		transition select(intrinsic.ingress_port) {
			CPU_PORT: parse_packet_out;
			default: parse_ethernet;
		}
	}
	state parse_packet_out {
		packet.extract(h.packet_out);
		transition accept;
	}
	PARSE_STATES
}

control Ingress(inout headers_t h, inout meta_t m, in ingress_intrinsic_metadata_t intrinsic,
		in ingress_intrinsic_metadata_from_parser_t parsed, inout ingress_intrinsic_metadata_for_deparser_t deparser,
		inout ingress_intrinsic_metadata_for_tm_t tm) {
	@name("detect") Detect() detect;
	@name("forward") Forward() forward;
	Hash<bit<14>>(HashAlgorithm_t.CRC16) hash4;
	Hash<bit<14>>(HashAlgorithm_t.CRC16) hash6;

	action flow4() {
		h.bridge.flow = hash4.get({ m.src4, m.dst4, m.src_port, m.dst_port });
	}
	action flow6() {
		h.bridge.flow = hash6.get({ m.src6, m.src6_rest, m.dst6, m.dst6_rest, m.src_port, m.dst_port });
	}

	/* What the flags say, with those that hand a packet to the CPU first. */
	action leave() {
		tm.ucast_egress_port = m.port;
		h.bridge.fate = FATE_FORWARD;
	}
	action hand() {
		tm.ucast_egress_port = CPU_PORT;
		h.bridge.fate = FATE_CPU;
		h.bridge.reason = m.reason;
	}
	action hand_held() {
		tm.ucast_egress_port = CPU_PORT;
		h.bridge.fate = FATE_CPU;
		h.bridge.reason = m.held;
	}
	action hand_for(bit<8> reason) {
		tm.ucast_egress_port = CPU_PORT;
		h.bridge.fate = FATE_CPU;
		h.bridge.reason = reason;
	}
	action drop() {
		tm.ucast_egress_port = BIN_PORT;
		h.bridge.fate = FATE_DROP;
		h.bridge.reason = m.reason;
	}
	action drop_for(bit<8> reason) {
		tm.ucast_egress_port = BIN_PORT;
		h.bridge.fate = FATE_DROP;
		h.bridge.reason = reason;
	}
	@name("verdicts")
	table verdicts {
		key = {
			m.fate: ternary @name("fate");
			m.crooked: ternary @name("crooked");
			m.held: ternary @name("held");
			m.tunnelled: ternary @name("tunnelled");
			m.tunnel: ternary @name("tunnel");
			m.check: ternary @name("check");
			m.scope: ternary @name("scope");
			m.stranger: ternary @name("stranger");
			m.ttl: ternary @name("ttl");
			m.over: ternary @name("over");
		}
		actions = { leave; hand; hand_held; hand_for; drop; drop_for; }
		const default_action = hand_for(PASS_TOO_BIG);
		const entries = {
			(FATE_CPU, _, _, _, _, _, _, _, _, _): hand();
			(_, 1, _, _, _, _, _, _, _, _): hand_for(PASS_HOST);
			/* All PASS_... have these bits. */
			(_, _, 0x30 &&& 0x30, 0, _, _, _, _, _, _): hand_held();
			(FATE_DROP, _, _, _, _, _, 0, _, _, _): hand_for(PASS_ANSWER);
			(_, _, _, _, _, 1, 0, _, _, _): hand_for(PASS_ANSWER);
			(_, _, _, _, _, 1, _, 1, _, _): drop_for(DROP_UE_ADDRESS);
			(FATE_DROP, _, _, _, _, _, _, _, _, _): drop();
			(_, _, _, 0, _, _, _, _, 0 &&& 0xfe, _): hand_for(PASS_ANSWER);
			(_, _, _, _, 0, _, _, _, 0 &&& 0xfe, _): hand_for(PASS_ANSWER);
			(_, _, _, 0, _, _, 0, _, _, _): hand_for(PASS_ANSWER);
			(_, _, _, _, 0, _, 0, _, _, _): hand_for(PASS_ANSWER);
			(_, _, _, 0, 0, _, _, _, _, _): hand_for(PASS_RULES);
			(_, _, _, _, _, _, _, _, _, 0): leave();
		}
	}

	apply {
		if (h.packet_out.isValid()) {
			tm.ucast_egress_port = (bit<9>)h.packet_out.egress_port;
			tm.bypass_egress = 1;
			h.packet_out.setInvalid();
		} else {
			m.broken = parsed.parser_err;
			detect.apply(h, m, intrinsic.ingress_port);
			forward.apply(h, m);
			if (m.v6 == 0) {
				flow4();
			} else {
				flow6();
			}
			verdicts.apply();
			h.bridge.setValid();
			h.bridge.port = intrinsic.ingress_port;
			h.bridge.tunnelled = m.tunnelled;
			h.bridge.tunnel = m.tunnel;
			h.bridge.v6 = m.v6;
			h.bridge.uplink = m.uplink;
			h.bridge.rule = m.rule;
			h.bridge.octets = m.octets;
			h.bridge.whole = m.whole;
			h.bridge.tos = m.tos;
			h.bridge.peer = m.peer;
			h.bridge.hop = m.hop;
		}
	}
}

control IngressDeparser(packet_out packet, inout headers_t h, in meta_t m, in ingress_intrinsic_metadata_for_deparser_t deparser) {
	apply {
		packet.emit(h.bridge);
		packet.emit(h.eth);
		packet.emit(h.tag);
		packet.emit(h.ip4);
		packet.emit(h.ip6);
		packet.emit(h.ports);
		packet.emit(h.udp);
		packet.emit(h.gtpu);
		packet.emit(h.optional);
		packet.emit(h.psc);
		packet.emit(h.user4);
		packet.emit(h.user6);
		packet.emit(h.user_ports);
	}
}

parser EgressParser(packet_in packet, out headers_t h, out meta_t m, out egress_intrinsic_metadata_t intrinsic) {
	state start {
		packet.extract(intrinsic);
		packet.extract(h.bridge);
		m.has_bucket = 0;
		m.has_teid = 0;
		m.has_peer = 0;
		m.has_hop = 0;
		m.has_qfi = 0;
		transition select(h.bridge.fate) {
			FATE_FORWARD: parse_ethernet;
			default: accept;
		}
	}
	PARSE_STATES
}

control Egress(inout headers_t h, inout meta_t m, in egress_intrinsic_metadata_t intrinsic,
	       in egress_intrinsic_metadata_from_parser_t parsed, inout egress_intrinsic_metadata_for_deparser_t deparser,
	       inout egress_intrinsic_metadata_for_output_port_t output) {
	@name("dropped") Counter<bit<64>, bit<8>>(256, CounterType_t.PACKETS) dropped;
	@name("handed") Counter<bit<64>, bit<8>>(256, CounterType_t.PACKETS) handed;
	@name("forward") ForwardOut() forward;
	@name("enforce") Enforce() enforce;
	@name("measure") Measure() measure;
	@name("emit") Emit() emit;

	action unpack() {
		m.fate = h.bridge.fate;
		m.reason = h.bridge.reason;
		m.tunnelled = h.bridge.tunnelled;
		m.tunnel = h.bridge.tunnel;
		m.v6 = h.bridge.v6;
		m.uplink = h.bridge.uplink;
		m.rule = h.bridge.rule;
		m.octets = h.bridge.octets;
		m.tos = h.bridge.tos;
		m.flow = h.bridge.flow ++ 18w0;
		m.peer = h.bridge.peer;
		m.hop = h.bridge.hop;
		/* 0 if the frame is as long as the user packet says, or longer. */
		m.missing = h.bridge.whole |-| intrinsic.pkt_length;
	}
	action cut_off() {
		m.fate = FATE_DROP;
		m.reason = DROP_IP_SHORT;
	}

	apply {
		unpack();
		if (m.fate == FATE_CPU) {
			handed.count(m.reason);
			h.packet_in.setValid();
			h.packet_in.ingress_port = 7w0 ++ h.bridge.port;
			h.packet_in.reason = m.reason;
		} else {
			if (m.fate == FATE_FORWARD) {
				forward.apply(h, m);
				if (m.missing != 0) {
					cut_off();
				}
			}
			if (m.fate == FATE_FORWARD) {
				enforce.apply(h, m);
			}
			measure.apply(h, m);
			if (m.fate == FATE_DROP) {
				dropped.count(m.reason);
				deparser.drop_ctl = 1;
			}
			emit.apply(h, m);
		}
		h.bridge.setInvalid();
	}
}

control EgressDeparser(packet_out packet, inout headers_t h, in meta_t m, in egress_intrinsic_metadata_for_deparser_t deparser) {
	Checksum() outer;
	apply {
		h.out4.checksum = outer.update({
			h.out4.version, h.out4.ihl, h.out4.tos, h.out4.octets, h.out4.id, h.out4.flags, h.out4.fragment,
			h.out4.ttl, h.out4.protocol, h.out4.src, h.out4.dst });
		packet.emit(h.packet_in);
		packet.emit(h.eth);
		packet.emit(h.tag);
		packet.emit(h.out4);
		packet.emit(h.out_udp);
		packet.emit(h.out_gtpu);
		packet.emit(h.out_optional);
		packet.emit(h.out_psc);
		packet.emit(h.ip4);
		packet.emit(h.ip6);
		packet.emit(h.ports);
		packet.emit(h.udp);
		packet.emit(h.gtpu);
		packet.emit(h.optional);
		packet.emit(h.psc);
		packet.emit(h.user4);
		packet.emit(h.user6);
		packet.emit(h.user_ports);
	}
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;
Switch(pipe) main;
