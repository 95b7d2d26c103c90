/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

/* Histogram of times on one CPU: counts as HdrHistogram has them for two significant
 * figures from 1 ns to 2^36 - 1 ns. A value with its highest bit at position p >= 8 is
 * counted by that bit and the seven below it.
 */
#define LATENCY_SUB_BITS	7
#define LATENCY_BITS		36
#define LATENCY_COUNTS		((LATENCY_BITS - LATENCY_SUB_BITS + 1) << LATENCY_SUB_BITS)

struct latency {
	__u64 counts[LATENCY_COUNTS];
};

/* highest_bit - position of the highest bit of @v, which is not 0 */
static __always_inline __u32 highest_bit(__u64 v)
{
	__u32 at = 0;

	if (v >> 32) { v >>= 32; at += 32; }
	if (v >> 16) { v >>= 16; at += 16; }
	if (v >> 8) { v >>= 8; at += 8; }
	if (v >> 4) { v >>= 4; at += 4; }
	if (v >> 2) { v >>= 2; at += 2; }
	return at + (v >> 1);
}

/* latency_count - count a time; one of 2^36 ns or more counts as the longest */
static __always_inline void latency_count(struct latency *l, __u64 ns)
{
	__u32 shift, index;

	if (ns >> LATENCY_BITS)
		ns = (1ULL << LATENCY_BITS) - 1;
	shift = highest_bit(ns | 1 << LATENCY_SUB_BITS) - LATENCY_SUB_BITS;
	index = (shift << LATENCY_SUB_BITS) + (ns >> shift);
	if (index < LATENCY_COUNTS) /* always so, but the verifier does not see it */
		l->counts[index]++;
}
