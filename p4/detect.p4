/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DETECT_P4
#define DETECT_P4
#include "drop.p4"
#include "headers.p4"
#include "sizes.p4"

/* detect - where a packet came from, and its PDR
 *
 *	port, tag ► ports ► data network, N3
 *	outer destination ► locals ► endpoint    G-PDU ► tunnels ─┐
 *	                                         else ► ues, framed ─┤
 *	                                                             ├► PDR
 *	                                                 list ► filters ┘
 *
 * A key with one PDR names it. One with several names a list, whose SDF filters do, in
 * Precedence order. A key whose PDRs ask for what is not here is not in the tables, or
 * says "cpu".
 *
 * With FEW_STAGES what does not need the result of another table is looked up beside it, and
 * detect_flat.p4 says in which order; without, the text below is the order.
 */
#ifdef COUNTS_USER_OCTETS
#define EXPECTED
#define EXPECT
#else
#define EXPECTED , bit<8> expected
#define EXPECT m.expected = expected;
#endif
#ifndef KEY_CPU
#define KEY_CPU cpu
#define KEY_ACTIONS
#define ONE bit<RULE_BITS> rule EXPECTED, bit<1> uplink, bit<1> check, bit<32> ue4, bit<64> ue6
#define SEVERAL bit<LIST_BITS> number EXPECTED, bit<1> uplink, bit<1> check, bit<32> ue4, bit<64> ue6
#define CHECK \
		m.uplink = uplink; \
		m.check = check; \
		m.ue4 = ue4; \
		m.ue6 = ue6;
#endif

control Detect(inout headers_t h, inout meta_t m, in PORT_TYPE port) {
	action cpu(bit<8> reason) {
		m.fate = FATE_CPU;
		m.reason = reason;
	}

	/* What comes in by a port, with this tag or without one. */
	action from_port(bit<1> n3, bit<8> network) {
		m.n3 = n3;
		m.network = network;
	}
	@name("ports")
	table ports {
		key = {
			port: exact @name("port");
			h.tag.isValid(): exact @name("tagged");
			m.vid: exact @name("vid");
			h.eth.dst: exact @name("mac");
		}
		actions = { from_port; @defaultonly cpu; }
		const default_action = cpu(PASS_HOST);
		size = PORTS;
	}

	/* Addresses of the host. endpoint 0: no tunnel ends there. */
	action local(bit<8> endpoint) {
		m.endpoint = endpoint;
	}
	action no_local() {
		m.endpoint = 0;
	}
	@name("locals4")
	table locals4 {
		key = { h.ip4.dst: exact @name("address"); }
		actions = { local; @defaultonly no_local; }
		const default_action = no_local();
		size = LOCALS;
	}
	@name("locals6")
	table locals6 {
		key = {
			h.ip6.dst_prefix: exact @name("prefix");
			h.ip6.dst_rest: exact @name("rest");
		}
		actions = { local; @defaultonly no_local; }
		const default_action = no_local();
		size = LOCALS;
	}

	/* The PDR, or PDRs, of a key. expected: octets of the headers in front of the user
	 * packets; with others packets go to the CPU (measure.p4). check: the UE address is compared with these, uplink with
	 * the source; 0 is no address.
	 */
	action one(ONE) {
		m.rule = rule;
		EXPECT
		CHECK
	}
	action several(SEVERAL) {
		m.filter_list = number;
		EXPECT
		CHECK
	}
	KEY_ACTIONS
	@name("tunnels")
	table tunnels {
		key = {
			m.endpoint: exact @name("endpoint");
			h.gtpu.teid: exact @name("teid");
		}
		actions = { one; several; KEY_CPU; }
		const default_action = KEY_CPU(PASS_RULES);
		size = TUNNELS;
	}

	action one_bare(bit<RULE_BITS> rule EXPECTED) {
		m.rule = rule;
		EXPECT
	}
	action several_bare(bit<LIST_BITS> number EXPECTED) {
		m.filter_list = number;
		EXPECT
	}
	@name("ues4")
	table ues4 {
		key = { DST4: exact @name("address"); }
		actions = { one_bare; several_bare; @defaultonly NoAction; KEY_CPU; }
		const default_action = NoAction();
		size = UE4S;
	}
	@name("ues6")
	table ues6 {
		key = { DST6: exact @name("prefix"); }
		actions = { one_bare; several_bare; @defaultonly NoAction; KEY_CPU; }
		const default_action = NoAction();
		size = UE6S;
	}
	@name("framed4")
	table framed4 {
		key = { DST4: lpm @name("address"); }
		actions = { one_bare; several_bare; KEY_CPU; }
		const default_action = KEY_CPU(PASS_HOST);
		size = ROUTES4;
	}
	@name("framed6")
	table framed6 {
		key = { DST6: lpm @name("prefix"); }
		actions = { one_bare; several_bare; KEY_CPU; }
		const default_action = KEY_CPU(PASS_HOST);
		size = ROUTES6;
	}

	action filtered(bit<RULE_BITS> rule) {
		m.rule = rule;
	}
	/* No PDR matches, so no PDR counts it. */
	action unfiltered(bit<8> reason) {
		m.rule = 0;
		m.fate = FATE_DROP;
		m.reason = reason;
	}
	/* A list may end with an entry of the lowest priority that says why nothing matches. */
	@name("filters4")
	table filters4 {
		key = {
			m.filter_list: exact @name("list");
			m.network: ternary @name("network");
			m.qfi: ternary @name("qfi");
			m.protocol: ternary @name("protocol");
			m.tos: ternary @name("tos");
			SRC4: ternary @name("source");
			DST4: ternary @name("destination");
			m.src_port: RANGE @name("source_port");
			m.dst_port: RANGE @name("destination_port");
		}
		actions = { filtered; unfiltered; cpu; }
		const default_action = cpu(PASS_RULES);
		size = FILTERS4;
	}
	@name("filters6")
	table filters6 {
		key = {
			m.filter_list: exact @name("list");
			m.network: ternary @name("network");
			m.qfi: ternary @name("qfi");
			m.protocol: ternary @name("protocol");
			m.tos: ternary @name("tos");
			SRC6: ternary @name("source_prefix");
			SRC6_REST: ternary @name("source_rest");
			DST6: ternary @name("destination_prefix");
			DST6_REST: ternary @name("destination_rest");
			m.src_port: RANGE @name("source_port");
			m.dst_port: RANGE @name("destination_port");
		}
		actions = { filtered; unfiltered; cpu; }
		const default_action = cpu(PASS_RULES);
		size = FILTERS6;
	}

	action user4(in ip4_h ip) {
		m.v6 = 0;
		m.octets = ip.octets;
		m.ttl = ip.ttl;
		m.tos = ip.tos;
		m.protocol = ip.protocol;
		m.src4 = ip.src;
		m.dst4 = ip.dst;
	}
	action user6(in ip6_h ip) {
		m.v6 = 1;
#ifndef FEW_STAGES
		/* Hop-by-Hop, Routing, Fragment, AH, Destination Options, Mobility, HIP, Shim6: what
		 * is behind them was not read.
		 */
		m.fragment = (ip.next == 0 || ip.next == 43 || ip.next == 44 || ip.next == 51 || ip.next == 60 || ip.next == 135 ||
			ip.next == 139 || ip.next == 140) ? 1w1 : 1w0;
#endif
		m.octets = ip.octets + 40;
		m.ttl = ip.hop_limit;
		m.tos = IP6_CLASS(ip);
		m.protocol = ip.next;
		m.src6 = ip.src_prefix;
		m.src6_rest = ip.src_rest;
		m.dst6 = ip.dst_prefix;
		m.dst6_rest = ip.dst_rest;
	}

#ifdef FEW_STAGES
#include "detect_flat.p4"
#else
	/* Whether a router forwards from and to these addresses: they are not of this network,
	 * this host, one link or many. Source: RFC 1812, 5.3.7; RFC 3927, 2.7; RFC 4291, 2.5
	 * and 2.7.
	 */
#ifndef WHOLE_OCTETS
	action scope4() {
		m.scope = (m.src4[31:24] != 0 && m.src4[31:24] != 127 && m.src4[31:29] != 7 && m.src4[31:16] != 0xa9fe &&
			m.dst4[31:24] != 0 && m.dst4[31:24] != 127 && m.dst4[31:29] != 7 && m.dst4[31:16] != 0xa9fe) ? 1w1 : 1w0;
	}
	action scope6() {
		m.scope = (m.src6 != 0 && m.src6[63:56] != 0xff && m.src6[63:54] != 0x3fa &&
			m.dst6 != 0 && m.dst6[63:56] != 0xff && m.dst6[63:54] != 0x3fa) ? 1w1 : 1w0;
	}
#endif

	apply {
		m.vid = h.tag.isValid() ? TAG_VID(h.tag) : 0;
		ports.apply();
		if (m.fate == FATE_FORWARD) {
			if (m.broken == 1) {
				cpu(PASS_HOST);
			} else if (h.ip4.isValid()) {
				locals4.apply();
			} else if (h.ip6.isValid()) {
				locals6.apply();
			} else {
				cpu(PASS_HOST);
			}
		}
		if (m.fate == FATE_FORWARD) {
			m.before = 14;
			m.qfi = 64;
			if (h.tag.isValid()) {
				m.before = m.before + 4;
			}
			if (m.endpoint != 0) {
				if (m.n3 == 0) {
					cpu(PASS_HOST);
				} else if (h.user4.isValid() || h.user6.isValid()) {
					m.tunnelled = 1;
				} else {
					cpu(PASS_SIGNALLING);
				}
			} else if (m.network == 0) {
				cpu(PASS_HOST);
			}
		}
		if (m.fate == FATE_FORWARD) {
			if (m.tunnelled == 1) {
				m.before = m.before + (h.ip4.isValid() ? 8w36 : 8w56);
				if (h.optional.isValid()) {
					m.before = m.before + 4;
				}
				if (h.psc.isValid()) {
					m.before = m.before + 4;
					m.qfi = PSC_QFI(h.psc);
				}
				if (h.user4.isValid()) {
					user4(h.user4);
					m.fragment = IS_FRAGMENT(h.user4) ? 1w1 : 1w0;
				} else {
					user6(h.user6);
				}
				if (h.user_ports.isValid()) {
					m.src_port = h.user_ports.src;
					m.dst_port = h.user_ports.dst;
				}
				/* GTP-U and IP, outside and inside, have to say the same of where it ends. */
				bit<16> whole = m.octets;
				if (h.psc.isValid()) {
					whole = m.octets + 8;
				} else if (h.optional.isValid()) {
					whole = m.octets + 4;
				}
				bit<16> outer = h.gtpu.octets + 36;
				if (h.ip4.isValid()) {
					outer = outer - h.ip4.octets;
				} else {
					outer = outer - 20 - h.ip6.octets;
				}
				if (h.gtpu.octets != whole || outer != 0) {
					cpu(PASS_HOST);
				}
			} else {
				if (h.ip4.isValid()) {
					user4(h.ip4);
					m.fragment = IS_FRAGMENT(h.ip4) ? 1w1 : 1w0;
					if (VERSION4(h.ip4) != 4 || IHL(h.ip4) != 5) {
						cpu(PASS_RULES);
					}
				} else {
					user6(h.ip6);
					if (VERSION6(h.ip6) != 6) {
						cpu(PASS_RULES);
					}
				}
				if (h.ports.isValid()) {
					m.src_port = h.ports.src;
					m.dst_port = h.ports.dst;
				}
			}
#ifndef NO_FRAME_OCTETS
			if (m.fate == FATE_FORWARD) {
				/* What follows the user packet would have to be cut off and not be counted. */
				if (m.frame != (bit<16>)m.before + m.octets) {
					cpu(PASS_RULES);
				}
			}
#endif
		}
		SCOPE
		if (m.fate == FATE_FORWARD) {
			if (m.tunnelled == 1) {
				tunnels.apply();
			} else if (m.v6 == 0) {
				if (!ues4.apply().hit) {
					framed4.apply();
				}
			} else {
				if (!ues6.apply().hit) {
					framed6.apply();
				}
			}
		}
#ifndef COUNTS_USER_OCTETS
		if (m.fate == FATE_FORWARD && m.before != m.expected) {
			cpu(PASS_RULES);
		}
#endif
		if (m.fate == FATE_FORWARD && m.check == 1) {
			if (m.v6 == 0) {
				if (m.ue4 == 0) {
					unfiltered(DROP_UE_ADDRESS);
				} else if (m.uplink == 1) {
					if (m.ue4 != m.src4) {
						unfiltered(DROP_UE_ADDRESS);
					}
				} else if (m.ue4 != m.dst4) {
					unfiltered(DROP_UE_ADDRESS);
				}
			} else if (m.ue6 == 0) {
				unfiltered(DROP_UE_ADDRESS);
			} else if (m.uplink == 1) {
				if (m.ue6 != m.src6) {
					unfiltered(DROP_UE_ADDRESS);
				}
			} else if (m.ue6 != m.dst6) {
				unfiltered(DROP_UE_ADDRESS);
			}
		}
		if (m.fate == FATE_FORWARD && m.filter_list != 0) {
			if (m.fragment == 1) {
				cpu(PASS_RULES);
			} else if (m.v6 == 0) {
				filters4.apply();
			} else {
				filters6.apply();
			}
		}
		/* What routers do not forward gets an answer, or none, from the CPU. */
		if (m.fate == FATE_DROP && m.scope == 0) {
			cpu(PASS_ANSWER);
		}
	}
#endif
}

#endif
