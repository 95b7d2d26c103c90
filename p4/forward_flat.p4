/* SPDX-License-Identifier: Apache-2.0 */
/* forward, for a target on which one table behind another costs a stage: a part of control Forward
 *
 *	rules ► own, data_routes, peers ► hops
 *	      └► leavings ───────────────┘
 *
 * TTL, scope and MTU are left to the verdict of the front.
 */

	/* Octets of the packet that would leave, from its IP header on. */
	action leaving(bit<16> around) {
		m.leaving = m.octets + around;
	}
	@name("leavings")
	table leavings {
		key = {
			m.tunnel: ternary @name("tunnel");
			m.has_qfi: ternary @name("has_qfi");
			m.tunnelled: ternary @name("tunnelled");
			h.psc.isValid(): ternary @name("psc");
		}
		actions = { leaving; }
		const default_action = leaving(36);
		const entries = {
			(0, _, _, _): leaving(0);
			(1, 1, _, _): leaving(44);
			(1, _, 1, true): leaving(44);
		}
	}

	apply {
		if (m.fate == FATE_FORWARD && m.rule != 0) {
			rules.apply();
			leavings.apply();
			if (m.fate == FATE_FORWARD) {
				if (m.tunnel == 1) {
					peers.apply();
				} else if (m.v6 == 0) {
					if (!own4.apply().hit) {
						data_routes4.apply();
					}
				} else {
					if (!own6.apply().hit) {
						data_routes6.apply();
					}
				}
			}
			if (m.fate == FATE_FORWARD) {
				hops.apply();
			}
		}
	}
