/* SPDX-License-Identifier: Apache-2.0 */
/* The UPF for the architecture pna, as DPDK's SWX pipeline runs it.
 *
 *	parse ► detect ► forward ► enforce ► measure ► emit
 *	          └─────────┴─────────┴─► drop, or to the CPU port with the reason
 *
 * The target does not say how long a frame is, and does not look whether a header is whole. Its
 * ports must not bring frames that are shorter than Ethernet's 60 octets: what is taken off
 * a frame would be more than it has.
 *
 * Left to the CPU: tunnels over IPv6, whose UDP checksum is one of the whole packet. Left
 * out: packet_out, since the parser does not learn the port.
 */
#include <core.p4>
#include <pna.p4>

#ifndef CPU_PORT
#define CPU_PORT	0		/* ports are numbered without holes */
#endif

#define WHOLE_OCTETS
#define NO_OUTER6
#define NO_RANGES
#define NO_WIDE_KEYS
#define NO_FRAME_OCTETS
#define METER_RATES
#define COUNTS_USER_OCTETS

/* A port is not data: only the action of an entry may send a packet to one. */
#define PORT_TYPE	PortId_t
#define TO_PORT(port)	send_to_port(port);

/* What a flow's number is made of: a header, since of other fields there would be copies. */
header flow4_h {
	bit<32> src;
	bit<32> dst;
	bit<16> src_port;
	bit<16> dst_port;
}
header flow6_h {
	bit<64> src;
	bit<64> src_rest;
	bit<64> dst;
	bit<64> dst_rest;
	bit<16> src_port;
	bit<16> dst_port;
}
#define FRONT_HEADERS \
	flow4_h flow4; \
	flow6_h flow6;
#define BROKEN_BITS	1
#define FITS_BITS	1
#define FRONT_META	PNA_MeterColor_t colour;

#include "drop.p4"
#include "headers.p4"
#include "sizes.p4"

/* Octets of user packets: the length is what is handed over. */
#define COUNTER(name, size, bits) \
	@name(#name) Counter<bit<64>, bit<bits>>(size, PNA_CounterType_t.PACKETS_AND_BYTES) name;
#define COUNT(name, index) name.count(index, (bit<32>)m.octets);

/* The MBR is the peak rate of a cell, and its committed rate, too. The compiler numbers the
 * colours of pna as 0 red, 1 green, 2 yellow, the target as 0 green, 1 yellow, 2 red. A packet
 * that comes in as green, or as the yellow that it becomes, leaves as the same colour exactly
 * if the peak rate has room for it: that is right either way.
 */
#define METER(name, size, bits) \
	@name(#name) Meter<bit<bits>>(size, PNA_MeterType_t.BYTES) name;
#define METER_BACK(name, index, octet_time)
#define METER_RUN(name, index, octet_time, tolerance) \
	m.colour = name.dpdk_execute(index, PNA_MeterColor_t.GREEN, (bit<32>)m.octets); \
	if (m.colour != PNA_MeterColor_t.GREEN) { \
		m.fits = 0; \
	}

#include "parse.p4"
#include "detect.p4"
#include "forward.p4"
#include "enforce.p4"
#include "measure.p4"
#include "emit.p4"

parser UPFParser(packet_in packet, out headers_t h, inout meta_t m, in pna_main_parser_input_metadata_t standard) {
	/* The metadata is that of the packet before. As the compiler does not look into actions, it
	 * puts the value of an assignment that it takes for the only one in place of the field: what
	 * the stages assign once, and actions do as well, is assigned here for a second time (dscp,
	 * vid), and what only actions assign is not.
	 */
	state start {
		m.fate = FATE_FORWARD;
		m.broken = 0;
		m.tunnelled = 0;
		m.v6 = 0;
		m.rule = 0;
		m.filter_list = 0;
		m.src_port = 0;
		m.dst_port = 0;
		m.check = 0;
		m.tunnel = 0;
		m.dscp = 0;
		m.vid = 0;
		m.around = 0;
		transition parse_ethernet;
	}
	PARSE_STATES
}

control UPFPre(in headers_t h, inout meta_t m, in pna_pre_input_metadata_t standard, inout pna_pre_output_metadata_t output) {
	apply {}
}

control UPFMain(inout headers_t h, inout meta_t m, in pna_main_input_metadata_t standard, inout pna_main_output_metadata_t output) {
	@name("dropped") Counter<bit<64>, bit<8>>(REASONS, PNA_CounterType_t.PACKETS) dropped;
	@name("handed") Counter<bit<64>, bit<8>>(REASONS, PNA_CounterType_t.PACKETS) handed;
	@name("detect") Detect() detect;
	@name("forward") Forward() forward;
	@name("enforce") Enforce() enforce;
	@name("measure") Measure() measure;
	@name("emit") Emit() emit;
	Hash<bit<FLOW_BITS>>(PNA_HashAlgorithm_t.CRC32) hash;
	InternetChecksum() outer;

	apply {
		detect.apply(h, m, standard.input_port);
		forward.apply(h, m);
		if (m.fate == FATE_FORWARD) {
			enforce.apply(h, m);
		}
		measure.apply(h, m);
		if (m.fate == FATE_FORWARD) {
			if (m.tunnel == 1) {
				if (m.v6 == 0) {
					h.flow4.setValid();
					h.flow4.src = m.src4;
					h.flow4.dst = m.dst4;
					h.flow4.src_port = m.src_port;
					h.flow4.dst_port = m.dst_port;
					m.flow = hash.get_hash(h.flow4);
				} else {
					h.flow6.setValid();
					h.flow6.src = m.src6;
					h.flow6.src_rest = m.src6_rest;
					h.flow6.dst = m.dst6;
					h.flow6.dst_rest = m.dst6_rest;
					h.flow6.src_port = m.src_port;
					h.flow6.dst_port = m.dst_port;
					m.flow = hash.get_hash(h.flow6);
				}
			}
			emit.apply(h, m);
			if (m.tunnel == 1) {
				outer.clear();
				outer.add(h.out4);
				h.out4.checksum = outer.get();
			}
		} else if (m.fate == FATE_DROP) {
			dropped.count(m.reason);
			drop_packet();
		} else {
			handed.count(m.reason);
			h.packet_in.setValid();
			h.packet_in.ingress_port = (bit<16>)(bit<32>)standard.input_port;
			h.packet_in.reason = m.reason;
			send_to_port((PortId_t)CPU_PORT);
		}
	}
}

control UPFDeparser(packet_out packet, in headers_t h, in meta_t m, in pna_main_output_metadata_t output) {
	apply {
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

PNA_NIC(UPFParser(), UPFPre(), UPFMain(), UPFDeparser()) main;
