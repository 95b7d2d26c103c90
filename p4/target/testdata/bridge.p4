/* SPDX-License-Identifier: Apache-2.0 */
/* A bridge for tests: it has one of each thing that a controller can reach.
 *
 *	ports ► sources (digest) ► acl ► macs ► port, group, or controller
 *
 * Compiled with: p4c-bm2-ss --p4v 16 --p4runtime-files bridge.p4info.txtpb -o bridge.json bridge.p4
 */
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

@controller_header("packet_in")
header packet_in_h {
	bit<9> ingress_port;
	bit<7> reason;
}

@controller_header("packet_out")
header packet_out_h {
	bit<9> egress_port;
	bit<7> pad;
}

header ethernet_h {
	bit<48> dst;
	bit<48> src;
	bit<16> type;
}

header tag_h {
	bit<3> pcp;
	bit<1> dei;
	bit<12> vid;
	bit<16> type;
}

header ip4_h {
	bit<4> version;
	bit<4> ihl;
	bit<8> tos;
	bit<16> octets;
	bit<16> id;
	bit<16> fragment;
	bit<8> ttl;
	bit<8> protocol;
	bit<16> checksum;
	bit<32> src;
	bit<32> dst;
}

struct headers_t {
	packet_in_h packet_in;
	packet_out_h packet_out;
	ethernet_h eth;
	tag_h tag;
	ip4_h ip4;
}

struct meta_t {
	bit<2> colour;
}

struct learn_t {
	bit<48> mac;
	bit<9> port;
}

parser BridgeParser(packet_in packet, out headers_t h, inout meta_t m, inout standard_metadata_t standard) {
	state start {
		transition select(standard.ingress_port) {
			CPU_PORT: parse_packet_out;
			default: parse_ethernet;
		}
	}
	state parse_packet_out {
		packet.extract(h.packet_out);
		transition parse_ethernet;
	}
	state parse_ethernet {
		packet.extract(h.eth);
		transition select(h.eth.type) {
			0x8100: parse_tag;
			0x0800: parse_ip4;
			default: accept;
		}
	}
	state parse_tag {
		packet.extract(h.tag);
		transition select(h.tag.type) {
			0x0800: parse_ip4;
			default: accept;
		}
	}
	state parse_ip4 {
		packet.extract(h.ip4);
		transition accept;
	}
}

control BridgeVerify(inout headers_t h, inout meta_t m) {
	apply {}
}

control BridgeIngress(inout headers_t h, inout meta_t m, inout standard_metadata_t standard) {
	counter(16, CounterType.packets_and_bytes) ports;
	meter(16, MeterType.bytes) rates;
	register<bit<48>>(16) last;
	direct_counter(CounterType.packets_and_bytes) hits;
	direct_meter<bit<2>>(MeterType.packets) pace;

	action drop() {
		mark_to_drop(standard);
	}
	action to_controller(bit<7> reason) {
		h.packet_in.setValid();
		h.packet_in.ingress_port = standard.ingress_port;
		h.packet_in.reason = reason;
		standard.egress_spec = CPU_PORT;
	}
	action forward(bit<9> port) {
		hits.count();
		pace.read(m.colour);
		standard.egress_spec = port;
	}
	/* Puts a tag on, so that the frame grows. */
	action forward_tagged(bit<9> port, bit<12> vid) {
		hits.count();
		pace.read(m.colour);
		standard.egress_spec = port;
		h.tag.setValid();
		h.tag.pcp = 0;
		h.tag.dei = 0;
		h.tag.vid = vid;
		h.tag.type = h.eth.type;
		h.eth.type = 0x8100;
	}
	action flood(bit<16> group) {
		hits.count();
		pace.read(m.colour);
		standard.mcast_grp = group;
	}
	table macs {
		key = { h.eth.dst: exact @name("mac"); }
		actions = { forward; forward_tagged; flood; to_controller; }
		default_action = to_controller(1);
		counters = hits;
		meters = pace;
		size = 1048576;
	}

	action learn() {
		digest<learn_t>(1, { h.eth.src, standard.ingress_port });
	}
	table sources {
		key = { h.eth.src: exact @name("mac"); }
		actions = { NoAction; learn; }
		default_action = learn();
		size = 1024;
	}

	action mirror(bit<32> session) {
		clone(CloneType.I2E, session);
	}
	table acl {
		key = {
			standard.ingress_port: optional @name("port");
			h.ip4.src: ternary @name("source");
			h.ip4.dst: lpm @name("destination");
			h.ip4.protocol: range @name("protocol");
		}
		actions = { NoAction; drop; mirror; }
		default_action = NoAction();
		size = 64;
	}

	apply {
		if (h.packet_out.isValid()) {
			standard.egress_spec = h.packet_out.egress_port;
			h.packet_out.setInvalid();
			exit;
		}
		ports.count((bit<32>)standard.ingress_port);
		rates.execute_meter<bit<2>>((bit<32>)standard.ingress_port, m.colour);
		last.write((bit<32>)standard.ingress_port, h.eth.src);
		if (m.colour == 2) {
			drop();
			exit;
		}
		sources.apply();
		macs.apply();
		if (h.ip4.isValid()) {
			acl.apply();
		}
	}
}

control BridgeEgress(inout headers_t h, inout meta_t m, inout standard_metadata_t standard) {
	apply {
		if (standard.mcast_grp != 0 && standard.egress_port == standard.ingress_port) {
			mark_to_drop(standard);
		}
	}
}

control BridgeChecksum(inout headers_t h, inout meta_t m) {
	apply {}
}

control BridgeDeparser(packet_out packet, in headers_t h) {
	apply {
		packet.emit(h.packet_in);
		packet.emit(h.eth);
		packet.emit(h.tag);
		packet.emit(h.ip4);
	}
}

V1Switch(BridgeParser(), BridgeVerify(), BridgeIngress(), BridgeEgress(), BridgeChecksum(), BridgeDeparser()) main;
