/* SPDX-License-Identifier: Apache-2.0 */
/* forward, what only a packet needs that leaves: of its PDR, of its next hop
 *
 *	PDR ► buckets ► MBR              next hop ► hops ► MAC addresses, tag
 *	    └► tunnels ► TEID, QFI, DSCP     peer ► peers ► IP addresses
 */
control ForwardOut(inout headers_t h, inout meta_t m) {
	action cut_off() {
		m.reason = DROP_IP_SHORT;
	}
	/* An entry that is not there yet: the driver writes these before those of Forward. */
	action incomplete() {
		m.reason = DROP_INCOMPLETE;
	}

	/* Of PDRs with an MBR, of the session or of the slice: cells of meters, 0 for none. */
	action bucket(bit<METER_BITS> number, bit<SLICE_BITS> slice) {
		m.bucket = number;
		m.slice = slice;
	}
	@name("buckets")
	table buckets {
		key = { m.rule: exact @name("rule"); }
		actions = { bucket; @defaultonly NoAction; }
		const default_action = NoAction();
		size = BUCKETS;
	}

	action tunnel(bit<32> teid, bit<1> has_qfi, bit<6> qfi, bit<4> pdu_type, bit<1> has_dscp, bit<6> dscp) {
		m.has_teid = 1;
		m.teid = teid;
		m.has_qfi = has_qfi;
		m.mark_qfi = qfi;
		m.pdu_type = pdu_type;
		m.has_dscp = has_dscp;
		m.dscp = dscp;
	}
	@name("tunnels")
	table tunnels {
		key = { m.rule: exact @name("rule"); }
		actions = { tunnel; @defaultonly NoAction; }
		const default_action = NoAction();
		size = SESSIONS;
	}

	action peer4(bit<32> from, bit<32> to) {
		m.has_peer = 1;
		m.local4 = from;
		m.peer4 = to;
	}
	@name("peers")
	table peers {
		key = { m.peer: exact @name("peer"); }
		actions = { peer4; @defaultonly NoAction; }
		const default_action = NoAction();
		size = PEERS;
	}

	action by_hop(bit<1> tagged, bit<12> vid, bit<48> from, bit<48> to) {
		m.has_hop = 1;
		m.tagged = tagged;
		m.vid = vid;
		m.hop_src = from;
		m.hop_dst = to;
	}
	@name("hops")
	table hops {
		key = { m.hop: exact @name("hop"); }
		actions = { by_hop; @defaultonly NoAction; }
		const default_action = NoAction();
		size = HOPS;
	}

	apply {
		buckets.apply();
		hops.apply();
		if (m.tunnel == 1) {
			tunnels.apply();
			peers.apply();
		}
		if (m.missing != 0) {
			cut_off();
		} else if (m.has_hop == 0 || (m.tunnel == 1 && (m.has_teid == 0 || m.has_peer == 0))) {
			incomplete();
		}
	}
}
