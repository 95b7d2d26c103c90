/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "parse_gtpu.h"

/* What a relay has to know of extension headers: only packets with more than a
 * PDU Session Container of one word come here.
 */

#define RELAY_MASK	0x3fff	/* of an offset in a frame, for the verifier */

static __always_inline __u32 relay_octet(const struct ctx *ctx, __u32 at)
{
	const __u8 *pos = ctx_data(ctx) + (at & RELAY_MASK);

	return (const void *)(pos + 1) <= ctx_end(ctx) ? *pos : 0;
}

/* relay_exts_at - where the first extension header stands in the frame */
static __always_inline __u32 relay_exts_at(const struct ctx *ctx, const struct packet *p)
{
	long at = (long)p->pos - (long)ctx_data(ctx);

	barrier_var(at);
	return at - p->exts_octets;
}

/* relay_passes_on - whether an intermediate node forwards an extension header of
 * @type: bits 8 and 7 are 00 or 10, or it is a PDCP PDU Number
 *
 * Source: TS 29.281 V18.1.0, figure 5.2.1-2.
 */
static __always_inline int relay_passes_on(__u32 type)
{
	return !(type & 0x40) || type == 0xc0;
}

/* relay_exts - whether the extension headers from @at, which parse has let pass,
 * can go on as they are, but for @marks, QFI and RQI, in the first container
 *
 * If one is for this hop only, or a container has to come before them, the slow
 * path makes them anew. Global, so that the verifier looks at it once.
 *
 * Return: if there are marks the octets from the optional word to that container,
 * else 0; or a negative enum upf_count.
 */
__noinline int relay_exts(struct ctx_md *md, __u32 at, __u32 marks)
{
	struct ctx ctx = { .md = md };
	__u32 start = at - sizeof(struct gtpu_opt), psc_at = 0;

	for (int i = 0; i < GTPU_EXT_MAX; i++) {
		__u32 type = relay_octet(&ctx, at - 1);

		if (!type)
			break;
		if (!relay_passes_on(type))
			return -PASS_RULES;
		if (type == GTPU_EXT_PSC && !psc_at)
			psc_at = at - start;
		at += relay_octet(&ctx, at) * 4;
	}
	if (marks && psc_at)
		return psc_at & RELAY_MASK;
	return marks & GTPU_PSC_QFI ? -PASS_RULES : 0;
}
