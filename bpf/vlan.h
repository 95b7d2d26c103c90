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

/* stray_port - whether the first fragment @p, whose IP header is next, goes to GTP-U's port
 *
 * IPv4 with options, and IPv6 with another extension header, is none that anybody sends.
 */
static __always_inline int stray_port(struct packet *p)
{
	const struct iphdr *ip = p->pos;

	if (!packet_has(p, sizeof(*ip)))
		return 0;
	if (ip->version == 4) {
		if (ip->ihl != 5 || ip->frag_off & bpf_htons(IP_OFFSET))
			return 0;
		packet_pull(p, sizeof(*ip));
	} else {
		const struct ext_hdr *ext = p->pos + sizeof(struct ipv6hdr);

		if (!packet_has(p, sizeof(struct ipv6hdr) + sizeof(*ext)))
			return 0;
		if (ext->next != IPPROTO_UDP || ext->offset & bpf_htons(IP6_OFFSET))
			return 0;
		packet_pull(p, sizeof(struct ipv6hdr) + sizeof(*ext));
	}
	return 1;
}

/* vlan_stray - whether a frame of a port of N6 is GTP-U to one of our endpoints
 *
 * On a device of its own the slow path's sockets know N6 by the device. Here the device is
 * that of a GTP-U port, too, and the tag is off. Of a datagram in fragments the first one
 * is enough: the host cannot put the others together.
 */
__noinline int vlan_stray(struct ctx_md *md)
{
	struct ctx ctx = { .md = md };
	struct packet p = {};
	const struct udphdr *udp;
	int err;

	packet_init(&p, &ctx);
	err = parse_outer(&p);
	if (err && (err != -PASS_FRAGMENT || !stray_port(&p)))
		return 0;
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
