/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "queue.h"

/* What leaves for an F-TEID of the UPF itself: the hop of such a peer has HOP_OWN for a
 * tag. emit writes the outer headers, as for any other, and says PASS_AGAIN: instead of
 * sending the frame the program goes on in one that treats it as a G-PDU that has come.
 * So a packet that leaves for another peer meets none of it.
 *
 * How often that has been is in memory of the CPU's own: a program is not interrupted by
 * another one on its CPU. Only the program that a packet came to sets it anew.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} passes SEC(".maps");

#ifndef CTX_SKB
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} again_program SEC(".maps");

/* The same for programs on a CPUMAP, which the kernel tells apart. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} again_cpu_program SEC(".maps");
#endif

/* again_passes - through how many F-TEIDs of the UPF itself the packet has come, in the
 * program for such
 */
static __always_inline __u32 again_passes(void)
{
	__u32 zero = 0, *n = bpf_map_lookup_elem(&passes, &zero);

	return n ? *n : 0;
}

/* again_count - one more. Return: 0, or -DROP_LOOP. */
static __always_inline int again_count(int first)
{
	__u32 zero = 0, *n = bpf_map_lookup_elem(&passes, &zero);

	if (!n)
		return -DROP_INTERNAL;
	*n = first ? 1 : *n + 1;
	return *n > passes_max ? -DROP_LOOP : 0;
}

#define AGAIN_FIRST	1	/* in the program that a packet came to */

/* again_divert - go on with a packet that has come to an F-TEID of the UPF itself
 *
 * @programs, @index: where the program for it is
 * Return: @result, which is none of -PASS_AGAIN.
 */
static __always_inline int again_divert(struct ctx *ctx, void *programs, __u32 index, int first, int result)
{
	int err;

	if (result != -PASS_AGAIN)
		return result;
	err = again_count(first);
	if (err)
		return err;
	bpf_tail_call(ctx->md, programs, index);
	return -DROP_INTERNAL;
}
