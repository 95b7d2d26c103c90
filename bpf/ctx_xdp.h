/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* All that differs between XDP and the other hooks: how a packet is reached,
 * grown, shrunk and sent. Included before the stages.
 */
#include <stddef.h>
#include <linux/bpf.h>
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

/* ctx_trim - take @octets off the end
 *
 * All pointers into the packet are void afterwards. Return: 0, or an error.
 */
static __always_inline int ctx_trim(struct ctx *ctx, int octets)
{
	return bpf_xdp_adjust_tail(ctx->md, -octets);
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
