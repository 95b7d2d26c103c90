/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "flow.h"
#include "maps.h"

/* IEEE 802.1Q tags on devices of which a port is tagged. A frame with the tag of a
 * port is one of that port, and loses the tag before the stages see it: also if it
 * is then passed to the host, to which the device looks like one without tags.
 * What the host sends gets its tag in vlan.bpf.c.
 *
 * A tag with VID 0 has a priority only: the frame is treated as without it.
 * Source: IEEE Std 802.1Q-2022, 9.6.
 */

#define VLAN_VID	0x0fff	/* in the TCI */
#define VLAN_MAX	128	/* tags on all devices */

/* What a port is. */
#define VLAN_GTPU	1
#define VLAN_N6		2
#define VLAN_ETHER	4	/* of an Ethernet data network */

struct vlan_key {
	__u32 ifindex;
	__u32 vid;		/* 0: without tag */
};

/* VLAN_* by device and tag, of devices of which a port is tagged. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VLAN_MAX);
	__type(key, struct vlan_key);
	__type(value, __u32);
} vlan_roles SEC(".maps");

static __always_inline __u32 vlan_role(const struct ctx *ctx, __u32 vid)
{
	struct vlan_key key = { .ifindex = ctx_ifindex(ctx), .vid = vid };
	__u32 *role = bpf_map_lookup_elem(&vlan_roles, &key);

	return role ? *role : 0;
}

/* vlan_arrive - which port a frame is of, and take off its tag
 *
 * Return: VLAN_*, or 0 and the frame as it was.
 */
static __always_inline __u32 vlan_arrive(struct ctx *ctx)
{
	int tci = ctx_tag(ctx);
	__u32 role;

	if (tci == CTX_TAG_NONE)
		return vlan_role(ctx, 0);
	if (tci < 0)
		return 0;
	role = vlan_role(ctx, tci & VLAN_VID);
	if (!role || ctx_tag_off(ctx))
		return 0;
	return role;
}

/* stray_ip4 - whether a UDP header for an endpoint is next, behind an IPv4 header */
static __always_inline int stray_ip4(struct packet *p)
{
	const struct iphdr *ip = p->pos;

	if (!packet_has(p, sizeof(*ip)) || !parse_local_ip4(ip->daddr))
		return 0;
	if (ip->protocol != IPPROTO_UDP || ip->frag_off & bpf_htons(IP_OFFSET))
		return 0;
	packet_pull(p, ip->ihl * 4);
	return 1;
}

/* stray_ip6 - the same behind an IPv6 header. Return: 2 if an extension header may hide it */
static __always_inline int stray_ip6(struct packet *p)
{
	const struct ipv6hdr *ip6 = p->pos;
	__u8 next;

	if (!packet_has(p, sizeof(*ip6)) || !parse_local_ip6(&ip6->daddr))
		return 0;
	next = ip6->nexthdr;
	packet_pull(p, sizeof(*ip6));
	if (next == EXT_FRAGMENT) {
		const struct ext_hdr *ext = p->pos;

		if (!packet_has(p, sizeof(*ext)) || ext->offset & bpf_htons(IP6_OFFSET))
			return 0;
		next = ext->next;
		packet_pull(p, sizeof(*ext));
	}
	if (next == IPPROTO_UDP)
		return 1;
	return next == IPPROTO_AH || upper_is_ext(next) ? 2 : 0;
}

/* vlan_stray - whether a frame of a port of N6 is GTP-U to one of our endpoints
 *
 * On a device of its own the slow path's sockets know N6 by the device. Here the device is
 * that of a GTP-U port, too, and the tag is off. Of a datagram in fragments the first one
 * is enough: the host cannot put the others together. What may be hidden by IPv6 extension
 * headers is taken for it.
 */
__noinline int vlan_stray(struct ctx_md *md)
{
	struct ctx ctx = { .md = md };
	struct packet p = {};
	const struct ethhdr *eth;
	const struct udphdr *udp;
	int next = 0;

	packet_init(&p, &ctx);
	eth = p.pos;
	if (!packet_has(&p, sizeof(*eth)))
		return 0;
	packet_pull(&p, sizeof(*eth));
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		next = stray_ip4(&p);
	else if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		next = stray_ip6(&p);
	if (next != 1)
		return next;
	udp = p.pos;
	return packet_has(&p, sizeof(*udp)) && udp->dest == bpf_htons(GTPU_PORT);
}

/* vlan_put - put a tag with @vid on a frame that leaves, with priority 0
 *
 * Global, so that the verifier looks at it once. Return: 0, or an error.
 */
__noinline int vlan_put(struct ctx_md *md, __u32 vid)
{
	return md_tag_on(md, vid & VLAN_VID);
}
