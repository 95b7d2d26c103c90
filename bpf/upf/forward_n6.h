/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "forward.h"

/* forward on N6: by which next hop a user packet leaves. */

/* route_neighbour - the hop of an address on an on-link prefix of N6; 0: none */
static __always_inline __u32 route_neighbour(__u32 network, const struct in6_addr *addr)
{
	struct neighbour_key key = { .addr = *addr, .network = network };
	__u32 *index = bpf_map_lookup_elem(&hop_by_ip, &key);

	return index ? *index : 0;
}

static __always_inline void route_address(struct in6_addr *to, __u64 hi, __u64 lo)
{
	to->in6_u.u6_addr32[0] = bpf_htonl(hi >> 32);
	to->in6_u.u6_addr32[1] = bpf_htonl(hi);
	to->in6_u.u6_addr32[2] = bpf_htonl(lo >> 32);
	to->in6_u.u6_addr32[3] = bpf_htonl(lo);
}

/* route_hop - by the routes of a way, the hop of a destination
 *
 * @hi, @lo: the address, host order; IPv4 mapped
 * @hash:    of the flow
 *
 * Global, so that the verifier looks at it once and the common packet carries
 * nothing of it. Return: the MTU of the route << 16 | index in hops; 0: none.
 */
__noinline __u32 route_hop(__u32 way, __u64 hi, __u64 lo, __u32 hash)
{
	const struct n6_way *w = bpf_map_lookup_elem(&n6_ways, &way);
	const struct route_group *group;
	struct route_key key = { .prefixlen = 160 };
	__u32 *found;

	if (!w)
		return 0;
	key.table = w->table;
	route_address(&key.addr, hi, lo);
	found = bpf_map_lookup_elem(&group_by_prefix, &key);
	if (!found)
		return 0;
	if (*found == ROUTE_ONLINK)
		return route_neighbour(w->network, &key.addr);
	group = bpf_map_lookup_elem(&route_groups, found);
	if (!group)
		return 0;
	return group->mtu << 16 | *(volatile __u16 *)&group->hop[hash >> 26 & (GROUP_BUCKETS - 1)];
}

/* forward_neighbour - the hop of the destination, which is on-link */
static __always_inline __u32 forward_neighbour(const struct packet *p, __u32 network)
{
	const struct iphdr *ip = p->pos;
	const struct ipv6hdr *ip6 = p->pos;
	struct in6_addr addr = {};

	if (p->version == 4) {
		if (!packet_has(p, sizeof(*ip)))
			return 0;
		addr.in6_u.u6_addr32[2] = bpf_htonl(0xffff);
		addr.in6_u.u6_addr32[3] = ip->daddr;
	} else {
		if (!packet_has(p, sizeof(*ip6)))
			return 0;
		addr = ip6->daddr;
	}
	return route_neighbour(network, &addr);
}

/* forward_destination - that of the user packet, as route_hop() takes it
 *
 * Return: 0, or -DROP_INTERNAL.
 */
static __always_inline int forward_destination(const struct packet *p, __u64 *hi, __u64 *lo)
{
	const struct ipv6hdr *ip6 = p->pos;

	*hi = 0;
	*lo = 0xffffULL << 32 | p->dst_ip4;
	if (p->version == 6) {
		if (!packet_has(p, sizeof(*ip6)))
			return -DROP_INTERNAL;
		*hi = p->dst_ip6;
		*lo = (__u64)bpf_ntohl(ip6->daddr.in6_u.u6_addr32[2]) << 32 |
		      bpf_ntohl(ip6->daddr.in6_u.u6_addr32[3]);
	}
	return 0;
}

/* forward_routed - through the trie */
static __always_inline int forward_routed(const struct packet *p, __u32 way, struct route *r)
{
	__u64 hi, lo;
	__u32 found;
	int err = forward_destination(p, &hi, &lo);

	if (err)
		return err;
	found = route_hop(way, hi, lo, flow_hash(p));
	err = hop_use(found & 0xffff, packet_longest(p), r);
	if (!err && found >> 16 && packet_longest(p) > found >> 16)
		return -PASS_TOO_BIG;
	return err;
}

/* own_has - whether an address is this host's; global, so that the verifier looks at it
 * once
 *
 * @hi, @lo: as of route_hop()
 */
__noinline int own_has(__u64 hi, __u64 lo)
{
	struct in6_addr addr = {};

	route_address(&addr, hi, lo);
	return bpf_map_lookup_elem(&own_addresses, &addr) != NULL;
}

/* forward_own - keep a user packet from this host itself: a UE has no business with the
 * UPF's sockets, and no router behind N6 is to send it there in its place
 *
 * Of the address all is looked at first that makes a word: IPv4, or the second and the
 * last word of IPv6. Return: 0, or a negative enum upf_count.
 */
static __always_inline int forward_own(const struct packet *p)
{
	__u64 hi, lo;
	__u32 word;

	if (forward_destination(p, &hi, &lo))
		return -DROP_INTERNAL;
	word = (__u32)hi ^ (__u32)lo; /* of IPv4 hi is 0 */
	word *= 0x9e3779b1;
	if (__builtin_expect(!(own_bits[word >> 26] >> (word >> 20 & 63) & 1), 1))
		return 0;
	return own_has(hi, lo) ? -DROP_LOCAL : 0;
}

/* forward_way - to the neighbour, or the gateway, of the packet's destination */
static __always_inline int forward_way(const struct packet *p, __u32 way, struct route *r)
{
	const struct n6_way *w = bpf_map_lookup_elem(&n6_ways, &way);
	__u32 hop;

	if (!w)
		return -DROP_INTERNAL;
	r->changes = w->flags & N6_CHANGES;
	if (p->version == 4) {
		if (w->flags & N6_ROUTES4)
			return forward_routed(p, way, r);
		hop = (p->dst_ip4 & w->mask_ip4) == w->onlink_ip4 ? forward_neighbour(p, w->network) : w->gateway_ip4;
	} else {
		if (w->flags & N6_ROUTES6)
			return forward_routed(p, way, r);
		hop = (p->dst_ip6 & w->mask_ip6) == w->onlink_ip6 ? forward_neighbour(p, w->network) : w->gateway_ip6;
	}
	return hop_use(hop, packet_longest(p), r);
}

/* forward_bare - what the FAR of a G-PDU asks for: out on N6, as it is
 *
 * Source: TS 29.244 V18.6.0, 7.5.2.3. Return: 0, or a negative enum upf_count.
 */
static __always_inline int forward_bare(const struct match *m, const struct packet *p,
					struct route *r)
{
	if (!(m->ctl & RULE_FORW))
		return forward_refused(m);
	return forward_ttl(p) ?: forward_own(p) ?: forward_way(p, rule_n6(m->ctl), r);
}
