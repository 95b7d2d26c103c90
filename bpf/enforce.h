/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "detect.h"
#include "urr.h"

#define METER_TRIES	16	/* of the compare-and-swap, one per CPU that is faster */

/* meter_conforms - take @octets from the meter with this index if they fit
 *
 * GCRA in its virtual scheduling form: the packet conforms unless it comes
 * earlier than the theoretical arrival time less the tolerance. One 64-bit
 * compare-and-swap keeps it exact on any number of CPUs. The function is global
 * for the verifier's sake, as those in urr.h.
 *
 * Source: ITU-T I.371, Annex A. Return: nonzero if the packet conforms.
 */
__noinline int meter_conforms(__u32 index, __u32 octets)
{
	struct meter *m = bpf_map_lookup_elem(&meters, &index);
	__u64 now = bpf_ktime_get_ns() << METER_FRACTION;
	__u64 cost, latest;

	if (!m)
		return 1;
	cost = m->unit_time * octets >> METER_SHIFT;
	latest = now + m->tolerance;
	for (int i = 0; i < METER_TRIES; i++) {
		__u64 tat = *(volatile __u64 *)&m->tat;
		__u64 start = tat > now ? tat : now;

		if (start > latest)
			break;
		if (__sync_val_compare_and_swap(&m->tat, tat, start + cost) == tat)
			return 1;
	}
	return 0;
}

/* enforce - gate, quota and meters of the rule
 *
 * The meters are asked in the order of the PDR's QER IDs; a packet that passes
 * the first and not the second has used up the first.
 *
 * Source: TS 29.244 V18.6.0, 5.4.3 (gating), 5.4.4 (MBR), 5.2.2.2 (quota).
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int enforce(const struct match *m, const struct packet *p)
{
	if (m->ctl & RULE_GATE)
		return -DROP_GATE;
	if (m->urr && urr_used_up(m->urr, match_direction(m)))
		return -DROP_QUOTA;
	if (!m->meter[0])
		return 0;
	if (!meter_conforms(m->meter[0], p->octets))
		return -DROP_MBR;
	if (m->meter[1] && !meter_conforms(m->meter[1], p->octets))
		return -DROP_MBR;
	return 0;
}
