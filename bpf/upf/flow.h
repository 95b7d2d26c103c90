/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "bounds.h"
#include "maps.h"
#include "parse.h"

/* All of a packet that a list may look at, seen from the UE, and so the key under
 * which the flow cache finds what the list made of it: one cache line. Addresses
 * are in host order, high half first; those of IPv4 are the last 32 bits.
 */
struct flow {
	__u64 list;		/* struct rule.list */
	__u64 remote[2], local[2];
	__u32 word;		/* ports, remote in the high half; or SPI; else 0 */
	__u32 label;		/* version << 28 | ToS or Traffic Class << 20 | Flow Label of IPv6 */
	__u8 protocol;		/* of the upper layer */
	__u8 has;		/* FLOW_PORTS or FLOW_SPI: what word is */
	__u8 qfi;		/* with FLOW_QFI */
	__u8 reserved;
	__u16 verdict;		/* what the name of the flow is to the list; 0: nothing */
	__u16 reserved2;
	__s32 found;		/* by the cache: index in pdrs, or a negative enum upf_count */
	__u32 unused;
};

_Static_assert(sizeof(struct flow) == 64, "a flow is one cache line");

#define FLOW_KEY	7	/* words of 64 bits that are compared, found is behind them */
#define FLOW_PORTS	0x1
#define FLOW_SPI	0x2
#define FLOW_QFI	0x4
#define FLOW_UPLINK	0x8	/* the UE is the source */
#define FLOW_IP6	0x10
#define FLOW_FRAGMENT	0x20	/* first or later */

/* What flow_read() has to know, in one argument: where the user packet begins in
 * the frame, its octets, the QFI and what is known of flow.has.
 */
#define USER_OCTETS	16
#define USER_QFI	32
#define USER_HAS	40

static __always_inline __u64 user_at(const struct ctx *ctx, const struct packet *p)
{
	long at = (long)p->pos - (long)ctx_data(ctx);

	barrier_var(at);
	return (at & 0xffff) | (__u64)p->octets << USER_OCTETS;
}

/* IPv6 extension headers that are stepped over; with more of them a packet is left
 * to the slow path.
 */
#define UPPER_MAX	8

#define EXT_HOP_BY_HOP	0
#define EXT_ROUTING	43
#define EXT_FRAGMENT	44
#define EXT_DESTINATION	60
#define EXT_MOBILITY	135
#define EXT_HIP		139
#define EXT_SHIM6	140
#define IP_MORE		0x2000
#define IP_OFFSET	0x1fff
#define IP6_MORE	0x0001
#define IP6_OFFSET	0xfff8

/* Extension headers, one bit each of those from 0 and from 128 on. AH and ESP are
 * upper layers, as in IPv4: filters name them. Source: RFC 7045.
 */
#define EXT_LOW		(1ULL << EXT_HOP_BY_HOP | 1ULL << EXT_ROUTING | 1ULL << EXT_FRAGMENT | 1ULL << EXT_DESTINATION)
#define EXT_HIGH	(1ULL << (EXT_MOBILITY & 63) | 1ULL << (EXT_HIP & 63) | 1ULL << (EXT_SHIM6 & 63))

struct ext_hdr {
	__u8 next, len;
	__be16 offset;		/* of a Fragment header */
	__u32 id;
};

/* The upper-layer header of a user packet. */
struct upper {
	__u32 user;		/* where the user packet begins in the frame, */
	__u32 octets;		/* and how many it has */
	__u32 at;		/* where the header begins in it; UPPER_NONE: it is not there */
	__u32 protocol;
};

#define UPPER_NONE	0x10000

/* What is read at once of a user packet: the IP header without many options, and
 * the beginning of what is behind.
 */
#define HEAD_OCTETS	48

struct head {
	__be32 words[HEAD_OCTETS / 4];
};

/* The flow of the packet that a CPU looks at, and the start of its headers: there is no
 * room on the stack.
 */
struct flow_work {
	struct flow flow;
	struct head head;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flow_work);
} flow_now SEC(".maps");

/* upper_fragment - note that the packet of this CPU is a fragment, if it is */
static __always_inline void upper_fragment(const struct ext_hdr *ext)
{
	__u32 zero = 0;
	struct flow_work *work;

	if (!(ext->offset & bpf_htons(IP6_OFFSET | IP6_MORE)))
		return;
	work = bpf_map_lookup_elem(&flow_now, &zero);
	if (work)
		work->flow.has |= FLOW_FRAGMENT;
}

/* upper_step - step over one IPv6 extension header
 *
 * Return: nonzero if there may be another one.
 */
static __always_inline int upper_step(struct ctx_md *md, struct upper *u)
{
	struct ext_hdr ext = {};
	__u32 octets = sizeof(ext);

	if (u->at + sizeof(ext) > u->octets || md_load(md, u->user + u->at, &ext, sizeof(ext)))
		goto none;
	if (u->protocol == EXT_FRAGMENT)
		upper_fragment(&ext);
	if (u->protocol != EXT_FRAGMENT) {
		octets = (ext.len + 1) * 8;
	} else if (ext.offset & bpf_htons(IP6_OFFSET)) {
		u->protocol = ext.next;
		goto none;
	}
	if (u->at + octets > u->octets)
		goto none;
	u->protocol = ext.next;
	u->at += octets;
	return 1;
none:
	u->at = UPPER_NONE;
	return 0;
}

static __always_inline int upper_is_ext(__u32 protocol)
{
	__u64 low = EXT_LOW >> (protocol & 63) & 1, high = EXT_HIGH >> (protocol & 63) & 1;
	__u32 is = (protocol >> 6 == 0 ? low : 0) | (protocol >> 6 == 2 ? high : 0);

	barrier_var(is);
	return is;
}

/* upper_ip6 - step over extension headers
 *
 * Return: 0, or a negative enum upf_count if there are too many.
 */
__noinline int upper_ip6(struct ctx_md *md, struct upper *u)
{
	if (!u)
		return -DROP_INTERNAL;
	for (int i = 0; i < UPPER_MAX; i++)
		if (!upper_is_ext(u->protocol) || !upper_step(md, u))
			return 0;
	return upper_is_ext(u->protocol) ? -PASS_RULES : 0;
}

/* upper_word - read the word with number @n of the upper-layer header, host order
 *
 * Return: 0, or -1 if the packet does not have it.
 */
static __always_inline int upper_word(struct ctx_md *md, const struct upper *u, const struct head *h,
				      __u32 n, __u32 *to)
{
	__u32 at = u->at + n * 4;
	__be32 word;

	if (at + 4 > u->octets)
		return -1;
	if (at <= HEAD_OCTETS - 4) {
		*to = bpf_ntohl(h->words[at / 4]);
		return 0;
	}
	if (md_load(md, u->user + at, &word, sizeof(word)))
		return -1;
	*to = bpf_ntohl(word);
	return 0;
}

/* flow_upper - what ports, or SPI, the packet has */
static __always_inline void flow_upper(struct ctx_md *md, struct flow *f, const struct upper *u,
				       const struct head *h)
{
	__u32 word;

	f->protocol = u->protocol;
	switch (u->protocol) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
	case IPPROTO_SCTP:
		if (upper_word(md, u, h, 0, &word))
			return;
		f->has |= FLOW_PORTS;
		/* Uplink the remote end is the destination. */
		f->word = f->has & FLOW_UPLINK ? word << 16 | word >> 16 : word;
		return;
	case IPPROTO_ESP:
	case IPPROTO_AH:
		if (upper_word(md, u, h, u->protocol == IPPROTO_AH, &word))
			return;
		f->has |= FLOW_SPI;
		f->word = word;
	}
}

static __always_inline void flow_addr6(__u64 *to, const struct in6_addr *a)
{
	to[0] = ip6_prefix(a);
	to[1] = (__u64)bpf_ntohl(a->in6_u.u6_addr32[2]) << 32 | bpf_ntohl(a->in6_u.u6_addr32[3]);
}

static __always_inline int flow_read6(struct ctx_md *md, struct flow *f, struct upper *u, const struct head *h)
{
	const struct ipv6hdr *ip6 = (const void *)h;
	int uplink = f->has & FLOW_UPLINK;

	flow_addr6(f->remote, uplink ? &ip6->daddr : &ip6->saddr);
	flow_addr6(f->local, uplink ? &ip6->saddr : &ip6->daddr);
	f->label = bpf_ntohl(h->words[0]);
	f->has |= FLOW_IP6;
	u->protocol = ip6->nexthdr;
	u->at = sizeof(*ip6);
	return upper_is_ext(u->protocol) ? upper_ip6(md, u) : 0;
}

static __always_inline void flow_read4(struct flow *f, struct upper *u, const struct head *h)
{
	const struct iphdr *ip = (const void *)h;
	int uplink = f->has & FLOW_UPLINK;

	f->remote[1] = bpf_ntohl(uplink ? ip->daddr : ip->saddr);
	f->local[1] = bpf_ntohl(uplink ? ip->saddr : ip->daddr);
	f->label = 4U << 28 | ip->tos << 20;
	u->protocol = ip->protocol;
	if (ip->frag_off & bpf_htons(IP_MORE | IP_OFFSET))
		f->has |= FLOW_FRAGMENT;
	u->at = ip->frag_off & bpf_htons(IP_OFFSET) ? UPPER_NONE : ip->ihl * 4;
}

/* flow_read - fill @work->flow from the user packet at @user, which parse has let pass
 *
 * It reads through the kernel, and not through pointers, so that the verifier looks
 * at it once and not for each way through parse.
 *
 * @user: user_at() and what else is known, USER_*
 * @u:    is set
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int flow_read(struct ctx_md *md, __u64 user, struct flow_work *work, struct upper *u)
{
	struct flow *f = &work->flow;
	struct head *h = &work->head;
	__u32 octets = user >> USER_OCTETS & 0xffff;
	int err = 0;

	__builtin_memset(h, 0, sizeof(*h));
	u->user = user & 0xffff;
	u->octets = octets;
	if (octets > HEAD_OCTETS)
		octets = HEAD_OCTETS;
	f->qfi = user >> USER_QFI;
	f->has = user >> USER_HAS;
	if (octets < sizeof(struct iphdr) || !length_bound(&octets, HEAD_OCTETS) || md_load(md, u->user, h, octets))
		return -DROP_INTERNAL;
	if (*(__u8 *)h >> 4 == 6)
		err = flow_read6(md, f, u, h);
	else
		flow_read4(f, u, h);
	if (!err)
		flow_upper(md, f, u, h);
	return err;
}
