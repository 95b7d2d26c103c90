/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "flight.h"

/* Packets that leave. */

/* What became of a claim. */
enum claimed {
	CLAIMED_NONE,		/* nothing like it is in flight */
	CLAIMED,
	CLAIMED_AMBIGUOUS,	/* it is one of several */
};

struct claim {
	__u64 when;		/* of what was claimed */
	__u64 tunnel;		/* likewise, with samples */
};

static __always_inline void claim_read(const struct flight *set, __u64 print, __u32 way, struct claim *c)
{
	__u32 index = (print & flight_mask) * FLIGHT_WAYS + way;
	__u64 *noted = sampling ? bpf_map_lookup_elem(&tunnel_by_way, &index) : NULL;

	c->when = set->when[way];
	c->tunnel = noted ? *noted : 0;
}

/* A claim by tries. */
struct claiming {
	__u64 print;
	struct claim claim;
	enum claimed claimed;
};

/* claim_copy - one of several leaves; the last takes the way with it */
static __always_inline void claim_copy(struct flight *set, __u32 way, __u64 has)
{
	__u64 when = set->when[way];

	set->when[way] = when - 1;
	tag_publish(set, way, (when & WHEN_LOW) > 1 ? has : 0);
}

/* claim_try - one try; Return: 1 if it is done, for bpf_loop() */
static long claim_try(__u64 i, void *context)
{
	struct claiming *c = context;
	__u64 tag = tag_of(c->print), has;
	struct flight *set = flight_set(c->print);

	(void)i;
	if (!set)
		return 1;
	for (__u32 way = 0; way < FLIGHT_WAYS; way++) {
		has = tag_read(set, way);
		if ((has & ~TAG_STATE) != tag)
			continue;
		if (has & TAG_BUSY || !tag_exchange(set, way, has, has | TAG_BUSY))
			return 0;
		if (has & TAG_POISONED) {
			c->claimed = CLAIMED_AMBIGUOUS;
			claim_copy(set, way, has);
			return 1;
		}
		c->claimed = CLAIMED;
		claim_read(set, c->print, way, &c->claim);
		tag_publish(set, way, 0);
		return 1;
	}
	c->claimed = CLAIMED_NONE;
	return 1;
}

/* flight_claim_hard - claim what is poisoned, or what others are busy with */
__noinline int flight_claim_hard(__u64 print, struct claim *claim)
{
	struct claiming c = { .print = print, .claimed = CLAIMED_AMBIGUOUS };

	if (!claim)
		return CLAIMED_NONE;
	bpf_loop(FLIGHT_TRIES, claim_try, &c, 0);
	*claim = c.claim;
	return c.claimed;
}

/* flight_claim - claim a packet that leaves */
static __always_inline enum claimed flight_claim(__u64 print, struct claim *claim)
{
	struct flight *set = flight_set(print);
	__u64 tag = tag_of(print), has = 0;
	__u32 way;

	if (!set)
		return CLAIMED_NONE;
	for (way = 0; way < FLIGHT_WAYS; way++) {
		has = tag_read(set, way);
		if ((has & ~TAG_STATE) == tag)
			break;
	}
	if (way >= FLIGHT_WAYS)
		return CLAIMED_NONE;
	if (has != tag || !tag_exchange(set, way, tag, tag | TAG_BUSY))
		return flight_claim_hard(print, claim);
	claim_read(set, print, way, claim);
	tag_publish(set, way, 0);
	return CLAIMED;
}
