/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "copies.h"
#include "enforce.h"
#include "fits.h"
#include "trace.h"

/* pdr_measure - count a packet of a PDR of a list that is forwarded; those URRs
 * that count before enforcement have done so
 */
static __always_inline void pdr_measure(const struct pdr *pdr, __u32 amount)
{
	struct pdr_counter *n = bpf_map_lookup_elem(&pdr_counters, &pdr->counter);

	if (n) {
		__sync_fetch_and_add(&n->packets, AMOUNT_PACKETS(amount));
		__sync_fetch_and_add(&n->octets, AMOUNT_OCTETS(amount));
	}
	for (__u32 i = 0; i < PDR_URRS && i < pdr->urrs; i++)
		if (!(pdr_urr(pdr, i) & URR_BEFORE))
			urr_add(pdr_urr(pdr, i), pdr_direction(pdr), amount);
}

/* Enforce and measure are one call: it costs about as much as either of them, and
 * nothing between them can refuse a packet.
 */

/* pdr_pass - enforce and measure, for a PDR of a list
 *
 * Return: 0, or a negative enum upf_count.
 */
__noinline int pdr_pass(__u32 index, __u32 amount)
{
	const struct pdr *pdr = bpf_map_lookup_elem(&pdrs, &index);
	int err;

	if (!pdr)
		return -DROP_INTERNAL;
	err = pdr_enforce(pdr, amount);
	if (!err)
		pdr_measure(pdr, amount);
	return err;
}

/* rule_pass - enforce and measure by the URR, for a rule that is no list
 *
 * @pair: the first meter, and the second one in the high half
 * @ue: the low half of match_ue()
 * Return: 0, or a negative enum upf_count.
 */
__noinline int rule_pass(__u64 pair, __u32 urr, __u32 ctl, __u32 ue, __u32 amount)
{
	__u32 first = pair, second = pair >> 32, home = ue & index_mask;
	__u32 direction = ctl & RULE_UPLINK ? URR_UPLINK : URR_DOWNLINK;
	int err;

	if (ctl & RULE_AT_HOME) {
		first = first ? 2 * home_account(home) + !(ctl & RULE_UPLINK) : 0;
		urr = urr ? home_account(home) : 0;
	}
	err = rule_enforce(first, second, urr, direction, amount);
	if (!err && urr)
		urr_add(urr, direction, amount);
	return err;
}

/* list_pass - pdr_pass(), and let copies be made of a packet that gets through */
static __always_inline int list_pass(const struct ctx *ctx, const struct match *m, const struct packet *p)
{
	int err = pdr_pass(m->meter[0], packet_amount(p));

	if (!err && m->ctl & RULE_COPY)
		copy_offer(ctx->md, m->meter[0], p->teid != 0);
	return err;
}

/* rule_count - count a packet that is forwarded, for a rule that is no list */
static __always_inline void rule_count(const struct match *m, __u32 amount)
{
	__sync_fetch_and_add(&m->rule->packets, AMOUNT_PACKETS(amount));
	__sync_fetch_and_add(&m->rule->octets, AMOUNT_OCTETS(amount));
}

/* pass - enforce and measure: a packet that gets through has been counted
 *
 * Source: TS 29.244 V18.6.0, 5.4.3 (gating).
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int pass(const struct ctx *ctx, const struct match *m, const struct packet *p)
{
	int err = 0;

	if (packet_super(p) && !super_fits(p, m))
		return -PASS_SPLIT;
	if (m->ctl & (RULE_GATE | RULE_LIST))
		return m->ctl & RULE_LIST ? list_pass(ctx, m, p) : -DROP_GATE;
	if (m->meter[0] | m->urr)
		err = rule_pass((__u64)m->meter[1] << 32 | m->meter[0], m->urr, m->ctl, match_ue(p, m), packet_amount(p));
	if (!err)
		rule_count(m, packet_amount(p));
	return err;
}

/* pass_home - pass() in line, where meter and URR are at home: but only what most
 * packets need of it, to compare and to add
 *
 * @direction: of the rules that come here, URR_UPLINK or URR_DOWNLINK
 *
 * What is asked of the control word is asked of what match_end() has read, of which
 * the verifier knows nothing yet: so nothing before this is looked at twice for it.
 * Return: nonzero if the packet gets through; 0: nothing was done, pass() has to say.
 */
static __always_inline int pass_home(const struct match *m, const struct packet *p, __u32 direction)
{
	__u32 index, want = RULE_AT_HOME | (direction == URR_UPLINK ? RULE_UPLINK : 0);
	struct account *a;

	if ((m->seen & (RULE_AT_HOME | RULE_UPLINK | RULE_GATE | RULE_LIST)) != want || !m->urr || packet_super(p))
		return 0;
	index = home_account(packet_ue(p, direction == URR_UPLINK) & index_mask);
	a = bpf_map_lookup_elem(&accounts, &index);
	if (!a || urr_holds(&a->urr, direction))
		return 0;
	if (m->meter[0] && !gcra_quick(&a->meter[direction], packet_amount(p)))
		return 0;
	urr_add_to(&a->urr, index, direction, packet_amount(p));
	rule_count(m, packet_amount(p));
	return 1;
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
