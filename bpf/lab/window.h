/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "meter.h"

/* Which sequence numbers of a stream have come, on whatever CPU. */

const volatile __u8 many_cpus;	/* the program may run on several CPUs at once */

/* exchange - replace @old at @word by @new
 *
 * Return: what was there; @old if it was replaced.
 */
static __always_inline __u64 exchange(__u64 *word, __u64 old, __u64 new)
{
	if (many_cpus)
		return __sync_val_compare_and_swap(word, old, new);
	*word = new;
	return old;
}

#define EXCHANGE_TRIES	8	/* CPUs that write the same word at the same moment */

enum novelty { NEW, DUPLICATE, STALE };

/* window_note - note a sequence number as arrived */
static __always_inline enum novelty window_note(struct window *w, __u64 sequence)
{
	__u64 block = sequence >> 5, bit = 1ULL << (sequence & 31);
	__u64 *word = &w->blocks[block % WINDOW_BLOCKS];
	__u32 round = block / WINDOW_BLOCKS;
	__u64 old, new;

	for (int i = 0; i < EXCHANGE_TRIES; i++) {
		old = *word;
		if (old >> 32 > round)
			return STALE;
		new = old >> 32 < round ? (__u64)round << 32 | bit : old | bit;
		if (new == old)
			return DUPLICATE;
		if (exchange(word, old, new) == old)
			return NEW;
	}
	return STALE;
}

/* window_advance - note a new number as the highest, if it is
 *
 * Return: 1 if a higher one came before it. Source: RFC 4737, 3.3.
 */
static __always_inline int window_advance(struct window *w, __u64 sequence)
{
	for (int i = 0; i < EXCHANGE_TRIES; i++) {
		__u64 next = w->next;

		if (sequence < next)
			return 1;
		if (exchange(&w->next, next, sequence + 1) == next)
			return 0;
	}
	return 0;
}

/* gap_note - note the time since the frame before as the longest without one, if it is
 *
 * CPUs that do so at the same moment have a short one to note.
 */
static __always_inline void gap_note(struct window *w, __u64 now)
{
	__u64 last = w->last_ns;

	if (last && now > last && now - last > w->gap_ns) {
		w->gap_ns = now - last;
		w->gap_end_ns = now;
	}
	w->last_ns = now;
}
