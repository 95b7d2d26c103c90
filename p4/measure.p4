/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MEASURE_P4
#define MEASURE_P4
#include "headers.p4"
#include "sizes.p4"

/* measure - what each PDR has forwarded, and what it has dropped
 *
 * A PDR has one direction, so what a URR has counted in a direction is the sum of its
 * PDRs: however many URRs a PDR names, it costs one cell.
 *
 * A target counts frames with their headers, usage is octets of user packets. All packets
 * of a cell have as many octets in front of the user packet (expected in detect.p4) and
 * none behind it, so that many times packets is what is to be taken off.
 */
#ifndef FORWARDED
#define FORWARDED m.fate == FATE_FORWARD
#endif

control Measure(inout headers_t h, inout meta_t m) {
	COUNTER(forwarded, RULES, RULE_BITS)
	COUNTER(refused, RULES, RULE_BITS)

	apply {
		if (m.rule != 0) {
			if (FORWARDED) {
				COUNT(forwarded, m.rule)
			} else if (m.fate == FATE_DROP) {
				COUNT(refused, m.rule)
			}
		}
	}
}

#endif
