/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENFORCE_P4
#define ENFORCE_P4
#include "drop.p4"
#include "headers.p4"
#include "sizes.p4"

/* enforce - the gate, up to two MBRs of QERs (bucket2 only beside bucket), and one that sessions share, as that of a slice
 *
 * Octets are those of the user packet. One that a meter drops is given back to those before it,
 * where the front can do that.
 *
 * With METER_RATES the cells of a meter have their rates themselves. With FEW_STAGES there is one
 * MBR beside that of the slice, and a closed gate is a PDR that refuses.
 */
control Enforce(inout headers_t h, inout meta_t m) {
	METER(session_meter, METERS, METER_BITS)
	METER(slice_meter, 2 * SLICES, SLICE_BITS + 1)

#ifndef METER_RATES
	action rate(bit<48> octet_time, bit<48> tolerance) {
		m.octet_time3 = octet_time;
		m.tolerance3 = tolerance;
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
#ifdef FEW_STAGES
	apply {
		if (m.bucket != 0) {
			METER_RUN(session_meter, m.bucket)
		}
		if (m.fits == 0) {
			above();
		} else if (m.slice != 0) {
			METER_RUN(slice_meter, m.slice ++ m.uplink)
			if (m.fits == 0) {
				above();
			}
		}
	}
#else
	action shut() {
		m.fate = FATE_DROP;
		m.reason = DROP_GATE;
	}
#ifndef METER_RATES
	/* A rate that is not there yet: the CPU knows it. */
	action unknown() {
		m.fate = FATE_CPU;
		m.reason = PASS_CHANGING;
	}
#endif

	apply {
		m.fits = 1;
		if (m.closed == 1) {
			shut();
		}
#ifndef METER_RATES
		if (m.fate == FATE_FORWARD && m.slice != 0) {
			if (!slices.apply().hit) {
				unknown();
			}
		}
#endif
		if (m.fate == FATE_FORWARD) {
			if (m.bucket != 0) {
				METER_RUN(session_meter, m.bucket, m.octet_time, m.tolerance)
			}
			if (m.fits == 1 && m.bucket2 != 0) {
				METER_RUN(session_meter, m.bucket2, m.octet_time2, m.tolerance2)
				if (m.fits == 0) {
					METER_BACK(session_meter, m.bucket, m.octet_time)
				}
			}
			if (m.fits == 1 && m.slice != 0) {
				METER_RUN(slice_meter, m.slice ++ m.uplink, m.octet_time3, m.tolerance3)
				if (m.fits == 0) {
					if (m.bucket != 0) {
						METER_BACK(session_meter, m.bucket, m.octet_time)
					}
					if (m.bucket2 != 0) {
						METER_BACK(session_meter, m.bucket2, m.octet_time2)
					}
				}
			}
			if (m.fits == 0) {
				above();
			}
		}
	}
#endif
}

#endif
