/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "maps.h"
#include "parse.h"

/* What a stage may use of a rule: read once, so that all stages see the same. */
struct match {
	struct rule *rule;
	__u32 ctl;
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

/* match_begin - read the control word before the rest of the rule */
static __always_inline int match_begin(struct match *m, struct rule *rule)
{
	m->rule = rule;
	m->ctl = *(volatile __u32 *)&rule->ctl;
	return m->ctl & RULE_CHANGING ? -PASS_CHANGING : 0;
}

/* match_end - whether all that was read since match_begin() belongs together */
static __always_inline int match_end(const struct match *m, __u64 key)
{
	barrier();
	if (*(volatile __u32 *)&m->rule->ctl != m->ctl || *(volatile __u64 *)&m->rule->key != key)
		return -PASS_CHANGING;
	return 0;
}

/* detect_uplink - find the PDR of a packet from N3 and compare its PDI
 *
 * Source: TS 29.244 V18.6.0, 5.2.1A and 7.5.2.2.
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int detect_uplink(const struct packet *p, struct match *m)
{
	__u64 key = rule_key_teid(p->teid), qfis;
	struct rule *rule = rule_find(&uplink, &uplink_by_key, key);
	int err;

	if (!rule)
		return -DROP_NO_PDR;
	err = match_begin(m, rule);
	if (err)
		return err;
	if (p->version == 4) {
		if ((m->ctl & RULE_MATCH_IP4) ? rule->ue_ip4 != p->src_ip4 : m->ctl & RULE_MATCH_IP6)
			return -DROP_UE_ADDRESS;
	} else {
		if ((m->ctl & RULE_MATCH_IP6) ? rule->ue_ip6 != p->src_ip6 : m->ctl & RULE_MATCH_IP4)
			return -DROP_UE_ADDRESS;
	}
	qfis = rule->qfis;
	if (qfis && !(qfis >> p->qfi & 1)) /* without a container qfi is 0, which no PDI has */
		return -DROP_QFI;
	return 0;
}

/* detect_downlink - find the PDR of a packet from N6 by its destination
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int detect_downlink(const struct packet *p, struct match *m, __u64 *key)
{
	struct rule *rule;

	*key = p->version == 4 ? rule_key_ip4(p->dst_ip4) : p->dst_ip6;
	rule = rule_find(&downlink, &downlink_by_key, *key);
	return rule ? match_begin(m, rule) : -PASS_HOST;
}
