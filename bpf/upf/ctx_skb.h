/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* All that differs between TC and the other hooks: how a packet is reached, grown,
 * shrunk and sent. Included before the stages.
 *
 * An skb may be longer than what pointers reach: the rest is in fragments. It may
 * be a super-packet, of which the kernel or a device makes packets later, and its
 * checksums may be left to whoever sends it: see split.h.
 */
#include <stddef.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include "skb.h"

#define CTX_SKB

/* No negative numbers, which are reasons to the stages; see skb_action(). */
#define CTX_PASS	TC_ACT_OK
#define CTX_DROP	TC_ACT_SHOT

/* The kernel's context of the hook, as global functions take it. */
#define ctx_md		__sk_buff

struct ctx {
	struct __sk_buff *md;
};

/* The device of the helper pair on which segments come, and the other one: split.h.
 * 0: there is none. Set once before the programs are loaded.
 */
const volatile __u32 split_rx, split_tx;

/* Devices through which a super-packet may leave in a tunnel: its receiver takes it
 * whole. 0: none more. Set once before the programs are loaded.
 */
#define SUPER_DEVICES	16
const volatile __u32 super_devices[SUPER_DEVICES];

#define MARK_IFINDEX	0x00ffffff	/* in the mark of what comes there: the device it came on first */
#define MARK_ROLE_SHIFT	24		/* above: VLAN_* */

/* As plain C the compiler would spill 32 bits of them, which the verifier refuses. */
#define CTX_POINTER(ctx, field) ({					\
	void *__p;							\
	asm volatile("%0 = *(u32 *)(%1 + %2)"				\
		     : "=r"(__p)					\
		     : "r"((ctx)->md), "i"(offsetof(struct __sk_buff, field))); \
	__p; })

static __always_inline void *ctx_data(const struct ctx *ctx)
{
	return CTX_POINTER(ctx, data);
}

/* ctx_end - of the linear part */
static __always_inline void *ctx_end(const struct ctx *ctx)
{
	return CTX_POINTER(ctx, data_end);
}

/* ctx_octets - length of the frame, fragments and all */
static __always_inline long ctx_octets(const struct ctx *ctx)
{
	return ctx->md->len;
}

/* md_ifindex - the device on which the packet came, be it by way of the helper pair */
static __always_inline __u32 md_ifindex(const struct __sk_buff *md)
{
	__u32 ifindex = md->ingress_ifindex;

	return ifindex == split_rx ? md->mark & MARK_IFINDEX : ifindex;
}

static __always_inline __u32 ctx_ifindex(const struct ctx *ctx)
{
	return md_ifindex(ctx->md);
}

/* md_load - copy @octets from octet @at of the frame on. Return: 0, or an error. */
static __always_inline long md_load(struct __sk_buff *md, __u32 at, void *to, __u32 octets)
{
	return bpf_skb_load_bytes(md, at, to, octets);
}

static __always_inline int ctx_load(struct ctx *ctx, void *to, __u32 octets)
{
	return md_load(ctx->md, 0, to, octets);
}

/* md_set_mark - in one instruction: the verifier refuses what the compiler may make of
 * an address inside the context
 */
static __always_inline void md_set_mark(struct __sk_buff *md, __u32 mark)
{
	asm volatile("*(u32 *)(%0 + %1) = %2"
		     :
		     : "r"(md), "i"(offsetof(struct __sk_buff, mark)), "r"(mark)
		     : "memory");
}

static __always_inline int ctx_redirect(struct ctx *ctx, __u32 ifindex)
{
	if (ctx->md->ingress_ifindex == split_rx)
		md_set_mark(ctx->md, 0);
	return bpf_redirect(ifindex, 0);
}

/* md_segment - octets of payload of each packet but the last that a super-packet stands
 * for; 0: it is none
 */
static __always_inline __u32 md_segment(const struct __sk_buff *md)
{
	__u32 octets;

	asm volatile("%0 = *(u32 *)(%1 + %2)"
		     : "=r"(octets)
		     : "r"(md), "i"(offsetof(struct __sk_buff, gso_size)));
	return octets;
}

/* md_linear - let pointers reach @octets of the frame, or all that there are
 *
 * All pointers into the packet are void afterwards. Return: 0, or an error.
 */
static __always_inline int md_linear(struct __sk_buff *md, __u32 octets)
{
	__u32 reach = md->data_end - md->data, all = md->len;

	if (reach >= octets || reach >= all)
		return 0;
	return bpf_skb_pull_data(md, octets < all ? octets : all);
}

/* What a frame holds behind its Ethernet header. */
#define HOLDS_FRAME	0	/* of an Ethernet PDU session */
#define HOLDS_IP4	4
#define HOLDS_IP6	6

/* Since Linux 6.3; not in the headers of all that are older. */
#define SKB_HOLDS_IP4	(1ULL << 7)	/* BPF_F_ADJ_ROOM_DECAP_L3_IPV4 */
#define SKB_HOLDS_IP6	(1ULL << 8)	/* BPF_F_ADJ_ROOM_DECAP_L3_IPV6 */

#define SKB_SUPER	BPF_F_ADJ_ROOM_FIXED_GSO	/* segments stay as long as they are */

/* skb_pop - take @octets out behind the Ethernet header, so that the frame @holds
 * something else
 *
 * What the device said of the outer checksum says nothing of what is inside; and
 * the kernel gives up a checksum that was still to be written there (Linux 6.2 and
 * stable ones; commit 54c3f1a81421).
 */
static __always_inline int skb_pop(struct __sk_buff *md, __u32 octets, __u32 holds)
{
	__u32 ip6 = md->protocol == bpf_htons(ETH_P_IPV6);
	__u64 flags = SKB_SUPER;

	if (holds != HOLDS_IP6 && ip6)
		flags |= SKB_HOLDS_IP4;
	else if (holds == HOLDS_IP6 && !ip6)
		flags |= SKB_HOLDS_IP6;
	if (bpf_skb_adjust_room(md, -(__s32)octets, BPF_ADJ_ROOM_MAC, flags)) {
		/* Kernels before 6.3 know no such flags. */
		if (flags == SKB_SUPER || bpf_skb_change_proto(md, bpf_htons(ip6 ? ETH_P_IP : ETH_P_IPV6), 0))
			return -1;
		octets += ip6 ? -20 : 20;
		if (bpf_skb_adjust_room(md, -(__s32)octets, BPF_ADJ_ROOM_MAC, SKB_SUPER))
			return -1;
	}
	bpf_csum_level(md, BPF_CSUM_LEVEL_DEC);
	return 0;
}

/* skb_push - put @octets in behind the Ethernet header for outer headers of IP
 * version @outer
 *
 * The kernel has to know of a super-packet that it is a tunnel's. It may be marked as
 * that already, and is so once only. A frame inside grows at its start, whatever the
 * kernel takes it for.
 */
static __always_inline int skb_push(struct __sk_buff *md, __u32 octets, __u32 outer, __u32 holds)
{
	__u64 flags = SKB_SUPER | BPF_F_ADJ_ROOM_ENCAP_L4_UDP;

	if (holds == HOLDS_FRAME)
		return bpf_skb_change_head(md, octets, 0);
	flags |= outer == HOLDS_IP6 ? BPF_F_ADJ_ROOM_ENCAP_L3_IPV6 : BPF_F_ADJ_ROOM_ENCAP_L3_IPV4;
	if (!bpf_skb_adjust_room(md, octets, BPF_ADJ_ROOM_MAC, flags))
		return 0;
	return bpf_skb_adjust_room(md, octets, BPF_ADJ_ROOM_MAC, SKB_SUPER);
}

#define SKB_LEAST	20	/* octets that the kernel wants to be left of what it takes for IPv4 */

/* skb_unwrap - take @octets off the start of a frame with a frame in it
 *
 * The Ethernet header of that is put where the outer one stands.
 */
static __always_inline int skb_unwrap(struct __sk_buff *md, __u32 octets)
{
	__u32 left = md->len - octets;
	struct ethhdr eth;

	if (bpf_skb_load_bytes(md, octets, &eth, sizeof(eth)))
		return -1;
	if (left < ETH_HLEN + SKB_LEAST && bpf_skb_change_tail(md, md->len + SKB_LEAST, 0))
		return -1;
	if (skb_pop(md, octets, HOLDS_FRAME) || bpf_skb_store_bytes(md, 0, &eth, sizeof(eth), 0))
		return -1;
	return md->len > left ? bpf_skb_change_tail(md, left, 0) : 0;
}

/* skb_resize - ctx_resize(), looked at by the verifier once
 *
 * @how: cut and behind, in 16 bits each, head in 16, outer and holds in 8
 */
__noinline int skb_resize(struct __sk_buff *md, __u64 how)
{
	__u32 cut = how & 0xffff, behind = how >> 16 & 0xffff, head = how >> 32 & 0xffff;
	__u32 outer = how >> 48 & 0xff, holds = how >> 56;

	if (behind && bpf_skb_change_tail(md, md->len - behind, 0))
		return -1;
	if (!head)
		return cut ? skb_unwrap(md, cut) : 0;
	if (cut > ETH_HLEN && skb_pop(md, cut - ETH_HLEN, holds))
		return -1;
	if (!cut) /* a frame that keeps its header */
		return skb_push(md, head, outer, HOLDS_FRAME);
	return head > ETH_HLEN ? skb_push(md, head - ETH_HLEN, outer, holds) : 0;
}

/* ctx_resize - cut @cut octets off the start of a frame and @behind off its end, and
 * put @head octets in front, whose contents are undefined
 *
 * @outer: IP version of the outer headers among them; 0: there are none
 * @holds: what is inside
 *
 * All pointers into the packet are void afterwards. Return: 0, or an error.
 */
static __always_inline int ctx_resize(struct ctx *ctx, __u32 cut, __u32 head, __u32 behind, __u32 outer, __u32 holds)
{
	return skb_resize(ctx->md, (__u64)(cut & 0xffff) | (__u64)(behind & 0xffff) << 16 |
			  (__u64)(head & 0xffff) << 32 | (__u64)outer << 48 | (__u64)holds << 56);
}

#define CTX_TAG_NONE	(-1)
#define CTX_TAG_OTHER	(-2)

/* ctx_tag - the TCI of the IEEE 802.1Q tag of a frame, which the kernel has taken out
 * of it
 *
 * Return: it, or CTX_TAG_*.
 */
static __always_inline int ctx_tag(const struct ctx *ctx)
{
	if (!ctx->md->vlan_present)
		return CTX_TAG_NONE;
	return ctx->md->vlan_proto == bpf_htons(ETH_P_8021Q) ? (int)(ctx->md->vlan_tci & 0xffff) : CTX_TAG_OTHER;
}

/* ctx_tag_off - take the tag off. Return: 0, or an error. */
static __always_inline int ctx_tag_off(struct ctx *ctx)
{
	return bpf_skb_vlan_pop(ctx->md);
}

/* md_tag_on - put a tag with @vid on, with priority 0. Return: 0, or an error. */
static __always_inline int md_tag_on(struct __sk_buff *md, __u32 vid)
{
	return bpf_skb_vlan_push(md, bpf_htons(ETH_P_8021Q), vid);
}

/* md_tags_back - put the tags that the kernel has taken out of a frame back into it,
 * where a bridge looks for them
 *
 * Two at most: what is in front of the second one is taken out when the first one goes.
 * Return: 0, or an error.
 */
static __always_inline int md_tags_back(struct __sk_buff *md)
{
	__be16 tags[4] = {};
	__u8 macs[2 * ETH_ALEN];
	__u32 octets = 0;

	for (int i = 0; i < 2 && md->vlan_present; i++) {
		tags[2 * i] = md->vlan_proto;
		tags[2 * i + 1] = bpf_htons(md->vlan_tci);
		octets += 4;
		if (bpf_skb_vlan_pop(md))
			return -1;
	}
	if (!octets)
		return 0;
	if (bpf_skb_load_bytes(md, 0, macs, sizeof(macs)) || bpf_skb_change_head(md, octets, 0) ||
	    bpf_skb_store_bytes(md, 0, macs, sizeof(macs), 0))
		return -1;
	return octets == 4 ? bpf_skb_store_bytes(md, sizeof(macs), tags, 4, 0)
			   : bpf_skb_store_bytes(md, sizeof(macs), tags, 8, 0);
}

/* ctx_reach - let pointers reach the whole frame
 *
 * All pointers into the packet are void afterwards. Return: 0, or an error.
 */
static __always_inline int ctx_reach(struct ctx *ctx)
{
	return md_linear(ctx->md, ~0U);
}
