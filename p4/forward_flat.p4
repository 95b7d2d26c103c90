/* SPDX-License-Identifier: Apache-2.0 */
/* forward, for a target on which one table behind another costs a stage: a part of control Forward
 *
 *	rules ► data_routes, peers ► hops
 *	own
 *
 * TTL, scope, own addresses and MTU are left to the verdict of the front.
 */

	/* Octets of the packet that would leave, from its IP header on, without the last. Whether there is
	 * a container is not known here: it is counted.
	 */
	action leaving() {
		m.leaving = m.octets - 1;
	}
	action leaving_tunnel() {
		m.leaving = m.octets + 43;
	}

	apply {
		if (m.v6 == 0) {
			own4.apply();
		} else {
			own6.apply();
		}
		if (m.fate == FATE_FORWARD && m.rule != 0) {
			rules.apply();
			if (m.tunnel == 1) {
				leaving_tunnel();
			} else {
				leaving();
			}
		}
		if (m.fate == FATE_FORWARD && m.rule != 0) {
			if (m.tunnel == 1) {
				peers.apply();
			} else if (m.v6 == 0) {
				data_routes4.apply();
			} else {
				data_routes6.apply();
			}
		}
		if (m.fate == FATE_FORWARD && m.rule != 0) {
			hops.apply();
		}
	}
