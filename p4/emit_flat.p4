/* SPDX-License-Identifier: Apache-2.0 */
/* emit, for a target on which one table behind another costs a stage: a part of control Emit
 *
 *	insides, dscps ► puts
 *	frames
 *
 * What is outside of the user packet has been taken off, and one off the TTL, in the part before this one. Here psc is
 * valid only if its tunnel goes on.
 */

	action inside() {
		m.inside = m.octets;
	}
	action inside_container() {
		m.inside = m.octets + 8;
	}
	@name("insides")
	table insides {
		key = {
			m.has_qfi: ternary @name("has_qfi");
			h.psc.isValid(): ternary @name("psc");
		}
		actions = { inside; inside_container; }
		const default_action = inside_container();
		const entries = {
			(0, false): inside();
		}
		size = 2;
	}
	action take_dscp() {
		m.dscp = DSCP(m.tos);
	}

	action put() {
		put_on4(m.inside + 36);
		put_on_gtpu(m.inside + 16);
	}
	action put_container() {
		put();
		put_on_optional(EXT_PSC);
		h.out_psc.setValid();
		h.out_psc.words = 1;
		PUT_PSC(h.out_psc)
		h.out_psc.next = EXT_NONE;
	}
	/* Of a tunnel that goes on the container stays, with another QFI. */
	action put_same_container() {
		put();
		put_on_optional(EXT_PSC);
		h.out_psc = h.psc;
	}
	action put_marked_container() {
		put();
		put_on_optional(EXT_PSC);
		h.out_psc = h.psc;
		PUT_QFI(h.out_psc)
	}
	@name("puts")
	table puts {
		key = {
			m.tunnel: exact @name("tunnel");
			m.has_qfi: exact @name("has_qfi");
			h.psc.isValid(): exact @name("psc");
		}
		actions = { put; put_container; put_same_container; put_marked_container; @defaultonly NoAction; }
		const default_action = NoAction();
		const entries = {
			(1, 0, false): put();
			(1, 1, false): put_container();
			(1, 0, true): put_same_container();
			(1, 1, true): put_marked_container();
		}
		size = 8;
	}

	action frame(bit<16> type) {
		h.eth.src = m.hop_src;
		h.eth.dst = m.hop_dst;
		h.eth.type = type;
	}
	action frame_tag(bit<16> type) {
		h.eth.src = m.hop_src;
		h.eth.dst = m.hop_dst;
		h.eth.type = ETH_TAG;
		h.tag.setValid();
		PUT_TAG(h.tag)
		h.tag.type = type;
	}
	@name("frames")
	table frames {
		key = {
			m.tagged: exact @name("tagged");
			m.tunnel: ternary @name("tunnel");
			m.v6: ternary @name("v6");
		}
		actions = { frame; frame_tag; }
		const default_action = frame(ETH_IP4);
		const entries = {
			(0, 0, 1): frame(ETH_IP6);
			(1, 0, 1): frame_tag(ETH_IP6);
			(0, _, _): frame(ETH_IP4);
			(1, _, _): frame_tag(ETH_IP4);
		}
		size = 4;
	}

	apply {
		insides.apply();
		if (m.has_dscp == 0) {
			take_dscp();
		}
		puts.apply();
		frames.apply();
	}
