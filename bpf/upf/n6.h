/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* The data networks behind N6: what the control plane writes and forward reads.
 *
 * A rule that goes out bare names a way: a data network, or a forwarding policy
 * over one. The usual way, one on-link prefix and one gateway, is one cache line;
 * whatever more the kernel's routing table has stands in the trie, and is asked
 * only where the way's flags say so. Words are written whole; a way is changed
 * in an order in which no packet goes astray.
 */
struct n6_way {
	__u32 onlink_ip4;	/* host order: neighbours directly, all others to the gateway */
	__u32 mask_ip4;
	__u64 onlink_ip6;	/* high 64 bits, host order */
	__u64 mask_ip6;
	__u32 gateway_ip4;	/* indices in hops; 0: none */
	__u32 gateway_ip6;
	__u32 flags;		/* N6_* */
	__u32 table;		/* of routes */
	__u32 network;		/* its number: of neighbours and mappings */
	__u32 ifindex;		/* of arrival */
	__u16 mss_ip4;		/* octets, with N6_MSS */
	__u16 mss_ip6;
	__u8 dscp;		/* with N6_DSCP */
	__u8 unused;
	__u16 mtu;		/* of an Ethernet data network: octets behind the header of a frame */
	__u8 unused2[8];
};

_Static_assert(sizeof(struct n6_way) == 64, "a way is one cache line");

#define N6_ROUTES4	0x01	/* ask the trie for IPv4 */
#define N6_ROUTES6	0x02
#define N6_NAT		0x04
#define N6_MSS		0x08
#define N6_DSCP		0x10
#define N6_CHANGES	(N6_NAT | N6_MSS | N6_DSCP)	/* more than the next hop */

#define N6_WAYS		64

/* Whose number a way is, for a process that takes over rules in which it stands.
 * Number 0 has none: it is the first data network's, whatever that is.
 */
struct n6_name {
	__u32 kind;		/* N6_NAME_*; 0: nobody's */
	__u32 octets;
	__u8 name[64];
};

#define N6_NAME_NETWORK	1
#define N6_NAME_POLICY	2

/* A rule's way, or the data network from which a bare packet has to come, is in
 * its control word. 0: the first data network; any.
 */
#define RULE_N6_SHIFT	16
#define RULE_N6_MASK	0x3f

static __always_inline __u32 rule_n6(__u32 ctl)
{
	return ctl >> RULE_N6_SHIFT & RULE_N6_MASK;
}

struct route_key {
	__u32 prefixlen;	/* 32 of table, and of addr; IPv4 is mapped (::ffff:0:0/96) */
	__u32 table;
	struct in6_addr addr;
};

#define ROUTE_ONLINK	(~0U)	/* instead of a group: the destination is a neighbour */

/* The next hops of a route. A flow is in the bucket that its hash says; a bucket
 * has a hop that is resolved, as long as any is.
 */
#define GROUP_BUCKETS	64
struct route_group {
	__u16 hop[GROUP_BUCKETS]; /* indices in hops; 0: none */
	__u32 mtu;		/* octets of IP packet, at most 65535; 0: the device's */
	__u32 unused;
};

struct neighbour_key {
	struct in6_addr addr;	/* IPv4 is mapped */
	__u32 network;
};
