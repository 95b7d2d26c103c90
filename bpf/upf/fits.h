/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "enforce.h"

/* Whether all packets that a super-packet stands for would pass the meters and quotas
 * of a PDR, coming at once: if so the stages treat it as one, and if not each of them
 * is asked for itself, when the super-packet has been cut.
 */

#ifdef CTX_SKB

/* meter_fits - whether the meter takes all of @amount now */
__noinline int meter_fits(__u32 index, __u32 amount, __u64 now)
{
	struct meter *m = meter_at(index);

	if (!m)
		return 1;
	return gcra_ahead(m, *(volatile __u64 *)&m->tat, now) + gcra_cost(m, amount) < gcra_limit(m, now);
}

/* urr_fits - whether no limit of the URR is reached by @amount */
__noinline int urr_fits(__u32 index, __u32 direction, __u32 amount)
{
	struct urr *u = urr_at(index);
	__u64 own;

	if (!u || direction > URR_DOWNLINK)
		return 1;
	own = *(volatile __u64 *)&u->octets[direction] + AMOUNT_OCTETS(amount);
	return own < *(volatile __u64 *)&u->limit[direction] &&
	       own + *(volatile __u64 *)&u->octets[direction ^ 1] < *(volatile __u64 *)&u->limit[URR_TOTAL];
}

/* pdr_fits - of a PDR of a list */
__noinline int pdr_fits(__u32 index, __u32 amount)
{
	const struct pdr *pdr = bpf_map_lookup_elem(&pdrs, &index);
	__u64 now = gcra_now();

	if (!pdr || pdr->ctl & RULE_COPY)
		return 0;
	for (__u32 i = 0; i < PDR_METERS && i < pdr->meters; i++)
		if ((pdr->refs[i] & METER_KIND) == METER_PACKETS || !meter_fits(pdr->refs[i] & METER_INDEX, amount, now))
			return 0;
	for (__u32 i = 0; i < PDR_URRS && i < pdr->urrs; i++)
		if (!urr_fits(pdr_urr(pdr, i) & URR_INDEX, pdr_direction(pdr), amount))
			return 0;
	return 1;
}

/* rule_fits - of a rule that is no list; as rule_pass() */
__noinline int rule_fits(__u64 pair, __u32 urr, __u32 ctl, __u32 ue, __u32 amount)
{
	__u32 first = pair, second = pair >> 32, home = ue & index_mask;
	__u64 now = gcra_now();

	if (ctl & RULE_AT_HOME) {
		first = first ? 2 * home_account(home) + !(ctl & RULE_UPLINK) : 0;
		urr = urr ? home_account(home) : 0;
	}
	if (urr && !urr_fits(urr, ctl & RULE_UPLINK ? URR_UPLINK : URR_DOWNLINK, amount))
		return 0;
	return (!first || meter_fits(first, amount, now)) && (!second || meter_fits(second, amount, now));
}

static __always_inline int super_fits(const struct packet *p, const struct match *m)
{
	if (m->ctl & RULE_GATE)
		return 0;
	if (m->ctl & RULE_LIST)
		return pdr_fits(m->meter[0], p->amount);
	return rule_fits((__u64)m->meter[1] << 32 | m->meter[0], m->urr, m->ctl, match_ue(p, m), p->amount);
}

#else

#define super_fits(p, m)	1

#endif
