/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "list.h"
#include "queue.h"
#include "split.h"

/* What the stages may use of a rule: read once, so that all see the same. */
struct match {
	struct rule *rule;
	__u64 key;
	__u32 seen;		/* the rule's control word */
	__u32 ctl;		/* RULE_*: seen, or, with RULE_LIST, that of the PDR */
	__u32 meter[2];		/* with RULE_LIST the first is the index in pdrs */
	__u32 urr;
	struct outer out;	/* with RULE_OUTER */
};

static __always_inline struct rule *rule_overflow(void *table, void *by_key, __u64 key)
{
	__u32 *index;
	struct rule *rule;

	if (!overflows)
		return NULL;
	index = bpf_map_lookup_elem(by_key, &key);
	if (!index)
		return NULL;
	rule = bpf_map_lookup_elem(table, index);
	return rule && rule->key == key ? rule : NULL;
}

/* rule_find - the rule of @table with this key, or NULL */
static __always_inline struct rule *rule_find(void *table, void *by_key, __u64 key)
{
	__u32 index = (__u32)key & index_mask;
	struct rule *rule = bpf_map_lookup_elem(table, &index);

	if (rule && *(volatile __u64 *)&rule->key == key)
		return rule;
	return rule_overflow(table, by_key, key);
}

#define WEAK_ORDER	0x6b616577	/* weakOrder in datapath/xdp/order.go */

/* weak_order - whether the CPU may do loads in another order than the program (all but x86)
 *
 * It is a number in an instruction, which the loader replaces by 0 or 1: a variable would
 * be one more load for each packet. The verifier removes the branch that is not taken.
 */
static __always_inline __u64 weak_order(void)
{
	__u64 weak;

	asm volatile("%0 = %1" : "=r"(weak) : "i"(WEAK_ORDER));
	return weak;
}

/* rule_ctl - read the control word, after all loads before it and before all after it
 *
 * On x86 loads are done in order. Elsewhere it is an atomic operation that fetches: the
 * kernel makes it one with acquire and release, so no change of the word comes between
 * what was loaded before and its being read.
 */
static __always_inline __u32 rule_ctl(struct rule *rule)
{
	__u32 ctl;

	barrier();
	if (weak_order())
		return __sync_fetch_and_or(&rule->ctl, 0);
	ctl = *(volatile __u32 *)&rule->ctl;
	barrier();
	return ctl;
}

/* match_begin - read the control word before the rest of the rule
 *
 * Return: 0, -PASS_ETHER, or a negative enum upf_count.
 */
static __always_inline int match_begin(struct match *m, struct rule *rule, __u32 tunnelled)
{
	m->rule = rule;
	m->seen = rule_ctl(rule);
	if (m->seen & (RULE_CHANGING | RULE_SLOW | RULE_QUEUED | RULE_ETHER)) {
		int err = queue_enter(m->key, m->seen, tunnelled);

		if (err)
			return err;
	}
	m->ctl = m->seen;
	m->meter[0] = rule->meter[0];
	m->meter[1] = rule->meter[1];
	m->urr = rule->urr;
	m->out = rule->out;
	return 0;
}

/* match_end - whether all that was read since match_begin() belongs together */
static __always_inline int match_end(struct match *m)
{
	__u32 seen = m->seen;

	m->seen = rule_ctl(m->rule);
	if ((m->seen ^ seen) & ~RULE_QUEUED || *(volatile __u64 *)&m->rule->key != m->key)
		return -PASS_CHANGING;
	return 0;
}

/* packet_ue - the UE's end of the packet: its address, or the prefix */
static __always_inline __u64 packet_ue(const struct packet *p, int uplink)
{
	if (p->version == 4)
		return uplink ? p->src_ip4 : p->dst_ip4;
	return uplink ? p->src_ip6 : p->dst_ip6;
}

static __always_inline __u64 match_ue(const struct packet *p, const struct match *m)
{
	return packet_ue(p, m->ctl & RULE_UPLINK);
}

/* match_touch - ask for meter and URR of a rule with RULE_AT_HOME
 *
 * They are used so much later that a CPU would not get there while it waits for the
 * rule. Nothing depends on what is read, and where it is on nothing of the rule.
 */
static __always_inline void match_touch(const struct packet *p, const struct match *m)
{
	__u32 index = home_account(match_ue(p, m) & index_mask);
	struct account *a = bpf_map_lookup_elem(&accounts, &index);

	if (a) {
		*(volatile __u32 *)&a->urr.flags;
		*(volatile __u64 *)&a->meter[0].tat;
	}
}

static __always_inline int detect_ue(const struct packet *p, const struct match *m)
{
	if (!(m->ctl & (RULE_MATCH_IP4 | RULE_MATCH_IP6)))
		return 1;
	if (p->version == 4)
		return m->ctl & RULE_MATCH_IP4 && m->rule->ue_ip4 == match_ue(p, m);
	return m->ctl & RULE_MATCH_IP6 && m->rule->ue_ip6 == match_ue(p, m);
}

/* detect_qfi - whether @qfi is one of the octets of @qfis
 *
 * Without a container it is 0, which no PDI has.
 */
static __always_inline int detect_qfi(__u32 qfis, __u8 qfi)
{
	__u32 differs = qfis ^ qfi * 0x01010101U;

	return qfi && (differs - 0x01010101U) & ~differs & 0x80808080U;
}

/* detect_pdr - what the PDR with index @pdr of a list asks for
 *
 * All is read from memory, nothing is decided: for the verifier what follows is
 * then the same as for a rule that is no list, and need not be looked at again.
 */
static __always_inline int detect_pdr(const struct packet *p, struct match *m, __u32 pdr)
{
	const struct pdr *found = bpf_map_lookup_elem(&pdrs, &pdr);

	if (!found)
		return -DROP_INTERNAL;
	m->meter[0] = pdr;
	m->ctl = found->ctl;
	m->out = found->out;
	m->out.dscp |= p->dscp & found->dscp_copied;
	if (found->ctl & RULE_SLOW)
		return match_end(m) ?: -PASS_RULES;
	return 0;
}

/* detect_list - find the PDR of a rule that is a list
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int detect_list(const struct ctx *ctx, const struct packet *p, struct match *m)
{
	__u64 user = user_at(ctx, p), list = *(volatile __u64 *)&m->rule->list;
	int found = match_end(m);

	/* The flow cache must not learn one list under the number of another. */
	if (found) {
		m->meter[0] = 0;
		return found;
	}
	if (m->seen & RULE_UPLINK)
		user |= (__u64)FLOW_UPLINK << USER_HAS;
	if (p->has_psc)
		user |= (__u64)FLOW_QFI << USER_HAS | (__u64)(p->qfi & GTPU_PSC_QFI) << USER_QFI;
	found = list_detect(ctx->md, user, list, m->meter[LIST_FIRST], m->meter[LIST_COUNT]);
	if (found < 0) {
		m->meter[0] = 0; /* no PDR: pdrs has none there */
		return match_end(m) ?: found;
	}
	return detect_pdr(p, m, found);
}

/* detect_tunnelled - find the PDR of a G-PDU by its F-TEID and compare its PDI
 *
 * Source: TS 29.244 V18.6.0, 5.2.1A and 7.5.2.2.
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int detect_tunnelled(const struct ctx *ctx, const struct packet *p, struct match *m)
{
	struct rule *rule;
	__u32 qfis;
	int err;

	m->key = rule_key_teid(p->local, p->teid);
	rule = rule_find(&rule_by_teid, &guest_by_teid, m->key);
	if (!rule)
		return -DROP_NO_PDR;
	if (split_first(p, rule))
		return -PASS_SPLIT;
	err = match_begin(m, rule, 1);
	if (err)
		return err;
	/* The verifier shall see lists first: detect_pdr(). */
	if (__builtin_expect(m->seen & RULE_LIST, 1))
		return detect_list(ctx, p, m);
	if (m->seen & RULE_AT_HOME)
		match_touch(p, m);
	if (!detect_ue(p, m))
		return match_end(m) ?: -DROP_UE_ADDRESS;
	qfis = *(__u32 *)rule->qfis;
	if (qfis && !detect_qfi(qfis, p->qfi & GTPU_PSC_QFI))
		return match_end(m) ?: -DROP_QFI;
	return 0;
}

/* detect_network - whether a bare packet comes from the data network of its PDI
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int detect_network(const struct ctx *ctx, struct match *m)
{
	__u32 network = rule_n6(m->ctl);
	const struct n6_way *w;

	if (!network)
		return 0;
	w = bpf_map_lookup_elem(&n6_ways, &network);
	if (w && w->ifindex == ctx_ifindex(ctx))
		return 0;
	return match_end(m) ?: -DROP_NETWORK;
}

/* ip6_unicast - whether a prefix is one that a UE can have: 2000::/3 or fc00::/7
 *
 * Others must not be looked for: 0 is the key of an empty slot, and 0:1::/32 those
 * of IPv4 addresses.
 */
static __always_inline int ip6_unicast(__u64 prefix)
{
	return prefix >> 61 == 1 || prefix >> 57 == 0x7e;
}

/* detect_bare - find the PDR of a packet from N6 by its destination
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int detect_bare(const struct ctx *ctx, const struct packet *p, struct match *m)
{
	struct rule *rule;
	int err;

	if (p->version != 4 && !ip6_unicast(p->dst_ip6))
		return -PASS_HOST;
	m->key = p->version == 4 ? rule_key_ip4(p->dst_ip4) : p->dst_ip6;
	rule = rule_find(&rule_by_ue, &guest_by_ue, m->key);
	if (!rule && framed_routes) {
		m->key = list_framed(ctx->md, user_at(ctx, p));
		rule = m->key ? rule_find(&rule_by_ue, &guest_by_ue, m->key) : NULL;
	}
	if (!rule)
		return -PASS_HOST;
	if (split_first(p, rule) || split_unfinished(ctx, p))
		return -PASS_SPLIT;
	err = match_begin(m, rule, 0) ?: detect_network(ctx, m);
	if (err)
		return err == -PASS_ETHER ? -PASS_HOST : err; /* it is no UE address */
	/* The verifier shall see lists first: detect_pdr(). */
	if (__builtin_expect(m->seen & RULE_LIST, 1))
		return detect_list(ctx, p, m);
	if (m->seen & RULE_AT_HOME)
		match_touch(p, m);
	return 0;
}
