/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "trace.h"
#include "urr.h"

/* measure - count a packet that is forwarded */
static __always_inline void measure(const struct match *m, const struct packet *p)
{
	__sync_fetch_and_add(&m->rule->packets, 1);
	__sync_fetch_and_add(&m->rule->octets, p->octets);
	if (m->urr)
		urr_count(m->urr, match_direction(m), p->octets);
}

/* measure_dropped - count a packet that matched and is dropped */
static __always_inline void measure_dropped(const struct match *m)
{
	__sync_fetch_and_add(&m->rule->dropped, 1);
}

/* count - a packet by what became of it, if it was not forwarded */
static __always_inline void count(__u32 what)
{
	__u64 *n = bpf_map_lookup_elem(&counts, &what);

	if (n)
		(*n)++;
	trace_reason(what);
}
