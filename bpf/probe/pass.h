/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "claim.h"
#include "parts.h"
#include "slice.h"

/* What a point does with a user packet. */

static __always_inline struct count *count_of(const volatile struct point *point)
{
	__u32 number = point->number;

	return bpf_map_lookup_elem(&count_by_point, &number);
}

/* pass_in - a user packet comes to the UPF
 *
 * @now: when; 0: it is to be seen
 */
static __always_inline void pass_in(const volatile struct point *point, const struct user *u, __u64 now)
{
	__u32 series = u->tunnelled ? slice_up(point, u) : slice_down(point, u);
	struct count *count = count_of(point);
	struct account *account;

	if (!count)
		return;
	if (series == SERIES_NONE) {
		count->foreign++;
		return;
	}
	count->packets++;
	account = account_of(series & (SERIES_LEARN - 1));
	if (!account)
		return;
	account->in++;
	if (!timed_of(u)) {
		account->untimed++;
		account->untimed_octets += u->octets;
		if (!(series & SERIES_LEARN))
			return;
		series |= SERIES_UNTIMED;
	}
	flight_put(u->print, series, (__u64)u->teid << 8 | u->qfi, now);
}

/* sample_submit - report a packet */
__noinline int sample_submit(const struct user *u, const struct claim *claim, __u64 now)
{
	__u32 series;
	struct sample *s;

	if (!u || !claim)
		return 0;
	s = bpf_ringbuf_reserve(&samples, sizeof(*s), 0);
	if (!s) {
		__sync_fetch_and_add(&samples_lost, 1);
		return 0;
	}
	series = when_series(claim->when);
	s->in_ns = now - when_age(claim->when, now);
	s->out_ns = now;
	s->octets = u->octets;
	s->series = series;
	s->cpu = bpf_get_smp_processor_id();
	s->teid = series & SERIES_DOWNLINK ? u->teid : claim->tunnel >> 8;
	s->qfi = series & SERIES_DOWNLINK ? u->qfi : claim->tunnel;
	__builtin_memset(s->unused, 0, sizeof(s->unused));
	bpf_ringbuf_submit(s, BPF_RB_NO_WAKEUP);
	return 0;
}

/* sample_due - whether the matched packet is to be reported */
static __always_inline int sample_due(__u32 series, __u64 delay)
{
	struct account *account = account_of(series);

	if (sample_every && account && account->turn++ % sample_every == sample_every - 1)
		return 1;
	return sample_above_ns && delay >= sample_above_ns;
}

/* pass_matched - a packet has left that is known again
 *
 * Return: 0 if it was too long in flight to be.
 */
static __always_inline int pass_matched(const volatile struct point *point, const struct user *u,
					const struct claim *claim, __u64 now)
{
	__u32 series = when_series(claim->when);
	__u64 delay = when_age(claim->when, now);
	struct matched *matched = bpf_map_lookup_elem(&matched_by_series, &series);

	if (!matched)
		return 0;
	if (delay > timeout_ns) {
		account_add(series, lost);
		return 0;
	}
	matched->octets += u->octets;
	latency_count(&matched->delay, delay);
	if (parting)
		parts_count(series, now - delay, now);
	if (claim->when & SERIES_LEARN && !u->tunnelled)
		slice_learn(ue_source(point->upf, u), series >> 1);
	if (sampling && sample_due(series, delay))
		sample_submit(u, claim, now);
	return 1;
}

/* pass_others - whether a packet that leaves and is not known is one of others on N6 */
static __always_inline int pass_others(const volatile struct point *point, const struct user *u)
{
	__u8 upf = point->upf;

	if (u->tunnelled || point->own)
		return 0;
	return !(slice_ue(upf, u->version, u->source, ue_source(upf, u)) & FOUND_PAIR);
}

/* pass_untimed - a user packet leaves the UPF that is not timed
 *
 * Those whose UE was not learnt when they came are in flight for that alone.
 *
 * Return: 0 if it is one of others.
 */
static __always_inline int pass_untimed(const volatile struct point *point, const struct user *u)
{
	enum claimed claimed = CLAIMED_NONE;
	struct claim claim;
	__u64 found;

	if (u->tunnelled)
		return 1;
	found = slice_ue(point->upf, u->version, u->source, ue_source(point->upf, u));
	if (!nat && found & FOUND_LEARNT)
		return 1;
	claimed = flight_claim(u->print, &claim);
	if (claimed == CLAIMED_NONE && u->numbered)
		claimed = flight_claim_hard(print_unnumbered(u), &claim);
	if (claimed == CLAIMED && claim.when & SERIES_LEARN)
		slice_learn(ue_source(point->upf, u), (when_series(claim.when) & (SERIES_UNTIMED - 1)) >> 1);
	return claimed != CLAIMED_NONE || point->own || found & FOUND_PAIR;
}

/* pass_out - a user packet leaves the UPF at @now; 0: it is to be seen */
static __always_inline void pass_out(const volatile struct point *point, const struct user *u, __u64 now)
{
	struct count *count = count_of(point);
	struct claim claim;
	enum claimed claimed;

	if (!count)
		return;
	if (!timed_of(u)) {
		if (pass_untimed(point, u)) {
			count->packets++;
			count->untimed++;
		} else {
			count->foreign++;
		}
		return;
	}
	if (timed_below && !now)
		now = bpf_ktime_get_ns();
	claimed = flight_claim(u->print, &claim);
	if (claimed == CLAIMED_NONE && u->numbered)
		claimed = flight_claim_hard(print_unnumbered(u), &claim);
	if (claimed == CLAIMED_NONE && pass_others(point, u)) {
		count->foreign++;
		return;
	}
	count->packets++;
	if (claimed == CLAIMED_AMBIGUOUS)
		count->ambiguous++;
	else if (claimed == CLAIMED_NONE || !pass_matched(point, u, &claim, now))
		count->unmatched++;
}

/* pass - a user packet is at the point, at @now; 0: now */
static __always_inline void pass(const volatile struct point *point, const struct user *u, __u64 now)
{
	if (point->way == WAY_IN)
		pass_in(point, u, now);
	else
		pass_out(point, u, now);
}

/* pass_over - count what is no user packet of ours */
static __always_inline void pass_over(const volatile struct point *point, enum seen seen)
{
	struct count *count = count_of(point);

	if (!count || seen == SEEN_NOTHING)
		return;
	if (seen == SEEN_FOREIGN)
		count->foreign++;
	else
		count->unparsed++;
}
