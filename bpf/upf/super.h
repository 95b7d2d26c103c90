/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* Super-packets, a part of packet.h. On TC a packet may stand for many: one that a
 * sender on this machine left to be cut (GSO), or of which the kernel put together
 * what came (GRO). One TCP segment of up to 64 kbyte goes through the stages whole,
 * if nothing can become of it but that all its segments leave. It counts as what
 * they are: so many packets, each with its IP and TCP headers; and the longest has
 * to fit. All else is cut first: split.h.
 */

#ifdef CTX_SKB

/* What meters and URRs are told of a packet: octets, and above how many packets more
 * than one it stands for.
 */
#define AMOUNT_BITS	20
#define AMOUNT_OCTETS(amount)	((amount) & ((1U << AMOUNT_BITS) - 1))
#define AMOUNT_PACKETS(amount)	(1 + ((amount) >> AMOUNT_BITS))
#define SUPER_MAX	(1U << (32 - AMOUNT_BITS))	/* packets */

/* packet_super - whether it is a super-packet
 *
 * The verifier learns nothing of it, so that it does not look at all stages twice.
 */
static __always_inline int packet_super(const struct packet *p)
{
	return md_segment(p->md) != 0;
}

#define packet_amount(p)	((p)->amount)
#define packet_longest(p)	((p)->longest)

/* packet_single - say that it counts as what it is */
static __always_inline void packet_single(struct packet *p)
{
	p->amount = p->octets;
	p->longest = p->octets;
}

/* super_headers - octets of the IP and TCP headers of the user packet; 0: it is
 * nothing that can go on whole
 */
static __always_inline __u32 super_headers(const struct packet *p)
{
	const struct iphdr *ip = p->pos;
	const struct ipv6hdr *ip6 = p->pos;
	const __u8 *tcp;
	__u32 at = sizeof(*ip6);

	if (p->version == 4) {
		if (!packet_has(p, sizeof(*ip)) || ip->protocol != IPPROTO_TCP || ip->ihl != 5 ||
		    ip->frag_off & bpf_htons(IP_FRAGMENT))
			return 0;
		at = sizeof(*ip);
	} else if (!packet_has(p, sizeof(*ip6)) || ip6->nexthdr != IPPROTO_TCP) {
		return 0;
	}
	tcp = p->pos + at;
	if ((void *)(tcp + 13) > p->end)
		return 0;
	return at + (tcp[12] >> 4) * 4;
}

/* super_begin - find out what a super-packet stands for, when the user packet in it
 * has been parsed
 *
 * It has to fill the frame: one in which there are several G-PDUs does not.
 */
static __always_inline void super_begin(const struct ctx *ctx, struct packet *p)
{
	__u32 size = md_segment(ctx->md), headers, payload, segments;

	packet_single(p);
	if (!size)
		return;
	headers = super_headers(p);
	if (!headers || p->octets <= headers || packet_behind(ctx, p) != p->octets)
		return;
	payload = p->octets - headers;
	segments = (payload + size - 1) / size;
	if (segments >= SUPER_MAX)
		return;
	p->whole = 1;
	p->longest = payload < size ? p->octets : headers + size;
	p->amount = (payload + segments * headers) | (segments - 1) << AMOUNT_BITS;
}

#else

#define AMOUNT_OCTETS(amount)	(amount)
#define AMOUNT_PACKETS(amount)	1
#define packet_super(p)		((void)(p), 0)
#define packet_amount(p)	((p)->octets)
#define packet_longest(p)	((p)->octets)
#define packet_single(p)
#define super_begin(ctx, p)

#endif
