/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "ether.h"

/* What the programs of TC and their traced twins have in common. */

/* What pointers have to reach for the stages: IP and TCP headers, which stand in the
 * linear part of what this machine's TCP sends; in a G-PDU with outer headers and usual
 * extension headers.
 */
#define REACH_BARE4	(ETH_HLEN + 20 + 20)
#define REACH_BARE6	(ETH_HLEN + 40 + 20)
#define REACH_GPDU	(ETH_HLEN + 40 + 8 + 16 + 40 + 20)
#define REACH_MORE	1600

/* Programs to which others go on. A program array is of one hook. */
#define TC_ETHER_GPDU	0
#define TC_GTPU		1
#define TC_N6		2
#define TC_ETHER	3
#define TC_AGAIN	4

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 5);
	__type(key, __u32);
	__type(value, __u32);
} tc_programs SEC(".maps");

/* What one program says to the next: a bare packet may come on the device as well. What
 * others may have left there looks different.
 */
#define CB_WORD		0
#define CB_BOTH		0x706c626f

/* skb_finish - what the kernel is told: what passes goes to the next program
 *
 * What came by way of the helper pair is given to the host on the device on which it
 * came first. There it meets the programs again, and as it is nobody's, passes them.
 */
static __always_inline int skb_finish(struct __sk_buff *md, int action)
{
	__u32 ifindex = md->mark & MARK_IFINDEX;

	if (action != CTX_PASS)
		return action;
	if (md->ingress_ifindex != split_rx)
		return TC_ACT_UNSPEC;
	md_set_mark(md, 0);
	return bpf_redirect(ifindex, BPF_F_INGRESS);
}

/* A function of its own, which the verifier looks at once. */
__noinline int skb_gtpu(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };

	return upf_gtpu(&ctx, 0);
}

__noinline int skb_gtpu_again(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };

	return upf_gtpu(&ctx, UPF_AGAIN);
}

/* skb_tunnelled - the stages of a G-PDU, once more if they may not have reached all of
 * its extension headers
 *
 * @again: the UPF itself has sent it
 */
static __always_inline int skb_tunnelled(struct __sk_buff *md, int again)
{
	int result = again ? skb_gtpu_again(md) : skb_gtpu(md);

	if (result != -DROP_GTPU_SHORT && result != -DROP_IP_SHORT)
		return result;
	if (md->data_end - md->data >= md->len)
		return result;
	if (md_linear(md, REACH_MORE))
		return -DROP_INTERNAL;
	return again ? skb_gtpu_again(md) : skb_gtpu(md);
}

/* skb_gpdu - the stages of a frame of a device on which GTP-U is terminated
 *
 * @programs, @index: where the one for frames of Ethernet PDU sessions is
 * @again: the UPF itself has sent it
 * Return: an action, or a negative enum upf_count: -PASS_HOST if it is none of GTP-U.
 */
static __always_inline int skb_gpdu(struct ctx *ctx, void *programs, __u32 index, int again)
{
	if (md_linear(ctx->md, REACH_GPDU))
		return -DROP_INTERNAL;
	return ether_divert(ctx, programs, index, skb_tunnelled(ctx->md, again));
}

/* skb_n6 - the stages of a frame from N6. Return: an action, or a negative enum upf_count. */
static __always_inline int skb_n6(struct ctx *ctx)
{
	struct __sk_buff *md = ctx->md;

	if (md_linear(md, md->protocol == bpf_htons(ETH_P_IPV6) ? REACH_BARE6 : REACH_BARE4))
		return -DROP_INTERNAL;
	return upf_n6(ctx, 0);
}

/* skb_ether - a frame of the device of an Ethernet data network. Return: the action. */
static __always_inline int skb_ether(struct ctx *ctx)
{
	struct __sk_buff *md = ctx->md;

	if (md_linear(md, REACH_BARE6))
		return upf_finish(-DROP_INTERNAL);
	if (split_frame(md))
		return split_off(ctx, VLAN_ETHER);
	if (md_tags_back(md))
		return upf_finish(-DROP_INTERNAL);
	return skb_finish(md, ether_arrive(ctx));
}
