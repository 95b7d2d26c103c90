/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "parse_gtpu.h"

/* parse_ip4 - check that a whole IPv4 packet stands at the cursor and forget
 * what stands behind it
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int parse_ip4(struct packet *p)
{
	const struct iphdr *ip = p->pos;
	__u32 octets;

	if (!packet_has(p, sizeof(*ip)))
		return -DROP_IP_SHORT;
	octets = bpf_ntohs(ip->tot_len);
	if (ip->ihl < 5 || octets < ip->ihl * 4 || octets > p->left)
		return -DROP_IP_SHORT;
	p->left = octets;
	return 0;
}

static __always_inline __u64 ip6_prefix(const struct in6_addr *a)
{
	return (__u64)bpf_ntohl(a->in6_u.u6_addr32[0]) << 32 | bpf_ntohl(a->in6_u.u6_addr32[1]);
}

static __always_inline int parse_user_ip4(struct packet *p)
{
	const struct iphdr *ip = p->pos;
	int err = parse_ip4(p);

	if (err)
		return err;
	p->octets = p->left;
	p->src_ip4 = bpf_ntohl(ip->saddr);
	p->dst_ip4 = bpf_ntohl(ip->daddr);
	p->dscp = ip->tos >> 2;
	return 0;
}

static __always_inline int parse_user_ip6(struct packet *p)
{
	const struct ipv6hdr *ip6 = p->pos;

	if (!packet_has(p, sizeof(*ip6)))
		return -DROP_IP_SHORT;
	p->octets = sizeof(*ip6) + bpf_ntohs(ip6->payload_len);
	if (p->octets > p->left)
		return -DROP_IP_SHORT;
	p->src_ip6 = ip6_prefix(&ip6->saddr);
	p->dst_ip6 = ip6_prefix(&ip6->daddr);
	p->dscp = bpf_ntohs(*(__be16 *)ip6) >> 6 & 0x3f;
	return 0;
}

/* parse_user - read the IP header of the user packet at the cursor
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int parse_user(struct packet *p)
{
	if (!packet_has(p, 1))
		return -DROP_IP_SHORT;
	p->version = *(__u8 *)p->pos >> 4;
	if (p->version == 4)
		return parse_user_ip4(p);
	if (p->version == 6)
		return parse_user_ip6(p);
	return -DROP_IP_VERSION;
}

/* parse_local_ip4 - whether GTP-U is terminated at @addr */
static __always_inline int parse_local_ip4(__be32 addr)
{
#pragma unroll
	for (int i = 0; i < ENDPOINT_MAX; i++) {
		if (!endpoint_ip4[i])
			return 0;
		if (endpoint_ip4[i] == addr)
			return 1;
	}
	return 0;
}

static __always_inline int parse_local_ip6(const struct in6_addr *addr)
{
	const __u32 *a = (const void *)addr;

#pragma unroll
	for (int i = 0; i < ENDPOINT_MAX; i++) {
		const volatile struct endpoint_ip6 *e = &endpoint_ip6[i];

		if (!e->word[0])
			return 0;
		if (e->word[0] == a[0] && e->word[1] == a[1] && e->word[2] == a[2] && e->word[3] == a[3])
			return 1;
	}
	return 0;
}

#define LOCAL_SPREAD	0x9e3779b97f4a7c15ULL

/* parse_tag_ip6 - endpoint.Tag of an IPv6 address
 *
 * As with IPv4 the address is read from the packet once more: where it has been compared
 * with those of the endpoints the verifier knows it, and would look at all that follows
 * once for each.
 */
static __always_inline __u32 parse_tag_ip6(const struct in6_addr *addr)
{
	const volatile __be32 *word = (const void *)addr;
	__u64 high = (__u64)bpf_ntohl(word[0]) << 32 | bpf_ntohl(word[1]);
	__u64 low = (__u64)bpf_ntohl(word[2]) << 32 | bpf_ntohl(word[3]);

	return 0xfU << 28 | (high * LOCAL_SPREAD ^ low) * LOCAL_SPREAD >> 36;
}

/* parse_outer_ip4 - from the outer IPv4 header to that of UDP
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int parse_outer_ip4(struct packet *p)
{
	const struct iphdr *ip = p->pos;
	int err;

	if (!packet_has(p, sizeof(*ip)))
		return -PASS_HOST;
	if (!parse_local_ip4(ip->daddr) || ip->protocol != IPPROTO_UDP || ip->version != 4)
		return -PASS_HOST;
	if (ip->frag_off & bpf_htons(IP_FRAGMENT))
		return -PASS_FRAGMENT;
	p->local = bpf_ntohl(*(volatile __be32 *)&ip->daddr);
	err = parse_ip4(p);
	if (err)
		return err;
	packet_pull(p, ip->ihl * 4);
	return 0;
}

/* ip6_octets - octets of an IPv6 header, which the verifier takes for those of one of IPv4:
 * so it looks once at all that follows, and not for each version
 */
static __always_inline __u32 ip6_octets(const struct ipv6hdr *ip6)
{
	__u32 version = *(volatile __u8 *)ip6 >> 4;

	return sizeof(*ip6) ^ (version & 1) << 2;
}

/* parse_outer_ip6 - from the outer IPv6 header to that of UDP
 *
 * A packet with other extension headers is left to the host, which steps over
 * them. Return: 0, or a negative enum upf_count.
 */
static __always_inline int parse_outer_ip6(struct packet *p)
{
	const struct ipv6hdr *ip6 = p->pos;
	__u32 octets;

	if (!packet_has(p, sizeof(*ip6)))
		return -PASS_HOST;
	if (!parse_local_ip6(&ip6->daddr) || ip6->version != 6)
		return -PASS_HOST;
	if (ip6->nexthdr != IPPROTO_UDP)
		return ip6->nexthdr == IPPROTO_FRAGMENT ? -PASS_FRAGMENT : -PASS_HOST;
	octets = sizeof(*ip6) + bpf_ntohs(ip6->payload_len);
	if (octets > p->left)
		return -DROP_IP_SHORT;
	p->left = octets;
	p->local = parse_tag_ip6(&ip6->daddr);
	packet_pull(p, ip6_octets(ip6));
	return 0;
}

/* parse_outer - from the frame to the outer UDP header
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int parse_outer(struct packet *p)
{
	const struct ethhdr *eth = p->pos;

	if (!packet_has(p, sizeof(*eth)))
		return -PASS_HOST;
	packet_pull(p, sizeof(*eth));
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		return parse_outer_ip4(p);
	return eth->h_proto == bpf_htons(ETH_P_IPV6) ? parse_outer_ip6(p) : -PASS_HOST;
}

/* parse_message - from the frame to the T-PDU inside a G-PDU
 *
 * The outer UDP checksum is not looked at: the user packet has its own.
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int parse_message(struct packet *p)
{
	const struct udphdr *udp;
	int err = parse_outer(p);

	if (err)
		return err;
	udp = p->pos;
	if (!packet_has(p, sizeof(*udp)) || udp->dest != bpf_htons(GTPU_PORT))
		return -PASS_HOST;
	packet_pull(p, sizeof(*udp));
	return parse_gtpu(p);
}

/* parse_tunnelled - from the frame to the user packet inside a G-PDU
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int parse_tunnelled(struct packet *p)
{
	int err = parse_message(p);

	return err ? err : parse_user(p);
}

/* parse_bare - from the frame to the user packet
 *
 * One whose version is not that of the frame's type is nobody's packet.
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int parse_bare(struct packet *p)
{
	const struct ethhdr *eth = p->pos;

	if (!packet_has(p, sizeof(*eth)))
		return -PASS_HOST;
	if (eth->h_proto != bpf_htons(ETH_P_IP) && eth->h_proto != bpf_htons(ETH_P_IPV6))
		return -PASS_HOST;
	packet_pull(p, sizeof(*eth));
	if (packet_has(p, 1) && *(__u8 *)p->pos >> 4 == (eth->h_proto == bpf_htons(ETH_P_IP) ? 6 : 4))
		return -PASS_HOST;
	return parse_user(p);
}
