/* SPDX-License-Identifier: Apache-2.0 */
/* detect, for a target on which one table behind another costs a stage: a part of control Detect
 *
 *	ports, locals ► places ──────────────────────────► a user packet, or one for the CPU
 *	locals ► tunnels ► UE address compared
 *	ues, framed
 *	scopes, fragments, lengths, own addresses
 *	                          list ► filters
 *
 * The front has parsed the user packet into user4 or user6, be it in a tunnel or not. What is found out
 * beside the lookups is kept in flags (crooked, stranger, held), of which the front makes the
 * verdict: "cpu" goes before "drop".
 */

	@name("places")
	table places {
		key = {
			m.fate: ternary @name("fate");
			m.broken: ternary @name("broken");
			m.n3: ternary @name("n3");
			m.network: ternary @name("network");
			m.endpoint: ternary @name("endpoint");
			m.tunnelled: ternary @name("tunnelled");
			h.ip4.isValid(): ternary @name("ip4");
			h.user4.isValid(): ternary @name("user4");
			h.user6.isValid(): ternary @name("user6");
		}
		actions = { cpu; NoAction; }
		const default_action = cpu(PASS_HOST);
		const entries = {
			(FATE_FORWARD, 0, 1, _, 0, 1, _, _, _): cpu(PASS_HOST);
			(FATE_FORWARD, 0, 1, _, _, 1, _, true, _): NoAction();
			(FATE_FORWARD, 0, 1, _, _, 1, _, _, true): NoAction();
			(FATE_FORWARD, 0, 1, _, _, 1, _, _, _): cpu(PASS_SIGNALLING);
			(FATE_FORWARD, 0, _, 0, _, 0, _, _, _): cpu(PASS_HOST);
			(FATE_FORWARD, 0, _, _, _, 0, true, _, _): cpu(PASS_RULES);
			(FATE_FORWARD, 0, _, _, _, 0, _, true, _): NoAction();
			(FATE_FORWARD, 0, _, _, _, 0, _, _, true): NoAction();
		}
		size = 16;
	}

	action is_fragment() {
		m.fragment = 1;
	}
	/* IPv6: Hop-by-Hop, Routing, Fragment, AH, Destination Options, Mobility, HIP, Shim6. */
	@name("fragments")
	table fragments {
		key = {
			h.user4.isValid(): ternary @name("user4");
			h.user4.flags[0:0]: ternary @name("more");
			h.user4.fragment: ternary @name("fragment");
			h.user6.next: ternary @name("next");
		}
		actions = { is_fragment; NoAction; }
		const default_action = NoAction();
		const entries = {
			(true, 0, 0, _): NoAction();
			(true, _, _, _): is_fragment();
			(_, _, _, 0): is_fragment();
			(_, _, _, 43): is_fragment();
			(_, _, _, 44): is_fragment();
			(_, _, _, 51): is_fragment();
			(_, _, _, 60): is_fragment();
			(_, _, _, 135): is_fragment();
			(_, _, _, 139): is_fragment();
			(_, _, _, 140): is_fragment();
		}
		size = 16;
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
			SRC4: ternary @name("source");
			DST4: ternary @name("destination");
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
		size = 16;
	}
	@name("scopes6")
	table scopes6 {
		key = {
			SRC6: ternary @name("source");
			DST6: ternary @name("destination");
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
		size = 16;
	}

	/* GTP-U and IP, outside and inside, have to say the same of where it ends. */
	action measure_around() {
		m.around = h.ip4.octets - h.gtpu.octets;
	}
	action measure_tail() {
		m.tail = h.gtpu.octets - m.octets;
	}
	action crooked() {
		m.crooked = 1;
	}
	@name("tails")
	table tails {
		key = {
			m.around: exact @name("around");
			m.tail: exact @name("octets");
			h.optional.isValid(): exact @name("optional");
			h.psc.isValid(): exact @name("psc");
		}
		actions = { NoAction; crooked; }
		const default_action = crooked();
		const entries = {
			(36, 0, false, false): NoAction();
			(36, 4, true, false): NoAction();
			(36, 8, true, true): NoAction();
		}
		size = 16;
	}

	/* The UE address: what is left of it if the source is taken from it. */
	action compare4() {
		m.ue4 = m.ue4 ^ SRC4;
	}
	action stranger() {
		m.stranger = 1;
	}
	/* An IPv6 prefix is that of the PDR, or of the list. */
	@name("owners6")
	table owners6 {
		key = {
			m.rule: exact @name("rule");
			m.filter_list: exact @name("list");
			SRC6: exact @name("prefix");
		}
		actions = { NoAction; @defaultonly stranger; }
		const default_action = stranger();
		size = UE6S;
	}

	apply {
		ports.apply();
		if (h.user4.isValid()) {
			user4(h.user4);
			scopes4.apply();
		} else {
			user6(h.user6);
			scopes6.apply();
		}
		fragments.apply();
		if (h.user_ports.isValid()) {
			m.src_port = h.user_ports.src;
			m.dst_port = h.user_ports.dst;
		}
		if (h.psc.isValid()) {
			m.qfi = PSC_QFI(h.psc);
		}
		if (m.tunnelled == 1) {
			locals4.apply();
			measure_around();
			measure_tail();
			tails.apply();
			tunnels.apply();
			if (m.check == 1) {
				if (h.user4.isValid()) {
					compare4();
					if (m.ue4 != 0) {
						stranger();
					}
				} else {
					owners6.apply();
				}
			}
		} else if (h.user4.isValid()) {
			if (!ues4.apply().hit) {
				framed4.apply();
			}
		} else {
			if (!ues6.apply().hit) {
				framed6.apply();
			}
		}
		places.apply();
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
