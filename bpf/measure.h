/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "copies.h"
#include "enforce.h"
#include "trace.h"

/* pdr_measure - count a packet of a PDR of a list that is forwarded, and let copies
 * of it be made; those URRs that count before enforcement have done so
 */
__noinline int pdr_measure(struct xdp_md *md, __u32 index, __u32 octets, __u32 tunnelled)
{
	const struct pdr *pdr = bpf_map_lookup_elem(&pdrs, &index);
	struct pdr_counter *n;

	if (!pdr)
		return 0;
	n = bpf_map_lookup_elem(&pdr_counters, &pdr->counter);
	if (n) {
		__sync_fetch_and_add(&n->packets, 1);
		__sync_fetch_and_add(&n->octets, octets);
	}
	for (__u32 i = 0; i < PDR_URRS && i < pdr->urrs; i++)
		if (!(pdr_urr(pdr, i) & URR_BEFORE))
			urr_count(pdr_urr(pdr, i), pdr_direction(pdr), octets);
	if (pdr->ctl & RULE_COPY)
		copy_offer(md, index, tunnelled);
	return 0;
}

/* pdr_measure_dropped - count a packet that matched and is dropped */
__noinline int pdr_measure_dropped(__u32 index)
{
	const struct pdr *pdr = bpf_map_lookup_elem(&pdrs, &index);
	struct pdr_counter *n;

	if (!pdr)
		return 0;
	n = bpf_map_lookup_elem(&pdr_counters, &pdr->counter);
	if (n)
		__sync_fetch_and_add(&n->dropped, 1);
	return 0;
}

/* measure - count a packet that is forwarded */
static __always_inline void measure(const struct ctx *ctx, const struct match *m, const struct packet *p)
{
	if (m->ctl & RULE_LIST) {
		pdr_measure(ctx->md, m->meter[0], p->octets, p->teid != 0);
		return;
	}
	__sync_fetch_and_add(&m->rule->packets, 1);
	__sync_fetch_and_add(&m->rule->octets, p->octets);
	if (m->urr)
		urr_count(m->urr, match_direction(m), p->octets);
}

/* measure_dropped - count a packet that matched and is dropped */
static __always_inline void measure_dropped(const struct match *m)
{
	if (m->ctl & RULE_LIST)
		pdr_measure_dropped(m->meter[0]);
	else
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
