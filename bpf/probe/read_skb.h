/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* How octets of a frame are reached on tcx: by pointers where they reach, else by
 * copying. The frame is never changed. probe_btf.h is the same for tracepoints.
 */
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "skb.h"
#include "bounds.h"

/* Rare work is a function of its own, which the verifier looks at once. */
#define HARD	__noinline

/* Where a frame is loaded from, as functions that are not inlined take it. */
typedef struct __sk_buff frame_source;

struct frame {
	frame_source *source;
	void *data, *end;	/* of what pointers reach; NULL: nothing */
	__u32 octets;
	__u32 segment;		/* octets of payload of each packet of a super-packet but the last; 0: it is none */
	__u32 start;		/* where its IP header is, if it has no Ethernet header */
	void *room;		/* for a header that is copied, 24 octets */
};

static __always_inline long source_load(frame_source *skb, __u32 at, void *to, __u32 octets)
{
	return bpf_skb_load_bytes(skb, at, to, octets);
}

/* frame_reach - pointer to @octets of the frame from octet @at on, NULL if pointers do
 * not reach them
 */
static __always_inline const void *frame_reach(struct frame *f, __u32 at, __u32 octets)
{
	const void *p;

	if (!f->end || at > FRAME_AT_MAX)
		return NULL;
	p = f->data + at;
	return p + octets <= f->end ? p : NULL;
}
