/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "packet.h"

/* What a URR does with a packet; struct urr in rules.h says what that is. The
 * functions are global, so that the verifier looks at them once and not for each
 * way that leads there, but for those of rules with one URR, which are in line in
 * one that is. Only packets of rules with a URR pay for the call.
 */

static __always_inline struct urr *urr_at(__u32 index)
{
	struct account *a = bpf_map_lookup_elem(&accounts, &index);

	return a ? &a->urr : NULL;
}

/* urr_tell - tell the driver of @events, which happened
 *
 * What the ring has no room for is left in the URR, and the driver finds it when it
 * has emptied the ring: what a limit stops does not wait for that.
 */
static __always_inline int urr_tell(struct urr *u, __u32 index, __u32 events)
{
	struct urr_event *e = bpf_ringbuf_reserve(&urr_events, sizeof(*e), 0);

	if (e) {
		e->index = index;
		e->events = events;
		bpf_ringbuf_submit(e, 0);
		return 0;
	}
	__sync_fetch_and_or(&u->flags, events << URR_OWED_SHIFT);
	u = urr_at(0);
	if (u)
		__sync_fetch_and_or(&u->flags, events << URR_OWED_SHIFT);
	return 0;
}

static __noinline int urr_started(struct urr *u, __u32 index)
{
	if (__sync_fetch_and_and(&u->flags, ~URR_START) & URR_START)
		urr_tell(u, index, URR_EVENT_START);
	return 0;
}

/* urr_start - raise START_OF_TRAFFIC if it was asked for */
__noinline int urr_start(__u32 index)
{
	struct urr *u = urr_at(index);

	if (u && *(volatile __u32 *)&u->flags & URR_START)
		urr_started(u, index);
	return 0;
}

/* urr_spent - whether a quota is used up */
__noinline int urr_spent(__u32 index, __u32 direction)
{
	struct urr *u = urr_at(index);

	if (!u || direction > URR_DOWNLINK)
		return 0;
	return *(volatile __u64 *)&u->limit[direction] == URR_USED_UP ||
	       *(volatile __u64 *)&u->limit[URR_TOTAL] == URR_USED_UP;
}

/* urr_holds - whether there is more to do before a packet is forwarded than to count it */
static __always_inline int urr_holds(const struct urr *u, __u32 direction)
{
	return *(volatile __u32 *)&u->flags & URR_START ||
	       *(volatile __u64 *)&u->limit[direction] == URR_USED_UP ||
	       *(volatile __u64 *)&u->limit[URR_TOTAL] == URR_USED_UP;
}

/* urr_used_up - both of the above in one: of rules with one URR */
static __always_inline int urr_used_up(__u32 index, __u32 direction)
{
	struct urr *u = urr_at(index);

	if (!u || direction > URR_DOWNLINK)
		return 0;
	if (*(volatile __u32 *)&u->flags & URR_START)
		urr_started(u, index);
	return *(volatile __u64 *)&u->limit[direction] == URR_USED_UP ||
	       *(volatile __u64 *)&u->limit[URR_TOTAL] == URR_USED_UP;
}

/* urr_next - the limit behind one that @sum octets have reached, and in @events
 * what to tell of that
 */
static __always_inline __u64 urr_next(__u64 limit, __u64 quota, int both, __u64 sum, __u32 *events)
{
	*events = limit < quota || both ? URR_EVENT_THRESHOLD : 0;
	if (sum < quota)
		return quota;
	*events |= URR_EVENT_QUOTA;
	return URR_USED_UP;
}

/* What was counted at some time. */
struct urr_count {
	__u64 octets[2];
	__u64 packets[2];
};

static __always_inline void urr_read(const struct urr *u, struct urr_count *n)
{
	for (int i = 0; i < 2; i++) {
		n->octets[i] = *(volatile __u64 *)&u->octets[i];
		n->packets[i] = *(volatile __u64 *)&u->packets[i];
	}
}

/* urr_note - keep what had been counted, for the report
 *
 * What is read when the report is made is more by then.
 */
static __always_inline void urr_note(struct urr_owner *owner, const struct urr_count *n)
{
	for (int i = 0; i < 2; i++) {
		*(volatile __u64 *)&owner->reached_octets[i] = n->octets[i];
		*(volatile __u64 *)&owner->reached_packets[i] = n->packets[i];
	}
}

/* urr_pass - take the limit away that @sum has reached, and tell of it
 *
 * What is noted is read before: a packet that comes later finds the limit reached and
 * takes it away itself. So all CPUs together have at most one packet each in it that
 * came after the one that reached the limit.
 *
 * Return: nonzero if another CPU was faster: there may be a limit behind that one.
 */
static __always_inline int urr_pass(struct urr *u, struct urr_owner *owner, __u32 index, __u32 i, __u64 sum)
{
	__u64 limit = *(volatile __u64 *)&u->limit[i], next;
	struct urr_count n;
	__u32 events;

	if (sum < limit || limit == URR_USED_UP)
		return 0;
	next = urr_next(limit, owner->quota[i], u->flags & URR_BOTH << i, sum, &events);
	urr_read(u, &n);
	if (__sync_val_compare_and_swap(&u->limit[i], limit, next) != limit)
		return 1;
	if (events & URR_EVENT_THRESHOLD)
		urr_note(owner, &n);
	return urr_tell(u, index, events);
}

/* urr_reached - @sum is not below limit[@i] any more
 *
 * There are two limits, a threshold and the quota behind it, so two tries do.
 */
static __always_inline void urr_reached(struct urr *u, __u32 index, __u32 i, __u64 sum)
{
	struct urr_owner *owner = bpf_map_lookup_elem(&urr_owners, &index);

	if (!owner || i > URR_TOTAL)
		return;
#pragma clang loop unroll(disable)
	for (int try = 0; try < 2; try++)
		if (!urr_pass(u, owner, index, i, sum))
			return;
}

/* urr_renew - let the quotas count that are there now
 *
 * The driver may have put a limit back as it was, with another quota behind it, while
 * urr_pass() took it away: what stands there then is above the new quota, or says that
 * a new one is used up which is not. A limit that is too low by that mends itself.
 */
__noinline int urr_renew(__u32 index)
{
	struct urr *u = urr_at(index);
	const struct urr_owner *owner = bpf_map_lookup_elem(&urr_owners, &index);

	for (int i = 0; u && owner && i <= URR_TOTAL; i++) {
		__u64 limit = *(volatile __u64 *)&u->limit[i], quota = *(volatile __u64 *)&owner->quota[i];
		__u64 sum = i == URR_TOTAL ? u->octets[0] + u->octets[1] : u->octets[i & 1];

		if (limit > quota || (limit == URR_USED_UP && sum < quota))
			__sync_val_compare_and_swap(&u->limit[i], limit, quota);
	}
	return 0;
}

/* urr_check - hold the sums against their limits: @own that of @direction */
__noinline int urr_check(__u32 index, __u32 direction, __u64 own)
{
	struct urr *u = urr_at(index);
	__u64 total;

	if (!u || direction > URR_DOWNLINK)
		return 0;
	total = own + *(volatile __u64 *)&u->octets[direction ^ 1];
	if (own >= *(volatile __u64 *)&u->limit[direction])
		urr_reached(u, index, direction, own);
	if (total >= *(volatile __u64 *)&u->limit[URR_TOTAL])
		urr_reached(u, index, URR_TOTAL, total);
	return 0;
}

/* urr_add_to - urr_add() where the URR is known; @direction is one of the two */
static __always_inline void urr_add_to(struct urr *u, __u32 index, __u32 direction, __u32 amount)
{
	__u64 own, total;

	own = __sync_fetch_and_add(&u->octets[direction], AMOUNT_OCTETS(amount)) + AMOUNT_OCTETS(amount);
	__sync_fetch_and_add(&u->packets[direction], AMOUNT_PACKETS(amount));
	total = own + *(volatile __u64 *)&u->octets[direction ^ 1];
	if (own >= *(volatile __u64 *)&u->limit[direction] || total >= *(volatile __u64 *)&u->limit[URR_TOTAL]) {
		urr_check(index, direction, own);
		urr_renew(index); /* here, since one call deeper takes a frame more of the stack */
	}
}

/* urr_add - a packet that is forwarded in @direction, in line; @amount: AMOUNT_* */
static __always_inline void urr_add(__u32 index, __u32 direction, __u32 amount)
{
	struct urr *u = urr_at(index);

	if (u && direction <= URR_DOWNLINK)
		urr_add_to(u, index, direction, amount);
}

/* urr_arrived - a packet that arrives, for a URR that measures before enforcement
 *
 * @amount: 0: a quota stops it, and it is not counted
 */
static __always_inline void urr_arrived(__u32 index, __u32 direction, __u32 amount)
{
	urr_start(index);
	if (amount)
		urr_add(index, direction, amount);
}
