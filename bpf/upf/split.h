/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "maps.h"

/* What the stages cannot treat as it comes: a super-packet that is not sure to leave
 * whole, and a packet whose checksum is left to its receiver's device, which on the
 * way through a tunnel would be nobody. The kernel cuts and finishes what is sent to a
 * device that can do neither itself. So there is a pair of devices of ours: what is to
 * be cut goes in at split_tx, and comes out at split_rx in packets as they would be on
 * a wire, whose mark says where they came from. There the stages are run again.
 *
 *	N6 ─► stages ─► split_tx ═ kernel cuts ═► split_rx ─► stages ─► N3
 */

#ifdef CTX_SKB

#include <linux/tcp.h>

static __always_inline int split_done(const struct __sk_buff *md)
{
	return md->ingress_ifindex == split_rx || !split_tx;
}

/* split_first - whether a super-packet cannot be treated whole, or not by a rule as it
 * stands, which may have to count those that wait
 */
static __always_inline int split_first(const struct packet *p, const struct rule *rule)
{
	if (!packet_super(p))
		return 0;
	return !p->whole || *(volatile __u32 *)&rule->ctl & (RULE_CHANGING | RULE_SLOW | RULE_QUEUED);
}

/* sum_pseudo4 - of an IPv4 packet, as the kernel puts it into a checksum that is still
 * to be made; sum_pseudo6 the same of IPv6
 */
static __always_inline __u32 sum_fold16(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

static __always_inline __u32 sum_pseudo4(const struct iphdr *ip, __u32 octets)
{
	return sum_fold16((__u64)ip->saddr + ip->daddr + bpf_htons(ip->protocol) + bpf_htons(octets));
}

static __always_inline __u32 sum_pseudo6(const struct ipv6hdr *ip6, __u32 octets)
{
	const __u32 *w = (const void *)&ip6->saddr;
	__u64 sum = bpf_htons(ip6->nexthdr) + bpf_htons(octets);

#pragma unroll
	for (int i = 0; i < 8; i++)
		sum += w[i];
	return sum_fold16(sum);
}

/* sum_left - whether the checksum of the upper layer at @l4 may be left to be made:
 * it is the sum of the pseudo header, @sum, alone
 *
 * One of 65536 others is, too: the kernel knows better then, and leaves it as it is.
 * Of SCTP nothing is there yet.
 */
static __always_inline int sum_left(const void *l4, const void *end, __u32 protocol, __u32 sum)
{
	const __u16 *w = l4;

	switch (protocol) {
	case IPPROTO_TCP:
		return (const void *)(w + 9) <= end && w[8] == sum;
	case IPPROTO_UDP:
		return (const void *)(w + 4) <= end && w[3] == sum;
	case IPPROTO_SCTP:
		return (const void *)(w + 6) <= end && !(w[4] | w[5]);
	}
	return 0;
}

/* split_unfinished4 - whether a checksum of the IPv4 packet at @ip may be left to be made */
static __always_inline int split_unfinished4(const struct iphdr *ip, const void *end)
{
	__u32 header = ip->ihl * 4;

	if (ip->frag_off & bpf_htons(IP_FRAGMENT))
		return 0;
	return sum_left((const void *)ip + header, end, ip->protocol, sum_pseudo4(ip, bpf_ntohs(ip->tot_len) - header));
}

/* An extension header hides what is behind it: the kernel is asked. */
#define SPLIT_EXTS (1ULL << 0 | 1ULL << 43 | 1ULL << 60)

static __always_inline int split_unfinished6(const struct ipv6hdr *ip6, const void *end)
{
	if (ip6->nexthdr < 64 && SPLIT_EXTS >> (ip6->nexthdr & 63) & 1)
		return 1;
	return sum_left(ip6 + 1, end, ip6->nexthdr, sum_pseudo6(ip6, bpf_ntohs(ip6->payload_len)));
}

/* split_unfinished - whether the bare packet at the cursor has to have its checksum
 * finished before it goes into a tunnel
 */
static __always_inline int split_unfinished(const struct ctx *ctx, const struct packet *p)
{
	if (packet_super(p) || split_done(ctx->md))
		return 0;
	if (p->version == 4)
		return packet_has(p, sizeof(struct iphdr)) && split_unfinished4(p->pos, p->end);
	return packet_has(p, sizeof(struct ipv6hdr)) && split_unfinished6(p->pos, p->end);
}

/* split_frame - whether a frame of an Ethernet data network has to be cut, or its checksum
 * to be finished
 */
static __always_inline int split_frame(const struct __sk_buff *md)
{
	const void *end = (void *)(long)md->data_end, *ip = (void *)(long)md->data + ETH_HLEN;

	if (split_done(md))
		return 0;
	if (md_segment(md))
		return 1;
	if (md->protocol == bpf_htons(ETH_P_IP))
		return ip + sizeof(struct iphdr) <= end && split_unfinished4(ip, end);
	if (md->protocol == bpf_htons(ETH_P_IPV6))
		return ip + sizeof(struct ipv6hdr) <= end && split_unfinished6(ip, end);
	return 0;
}

/* split_before_nat - the same of the IPv4 packet at octet @at, which a NAT would
 * change; and no super-packet is translated whole
 */
static __always_inline int split_before_nat(const struct __sk_buff *md, __u32 at)
{
	const void *end = (void *)(long)md->data_end;
	const struct iphdr *ip;

	if (md_segment(md) || split_done(md) || at > 64)
		return md_segment(md) && !split_done(md);
	ip = (void *)(long)md->data + at;
	return (const void *)(ip + 1) <= end && split_unfinished4(ip, end);
}

/* super_tunnel - whether a super-packet may leave whole through a tunnel
 *
 * Nobody who cuts it later mends the Length of GTP-U, so the receiver has to be one
 * that takes it whole. Return: 0, or -PASS_SPLIT.
 */
static __always_inline int super_tunnel(const struct packet *p, const struct hop *hop)
{
	if (!packet_super(p))
		return 0;
	if (hop->vlan == HOP_OWN || hop->outer != sizeof(struct iphdr) + sizeof(struct udphdr) + sizeof(struct gtpu_hdr))
		return -PASS_SPLIT;
#pragma unroll
	for (int i = 0; i < SUPER_DEVICES; i++)
		if (super_devices[i] && super_devices[i] == hop->ifindex)
			return 0;
	return -PASS_SPLIT;
}

#else

#define split_first(p, rule)		0
#define split_unfinished(ctx, p)	0
#define split_before_nat(md, at)	0
#define super_tunnel(p, hop)		0

#endif
