/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
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
#define VLAN_OCTETS	4	/* of a tag */
#define VLAN_MAX	128	/* tags on all devices */

/* What a port is. */
#define VLAN_GTPU	1
#define VLAN_N6		2

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

struct vlan_macs {
	__u32 word[3];
};

struct vlan_frame {
	struct vlan_macs macs;
	__be16 proto;
	__be16 tci;
};

static __always_inline __u32 vlan_role(const struct ctx *ctx, __u32 vid)
{
	struct vlan_key key = { .ifindex = ctx_ifindex(ctx), .vid = vid };
	__u32 *role = bpf_map_lookup_elem(&vlan_roles, &key);

	return role ? *role : 0;
}

/* vlan_move - move the MAC addresses and the start of the frame by @octets
 *
 * All pointers into the packet are void afterwards. Return: 0, or an error.
 */
static __always_inline int vlan_move(struct ctx *ctx, int octets)
{
	struct vlan_macs *at = ctx_data(ctx), macs;

	if ((void *)(at + 1) > ctx_end(ctx))
		return -1;
	macs = *at;
	if (ctx_push(ctx, octets))
		return -1;
	at = ctx_data(ctx);
	if ((void *)(at + 1) > ctx_end(ctx))
		return -1;
	*at = macs;
	return 0;
}

/* vlan_arrive - which port a frame is of, and take off its tag
 *
 * Return: VLAN_*, or 0 and the frame as it was.
 */
static __always_inline __u32 vlan_arrive(struct ctx *ctx)
{
	const struct vlan_frame *f = ctx_data(ctx);
	__u32 role;

	if ((void *)(f + 1) > ctx_end(ctx))
		return 0;
	if (f->proto != bpf_htons(ETH_P_8021Q))
		return vlan_role(ctx, 0);
	role = vlan_role(ctx, bpf_ntohs(f->tci) & VLAN_VID);
	if (!role || vlan_move(ctx, VLAN_OCTETS))
		return 0;
	return role;
}

/* vlan_put - put a tag with @vid on a frame that leaves, with priority 0
 *
 * Global, so that the verifier looks at it once. Return: 0, or an error.
 */
__noinline int vlan_put(struct ctx_md *md, __u32 vid)
{
	struct ctx ctx = { .md = md };
	struct vlan_frame *f;

	if (vlan_move(&ctx, -VLAN_OCTETS))
		return -1;
	f = ctx_data(&ctx);
	if ((void *)(f + 1) > ctx_end(&ctx))
		return -1;
	f->proto = bpf_htons(ETH_P_8021Q);
	f->tci = bpf_htons(vid & VLAN_VID);
	return 0;
}
