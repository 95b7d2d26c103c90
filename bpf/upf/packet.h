/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include "maps.h"

#define IP_DF		0x4000
#define IP_FRAGMENT	0x3fff	/* more fragments, or an offset */

/* What the stages know of a packet.
 *
 * pos and left are the cursor: left is how many octets the enclosing header
 * says there are, never more than the frame has. The verifier believes only
 * comparisons with end, hence two conditions in packet_has().
 */
struct packet {
	void *pos, *end;
	__u32 left;
	__u32 octets;		/* length of the user packet */
	__u32 teid;		/* uplink: host order, */
	__u32 local;		/* and the tag of the own address: rule_key_teid() */
	__u32 src_ip4, dst_ip4;	/* of the user packet, host order */
	__u64 src_ip6, dst_ip6;	/* their first 64 bits, host order */
	__u8 version;		/* of the user packet: 4 or 6 */
	__u8 dscp;		/* of the user packet */
	__u32 has_psc;		/* there is a PDU Session Container, which begins with */
	__u32 pdu_type;		/* this octet: PDU type and flags, */
	__u32 qfi;		/* and this one: flags and QFI */
	__u32 exts;		/* not 0: there are extension headers beside one of one word; GTPU_FOREIGN */
	__u32 exts_octets;	/* of all of them, which end where the user packet begins */
#ifdef CTX_SKB
	struct __sk_buff *md;
	__u32 whole;		/* of a super-packet: it can go on as it is */
	__u32 longest;		/* octets of the user packet, or of the longest that it stands for */
	__u32 amount;		/* what it counts as: AMOUNT_* */
#endif
};

static __always_inline void packet_init(struct packet *p, const struct ctx *ctx)
{
	p->pos = ctx_data(ctx);
	p->end = ctx_end(ctx);
	p->left = ctx_octets(ctx);
#ifdef CTX_SKB
	p->md = ctx->md;
#endif
}

static __always_inline int packet_has(const struct packet *p, __u32 octets)
{
	return octets <= p->left && p->pos + octets <= p->end;
}

/* packet_at - the octet of the frame at which the cursor is */
static __always_inline __u32 packet_at(const struct ctx *ctx, const struct packet *p)
{
	long at = (long)p->pos - (long)ctx_data(ctx);

	barrier_var(at);
	return at;
}

static __always_inline void packet_pull(struct packet *p, __u32 octets)
{
	p->pos += octets;
	p->left -= octets;
}

/* packet_behind - octets from the cursor to the end of the frame, on 64 bits */
static __always_inline long packet_behind(const struct ctx *ctx, const struct packet *p)
{
#ifdef CTX_SKB
	return ctx_octets(ctx) - packet_at(ctx, p);
#else
	(void)ctx;
	return (long)p->end - (long)p->pos;
#endif
}

#include "super.h"
