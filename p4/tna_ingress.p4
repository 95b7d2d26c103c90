/* SPDX-License-Identifier: Apache-2.0 */
/* The ingress of upf_tna.p4. */
parser IngressParser(packet_in packet, out headers_t h, out meta_t m, out ingress_intrinsic_metadata_t intrinsic) {
	state start {
		packet.extract(intrinsic);
		packet.advance(PORT_METADATA_SIZE);
		m.fate = FATE_FORWARD;
		m.vid = 0;
		m.rule = 0;
		m.filter_list = 0;
		m.held = 0;
		m.own = 0;
		m.carry = 0;
		m.qfi = 64;
		m.endpoint = 0;
		m.n3 = 0;
		m.network = 0;
		m.peer = 0;
		m.hop = 0;
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
	state parse_ethernet {
		packet.extract(h.eth);
		transition select(h.eth.type) {
			ETH_TAG: parse_tag;
			ETH_IP4: look_ip4;
			ETH_IP6: look_ip6;
			default: accept;
		}
	}
	state parse_tag {
		packet.extract(h.tag);
		m.vid = h.tag.vid;
		transition select(h.tag.type) {
			ETH_IP4: look_ip4;
			ETH_IP6: look_ip6;
			default: accept;
		}
	}
	/* A G-PDU, or a user packet. */
	state look_ip4 {
		ip4_h ip = packet.lookahead<ip4_h>();
		transition select(ip.version, ip.ihl, ip.flags[0:0], ip.fragment, ip.protocol) {
			(4, 5, 0, 0, PROTO_UDP): look_udp;
			(4, 5, _, _, _): parse_user4;
			default: parse_options;
		}
	}
	state parse_options {
		packet.extract(h.ip4);
		transition accept;
	}
	state look_udp {
		gpdu_start_h start = packet.lookahead<gpdu_start_h>();
		transition select(start.port, start.flags, start.type) {
			(GTPU_PORT, 0x30 &&& 0xf8, GTPU_GPDU): parse_tunnel;
			default: parse_user4;
		}
	}
	state parse_tunnel {
		packet.extract(h.ip4);
		packet.extract(h.ports);
		packet.extract(h.udp);
		m.tunnelled = 1;
		transition parse_gtpu;
	}
	state look_ip6 {
		transition select(packet.lookahead<bit<8>>()) {
			0x60 &&& 0xf0: parse_user6;
			default: accept;
		}
	}
	PARSE_INSIDE
}

control Ingress(inout headers_t h, inout meta_t m, in ingress_intrinsic_metadata_t intrinsic,
		in ingress_intrinsic_metadata_from_parser_t parsed, inout ingress_intrinsic_metadata_for_deparser_t deparser,
		inout ingress_intrinsic_metadata_for_tm_t tm) {
	@name("detect") Detect() detect;
	@name("forward") Forward() forward;
	Hash<bit<14>>(HashAlgorithm_t.CRC16) hash4;
	Hash<bit<14>>(HashAlgorithm_t.CRC16) hash6;

	action flow4() {
		h.bridge.flow = hash4.get({ SRC4, DST4, m.src_port, m.dst_port });
	}
	action flow6() {
		h.bridge.flow = hash6.get({ SRC6, SRC6_REST, DST6, DST6_REST, m.src_port, m.dst_port });
	}

	/* What the flags say, with those that hand a packet to the CPU first. */
	action leave() {
		tm.ucast_egress_port = m.port;
		h.bridge.fate = FATE_FORWARD;
		h.bridge.reason = REASON_NONE;
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
			m.rule: ternary @name("rule");
			m.check: ternary @name("check");
			m.scope: ternary @name("scope");
			m.stranger: ternary @name("stranger");
			m.own: ternary @name("own");
			m.ttl: ternary @name("ttl");
			m.room: ternary @name("room");
		}
		actions = { leave; hand; hand_held; hand_for; drop; drop_for; }
		const default_action = leave();
		const entries = {
			(FATE_CPU, _, _, _, _, _, _, _, _, _, _, _): hand();
			(_, 1, _, _, _, _, _, _, _, _, _, _): hand_for(PASS_HOST);
			(_, _, _, 0, _, _, _, _, _, 1, _, _): hand_for(PASS_HOST);
			/* All PASS_... have these bits. */
			(_, _, 0x30 &&& 0x30, _, _, _, _, _, _, _, _, _): hand_held();
			(FATE_DROP, _, _, _, _, _, _, 0, _, _, _, _): hand_for(PASS_ANSWER);
			(_, _, _, _, _, _, 1, 0, _, _, _, _): hand_for(PASS_ANSWER);
			(_, _, _, _, _, _, 1, _, 1, _, _, _): drop_for(DROP_UE_ADDRESS);
			(FATE_DROP, _, _, _, _, _, _, _, _, _, _, _): drop();
			(_, _, _, _, _, 0, _, _, _, _, _, _): hand_for(PASS_RULES);
			(_, _, _, _, 0, _, _, _, _, 1, _, _): hand_for(PASS_HOST);
			(_, _, _, 0, _, _, _, _, _, _, 0 &&& 0xfe, _): hand_for(PASS_ANSWER);
			(_, _, _, _, 0, _, _, _, _, _, 0 &&& 0xfe, _): hand_for(PASS_ANSWER);
			(_, _, _, 0, _, _, _, 0, _, _, _, _): hand_for(PASS_ANSWER);
			(_, _, _, _, 0, _, _, 0, _, _, _, _): hand_for(PASS_ANSWER);
			(_, _, _, 0, 0, _, _, _, _, _, _, _): hand_for(PASS_RULES);
			(_, _, _, _, _, _, _, _, _, _, _, 0): hand_for(PASS_TOO_BIG);
		}
		size = 32;
	}

	/* What the next part needs no more is taken off, and one off TTL or Hop Limit where the packet is
	 * routed. A wrong header checksum stays wrong: RFC 1624, equation 3.
	 */
	action take_off() {
		h.tag.setInvalid();
		h.ip4.setInvalid();
		h.ports.setInvalid();
		h.udp.setInvalid();
		h.gtpu.setInvalid();
		h.optional.setInvalid();
		h.psc.setInvalid();
	}
	action take_off_hop4() {
		take_off();
		h.user4.ttl = h.user4.ttl - 1;
		h.user4.checksum = h.user4.checksum + 0x100;
	}
	action take_off_hop4_carry() {
		take_off();
		h.user4.ttl = h.user4.ttl - 1;
		h.user4.checksum = h.user4.checksum + 0x101;
	}
	action take_off_hop6() {
		take_off();
		h.user6.hop_limit = h.user6.hop_limit - 1;
	}
	action go_on() {
		take_off();
	}
	action go_on_container() {
		h.container = h.psc;
		h.bridge.container = 1;
		take_off();
	}
	@name("offs")
	table offs {
		key = {
			h.bridge.fate: exact @name("fate");
			m.tunnelled: ternary @name("tunnelled");
			m.tunnel: ternary @name("tunnel");
			m.v6: ternary @name("v6");
			m.carry: ternary @name("carry");
			h.psc.isValid(): ternary @name("psc");
		}
		actions = { take_off_hop4; take_off_hop4_carry; take_off_hop6; go_on; go_on_container; @defaultonly NoAction; }
		const default_action = NoAction();
		const entries = {
			(FATE_FORWARD, 1, 1, _, _, true): go_on_container();
			(FATE_FORWARD, 1, 1, _, _, _): go_on();
			(FATE_FORWARD, _, _, 1, _, _): take_off_hop6();
			(FATE_FORWARD, _, _, _, 1, _): take_off_hop4_carry();
			(FATE_FORWARD, _, _, _, _, _): take_off_hop4();
		}
		size = 16;
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
			if (h.user4.checksum[15:8] == 0xff || h.user4.checksum == 0xfeff) {
				m.carry = 1;
			}
			h.bridge.setValid();
			h.bridge.container = 0;
			verdicts.apply();
			offs.apply();
			h.bridge.port = intrinsic.ingress_port;
			h.bridge.tunnelled = m.tunnelled;
			h.bridge.tunnel = m.tunnel;
			h.bridge.v6 = m.v6;
			h.bridge.rule = m.rule;
			h.bridge.octets = m.octets;
			h.bridge.tos = m.tos;
			h.bridge.peer = m.peer;
			h.bridge.hop = m.hop;
		}
	}
}

control IngressDeparser(packet_out packet, inout headers_t h, in meta_t m, in ingress_intrinsic_metadata_for_deparser_t deparser) {
	apply {
		packet.emit(h.bridge);
		packet.emit(h.container);
		packet.emit(h.eth);
		packet.emit(h.tag);
		packet.emit(h.ip4);
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
