/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "mss.h"
#include "trace.h"
#include "vlan.h"

#define TTL_OUTER 64

/* emit_ttl - take one off TTL or Hop Limit
 *
 * The checksum is changed by the difference, so that a wrong one stays wrong.
 * Source: RFC 1624.
 */
static __always_inline int emit_ttl(const struct packet *p)
{
	struct iphdr *ip = p->pos;
	struct ipv6hdr *ip6 = p->pos;
	__u32 sum;

	if (p->version == 6) {
		if (!packet_has(p, sizeof(*ip6)))
			return -DROP_INTERNAL;
		ip6->hop_limit--;
		return 0;
	}
	if (!packet_has(p, sizeof(*ip)))
		return -DROP_INTERNAL;
	ip->ttl--;
	sum = (__u32)ip->check + bpf_htons(0x0100);
	ip->check = sum + (sum >= 0xffff);
	return 0;
}

static __always_inline void emit_mac(__u8 *to, __u64 mac)
{
	*(__u32 *)to = mac;
	*(__u16 *)(to + 4) = mac >> 32;
}

static __always_inline void emit_eth(struct ethhdr *eth, const struct route *r, __u16 proto)
{
	emit_mac(eth->h_dest, r->dst);
	emit_mac(eth->h_source, r->hop->src);
	eth->h_proto = bpf_htons(proto);
	trace_sent(r->hop->ifindex);
}

/* emit_send - let a whole frame leave, with the tag of the port
 *
 * Return: an action, -PASS_AGAIN, or a negative enum upf_count.
 */
static __always_inline int emit_send(struct ctx *ctx, const struct route *r)
{
	__u32 vid = r->hop->vlan;

	if (vid) {
		if (vid == HOP_OWN)
			return -PASS_AGAIN;
		if (vlan_put(ctx->md, vid))
			return -DROP_INTERNAL;
	}
	return ctx_redirect(ctx, r->hop->ifindex);
}

/* emit_resize - make the frame @head octets of new headers, the last @kept octets
 * in front of the user packet, and the user packet
 *
 * @outer: IP version of the new headers, if they are a tunnel's; else 0
 *
 * All else is cut off. Pointers are void afterwards. Return: 0, or a negative
 * enum upf_count.
 */
static __always_inline int emit_resize(struct ctx *ctx, const struct packet *p, int head, __u32 kept, __u32 outer)
{
	long before = (long)p->pos - (long)ctx_data(ctx);
	long behind = packet_behind(ctx, p);

	/* Pointers are subtracted on 64 bits and before anything else. */
	barrier_var(before);
	barrier_var(behind);
	behind -= p->octets;
	return ctx_resize(ctx, before - kept, head, behind, outer, p->version) ? -DROP_INTERNAL : 0;
}

/* emit_bare - Outer Header Removal, and out on N6
 *
 * Source: TS 29.244 V18.6.0, 8.2.64. Return: an action, or a negative enum
 * upf_count.
 */
static __always_inline int emit_bare(struct ctx *ctx, const struct packet *p,
				     const struct route *r)
{
	struct ethhdr *eth;

	if (emit_ttl(p) || emit_resize(ctx, p, sizeof(*eth), 0, 0))
		return -DROP_INTERNAL;
	eth = ctx_data(ctx);
	if ((void *)(eth + 1) > ctx_end(ctx))
		return -DROP_INTERNAL;
	emit_eth(eth, r, p->version == 4 ? ETH_P_IP : ETH_P_IPV6);
	return emit_send(ctx, r);
}

static __always_inline __u16 emit_sum_ip4(const struct iphdr *ip)
{
	const __u16 *w = (const void *)ip;
	__u32 sum = 0;

	for (int i = 0; i < 10; i++)
		sum += w[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~((sum & 0xffff) + (sum >> 16));
}

/* emit_source_port - one for a flow of the user, so that routers and NICs on N3
 * can spread them
 *
 * From the dynamic range, 49152 to 65535. Source: TS 29.281 V18.1.0, 4.4.2.0.
 */
static __always_inline __be16 emit_source_port(const struct route *r)
{
	return bpf_htons(0xc000 | r->flow >> 18);
}

/* emit_gtpu - write the fixed part of GTP-U
 *
 * @octets: that follow it
 * Source: TS 29.281 V18.1.0, 5.1.
 */
static __always_inline void emit_gtpu(struct gtpu_hdr *gtpu, const struct route *r, __u32 octets)
{
	gtpu->flags = route_optional(r) ? GTPU_V1_PT | GTPU_E : GTPU_V1_PT;
	gtpu->type = GTPU_G_PDU;
	gtpu->length = bpf_htons(octets);
	gtpu->teid = r->teid;
}

/* emit_headers - write IPv4, UDP and the fixed part of GTP-U
 *
 * @octets: from the outer IP header on
 *
 * ECN is cleared in the outer header, so that nothing has to be carried over
 * when it is removed (RFC 6040, compatibility mode). The packet is atomic, its
 * Identification 0 (RFC 6864). The UDP checksum is 0: the user packet has its own.
 */
static __always_inline void emit_headers(struct iphdr *ip, const struct route *r, __u32 octets)
{
	struct udphdr *udp = (void *)(ip + 1);

	*(__u8 *)ip = 0x45;
	ip->tos = r->dscp << 2;
	ip->tot_len = bpf_htons(octets);
	ip->id = 0;
	ip->frag_off = bpf_htons(IP_DF);
	ip->ttl = TTL_OUTER;
	ip->protocol = IPPROTO_UDP;
	ip->check = 0;
	ip->saddr = r->hop->src_ip[3];
	ip->daddr = r->hop->ip[3];
	ip->check = emit_sum_ip4(ip);

	udp->source = emit_source_port(r);
	udp->dest = bpf_htons(GTPU_PORT);
	udp->len = bpf_htons(octets - sizeof(*ip));
	udp->check = 0;
	emit_gtpu((void *)(udp + 1), r, octets - OUTER_IP4);
}

/* emit_psc - write the optional word and a PDU Session Container
 *
 * Source: TS 38.415 V18.0.0, 5.5.2.
 */
static __always_inline void emit_psc(struct gtpu_opt *opt, const struct route *r)
{
	struct gtpu_psc *psc = (void *)(opt + 1);

	opt->seq = 0;
	opt->npdu = 0;
	opt->next_ext = GTPU_EXT_PSC;
	psc->len = 1;
	psc->pdu_type = r->pdu_type;
	psc->qfi = r->qfi;
	psc->next_ext = 0;
}

/* emit_kept - take what is of the old tunnel out of the optional word, which stands
 * where it stood, and write the QFI into the first container
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int emit_kept(const struct ctx *ctx, struct gtpu_opt *opt, const struct route *r)
{
	struct gtpu_psc *psc = (void *)opt + (r->psc_at & RELAY_MASK);

	if ((void *)(opt + 1) > ctx_end(ctx))
		return -DROP_INTERNAL;
	opt->seq = 0;
	opt->npdu = 0;
	if (!r->psc_at)
		return 0;
	if ((void *)(psc + 1) > ctx_end(ctx))
		return -DROP_INTERNAL;
	psc->qfi = r->qfi;
	return 0;
}

/* emit_optional - write what stands behind the fixed part of GTP-U
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int emit_optional(const struct ctx *ctx, void *at, const struct route *r)
{
	if (r->kept)
		return emit_kept(ctx, at, r);
	if (!r->has_psc)
		return 0;
	if (at + OUTER_PSC > ctx_end(ctx))
		return -DROP_INTERNAL;
	emit_psc(at, r);
	return 0;
}

#include "emit_ip6.h"

/* emit_outer - Outer Header Creation, and out to the peer
 *
 * Source: TS 29.244 V18.6.0, 8.2.56. Return: an action, or a negative enum
 * upf_count.
 */
static __always_inline int emit_outer(struct ctx *ctx, const struct packet *p,
				      const struct route *r)
{
	int head = OUTER_IP4 + route_optional(r);
	__u32 stays = route_stays(r);
	struct ethhdr *eth;

	if (!r->hop) /* never so, but the verifier of 6.1 does not see it (bounds.h) */
		return -DROP_INTERNAL;
	if (r->hop->outer != OUTER_IP4)
		return emit_outer_ip6(ctx, p, r);
	if (emit_resize(ctx, p, sizeof(*eth) + head + r->kept - stays, stays, 4))
		return -DROP_INTERNAL;
	eth = ctx_data(ctx);
	if ((void *)(eth + 1) + OUTER_IP4 > ctx_end(ctx))
		return -DROP_INTERNAL;
	emit_eth(eth, r, ETH_P_IP);
	emit_headers((void *)(eth + 1), r, head + r->kept + p->octets);
	if (emit_optional(ctx, (void *)(eth + 1) + OUTER_IP4, r))
		return -DROP_INTERNAL;
	return emit_send(ctx, r);
}
