/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <stddef.h>
#include "bounds.h"
#include "frame.h"
#include "stamp.h"

/* What a frame looks like as it arrives: a reader that takes whatever a UPF may
 * rightly make of the generator's frames, and notes what it must not. Mistakes
 * are added up without branches, so that the verifier does not have to follow
 * every combination of them.
 */
struct arrival {
	const struct stamp *stamp;	/* NULL: it is a short one */
	__u32 stream;
	__u64 sequence;		/* of a short stamp the low 32 bits */
	__u64 intended_ns;	/* of a short stamp the low 40 bits */
	__u64 short_check;
	__be32 outer_source, outer_destination;
	__be32 teid;
	__be32 ue;		/* folded as in the stamp */
	__be32 server;		/* of the data network, folded the same way */
	const void *start;	/* of the frame */
	__u32 segment;		/* where the user packet's datagram or TCP segment begins */
	__u64 pseudo_sum;	/* of its pseudo header, in 32-bit words */
	__u16 check;		/* that stands in it */
	__u32 octets;		/* of the frame */
	__u32 wrong_length;	/* not 0: so */
	__u32 wrong_checksum;	/* not 0: so */
	__u8 qfi;		/* QFI_NONE: none */
	__u8 dscp;		/* of the user packet */
	__u8 encapsulated;
	__u8 ipv6;		/* the user packet is */
};

#define QFI_NONE	0xff

/* The octets that are still to be read. */
struct rest {
	void *pos, *end;
};

const volatile __u32 run;	/* frames of other runs are not ours */
const volatile __u32 short_head;	/* the same in short stamps, whose lowest octet is the stream */
const volatile __u8 replayed;	/* stamps stand in any UDP datagram or TCP segment */
const volatile __u8 uplink;	/* the UE is the source of the user packet */

#define EXT_OCTETS	0x3ff	/* octets of one are not more */

/* rest_pull - step over @octets
 *
 * Return: where they begin, or NULL if the frame ends before.
 */
static __always_inline void *rest_pull(struct rest *r, __u32 octets)
{
	void *at = r->pos;

	if (at + octets > r->end)
		return NULL;
	r->pos = at + octets;
	return at;
}

static __always_inline int arrival_ip4(struct arrival *a, struct rest *r, struct iphdr **ip)
{
	const __u32 *words = r->pos;
	__u64 sum = 0;

	*ip = rest_pull(r, sizeof(**ip));
	if (!*ip || (*ip)->ihl != 5)
		return 0;
	for (int i = 0; i < 5; i++)
		sum += words[i];
	a->wrong_checksum |= lab_fold(sum) ^ 0xffff;
	a->wrong_length |= bpf_ntohs((*ip)->tot_len) ^ (__u32)(r->end - (void *)*ip);
	a->dscp = (*ip)->tos >> 2;
	return 1;
}

static __always_inline int arrival_ip6(struct arrival *a, struct rest *r, struct ipv6hdr **ip6)
{
	*ip6 = rest_pull(r, sizeof(**ip6));
	if (!*ip6)
		return 0;
	a->wrong_length |= bpf_ntohs((*ip6)->payload_len) ^ (__u32)(r->end - r->pos);
	a->dscp = bpf_ntohs(*(__be16 *)*ip6) >> 6 & 0x3f;
	return 1;
}

static __always_inline struct udphdr *arrival_udp(struct arrival *a, struct rest *r)
{
	struct udphdr *udp = rest_pull(r, sizeof(*udp));

	if (udp)
		a->wrong_length |= bpf_ntohs(udp->len) ^ (__u32)(r->end - (void *)udp);
	return udp;
}

/* arrival_pseudo - sum up what the pseudo header has beside the addresses
 *
 * Source: RFC 768; RFC 8200, 8.1, whose longer fields sum up to the same.
 */
static __always_inline __u64 arrival_pseudo(const struct rest *r, __u8 protocol)
{
	return (__u32)bpf_htons(protocol) + ((__u64)bpf_htons(r->end - r->pos) << 16);
}

/* arrival_segment - step over the transport header of a user packet
 *
 * Return: 1 if a stamp may be behind it.
 */
static __always_inline int arrival_segment(struct arrival *a, struct rest *r, __u8 protocol)
{
	const struct udphdr *udp;
	const __u8 *tcp;
	__u32 octets;

	if (protocol == IPPROTO_UDP) {
		udp = arrival_udp(a, r);
		if (!udp)
			return 0;
		a->check = udp->check;
		return replayed || udp->dest == bpf_htons(STAMP_PORT);
	}
	if (!replayed || protocol != IPPROTO_TCP)
		return 0;
	tcp = rest_pull(r, 20);
	if (!tcp)
		return 0;
	a->check = *(const __u16 *)(tcp + 16);
	octets = (tcp[12] >> 4) * 4;
	return octets >= 20 && rest_pull(r, octets - 20);
}

/* arrival_stamp - read a stamp of either kind
 *
 * Return: 1 if it is one of the generator's, of this run.
 */
static __always_inline int arrival_stamp(struct arrival *a, struct rest *r)
{
	const __u64 *words = rest_pull(r, SHORT_STAMP_OCTETS);
	const struct stamp *stamp = (const void *)words;

	if (!words)
		return 0;
	if (((__u32)words[0] & ~0xff) == short_head) {
		a->stream = words[0] & 0xff;
		a->sequence = words[0] >> 32;
		a->intended_ns = words[1] & SHORT_TIME_MASK;
		a->short_check = words[1] >> SHORT_TIME_BITS |
				 (__u64)*(const __u16 *)(words + 2) << (64 - SHORT_TIME_BITS);
		return 1;
	}
	if (stamp->magic != STAMP_MAGIC || stamp->run != run || !rest_pull(r, sizeof(*stamp) - SHORT_STAMP_OCTETS))
		return 0;
	a->stamp = stamp;
	a->stream = stamp->stream;
	a->sequence = stamp->sequence;
	a->intended_ns = stamp->intended_ns;
	return 1;
}

/* arrival_ends - note whose addresses a user packet has */
static __always_inline void arrival_ends(struct arrival *a, __be32 source, __be32 destination)
{
	a->ue = uplink ? source : destination;
	a->server = uplink ? destination : source;
}

/* arrival_user - read a user packet up to its stamp
 *
 * Return: 1 if it is one of the generator's.
 */
static __always_inline int arrival_user(struct arrival *a, struct rest *r, int ipv6)
{
	struct ipv6hdr *ip6;
	struct iphdr *ip;
	const __be32 *w;
	__u8 protocol;

	a->ipv6 = ipv6;
	if (ipv6) {
		if (!arrival_ip6(a, r, &ip6))
			return 0;
		w = ip6->saddr.in6_u.u6_addr32;
		arrival_ends(a, w[0] ^ w[1] ^ w[2] ^ w[3], w[4] ^ w[5] ^ w[6] ^ w[7]);
		for (int i = 0; i < 8; i++)
			a->pseudo_sum += w[i];
		protocol = ip6->nexthdr;
	} else {
		if (!arrival_ip4(a, r, &ip))
			return 0;
		arrival_ends(a, ip->saddr, ip->daddr);
		a->pseudo_sum = (__u64)ip->saddr + ip->daddr;
		protocol = ip->protocol;
	}
	a->segment = r->pos - a->start;
	a->pseudo_sum += arrival_pseudo(r, protocol);
	return arrival_segment(a, r, protocol) && arrival_stamp(a, r);
}

/* arrival_extensions - step over extension headers, reading the PDU Session
 * Container's QFI
 *
 * @type: type of the first one, 0 for none
 *
 * Return: 0 if the frame ends inside them or there are more than GTPU_EXT_MAX.
 */
static __always_inline int arrival_extensions(struct arrival *a, struct rest *r, __u8 type)
{
	for (int i = 0; type && i < GTPU_EXT_MAX; i++) {
		const __u8 *ext = rest_pull(r, 4);

		if (!ext || !ext[0])
			return 0;
		if (type == GTPU_EXT_PSC)
			a->qfi = ext[2] & GTPU_PSC_QFI;
		if (ext[0] > 1 && !rest_pull(r, within(4 * (ext[0] - 1), EXT_OCTETS)))
			return 0;
		if (r->pos - 1 < (void *)ext) /* never so, but the verifier does not see it */
			return 0;
		type = *(__u8 *)(r->pos - 1);
	}
	return !type;
}

/* arrival_outer - read outer IPv4, UDP and GTP-U headers of a G-PDU */
static __always_inline int arrival_outer(struct arrival *a, struct rest *r)
{
	struct lab_gtpu *gtpu;
	struct udphdr *udp;
	struct iphdr *ip;
	const __u8 *opt;

	if (!arrival_ip4(a, r, &ip) || ip->protocol != IPPROTO_UDP)
		return 0;
	udp = arrival_udp(a, r);
	gtpu = rest_pull(r, offsetof(struct lab_gtpu, sequence));
	if (!udp || !gtpu || (gtpu->flags & GTPU_V_PT_MASK) != GTPU_V1_PT || gtpu->type != GTPU_G_PDU)
		return 0;
	a->encapsulated = 1;
	a->outer_source = ip->saddr;
	a->outer_destination = ip->daddr;
	a->teid = gtpu->teid;
	a->wrong_length |= bpf_ntohs(gtpu->length) ^ (__u32)(r->end - r->pos);
	if (!(gtpu->flags & GTPU_OPT_MASK))
		return 1;
	opt = rest_pull(r, 4);
	return opt && arrival_extensions(a, r, gtpu->flags & GTPU_E ? opt[3] : 0);
}

/* arrival_parse - read a frame
 *
 * @a: qfi QFI_NONE, the rest but octets and start 0
 * @r: the frame
 *
 * Return: 1 if it is one of the generator's, of this run.
 */
static __always_inline int arrival_parse(struct arrival *a, struct rest *r)
{
	const struct ethhdr *eth = rest_pull(r, sizeof(*eth));
	const struct udphdr *udp;
	const __u8 *version;

	if (!eth)
		return 0;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		return arrival_user(a, r, 1);
	udp = r->pos + sizeof(struct iphdr);
	if (eth->h_proto != bpf_htons(ETH_P_IP) || (void *)(udp + 1) > r->end)
		return 0;
	if (udp->dest != bpf_htons(GTPU_PORT) || *(__u8 *)(r->pos + offsetof(struct iphdr, protocol)) != IPPROTO_UDP)
		return arrival_user(a, r, 0);
	if (!arrival_outer(a, r))
		return 0;
	version = r->pos;
	if ((void *)(version + 1) > r->end)
		return 0;
	return *version >> 4 == 6 ? arrival_user(a, r, 1) : arrival_user(a, r, 0);
}

#define SUM_OCTETS	512	/* that bpf_csum_diff() adds at once, on all kernels */
#define SUM_MAX		7	/* times: a frame has a page at most */

#define SUM_FROM	0xfff	/* octets: no segment begins behind */

/* octets_sum - the ones' complement sum of what is from @offset of a frame to its end */
static __always_inline __u32 octets_sum(const void *data, const void *end, __u32 offset)
{
	const void *p = data + (offset & SUM_FROM);
	__u32 whole = 0;
	__u64 sum = 0;

	for (int i = 0; i < SUM_MAX && p + SUM_OCTETS <= end; i++, p += SUM_OCTETS)
		whole = bpf_csum_diff(NULL, 0, (void *)p, SUM_OCTETS, whole);
	for (int octets = SUM_OCTETS / 2; octets >= 64; octets /= 2) {
		if (p + octets > end)
			continue;
		whole = bpf_csum_diff(NULL, 0, (void *)p, octets, whole);
		p += octets;
	}
	for (int i = 0; i < 7 && p + 8 <= end; i++, p += 8)
		sum += lab_halves(*(const __u64 *)p);
	if (p + 4 <= end) {
		sum += *(const __u32 *)p;
		p += 4;
	}
	if (p + 2 <= end) {
		sum += *(const __u16 *)p;
		p += 2;
	}
	if (p + 1 <= end)
		sum += *(const __u8 *)p;
	return lab_fold(sum + whole);
}
