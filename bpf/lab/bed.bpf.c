/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

/* The bed limit: in the UPF's place, a program that only redirects. Whatever
 * arrives on N3 leaves on N6 and the other way round, unchanged but for the
 * Ethernet addresses, without which a UPF could not forward either.
 */
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include "skb.h"

struct hop {
	__u32 device;			/* interface index */
	__u16 addresses[ETH_ALEN];	/* Ethernet destination and source, as in the frame */
};

const volatile struct hop to_n3, to_n6;

/* redirect - send a frame over @hop; return: what bpf_redirect() says, or @drop */
static __always_inline int redirect(__u16 *words, const void *end, const volatile struct hop *hop, int drop)
{
	if ((void *)words + ETH_HLEN > end)
		return drop;
	for (int i = 0; i < ETH_ALEN; i++)
		words[i] = hop->addresses[i];
	return bpf_redirect(hop->device, 0);
}

#define REDIRECT(ctx, hop, drop) \
	redirect((void *)(long)(ctx)->data, (void *)(long)(ctx)->data_end, hop, drop)

SEC("xdp")
int bed_n3(struct xdp_md *ctx)
{
	return REDIRECT(ctx, &to_n6, XDP_DROP);
}

SEC("xdp")
int bed_n6(struct xdp_md *ctx)
{
	return REDIRECT(ctx, &to_n3, XDP_DROP);
}

/* The same on socket buffers. */
SEC("tc")
int bed_n3_tc(struct __sk_buff *ctx)
{
	return REDIRECT(ctx, &to_n6, TC_ACT_SHOT);
}

SEC("tc")
int bed_n6_tc(struct __sk_buff *ctx)
{
	return REDIRECT(ctx, &to_n3, TC_ACT_SHOT);
}

char _license[] SEC("license") = "GPL";
