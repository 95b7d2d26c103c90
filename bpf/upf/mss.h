/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "nat.h"

/* The MSS that a TCP SYN announces, lowered to what fits. Options are looked
 * through as far as packets of the world's TCPs have any in front of it.
 */
#define MSS_OPTIONS	10	/* that are stepped over */

/* mss_tcp - the TCP header of the user packet at octet @at, if it is a SYN whole
 * in one packet
 *
 * Return: its octet in the frame; 0: there is none; or a negative enum upf_count.
 */
static __always_inline int mss_tcp(struct ctx_md *md, __u32 at)
{
	void *data = (void *)(long)md->data, *end = (void *)(long)md->data_end;
	const struct ipv6hdr *ip6;
	const struct iphdr *ip;
	const __u8 *tcp;
	__u32 tcp_at, ip_end;

	if (at > OFFSET_MAX)
		return 0;
	ip = data + at;
	ip6 = data + at;
	if ((void *)(ip + 1) > end)
		return 0;
	if (ip->version == 4) {
		if (ip->protocol != IPPROTO_TCP)
			return 0;
		if (ip->ihl != 5 || ip->frag_off & bpf_htons(IP_FRAGMENT))
			return -PASS_N6;
		tcp_at = at + sizeof(*ip);
		ip_end = at + bpf_ntohs(ip->tot_len);
	} else {
		if ((void *)(ip6 + 1) > end)
			return 0;
		if (ip6->nexthdr != IPPROTO_TCP)
			return ip6->nexthdr == IPPROTO_UDP || ip6->nexthdr == IPPROTO_ICMPV6 ? 0 : -PASS_N6;
		tcp_at = at + sizeof(*ip6);
		ip_end = tcp_at + bpf_ntohs(ip6->payload_len);
	}
	tcp = data + tcp_at;
	if ((void *)(tcp + 20) > end || tcp_at + (tcp[12] >> 4) * 4 > ip_end)
		return -PASS_N6;
	return tcp[13] & TCP_SYN ? (int)tcp_at : 0;
}

/* mss_find - the octet of the MSS in the frame of a SYN at octet @tcp_at
 *
 * Return: 0 if there is none, or a negative enum upf_count.
 */
static __always_inline int mss_find(struct ctx_md *md, __u32 tcp_at)
{
	void *data = (void *)(long)md->data, *end = (void *)(long)md->data_end;
	const __u8 *tcp = data + (tcp_at & 0x7ff), *o;
	__u32 limit, at = 20;

	if ((void *)(tcp + 20) > end)
		return -PASS_N6;
	limit = (tcp[12] >> 4) * 4;
	for (int i = 0; i < MSS_OPTIONS; i++) {
		if (at + 1 > limit || at > 60)
			return 0;
		o = tcp + at;
		if ((void *)(o + 1) > end)
			return -PASS_N6;
		if (o[0] == 0)
			return 0;
		if (o[0] == 1) {
			at++;
			continue;
		}
		if ((void *)(o + 4) > end || at + 4 > limit)
			return -PASS_N6;
		if (o[0] == 2 && o[1] == 4)
			return (tcp_at & 0x7ff) + at + 2;
		if (o[1] < 2)
			return 0;
		at += o[1];
	}
	return -PASS_N6;
}

/* n6_mss - where the MSS of the user packet at octet @at stands in the frame
 *
 * Return: 0 if there is none, or a negative enum upf_count.
 */
__noinline int n6_mss(struct ctx_md *md, __u32 at)
{
	int tcp_at = mss_tcp(md, at);

	return tcp_at > 0 ? mss_find(md, tcp_at) : tcp_at;
}

/* n6_clamp - lower the MSS of the user packet at octet @at to that of a way
 *
 * Its place was found before, so it is found again.
 */
__noinline int n6_clamp(struct ctx_md *md, __u32 way, __u32 at)
{
	const struct n6_way *w = bpf_map_lookup_elem(&n6_ways, &way);
	void *data = (void *)(long)md->data, *end = (void *)(long)md->data_end;
	__u16 before, after;
	int tcp_at = mss_tcp(md, at), mss_at;
	__u8 *mss, *tcp;

	if (!w || tcp_at <= 0)
		return 0;
	mss_at = mss_find(md, tcp_at);
	if (mss_at <= 0)
		return 0;
	mss = data + (mss_at & 0x7ff);
	tcp = data + (tcp_at & 0x7ff);
	if ((void *)(mss + 2) > end || (void *)(tcp + 20) > end)
		return 0;
	after = (tcp_at - at) == sizeof(struct iphdr) ? w->mss_ip4 : w->mss_ip6;
	before = mss[0] << 8 | mss[1];
	if (before <= after)
		return 0;
	mss[0] = after >> 8;
	mss[1] = after;
	if (!((mss_at - tcp_at) & 1)) { /* words of the checksum are in wire order */
		before = bpf_htons(before);
		after = bpf_htons(after);
	}
	*(__u16 *)(tcp + 16) = sum_fold(*(__u16 *)(tcp + 16), sum_word(before, after));
	return 0;
}

/* n6_mark - set the DSCP of the user packet at octet @at to that of a way */
__noinline int n6_mark(struct ctx_md *md, __u32 way, __u32 at)
{
	const struct n6_way *w = bpf_map_lookup_elem(&n6_ways, &way);
	void *data = (void *)(long)md->data;
	struct iphdr *ip;
	__u16 before, after;

	if (!w || at > OFFSET_MAX)
		return 0;
	ip = data + at;
	if ((void *)(ip + 1) > (void *)(long)md->data_end)
		return 0;
	before = bpf_ntohs(*(__be16 *)ip);
	if (ip->version == 6) {
		*(__be16 *)ip = bpf_htons((before & ~0x0fc0) | w->dscp << 6);
		return 0;
	}
	after = (before & ~0x00fc) | w->dscp << 2;
	*(__be16 *)ip = bpf_htons(after);
	ip->check = sum_fold(ip->check, sum_word(bpf_htons(before), bpf_htons(after)));
	return 0;
}

/* n6_prepare - what the packet at octet @at needs to leave by a way
 *
 * @changes: N6_* of the way; an MSS that is not there is taken out
 * Return: the index of its mapping, 0, or a negative enum upf_count.
 */
static __always_inline int n6_prepare(struct ctx *ctx, __u32 way, __u32 *changes, __u32 at)
{
	int mss = *changes & N6_MSS ? n6_mss(ctx->md, at) : 0;

	if (mss < 0)
		return mss;
	if (!mss)
		*changes &= ~N6_MSS;
	return *changes & N6_NAT ? n6_mapping(ctx->md, way, at) : 0;
}

/* n6_arrive - the way whose MSS a bare packet at octet @at gets
 *
 * Most packets are no SYNs: where they come from need not be known then. Return:
 * its number; 0: none; or a negative enum upf_count.
 */
__noinline int n6_arrive(struct ctx_md *md, __u32 at)
{
	const struct n6_way *w;
	int mss = n6_mss(md, at);
	__u32 way;

	if (!mss)
		return 0;
	way = n6_number(md_ifindex(md));
	w = bpf_map_lookup_elem(&n6_ways, &way);
	if (!way || !w || !(w->flags & N6_MSS))
		return 0;
	return mss > 0 ? (int)way : mss;
}

/* n6_leave - do it. Return: 0, or a negative enum upf_count. */
static __always_inline int n6_leave(struct ctx *ctx, __u32 way, __u32 changes, __u32 at, __u32 mapping)
{
	if (changes & N6_MSS)
		n6_clamp(ctx->md, way, at);
	if (changes & N6_DSCP)
		n6_mark(ctx->md, way, at);
	return mapping ? n6_translate(ctx->md, mapping, at, 0) : 0;
}
