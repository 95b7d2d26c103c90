/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "detect.h"

#define METER_TRIES	16	/* of the compare-and-swap, one per CPU that is faster */

/* meter_conforms - take @octets from the meter if they fit
 *
 * GCRA in its virtual scheduling form: the packet conforms unless it comes
 * earlier than the theoretical arrival time less the tolerance. One 64-bit
 * compare-and-swap keeps it exact on any number of CPUs.
 *
 * Source: ITU-T I.371, Annex A. Return: nonzero if the packet conforms.
 */
static __always_inline int meter_conforms(struct meter *m, __u32 octets)
{
	__u64 now = bpf_ktime_get_ns() << METER_FRACTION;
	__u64 cost = m->octet_time * octets >> METER_SHIFT;

	for (int i = 0; i < METER_TRIES; i++) {
		__u64 tat = *(volatile __u64 *)&m->tat;
		__u64 start = tat > now ? tat : now;

		if (start > now + m->burst)
			break;
		if (__sync_val_compare_and_swap(&m->tat, tat, start + cost) == tat)
			return 1;
	}
	__sync_fetch_and_add(&m->dropped, 1);
	return 0;
}

/* enforce - gate and meters of the rule
 *
 * The meters are asked in the order of the PDR's QER IDs; a packet that passes
 * the first and not the second has used up the first.
 *
 * Source: TS 29.244 V18.6.0, 5.4.3 (gating), 5.4.4 (MBR).
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int enforce(const struct match *m, const struct packet *p)
{
	if (m->ctl & RULE_GATE)
		return -DROP_GATE;
	for (int i = 0; i < 2; i++) {
		__u32 index = m->rule->meter[i];
		struct meter *meter;

		if (!index)
			break;
		meter = bpf_map_lookup_elem(&meters, &index);
		if (meter && !meter_conforms(meter, p->octets))
			return -DROP_MBR;
	}
	return 0;
}
