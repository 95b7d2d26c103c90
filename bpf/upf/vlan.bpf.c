//go:build ignore
/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The tag of what the host itself sends on a device of which a port is tagged:
 * ARP, Neighbour Discovery, the slow path. One program for each such device; the
 * addresses in the packet say which port it is of. See vlan.h.
 */
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include "skb.h"

#define PORT_MAX	32	/* an IPv4 and an IPv6 address for each endpoint */
#define ND_SOLICIT	135
#define ND_ADVERT	136

/* Where an address stands in a frame. */
#define IP4_SRC		(ETH_HLEN + 12)
#define IP4_DST		(ETH_HLEN + 16)
#define ARP_SENDER	(ETH_HLEN + 14)
#define ARP_TARGET	(ETH_HLEN + 24)
#define IP6_NEXT	(ETH_HLEN + 6)
#define IP6_SRC		(ETH_HLEN + 8)
#define IP6_DST		(ETH_HLEN + 24)
#define ND_TYPE		(ETH_HLEN + 40)
#define ND_TARGET	(ETH_HLEN + 48)

/* In wire order, IPv4 as ::ffff:a.b.c.d. */
struct address {
	__u64 word[2];
};

struct vlan_port {
	struct address addr;	/* of the endpoint */
	struct address mask;	/* of what is on-link there */
	__u32 vid;		/* 0: without tag */
	__u32 unused;
};

/* Set once before the program is loaded. */
const volatile struct vlan_port ports[PORT_MAX];
const volatile __u32 port_count;
const volatile __u32 other_vid;	/* of what is none of these ports' */

static __always_inline void load_ip4(struct __sk_buff *skb, __u32 at, struct address *a)
{
	__u32 *words = (void *)a;

	words[2] = bpf_htonl(0xffff);
	bpf_skb_load_bytes(skb, at, &words[3], 4);
}

/* load - the address of the sender, and that which says where the packet goes */
static __always_inline void load(struct __sk_buff *skb, struct address *from, struct address *to)
{
	__u8 next = 0, type = 0;

	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		load_ip4(skb, IP4_SRC, from);
		load_ip4(skb, IP4_DST, to);
	} else if (skb->protocol == bpf_htons(ETH_P_ARP)) {
		load_ip4(skb, ARP_SENDER, from);
		load_ip4(skb, ARP_TARGET, to);
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		bpf_skb_load_bytes(skb, IP6_NEXT, &next, 1);
		if (next == IPPROTO_ICMPV6)
			bpf_skb_load_bytes(skb, ND_TYPE, &type, 1);
		bpf_skb_load_bytes(skb, IP6_SRC, from, 16);
		bpf_skb_load_bytes(skb, type == ND_SOLICIT || type == ND_ADVERT ? ND_TARGET : IP6_DST, to, 16);
	}
}

static __always_inline int is(const volatile struct vlan_port *p, const struct address *a)
{
	return p->addr.word[0] == a->word[0] && p->addr.word[1] == a->word[1];
}

static __always_inline int reaches(const volatile struct vlan_port *p, const struct address *a)
{
	return (p->addr.word[0] & p->mask.word[0]) == (a->word[0] & p->mask.word[0]) &&
	       (p->addr.word[1] & p->mask.word[1]) == (a->word[1] & p->mask.word[1]);
}

/* vid_of - the tag of the port that sends, else of that on whose link the packet
 * goes, else of the others'
 */
static __always_inline __u32 vid_of(const struct address *from, const struct address *to)
{
	for (__u32 i = 0; i < PORT_MAX && i < port_count; i++) {
		if (is(&ports[i], from))
			return ports[i].vid;
	}
	for (__u32 i = 0; i < PORT_MAX && i < port_count; i++) {
		if (reaches(&ports[i], to))
			return ports[i].vid;
	}
	return other_vid;
}

SEC("tcx/egress")
int vlan_leave(struct __sk_buff *skb)
{
	struct address from = {}, to = {};
	__u32 vid;

	if (skb->vlan_present || skb->protocol == bpf_htons(ETH_P_8021Q))
		return TC_ACT_UNSPEC; /* of a VLAN device of the kernel's */
	load(skb, &from, &to);
	vid = vid_of(&from, &to);
	if (vid && bpf_skb_vlan_push(skb, bpf_htons(ETH_P_8021Q), vid))
		return TC_ACT_SHOT;
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "GPL";
