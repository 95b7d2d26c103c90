/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* All that differs between XDP and the other hooks: how a packet is reached,
 * grown, shrunk and sent. Included before the stages.
 */
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#define CTX_PASS	XDP_PASS
#define CTX_DROP	XDP_DROP

/* The kernel's context of the hook, as global functions take it. */
#define ctx_md		xdp_md

struct ctx {
	struct xdp_md *md;
};

/* The fields are 32 bits wide in the ABI and pointers in the kernel. As plain C
 * the compiler would spill 32 bits of them, which the verifier refuses.
 */
#define CTX_POINTER(ctx, field) ({					\
	void *__p;							\
	asm volatile("%0 = *(u32 *)(%1 + %2)"				\
		     : "=r"(__p)					\
		     : "r"((ctx)->md), "i"(offsetof(struct xdp_md, field))); \
	__p; })

static __always_inline void *ctx_data(const struct ctx *ctx)
{
	return CTX_POINTER(ctx, data);
}

static __always_inline void *ctx_end(const struct ctx *ctx)
{
	return CTX_POINTER(ctx, data_end);
}

/* ctx_octets - length of the linear part
 *
 * The barrier keeps the compiler from subtracting 32-bit halves of pointers.
 */
static __always_inline long ctx_octets(const struct ctx *ctx)
{
	long octets = (long)ctx_end(ctx) - (long)ctx_data(ctx);

	barrier_var(octets);
	return octets;
}

/* ctx_push - move the start of the packet by @octets, back if negative
 *
 * All pointers into the packet are void afterwards. Return: 0, or an error.
 */
static __always_inline int ctx_push(struct ctx *ctx, int octets)
{
	return bpf_xdp_adjust_head(ctx->md, octets);
}

/* ctx_resize - cut @cut octets off the start of a frame and @behind off its end, and
 * put @head octets in front, whose contents are undefined
 *
 * @outer: IP version of the outer headers among them; 0: there are none
 * @holds: IP version of what is inside; 0: a frame
 *
 * All pointers into the packet are void afterwards. Return: 0, or an error.
 */
static __always_inline int ctx_resize(struct ctx *ctx, long cut, int head, long behind, __u32 outer, __u32 holds)
{
	(void)outer;
	(void)holds;
	if (behind > 0 && bpf_xdp_adjust_tail(ctx->md, -(int)behind))
		return -1;
	return ctx_push(ctx, cut - head);
}

/* md_ifindex - the device on which the packet came */
static __always_inline __u32 md_ifindex(const struct ctx_md *md)
{
	return md->ingress_ifindex;
}

static __always_inline __u32 ctx_ifindex(const struct ctx *ctx)
{
	return md_ifindex(ctx->md);
}

static __always_inline int ctx_redirect(struct ctx *ctx, __u32 ifindex)
{
	(void)ctx;
	return bpf_redirect(ifindex, 0);
}

/* md_load - copy @octets from octet @at of the frame on. Return: 0, or an error. */
static __always_inline long md_load(struct ctx_md *md, __u32 at, void *to, __u32 octets)
{
	return bpf_xdp_load_bytes(md, at, to, octets);
}

static __always_inline int ctx_load(struct ctx *ctx, void *to, __u32 octets)
{
	return md_load(ctx->md, 0, to, octets);
}

struct tag_macs {
	__u32 word[3];
};

struct tag_frame {
	struct tag_macs macs;
	__be16 proto;
	__be16 tci;
};

#define TAG_OCTETS	4

#define CTX_TAG_NONE	(-1)
#define CTX_TAG_SHORT	(-2)

/* ctx_tag - the TCI of the IEEE 802.1Q tag of a frame
 *
 * Return: it, or CTX_TAG_*.
 */
static __always_inline int ctx_tag(const struct ctx *ctx)
{
	const struct tag_frame *f = ctx_data(ctx);

	if ((void *)(f + 1) > ctx_end(ctx))
		return CTX_TAG_SHORT;
	return f->proto == bpf_htons(ETH_P_8021Q) ? bpf_ntohs(f->tci) : CTX_TAG_NONE;
}

/* tag_move - move the MAC addresses and the start of the frame by @octets
 *
 * All pointers into the packet are void afterwards. Return: 0, or an error.
 */
static __always_inline int tag_move(struct ctx *ctx, int octets)
{
	struct tag_macs *at = ctx_data(ctx), macs;

	if ((void *)(at + 1) > ctx_end(ctx))
		return -1;
	macs = *at;
	if (ctx_push(ctx, octets))
		return -1;
	at = ctx_data(ctx);
	if ((void *)(at + 1) > ctx_end(ctx))
		return -1;
	*at = macs;
	return 0;
}

/* ctx_tag_off - take the tag off. Return: 0, or an error. */
static __always_inline int ctx_tag_off(struct ctx *ctx)
{
	return tag_move(ctx, TAG_OCTETS);
}

/* md_tag_on - put a tag with @vid on, with priority 0. Return: 0, or an error. */
static __always_inline int md_tag_on(struct ctx_md *md, __u32 vid)
{
	struct ctx ctx = { .md = md };
	struct tag_frame *f;

	if (tag_move(&ctx, -TAG_OCTETS))
		return -1;
	f = ctx_data(&ctx);
	if ((void *)(f + 1) > ctx_end(&ctx))
		return -1;
	f->proto = bpf_htons(ETH_P_8021Q);
	f->tci = bpf_htons(vid);
	return 0;
}

/* ctx_reach - let pointers reach the whole frame, as they do */
static __always_inline int ctx_reach(struct ctx *ctx)
{
	(void)ctx;
	return 0;
}
