/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "bounds.h"
#include "enforce.h"

/* Copies of packets that a FAR asks for (DUPL). The packet itself goes on at once;
 * as it arrived, it goes to the slow path through a ring of its own as well, which
 * makes the copies of it. If that ring is full the copies are lost, never the packet.
 */
struct copy {
	__u64 time;		/* when it was put there: ns of bpf_ktime_get_ns() */
	__u32 octets;		/* of frame */
	__u32 counter;		/* of the PDR: index in pdr_counters, */
	__u32 serial;		/* and whose it was then */
	__u32 tunnelled;	/* a G-PDU, not a bare packet */
	__u32 ifindex;		/* on which it came */
	__u32 unused;
	__u8 frame[EXCEPTION_MAX];
};

#define COPIES_OCTETS	(1 << 22)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, COPIES_OCTETS);
} copies SEC(".maps");

/* Where a record is put together, as in scratch. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct copy);
} copy_scratch SEC(".maps");

const struct copy *unused_copy __attribute__((unused));

/* copy_lost - count a packet whose copies are lost; it is not what became of it */
static __always_inline void copy_lost(void)
{
	__u32 reason = DROP_COPY_FULL;
	__u64 *n = bpf_map_lookup_elem(&counts, &reason);

	if (n)
		(*n)++;
}

/* copy_fill - write a record of the frame for the PDR with this index
 *
 * Return: its octets, or 0.
 */
static __always_inline __u32 copy_fill(struct copy *c, const struct ctx *ctx, __u32 index, __u32 tunnelled)
{
	const struct pdr *pdr = bpf_map_lookup_elem(&pdrs, &index);
	const struct pdr_counter *n = pdr ? bpf_map_lookup_elem(&pdr_counters, &pdr->counter) : NULL;
	__u32 octets = ctx_octets(ctx);

	if (!n || !length_bound(&octets, EXCEPTION_MAX) || md_load(ctx->md, 0, c->frame, octets))
		return 0;
	c->time = bpf_ktime_get_ns();
	c->octets = octets;
	c->counter = pdr->counter;
	c->serial = n->serial;
	c->tunnelled = tunnelled;
	c->ifindex = ctx_ifindex(ctx);
	return offsetof(struct copy, frame) + octets;
}

/* copy_offer - hand a frame that is about to leave, and of which nothing has been
 * changed yet, to the slow path for the copies that the PDR with this index asks for
 */
__noinline int copy_offer(struct ctx_md *md, __u32 index, __u32 tunnelled)
{
	struct ctx ctx = { .md = md };
	__u32 zero = 0;
	struct copy *c = bpf_map_lookup_elem(&copy_scratch, &zero);
	__u32 octets = 0;

	/* Under a flood nothing is put together that finds no room then. */
	if (c && bpf_ringbuf_query(&copies, BPF_RB_AVAIL_DATA) < COPIES_OCTETS - sizeof(*c))
		octets = copy_fill(c, &ctx, index, tunnelled);
	if (!octets || octets > sizeof(*c) || bpf_ringbuf_output(&copies, c, octets, 0))
		copy_lost();
	return 0;
}
