/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "packet.h"

/* What is done with a meter: GCRA in its virtual scheduling form. A packet
 * conforms unless the theoretical arrival time is further ahead of the clock than
 * the tolerance. One 64-bit compare-and-swap keeps it exact on any number of
 * CPUs. Times are in units of 2^-8 ns.
 * @octets is METER_PACKET for a Packet Rate, or an amount: AMOUNT_*.
 *
 * There are two clocks. The coarse one stands still between ticks of the kernel
 * and costs nothing, where the true one costs as much as all the rest. It is never
 * ahead of the true one, so what conforms by it conforms. Only what does not is
 * asked again by the true one: a rate is exact, and a burst longer by a tick at
 * most. Meters whose burst is not many ticks long know the true one only.
 *
 * The functions are global for the verifier's sake, as those in urr.h.
 * Source: ITU-T I.371, Annex A.
 */

#define GCRA_TRIES	16	/* of the compare-and-swap: each time another CPU was faster */

#define GCRA_COARSE	1	/* in a time: by the coarse clock; too short to matter in it */

static __always_inline struct meter *meter_at(__u32 index)
{
	__u32 account = index / 2;
	struct account *a = bpf_map_lookup_elem(&accounts, &account);

	if (!a)
		return NULL;
	barrier_var(a); /* nothing is added to what may be no pointer */
	return &a->meter[index % 2];
}

static __always_inline __u64 gcra_now(void)
{
	return bpf_ktime_get_ns() << METER_FRACTION;
}

/* coarse_ns - the coarse clock, without a call but for the first packet in a tick
 *
 * A CPU that is held up between reading and storing may leave an older time until the
 * next store, never a later one.
 */
static __always_inline __u64 coarse_ns(void)
{
	__u64 jiffies = bpf_jiffies64(), ns;

	if (coarse.jiffies == jiffies)
		return coarse.ns;
	ns = bpf_ktime_get_ns();
	coarse.ns = ns;
	coarse.jiffies = jiffies;
	return ns;
}

static __always_inline __u64 gcra_coarse(void)
{
	return coarse_ns() << METER_FRACTION | GCRA_COARSE;
}

/* gcra_limit - how far tat must not be ahead any more for a packet to conform */
static __always_inline __u64 gcra_limit(const struct meter *m, __u64 now)
{
	return now & GCRA_COARSE ? m->coarse : m->tolerance + 1;
}

static __always_inline __u64 gcra_cost(const struct meter *m, __u32 octets)
{
	__u64 unit = m->unit_time;

	return octets == METER_PACKET ? unit : unit * AMOUNT_OCTETS(octets) >> METER_SHIFT;
}

/* gcra_ahead - how far @tat is ahead of the clock; 0: not at all */
static __always_inline __u64 gcra_ahead(const struct meter *m, __u64 tat, __u64 now)
{
	__u64 ahead = tat - now;

	return ahead > m->tolerance + m->unit_time + METER_AHEAD ? 0 : ahead;
}

static __always_inline int gcra_conforms(const struct meter *m, __u64 now)
{
	return gcra_ahead(m, *(volatile __u64 *)&m->tat, now) < gcra_limit(m, now);
}

/* gcra_take - take @octets if the meter conforms
 *
 * A packet that conformed is not dropped because other CPUs were faster each time:
 * they have left tat at the clock or ahead of it, where to take is to add. What passes
 * so beyond what conforms is under way at once: a packet for each CPU.
 */
static __always_inline int gcra_take(struct meter *m, __u32 octets, __u64 now)
{
	__u64 cost = gcra_cost(m, octets), limit = gcra_limit(m, now);

	now &= ~(__u64)GCRA_COARSE; /* no part of tat: the true clock may say the same */
	for (int i = 0; i < GCRA_TRIES; i++) {
		__u64 tat = *(volatile __u64 *)&m->tat;
		__u64 ahead = gcra_ahead(m, tat, now);

		if (ahead >= limit)
			return 0;
		if (__sync_val_compare_and_swap(&m->tat, tat, now + ahead + cost) == tat)
			return 1;
	}
	__sync_fetch_and_add(&m->tat, cost);
	return 1;
}

/* gcra_return - give back what gcra_take() took of the same @octets
 *
 * Nothing is lost: tat was moved by the cost, and every taker since has gone on from
 * there. What can be won is less than the time that has passed since: if the meter was
 * idle and another CPU took after the clock had passed a part of the cost, that part
 * had no effect any more and is given back all the same. That is as much as the rate
 * has for the time between take and return, or by the coarse clock for a tick; never
 * more than the cost; and tat does not get behind the clock at the take, so that an idle
 * meter has its burst and no more.
 */
static __always_inline void gcra_return(struct meter *m, __u32 octets)
{
	__sync_fetch_and_sub(&m->tat, gcra_cost(m, octets));
}

/* meter_conforms - whether the meter would take a packet
 *
 * Return: nonzero if so, or if there is no such meter.
 */
__noinline int meter_conforms(__u32 index, __u64 now)
{
	struct meter *m = meter_at(index);

	return m ? gcra_conforms(m, now) : 1;
}

/* meter_take - take @octets from the meter if it conforms
 *
 * Return: nonzero if it does, or if there is no such meter.
 */
__noinline int meter_take(__u32 index, __u32 octets, __u64 now)
{
	struct meter *m = meter_at(index);

	return m ? gcra_take(m, octets, now) : 1;
}

/* meter_return - undo meter_take() of the same @octets */
__noinline int meter_return(__u32 index, __u32 octets)
{
	struct meter *m = meter_at(index);

	if (m)
		gcra_return(m, octets);
	return 0;
}

/* meter_force - take @octets whether or not the meter conforms
 *
 * It never gets further behind than by this packet.
 */
__noinline int meter_force(__u32 index, __u32 octets, __u64 now)
{
	struct meter *m = meter_at(index);
	__u64 cost;

	if (!m)
		return 0;
	cost = gcra_cost(m, octets);
	for (int i = 0; i < GCRA_TRIES; i++) {
		__u64 tat = *(volatile __u64 *)&m->tat;
		__u64 ahead = gcra_ahead(m, tat, now);
		__u64 from = ahead < m->tolerance ? ahead : m->tolerance;

		if (ahead >= from + cost)
			break;
		if (__sync_val_compare_and_swap(&m->tat, tat, now + from + cost) == tat)
			break;
	}
	return 0;
}

/* gcra_first - take @octets, in line, by the coarse clock and if no other CPU is faster
 *
 * The time that tat is ahead is that of gcra_ahead() where it is below m->coarse.
 */
static __always_inline int gcra_first(struct meter *m, __u32 octets, __u64 now)
{
	__u64 tat = *(volatile __u64 *)&m->tat;
	__s64 ahead = tat - now;

	ahead &= ~(ahead >> 63); /* behind: 0 */
	return (__u64)ahead < m->coarse &&
	       __sync_val_compare_and_swap(&m->tat, tat, now + ahead + gcra_cost(m, octets)) == tat;
}

/* meter_first - take @octets from the only meter as gcra_first()
 *
 * Return: nonzero if that was it; else meters_retry() has to say.
 */
static __always_inline int meter_first(__u32 index, __u32 octets)
{
	struct meter *m = meter_at(index);

	return m && gcra_first(m, octets, coarse_ns() << METER_FRACTION);
}

/* gcra_quick - gcra_first(), but not for the first packet in a tick */
static __always_inline int gcra_quick(struct meter *m, __u32 octets)
{
	return coarse.jiffies == bpf_jiffies64() && gcra_first(m, octets, coarse.ns << METER_FRACTION);
}

/* meters_take_at - take @octets from one MBR meter or from two: from both or none
 *
 * @second: 0: there is one
 * Return: nonzero if they conform.
 */
static __always_inline int meters_take_at(__u32 first, __u32 second, __u32 octets, __u64 now)
{
	if (!second)
		return meter_take(first, octets, now);
	if (!meter_conforms(second, now) || !meter_take(first, octets, now))
		return 0;
	if (meter_take(second, octets, now))
		return 1;
	meter_return(first, octets); /* another CPU was faster */
	return 0;
}

/* meters_retry - meters_take() by the clock that it takes */
__noinline int meters_retry(__u32 first, __u32 second, __u32 octets)
{
	return (second && meters_take_at(first, second, octets, gcra_coarse())) ||
	       meters_take_at(first, second, octets, gcra_now());
}

/* meters_take - take @octets from one MBR meter or from two, if @second is not 0 */
static __always_inline int meters_take(__u32 first, __u32 second, __u32 octets)
{
	return (!second && meter_first(first, octets)) || meters_retry(first, second, octets);
}
