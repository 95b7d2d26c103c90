//go:build ignore
/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

/* What a device has of N4: every PFCP datagram, whole, with its time, into a ring.
 * Attached to the entry and to the exit of a device, beside whatever else stands
 * there; nothing is changed and nothing is decided.
 *
 *	link header │ tags │ IPv4 or IPv6 │ UDP, port 8805 │ PFCP
 *	└ at 0 ──────────────────────────────────────────► at
 *
 * Of a datagram in fragments the first is taken, which has the PFCP header; a
 * super-packet of many datagrams is one record.
 *
 * Who talks to whom, and what about, is found out in user space: N4 is slow, and
 * what a stranger sends is better read there.
 */
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "skb.h"
#include "bounds.h"

#define PFCP_PORT	8805
#define TAGS_MAX	2
#define IP_MF		0x2000
#define IP_OFFSET	0x1fff
#define IP6_MF		0x0001
#define IP6_OFFSET	0xfff8

/* The head of a record; behind it the payload of UDP. */
struct n4_head {
	__u64 time_ns;		/* bpf_ktime_get_ns() */
	__u8 src[16], dst[16];	/* wire order, IPv4 as ::ffff:a.b.c.d */
	__u16 src_port, dst_port;
	__u32 octets;		/* of payload that stand behind the head */
	__u32 segment;		/* octets of each datagram but the last of a super-packet; 0: it is one datagram */
	__u16 tap;		/* which attachment */
	__u16 fragment;		/* not 0: the first of several, the rest is not here */
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 23);
} n4_ring SEC(".maps");

const struct n4_head *unused_n4_head __attribute__((unused));
/* Set once before the program is loaded. */
const volatile __u16 n4_tap;	/* this attachment */
const volatile __u32 n4_link;	/* octets of the device's link header: none, or that of Ethernet */

volatile __u64 n4_lost;		/* datagrams for which the ring had no room */

static __always_inline int is_tag(__be16 type)
{
	return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD);
}

/* tags_pull - step over tags that are in the frame
 *
 * @at: where the first of them stands
 *
 * Return: type of what follows.
 */
static __always_inline __be16 tags_pull(struct __sk_buff *skb, __u32 *at)
{
	struct {
		__be16 tci, type;
	} tag;
	__be16 type = skb->protocol;

	for (int i = 0; i < TAGS_MAX && is_tag(type); i++) {
		if (bpf_skb_load_bytes(skb, *at, &tag, sizeof(tag)))
			return 0;
		*at += sizeof(tag);
		type = tag.type;
	}
	return type;
}

/* ip4_pull - read an IPv4 header and step over it
 *
 * @head: addresses and fragment are set
 * @left: set to the octets behind the header
 *
 * Return: 0, or -1 for what is not the beginning of a UDP datagram.
 */
static __always_inline int ip4_pull(struct __sk_buff *skb, __u32 *at, struct n4_head *head, __u32 *left)
{
	struct iphdr ip;
	__u32 octets, header;

	if (bpf_skb_load_bytes(skb, *at, &ip, sizeof(ip)) || ip.version != 4 || ip.protocol != IPPROTO_UDP)
		return -1;
	if (ip.frag_off & bpf_htons(IP_OFFSET))
		return -1;
	header = ip.ihl * 4;
	octets = bpf_ntohs(ip.tot_len);
	if (header < sizeof(ip) || octets < header)
		return -1;
	head->fragment = !!(ip.frag_off & bpf_htons(IP_MF));
	head->src[10] = head->src[11] = head->dst[10] = head->dst[11] = 0xff;
	__builtin_memcpy(&head->src[12], &ip.saddr, sizeof(ip.saddr));
	__builtin_memcpy(&head->dst[12], &ip.daddr, sizeof(ip.daddr));
	*at += header;
	*left = octets - header;
	return 0;
}

/* ip6_pull - the same of IPv6; of extension headers the Fragment header alone is
 * stepped over
 */
static __always_inline int ip6_pull(struct __sk_buff *skb, __u32 *at, struct n4_head *head, __u32 *left)
{
	struct {
		__u8 next, unused;
		__be16 offset;
		__be32 id;
	} fragment;
	struct ipv6hdr ip;

	if (bpf_skb_load_bytes(skb, *at, &ip, sizeof(ip)) || ip.version != 6)
		return -1;
	__builtin_memcpy(head->src, &ip.saddr, sizeof(ip.saddr));
	__builtin_memcpy(head->dst, &ip.daddr, sizeof(ip.daddr));
	*at += sizeof(ip);
	*left = bpf_ntohs(ip.payload_len);
	if (ip.nexthdr == IPPROTO_UDP)
		return 0;
	if (ip.nexthdr != IPPROTO_FRAGMENT || *left < sizeof(fragment) || bpf_skb_load_bytes(skb, *at, &fragment, sizeof(fragment)))
		return -1;
	if (fragment.next != IPPROTO_UDP || fragment.offset & bpf_htons(IP6_OFFSET))
		return -1;
	head->fragment = !!(fragment.offset & bpf_htons(IP6_MF));
	*at += sizeof(fragment);
	*left -= sizeof(fragment);
	return 0;
}

/* udp_pull - read a UDP header with the port of PFCP and step over it
 *
 * Return: 0, or -1 for what has no payload or other ports.
 */
static __always_inline int udp_pull(struct __sk_buff *skb, __u32 *at, struct n4_head *head, __u32 left)
{
	struct udphdr udp;
	__u32 octets;

	if (left <= sizeof(udp) || bpf_skb_load_bytes(skb, *at, &udp, sizeof(udp)))
		return -1;
	if (udp.source != bpf_htons(PFCP_PORT) && udp.dest != bpf_htons(PFCP_PORT))
		return -1;
	octets = bpf_ntohs(udp.len);
	if (octets <= sizeof(udp) || (octets > left && !head->fragment))
		return -1;
	if (octets > left)
		octets = left;
	head->src_port = bpf_ntohs(udp.source);
	head->dst_port = bpf_ntohs(udp.dest);
	head->octets = octets - sizeof(udp);
	*at += sizeof(udp);
	return 0;
}

/* record - put head and payload into the ring
 *
 * @room: for the payload, a constant
 */
static __always_inline void record(struct __sk_buff *skb, __u32 at, const struct n4_head *head, const __u32 room)
{
	struct n4_head *r = bpf_ringbuf_reserve(&n4_ring, sizeof(*r) + room, 0);
	__u32 octets = head->octets;

	if (!r) {
		__sync_fetch_and_add(&n4_lost, 1);
		return;
	}
	*r = *head;
	if (length_bound(&octets, room) && !bpf_skb_load_bytes(skb, at, r + 1, octets))
		bpf_ringbuf_submit(r, 0);
	else
		bpf_ringbuf_discard(r, 0); /* shorter than its headers say: nobody will take it for PFCP */
}

static __always_inline int other_ports(const struct udphdr *udp)
{
	return udp->source != bpf_htons(PFCP_PORT) && udp->dest != bpf_htons(PFCP_PORT);
}

/* other - whether a look at the packet shows that it is none of PFCP: as most do where
 * user packets have the same device
 */
static __always_inline int other(struct __sk_buff *skb)
{
	void *end = (void *)(long)skb->data_end;
	const struct iphdr *ip = (void *)(long)skb->data + n4_link;
	const struct ipv6hdr *ip6 = (void *)ip;

	if (skb->protocol == bpf_htons(ETH_P_IP) && (void *)(ip + 1) + sizeof(struct udphdr) <= end)
		return ip->protocol != IPPROTO_UDP || (ip->ihl == 5 && other_ports((void *)(ip + 1)));
	if (skb->protocol == bpf_htons(ETH_P_IPV6) && (void *)(ip6 + 1) + sizeof(struct udphdr) <= end)
		return ip6->nexthdr == IPPROTO_UDP ? other_ports((void *)(ip6 + 1)) : ip6->nexthdr != IPPROTO_FRAGMENT;
	return 0;
}

SEC("tc")
int n4_datagram(struct __sk_buff *skb)
{
	struct n4_head head = { .tap = n4_tap };
	__u32 at = n4_link, left = 0;
	int err = -1;
	__be16 type;

	if (other(skb))
		return TC_ACT_UNSPEC;
	type = tags_pull(skb, &at);
	if (type == bpf_htons(ETH_P_IP))
		err = ip4_pull(skb, &at, &head, &left);
	else if (type == bpf_htons(ETH_P_IPV6))
		err = ip6_pull(skb, &at, &head, &left);
	if (err || udp_pull(skb, &at, &head, left))
		return TC_ACT_UNSPEC;
	head.time_ns = bpf_ktime_get_ns();
	head.segment = skb->gso_size;
	if (head.octets <= 256)
		record(skb, at, &head, 256);
	else if (head.octets <= 1024)
		record(skb, at, &head, 1024);
	else if (head.octets <= 4096)
		record(skb, at, &head, 4096);
	else
		record(skb, at, &head, 65536);
	return TC_ACT_UNSPEC;
}

char _license[] SEC("license") = "GPL";
