/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORWARD_P4
#define FORWARD_P4
#include "drop.p4"
#include "headers.p4"
#include "sizes.p4"

/* forward - what the FAR says, and the next hop
 *
 *	PDR ► rules ─┬► out on N6:      way, destination ► data_routes ─┬► hops ► port, MAC addresses, MTU
 *	             └► into a tunnel:  peers ──────────────────────────┘
 *
 * Nothing is changed here, so that a packet can still be handed to the CPU.
 *
 * With FEW_STAGES a part of it is after that: what only those packets need that leave
 * (forward_out.p4). The tables here have what says where they leave, and whether.
 */
#ifdef FEW_STAGES
#include "forward_out.p4"
#define PEER by_hop
#elif defined(NO_OUTER6)
#define PEER peer4
#else
#define PEER peer4; peer6
#endif
#ifndef TO_PORT
#define TO_PORT(port) m.port = port;
#endif
/* What the QERs say: bucket and bucket2 are their MBRs, 0: none. */
#ifdef METER_RATES
#define LIMITS bit<1> closed, bit<METER_BITS> bucket, bit<METER_BITS> bucket2, bit<SLICE_BITS> slice
#define SET_RATES
#else
#define LIMITS bit<1> closed, bit<METER_BITS> bucket, bit<48> octet_time, bit<48> tolerance, \
		bit<METER_BITS> bucket2, bit<48> octet_time2, bit<48> tolerance2, bit<SLICE_BITS> slice
#define SET_RATES \
		m.octet_time = octet_time; \
		m.tolerance = tolerance; \
		m.octet_time2 = octet_time2; \
		m.tolerance2 = tolerance2;
#endif
#define SET_LIMITS \
		m.closed = closed; \
		m.bucket = bucket; \
		m.bucket2 = bucket2; \
		m.slice = slice; \
		SET_RATES
#ifdef NO_WIDE_KEYS
#define ROUTE6 \
			DST6: ternary @name("prefix"); \
			DST6_REST: ternary @name("rest");
#else
#define ROUTE6 m.dst6 ++ m.dst6_rest: lpm @name("address");
#endif

control Forward(inout headers_t h, inout meta_t m) {
	action cpu(bit<8> reason) {
		m.fate = FATE_CPU;
		m.reason = reason;
	}

#ifdef FEW_STAGES
	action to_n6(bit<8> way) {
		m.way = way;
	}
	action to_peer(bit<PEER_BITS> peer) {
		m.tunnel = 1;
		m.peer = peer;
	}
#else
	/* A PDR with its FAR and QERs. */
	action to_n6(bit<1> uplink, bit<8> way, LIMITS) {
		m.uplink = uplink;
		m.way = way;
		SET_LIMITS
	}
	action to_peer(bit<1> uplink, bit<PEER_BITS> peer, bit<32> teid, bit<1> has_qfi, bit<MARK_BITS> qfi, bit<PDU_TYPE_BITS> pdu_type, bit<1> has_dscp,
		       bit<DSCP_BITS> dscp, LIMITS) {
		m.tunnel = 1;
		m.uplink = uplink;
		m.peer = peer;
		m.teid = teid;
		m.has_qfi = has_qfi;
		m.mark_qfi = qfi;
		m.pdu_type = pdu_type;
		m.has_dscp = has_dscp;
		m.dscp = dscp;
		SET_LIMITS
	}
#endif
	/* By the FAR. */
	action refuse(bit<8> reason) {
		m.fate = FATE_DROP;
		m.reason = reason;
	}
	@name("rules")
	table rules {
		key = { m.rule: exact @name("rule"); }
		actions = { to_n6; to_peer; refuse; cpu; }
		const default_action = cpu(PASS_CHANGING);
		size = RULES;
	}

	action own() {
#ifdef FEW_STAGES
		m.own = 1;
#else
		m.fate = FATE_CPU;
		m.reason = PASS_HOST;
#endif
	}
	@name("own4")
	table own4 {
		key = { DST4: exact @name("address"); }
		actions = { own; @defaultonly NoAction; }
		const default_action = NoAction();
		size = LOCALS;
	}
	@name("own6")
	table own6 {
		key = {
			DST6: exact @name("prefix");
			DST6_REST: exact @name("rest");
		}
		actions = { own; @defaultonly NoAction; }
		const default_action = NoAction();
		size = LOCALS;
	}

	action by_hop(bit<HOP_BITS> hop) {
		m.hop = hop;
	}
	@name("data_routes4")
	table data_routes4 {
		key = {
			m.way: exact @name("way");
			DST4: lpm @name("address");
		}
		actions = { by_hop; cpu; }
		const default_action = cpu(PASS_UNRESOLVED);
		size = DATA_ROUTES4;
	}
	@name("data_routes6")
	table data_routes6 {
		key = {
			m.way: exact @name("way");
			ROUTE6
		}
		actions = { by_hop; cpu; }
		const default_action = cpu(PASS_UNRESOLVED);
		size = DATA_ROUTES6;
	}

#ifndef FEW_STAGES
	action peer4(bit<32> from, bit<32> to, bit<HOP_BITS> hop) {
		m.local4 = from;
		m.peer4 = to;
		m.hop = hop;
	}
#ifndef NO_OUTER6
	action peer6(bit<64> from_prefix, bit<64> from_rest, bit<64> to_prefix, bit<64> to_rest, bit<HOP_BITS> hop) {
		m.peer6 = 1;
		m.local6 = from_prefix;
		m.local6_rest = from_rest;
		m.peer6_prefix = to_prefix;
		m.peer6_rest = to_rest;
		m.hop = hop;
	}
#endif
#endif
	@name("peers")
	table peers {
		key = { m.peer: exact @name("peer"); }
		actions = { PEER; cpu; }
		const default_action = cpu(PASS_UNRESOLVED);
		size = PEERS;
	}

#ifdef FEW_STAGES
	/* room: octets up to the MTU, and 1; 0 if the packet does not fit. */
	action by_port(bit<9> port, bit<16> mtu) {
		m.port = port;
		m.room = mtu |-| m.leaving;
	}
#else
	action by_port(PORT_TYPE port, bit<1> tagged, bit<VID_BITS> vid, bit<48> from, bit<48> to, bit<16> mtu) {
		TO_PORT(port)
		m.tagged = tagged;
		m.vid = vid;
		m.hop_src = from;
		m.hop_dst = to;
		m.mtu = mtu;
	}
#endif
	@name("hops")
	table hops {
		key = { m.hop: exact @name("hop"); }
		actions = { by_port; cpu; }
		const default_action = cpu(PASS_UNRESOLVED);
		size = HOPS;
	}

#ifdef FEW_STAGES
#include "forward_flat.p4"
#else
	apply {
		if (m.fate == FATE_FORWARD) {
			rules.apply();
		}
		/* Between two tunnels a packet is not routed. */
		if (m.fate == FATE_FORWARD && (m.tunnelled == 0 || m.tunnel == 0)) {
			if (m.scope == 0 || m.ttl < 2) {
				cpu(PASS_ANSWER);
			}
		}
		if (m.fate == FATE_FORWARD) {
			if (m.tunnel == 1) {
				m.around = 36;
				peers.apply();
#ifndef NO_OUTER6
				if (m.peer6 == 1) {
					m.around = 56;
				}
#endif
				if (m.has_qfi == 1 || h.psc.isValid()) {
					m.around = m.around + 8;
				}
			} else if (m.tunnelled == 0) {
				cpu(PASS_RULES);
			} else if (m.v6 == 0) {
				own4.apply();
				if (m.fate == FATE_FORWARD) {
					data_routes4.apply();
				}
			} else {
				own6.apply();
				if (m.fate == FATE_FORWARD) {
					data_routes6.apply();
				}
			}
		}
		if (m.fate == FATE_FORWARD) {
			hops.apply();
		}
		if (m.fate == FATE_FORWARD) {
			if (m.octets + m.around > m.mtu) {
				cpu(PASS_TOO_BIG);
			}
		}
	}
#endif
}

#endif
