/* SPDX-License-Identifier: Apache-2.0 */
/* detect, for a target on which one table behind another costs a stage: a part of control Detect
 *
 *	stage 0     ports      locals     ues
 *	      1     places ───────────────────► kind of packet, its user packet
 *	      2     tunnels    framed     scopes  fragments  lengths
 *	      ...   filters    UE address
 *
 * UE addresses are looked up before it is known whether the packet is for a UE: that of a
 * tunnel's end is in no table of these. What is found out beside the lookups is kept in flags
 * (crooked, stranger, held), of which the front makes the verdict: "cpu" goes before "drop".
 */

	action plain4() {
		user4(h.ip4);
	}
	action plain6() {
		user6(h.ip6);
	}
	action inside4() {
		m.tunnelled = 1;
		user4(h.user4);
	}
	action inside6() {
		m.tunnelled = 1;
		user6(h.user6);
	}
	@name("places")
	table places {
		key = {
			m.fate: ternary @name("fate");
			m.broken: ternary @name("broken");
			m.n3: ternary @name("n3");
			m.network: ternary @name("network");
			m.endpoint: ternary @name("endpoint");
			h.ip4.isValid(): ternary @name("ip4");
			h.ip4.version: ternary @name("version");
			h.ip4.ihl: ternary @name("ihl");
			h.ip6.isValid(): ternary @name("ip6");
			h.ip6.version: ternary @name("version6");
			h.user4.isValid(): ternary @name("user4");
			h.user6.isValid(): ternary @name("user6");
		}
		actions = { plain4; plain6; inside4; inside6; cpu; }
		const default_action = cpu(PASS_HOST);
		const entries = {
			(FATE_FORWARD, 0, _, 0, 0, _, _, _, _, _, _, _): cpu(PASS_HOST);
			(FATE_FORWARD, 0, _, _, 0, true, 4, 5, _, _, _, _): plain4();
			(FATE_FORWARD, 0, _, _, 0, true, 4, _, _, _, _, _): cpu(PASS_RULES);
			(FATE_FORWARD, 0, _, _, 0, true, _, _, _, _, _, _): cpu(PASS_HOST);
			(FATE_FORWARD, 0, _, _, 0, _, _, _, true, 6, _, _): plain6();
			(FATE_FORWARD, 0, _, _, 0, _, _, _, _, _, _, _): cpu(PASS_HOST);
			(FATE_FORWARD, 0, 1, _, _, true, _, _, _, _, true, _): inside4();
			(FATE_FORWARD, 0, 1, _, _, true, _, _, _, _, _, true): inside6();
			(FATE_FORWARD, 0, 1, _, _, true, _, _, _, _, _, _): cpu(PASS_SIGNALLING);
			(FATE_FORWARD, 0, 1, _, _, _, _, _, true, _, _, _): cpu(PASS_SIGNALLING);
		}
	}

	/* Octets of the frame, if it is whole, from those in front of the user packet. */
	action front(bit<16> before) {
		m.whole = m.octets + before;
		m.qfi = 64;
	}
	action front_qfi(bit<16> before) {
		m.whole = m.octets + before;
		m.qfi = 1w0 ++ h.psc.qfi;
	}
	@name("fronts")
	table fronts {
		key = {
			m.tunnelled: exact @name("tunnelled");
			h.tag.isValid(): exact @name("tag");
			h.optional.isValid(): ternary @name("optional");
			h.psc.isValid(): ternary @name("psc");
		}
		actions = { front; front_qfi; }
		const default_action = front(14);
		const entries = {
			(0, false, _, _): front(14);
			(0, true, _, _): front(18);
			(1, false, _, true): front_qfi(58);
			(1, true, _, true): front_qfi(62);
			(1, false, true, _): front(54);
			(1, true, true, _): front(58);
			(1, false, _, _): front(50);
			(1, true, _, _): front(54);
		}
	}

	action is_fragment() {
		m.fragment = 1;
	}
	/* IPv6: Hop-by-Hop, Routing, Fragment, AH, Destination Options, Mobility. */
	@name("fragments")
	table fragments {
		key = {
			m.v6: ternary @name("v6");
			m.tunnelled: ternary @name("tunnelled");
			h.ip4.flags[0:0]: ternary @name("more");
			h.ip4.fragment: ternary @name("fragment");
			h.user4.flags[0:0]: ternary @name("user_more");
			h.user4.fragment: ternary @name("user_fragment");
			m.protocol: ternary @name("protocol");
		}
		actions = { is_fragment; NoAction; }
		const default_action = NoAction();
		const entries = {
			(0, 0, 0, 0, _, _, _): NoAction();
			(0, 0, _, _, _, _, _): is_fragment();
			(0, 1, _, _, 0, 0, _): NoAction();
			(0, 1, _, _, _, _, _): is_fragment();
			(1, _, _, _, _, _, 0): is_fragment();
			(1, _, _, _, _, _, 43): is_fragment();
			(1, _, _, _, _, _, 44): is_fragment();
			(1, _, _, _, _, _, 51): is_fragment();
			(1, _, _, _, _, _, 60): is_fragment();
			(1, _, _, _, _, _, 135): is_fragment();
		}
	}

	/* Whether a router forwards from and to these addresses, as in scope4 and scope6. */
	action not_forwarded() {
		m.scope = 0;
	}
	action forwarded() {
		m.scope = 1;
	}
	@name("scopes4")
	table scopes4 {
		key = {
			m.src4: ternary @name("source");
			m.dst4: ternary @name("destination");
		}
		actions = { forwarded; not_forwarded; }
		const default_action = forwarded();
		const entries = {
			(0 &&& 0xff000000, _): not_forwarded();
			(0x7f000000 &&& 0xff000000, _): not_forwarded();
			(0xe0000000 &&& 0xe0000000, _): not_forwarded();
			(0xa9fe0000 &&& 0xffff0000, _): not_forwarded();
			(_, 0 &&& 0xff000000): not_forwarded();
			(_, 0x7f000000 &&& 0xff000000): not_forwarded();
			(_, 0xe0000000 &&& 0xe0000000): not_forwarded();
			(_, 0xa9fe0000 &&& 0xffff0000): not_forwarded();
		}
	}
	@name("scopes6")
	table scopes6 {
		key = {
			m.src6: ternary @name("source");
			m.dst6: ternary @name("destination");
		}
		actions = { forwarded; not_forwarded; }
		const default_action = forwarded();
		const entries = {
			(0, _): not_forwarded();
			(0xff00000000000000 &&& 0xff00000000000000, _): not_forwarded();
			(0xfe80000000000000 &&& 0xffc0000000000000, _): not_forwarded();
			(_, 0): not_forwarded();
			(_, 0xff00000000000000 &&& 0xff00000000000000): not_forwarded();
			(_, 0xfe80000000000000 &&& 0xffc0000000000000): not_forwarded();
		}
	}

	/* GTP-U, UDP and IP have to say the same of where a user packet ends. */
	action measure_tail() {
		m.tail = h.gtpu.octets - m.octets;
	}
	action crooked() {
		m.crooked = 1;
	}
	@name("tails")
	table tails {
		key = {
			m.tail: exact @name("octets");
			h.optional.isValid(): exact @name("optional");
			h.psc.isValid(): exact @name("psc");
		}
		actions = { NoAction; crooked; }
		const default_action = crooked();
		const entries = {
			(0, false, false): NoAction();
			(4, true, false): NoAction();
			(8, true, true): NoAction();
		}
	}

	/* The UE address: what is left of it if it is taken from that of the packet. */
	action compare_src4() {
		m.ue4 = m.ue4 ^ m.src4;
	}
	action compare_dst4() {
		m.ue4 = m.ue4 ^ m.dst4;
	}
	action compare_src6() {
		m.ue6 = m.ue6 ^ m.src6;
	}
	action compare_dst6() {
		m.ue6 = m.ue6 ^ m.dst6;
	}
	@name("compares")
	table compares {
		key = {
			m.v6: exact @name("v6");
			m.uplink: exact @name("uplink");
		}
		actions = { compare_src4; compare_dst4; compare_src6; compare_dst6; }
		const default_action = compare_src4();
		const entries = {
			(0, 1): compare_src4();
			(0, 0): compare_dst4();
			(1, 1): compare_src6();
			(1, 0): compare_dst6();
		}
	}
	action stranger() {
		m.stranger = 1;
	}
	@name("strangers")
	table strangers {
		key = {
			m.v6: ternary @name("v6");
			m.ue4: ternary @name("rest4");
			m.ue6: ternary @name("rest6");
		}
		actions = { stranger; NoAction; }
		const default_action = stranger();
		const entries = {
			(0, 0, _): NoAction();
			(1, _, 0): NoAction();
		}
	}

	apply {
		ports.apply();
		if (h.ip4.isValid()) {
			locals4.apply();
			ues4.apply();
		} else if (h.ip6.isValid()) {
			locals6.apply();
			ues6.apply();
		}
		places.apply();
		fronts.apply();
		if (m.tunnelled == 1) {
			measure_tail();
			tails.apply();
			if (h.user_ports.isValid()) {
				m.src_port = h.user_ports.src;
				m.dst_port = h.user_ports.dst;
			}
		} else if (h.ports.isValid()) {
			m.src_port = h.ports.src;
			m.dst_port = h.ports.dst;
		}
		fragments.apply();
		if (m.v6 == 0) {
			scopes4.apply();
		} else {
			scopes6.apply();
		}
		if (m.fate == FATE_FORWARD) {
			if (m.tunnelled == 1) {
				tunnels.apply();
			} else if (m.rule == 0 && m.filter_list == 0 && m.held == 0) {
				if (m.v6 == 0) {
					framed4.apply();
				} else {
					framed6.apply();
				}
			}
		}
		if (m.check == 1) {
			compares.apply();
			strangers.apply();
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
	}
