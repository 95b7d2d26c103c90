/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* How octets of a packet are reached on tracepoints: by copying them, wherever they
 * are. Needs Linux 6.12 (commit 338a3a4fdc4c, bpf_dynptr_from_skb() for tp_btf).
 */
#include <linux/if_ether.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "skb.h"
#include "bounds.h"
#include "btf_device.h"

/* What is needed of the kernel's types; the loader finds where it is. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct skb_shared_info {
	unsigned short gso_size;
};

struct sk_buff {
	struct net_device *dev;
	unsigned int len;
	__be16 protocol;
	unsigned int end;
	unsigned char *head;
};

#pragma clang attribute pop

/* The kernel's struct bpf_dynptr, which <linux/bpf.h> does not say alike in all releases:
 * with its own the object would depend on the release that builds it.
 */
struct frame_dynptr {
	__u64 words[2];
};

extern int bpf_dynptr_from_skb(struct __sk_buff *skb, __u64 flags, struct frame_dynptr *ptr) __ksym;

/* Not global: the verifier has to see that the pointer is one to a dynptr. */
#define HARD	static __noinline

typedef struct frame_dynptr frame_source;

struct frame {
	frame_source *source;
	__u32 octets;
	__u32 segment;	/* octets of payload of each packet of a super-packet but the last; 0: it is none */
	__u32 start;	/* where its IP header is, if it has no Ethernet header */
	void *room;		/* for a header that is copied, 24 octets */
};

static __always_inline long source_load(frame_source *source, __u32 at, void *to, __u32 octets)
{
	return bpf_dynptr_read(to, octets, (void *)source, at, 0);
}

/* frame_reach - no pointer reaches anything */
static __always_inline const void *frame_reach(struct frame *f, __u32 at, __u32 octets)
{
	(void)f;
	(void)at;
	(void)octets;
	return NULL;
}
