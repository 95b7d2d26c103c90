/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "maps.h"

/* The table of packets in flight.
 *
 * A packet stands in any of the four ways of its set, a cache line. Of a way that is
 * not empty, tag says whose it is and how it stands; whoever sets BUSY by an exchange
 * owns the way until he publishes it again, and only he touches when.
 *
 *	tag:  61 bits of the fingerprint | USED | POISONED | BUSY
 *	when: time in ns << 16 | series, with SERIES_LEARN and SERIES_UNTIMED
 *	      of a poisoned one: time of the last copy << 16 | copies in flight
 *
 * A packet that comes in while its like is in flight poisons it: none of the copies can
 * be told from the others. So one fingerprint is at most once in a set. Two CPUs that
 * put it at the same moment both see the other's way, at the latest in the look round
 * after the exchange, which orders them; who sees another gives his way up and begins
 * anew.
 *
 * Times have 48 bits and are compared with a sign: CPUs may disagree a little.
 */
#define TAG_BUSY	1ULL
#define TAG_POISONED	2ULL
#define TAG_USED	4ULL
#define TAG_STATE	(TAG_BUSY | TAG_POISONED)
#define TAG_PRINT	(~7ULL)

#define WHEN_BITS	16
#define WHEN_LOW	((1ULL << WHEN_BITS) - 1)
#define WHEN_NONE	(~0ULL)

#define FLIGHT_TRIES	4096	/* to get at a way that others are busy with */

/* Whether plain stores are seen in their order (x86); set before loading. */
const volatile __u8 total_store_order;

static __always_inline __u64 tag_of(__u64 print)
{
	return (print & TAG_PRINT) | TAG_USED;
}

static __always_inline __u64 tag_read(const struct flight *set, __u32 way)
{
	return *(volatile const __u64 *)&set->tag[way];
}

static __always_inline int tag_exchange(struct flight *set, __u32 way, __u64 old, __u64 new)
{
	return __sync_val_compare_and_swap(&set->tag[way], old, new) == old;
}

/* tag_publish - end owning a way; what was written before is seen first */
static __always_inline void tag_publish(struct flight *set, __u32 way, __u64 tag)
{
	if (total_store_order) {
		barrier();
		*(volatile __u64 *)&set->tag[way] = tag;
	} else {
		__sync_lock_test_and_set(&set->tag[way], tag);
	}
}

static __always_inline struct flight *flight_set(__u64 print)
{
	__u32 index = print & flight_mask;

	return bpf_map_lookup_elem(&flight_by_print, &index);
}

/* when_age - ns from the time in @when to @now; 0 if it is later */
static __always_inline __u64 when_age(__u64 when, __u64 now)
{
	__s64 age = (__s64)((now << WHEN_BITS) - (when & ~WHEN_LOW)) >> WHEN_BITS;

	return age < 0 ? 0 : age;
}

static __always_inline __u32 when_series(__u64 when)
{
	return when & (SERIES_LEARN - 1);
}

static __always_inline struct account *account_of(__u32 series)
{
	return bpf_map_lookup_elem(&account_by_series, &series);
}

#define account_add(series, what) do {					\
	struct account *__a = account_of(series);			\
	if (__a)							\
		__a->what++;						\
} while (0)

/* flight_has_other - whether a way beside @way is of the same fingerprint */
static __always_inline int flight_has_other(const struct flight *set, __u32 way, __u64 tag)
{
	for (__u32 i = 0; i < FLIGHT_WAYS; i++) {
		if (i != way && (tag_read(set, i) & ~TAG_STATE) == tag)
			return 1;
	}
	return 0;
}

/* What is being put, or claimed, by tries. */
struct attempt {
	__u64 print, tunnel;
	__u64 when;
};

static __always_inline void tunnel_note(__u64 print, __u32 way, __u64 tunnel)
{
	__u32 index = (print & flight_mask) * FLIGHT_WAYS + way;
	__u64 *noted = sampling ? bpf_map_lookup_elem(&tunnel_by_way, &index) : NULL;

	if (noted)
		*noted = tunnel;
}

/* flight_leave - count what leaves the owned way, as it makes room for another one or
 * its time is over
 */
static __always_inline void flight_leave(__u64 tag, __u64 when, __u64 now)
{
	if (tag & TAG_POISONED)
		return;
	if (when_age(when, now) > timeout_ns)
		account_add(when_series(when), lost);
	else
		account_add(when_series(when), evicted);
}

/* flight_take - put into a way that is owned, if no other one has the same */
static __always_inline int flight_take(struct flight *set, __u32 way, struct attempt *a)
{
	__u64 tag = tag_of(a->print);

	if (flight_has_other(set, way, tag)) {
		tag_publish(set, way, 0);
		return 0;
	}
	set->when[way] = a->when;
	tunnel_note(a->print, way, a->tunnel);
	tag_publish(set, way, tag);
	return 1;
}

/* flight_poison - put what is in flight already: neither can be known again
 *
 * @has: the tag that @way has
 */
static __always_inline int flight_poison(struct flight *set, __u32 way, __u64 has, struct attempt *a)
{
	__u64 tag = tag_of(a->print), when, now = a->when >> WHEN_BITS, copies = 2;

	if (has & TAG_BUSY || !tag_exchange(set, way, has, has | TAG_BUSY))
		return 0;
	when = set->when[way];
	if (when_age(when, now) > timeout_ns) {
		flight_leave(has, when, now);
		return flight_take(set, way, a);
	}
	if (!(has & TAG_POISONED))
		account_add(when_series(when), ambiguous);
	else if ((when & WHEN_LOW) < WHEN_LOW)
		copies = (when & WHEN_LOW) + 1;
	account_add(when_series(a->when), ambiguous);
	set->when[way] = now << WHEN_BITS | copies;
	tag_publish(set, way, tag | TAG_POISONED);
	return 1;
}

/* flight_evict - put in the place of the oldest one */
static __always_inline int flight_evict(struct flight *set, struct attempt *a)
{
	__u64 age, oldest = 0, now = a->when >> WHEN_BITS, tag, has = 0, when;
	__u32 way = 0;

	for (__u32 i = 0; i < FLIGHT_WAYS; i++) {
		tag = tag_read(set, i);
		age = when_age(*(volatile __u64 *)&set->when[i], now) + 1;
		if (!(tag & TAG_BUSY) && age > oldest) {
			oldest = age;
			has = tag;
			way = i;
		}
	}
	if (!has || way >= FLIGHT_WAYS || !tag_exchange(set, way, has, tag_of(a->print) | TAG_BUSY))
		return 0;
	when = set->when[way];
	flight_leave(has, when, now);
	return flight_take(set, way, a);
}

/* put_try - one try, or the end of them; Return: 1 if it is done, for bpf_loop() */
static long put_try(__u64 i, void *context)
{
	struct attempt *a = context;
	__u64 tag = tag_of(a->print), has;
	struct flight *set = flight_set(a->print);
	__s32 empty = -1;

	if (i == FLIGHT_TRIES)
		account_add(when_series(a->when), evicted);
	if (!set || i == FLIGHT_TRIES)
		return 1;
	for (__u32 way = 0; way < FLIGHT_WAYS; way++) {
		has = tag_read(set, way);
		if ((has & ~TAG_STATE) == tag)
			return flight_poison(set, way, has, a);
		if (!has && empty < 0)
			empty = way;
	}
	if (empty < 0)
		return flight_evict(set, a);
	if (empty < FLIGHT_WAYS && tag_exchange(set, empty, 0, tag | TAG_BUSY))
		return flight_take(set, empty, a);
	return 0;
}

/* flight_put_hard - put a packet if something is in its way. One that does not get
 * there is counted as evicted.
 */
__noinline int flight_put_hard(__u64 print, __u64 when, __u64 tunnel)
{
	struct attempt a = { .print = print, .when = when, .tunnel = tunnel };

	bpf_loop(FLIGHT_TRIES + 1, put_try, &a, 0);
	return 0;
}

/* flight_put - put a packet, which is counted as in already
 *
 * The time is read as late as can be: what follows is in the delay.
 */
static __always_inline void flight_put(__u64 print, __u32 series, __u64 tunnel, __u64 now)
{
	struct flight *set = flight_set(print);
	__u64 tag = tag_of(print), has, used = 0, when;
	__u32 way = FLIGHT_WAYS;

	if (!set)
		return;
#pragma unroll
	for (int i = FLIGHT_WAYS - 1; i >= 0; i--) {
		has = tag_read(set, i);
		used |= (has & ~TAG_STATE) == tag;
		if (!has)
			way = i;
	}
	if (!now)
		now = bpf_ktime_get_ns();
	when = now << WHEN_BITS | series;
	if (used || way >= FLIGHT_WAYS || !tag_exchange(set, way, 0, tag | TAG_BUSY)) {
		flight_put_hard(print, when, tunnel);
		return;
	}
	if (flight_has_other(set, way, tag)) {
		tag_publish(set, way, 0);
		flight_put_hard(print, when, tunnel);
		return;
	}
	set->when[way] = when;
	tunnel_note(print, way, tunnel);
	tag_publish(set, way, tag);
}
