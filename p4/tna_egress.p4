/* SPDX-License-Identifier: Apache-2.0 */
/* The egress of upf_tna.p4. */
parser EgressParser(packet_in packet, out headers_t h, out meta_t m, out egress_intrinsic_metadata_t intrinsic) {
	state start {
		packet.extract(intrinsic);
		packet.extract(h.bridge);
		m.fate = h.bridge.fate;
		m.reason = h.bridge.reason;
		m.tunnelled = h.bridge.tunnelled;
		m.tunnel = h.bridge.tunnel;
		m.v6 = h.bridge.v6;
		m.rule = h.bridge.rule;
		m.tos = h.bridge.tos;
		m.octets = h.bridge.octets;
		m.peer = h.bridge.peer;
		m.hop = h.bridge.hop;
		m.has_teid = 0;
		m.has_peer = 0;
		m.has_hop = 0;
		m.has_qfi = 0;
		m.bucket = 0;
		m.slice = 0;
		m.has_dscp = 0;
		m.fits = 1;
		transition select(h.bridge.fate, h.bridge.container) {
			(FATE_FORWARD, 0): parse_ethernet;
			(FATE_FORWARD, 1): parse_container;
			default: accept;
		}
	}
	state parse_container {
		packet.extract(h.psc);
		transition parse_ethernet;
	}
	state parse_ethernet {
		packet.extract(h.eth);
		transition accept;
	}
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

	/* 0 if the frame is as long as the user packet says, or longer. Whether the header of this program is in the length is
	 * not known for certain: if so, 15 octets may be missing.
	 */
	action measure_frame() {
		m.missing = m.whole |-| intrinsic.pkt_length;
	}
	action frame() {
		m.whole = m.octets + 14 + FRAME_CHECK;
	}
	apply {
		frame();
		measure_frame();
		if (m.fate == FATE_CPU) {
			handed.count(m.reason);
			h.packet_in.setValid();
			h.packet_in.ingress_port = 7w0 ++ h.bridge.port;
			h.packet_in.reason = m.reason;
		} else {
			if (m.fate == FATE_FORWARD) {
				forward.apply(h, m);
				m.flow = h.bridge.flow ++ 18w0;
				emit.apply(h, m);
				enforce.apply(h, m);
			}
			measure.apply(h, m);
			if (m.reason != REASON_NONE) {
				dropped.count(m.reason);
				deparser.drop_ctl = 1;
			}
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
	}
}
