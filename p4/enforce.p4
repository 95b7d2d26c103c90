/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENFORCE_P4
#define ENFORCE_P4
#include "drop.p4"
#include "headers.p4"
#include "sizes.p4"

/* enforce - the MBR of a session's QER, then that of its slice
 *
 * A closed gate is an action of the table rules, as it closes a direction. Octets are those
 * of the user packet. What a slice's meter drops has been taken from that of the session.
 *
 * With METER_RATES the cells of a meter have their rates themselves.
 */
control Enforce(inout headers_t h, inout meta_t m) {
	METER(session_meter, METERS, METER_BITS)
	METER(slice_meter, 2 * SLICES, SLICE_BITS + 1)

#ifndef METER_RATES
	action rate(bit<48> octet_time, bit<48> tolerance) {
		m.octet_time = octet_time;
		m.tolerance = tolerance;
		m.fits = 0;
	}
	@name("slices")
	table slices {
		key = {
			m.slice: exact @name("slice");
			m.uplink: exact @name("uplink");
		}
		actions = { rate; @defaultonly NoAction; }
		const default_action = NoAction();
		size = 2 * SLICES;
	}
#endif
	action above() {
		m.fate = FATE_DROP;
		m.reason = DROP_MBR;
	}

	apply {
		m.fits = 1;
		if (m.bucket != 0) {
			METER_RUN(session_meter, m.bucket)
			if (m.fits == 0) {
				above();
			}
		}
		if (m.fate == FATE_FORWARD && m.slice != 0) {
#ifndef METER_RATES
			if (slices.apply().hit) {
#else
			{
#endif
				METER_RUN(slice_meter, m.slice ++ m.uplink)
				if (m.fits == 0) {
					above();
				}
			}
		}
	}
}

#endif
