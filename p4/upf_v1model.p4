/* SPDX-License-Identifier: Apache-2.0 */
/* The UPF for the architecture v1model: BMv2, and plumb p4switch.
 *
 *	parse ► detect ► forward ► enforce ► measure ► emit
 *	          └─────────┴─────────┴─► drop, or to the CPU port with the reason
 *
 * The MBR is GCRA in a register, as in the other datapaths, and not a meter of v1model: that
 * counts frames, and with small packets half of a frame is headers.
 */
#include <core.p4>
#include <v1model.p4>
#include "drop.p4"
#include "headers.p4"
#include "sizes.p4"

const bit<9> CPU_PORT = 510;

#define COUNTER(name, size, bits) \
	@name(#name) counter(size, CounterType.packets_and_bytes) name;
#define COUNT(name, index) name.count((bit<32>)index);

/* The theoretical arrival time of the next packet, in 2^-8 ns: ITU-T I.371, Annex A (virtual
 * scheduling). What is further ahead than METER_AHEAD beyond the tolerance is behind, or from
 * long ago: the clock goes round.
 */
#define METER_AHEAD	(1 << 38)
#define METER(name, size, bits) \
	@name(#name) register<bit<64>>(size) name; \
	action name##_take(bit<bits> index, bit<64> now, bit<64> octet_time, bit<64> tolerance) { \
		bit<64> tat; \
		name.read(tat, (bit<32>)index); \
		bit<64> ahead = tat - now; \
		ahead = ahead > tolerance + octet_time + METER_AHEAD ? 64w0 : ahead; \
		m.fits = ahead > tolerance ? 1w0 : 1w1; \
		name.write((bit<32>)index, m.fits == 1 ? now + ahead + ((octet_time * (bit<64>)m.octets) >> 16) : tat); \
	} \
	action name##_back(bit<bits> index, bit<64> octet_time) { \
		bit<64> tat; \
		name.read(tat, (bit<32>)index); \
		name.write((bit<32>)index, tat - ((octet_time * (bit<64>)m.octets) >> 16)); \
	}
#define METER_RUN(name, index, octet_time, tolerance) \
	@atomic { \
		name##_take(index, (bit<64>)m.now * 256000, (bit<64>)octet_time, (bit<64>)tolerance); \
	}
#define METER_BACK(name, index, octet_time) \
	@atomic { \
		name##_back(index, (bit<64>)octet_time); \
	}

#include "parse.p4"
#include "detect.p4"
#include "forward.p4"
#include "enforce.p4"
#include "measure.p4"
#include "emit.p4"

parser UPFParser(packet_in packet, out headers_t h, inout meta_t m, inout standard_metadata_t standard) {
	state start {
		transition select(standard.ingress_port) {
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

control UPFVerify(inout headers_t h, inout meta_t m) {
	apply {}
}

control UPFIngress(inout headers_t h, inout meta_t m, inout standard_metadata_t standard) {
	@name("dropped") counter(REASONS, CounterType.packets) dropped;
	@name("handed") counter(REASONS, CounterType.packets) handed;
	@name("detect") Detect() detect;
	@name("forward") Forward() forward;
	@name("enforce") Enforce() enforce;
	@name("measure") Measure() measure;
	@name("emit") Emit() emit;

	/* As in package model. */
	action flow4() {
		m.flow = (m.src4 ^ m.dst4 ^ (m.src_port ++ m.dst_port)) * 0x9e3779b1;
	}
	action flow6() {
		m.flow = (m.src6[31:0] ^ m.dst6[31:0] ^ m.src6[63:32] ^ (m.src_port ++ m.dst_port)) * 0x9e3779b1;
	}

	apply {
		if (standard.ingress_port == CPU_PORT) {
			standard.egress_spec = (bit<9>)h.packet_out.egress_port;
			h.packet_out.setInvalid();
			exit;
		}
		m.frame = (bit<16>)standard.packet_length;
		m.now = standard.ingress_global_timestamp;
		if (standard.parser_error != error.NoError) {
			m.broken = 1;
		}
		detect.apply(h, m, standard.ingress_port);
		forward.apply(h, m);
		if (m.fate == FATE_FORWARD) {
			enforce.apply(h, m);
		}
		measure.apply(h, m);
		if (m.fate == FATE_FORWARD) {
			if (m.v6 == 0) {
				flow4();
			} else {
				flow6();
			}
			emit.apply(h, m);
			standard.egress_spec = m.port;
		} else if (m.fate == FATE_DROP) {
			dropped.count((bit<32>)m.reason);
			mark_to_drop(standard);
		} else {
			handed.count((bit<32>)m.reason);
			h.packet_in.setValid();
			h.packet_in.ingress_port = (bit<16>)standard.ingress_port;
			h.packet_in.reason = m.reason;
			standard.egress_spec = CPU_PORT;
		}
	}
}

control UPFEgress(inout headers_t h, inout meta_t m, inout standard_metadata_t standard) {
	apply {}
}

control UPFChecksum(inout headers_t h, inout meta_t m) {
	apply {
		update_checksum(h.out4.isValid(),
			{ h.out4.version, h.out4.ihl, h.out4.tos, h.out4.octets, h.out4.id, h.out4.flags, h.out4.fragment,
			  h.out4.ttl, h.out4.protocol, h.out4.src, h.out4.dst },
			h.out4.checksum, HashAlgorithm.csum16);
		/* RFC 8200, 8.1: the pseudo-header, UDP and all behind it. */
		update_checksum_with_payload(h.out6.isValid(),
			{ h.out6.src_prefix, h.out6.src_rest, h.out6.dst_prefix, h.out6.dst_rest, 16w0, h.out_udp.octets, 24w0, h.out6.next,
			  h.out_udp.src, h.out_udp.dst, h.out_udp.octets,
			  h.out_gtpu.version, h.out_gtpu.protocol_type, h.out_gtpu.spare, h.out_gtpu.e, h.out_gtpu.s, h.out_gtpu.pn,
			  h.out_gtpu.type, h.out_gtpu.octets, h.out_gtpu.teid, h.out_optional, h.out_psc,
			  h.ip4, h.ip6, h.ports, h.udp, h.gtpu, h.optional, h.psc, h.user4, h.user6, h.user_ports },
			h.out_udp.checksum, HashAlgorithm.csum16);
		/* 0 would say that there is none: all ones say the same. */
		update_checksum(h.out6.isValid() && h.out_udp.checksum == 0, { 16w0 }, h.out_udp.checksum, HashAlgorithm.csum16);
	}
}

control UPFDeparser(packet_out packet, in headers_t h) {
	apply {
		packet.emit(h.packet_in);
		packet.emit(h.eth);
		packet.emit(h.tag);
		packet.emit(h.out4);
		packet.emit(h.out6);
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

V1Switch(UPFParser(), UPFVerify(), UPFIngress(), UPFEgress(), UPFChecksum(), UPFDeparser()) main;
