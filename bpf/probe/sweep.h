/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "flight.h"

/* The sweep takes what has been in flight for too long. */
struct sweeping {
	__u64 now;
	__u64 held;	/* packets that stay */
};

static __always_inline void swept(__u32 series)
{
	__u64 *lost = bpf_map_lookup_elem(&swept_by_series, &series);

	if (lost)
		__sync_fetch_and_add(lost, 1);
}

static __always_inline void sweep_way(struct flight *set, __u32 way, struct sweeping *s)
{
	__u64 has = tag_read(set, way), when;
	int counted;

	if (!has)
		return;
	when = *(volatile __u64 *)&set->when[way];
	counted = !(has & TAG_POISONED) && !(when & SERIES_UNTIMED);
	s->held += counted;
	if (has & TAG_BUSY || when_age(when, s->now) <= timeout_ns || !tag_exchange(set, way, has, has | TAG_BUSY))
		return;
	when = set->when[way];
	if (when_age(when, s->now) <= timeout_ns) { /* of another one with the same tag by now */
		tag_publish(set, way, has);
		return;
	}
	if (counted) {
		s->held--;
		swept(when_series(when));
	}
	tag_publish(set, way, 0);
}

static long sweep_set(__u64 i, void *context)
{
	__u32 index = i;
	struct flight *set = bpf_map_lookup_elem(&flight_by_print, &index);

	if (!set)
		return 1;
	for (__u32 way = 0; way < FLIGHT_WAYS; way++)
		sweep_way(set, way, context);
	return 0;
}
