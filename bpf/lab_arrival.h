/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <stddef.h>
#include "lab_frame.h"
#include "lab_stamp.h"

/* What a frame looks like as it arrives: a reader that takes whatever a UPF may
 * rightly make of the generator's frames, and notes what it must not.
 */
struct arrival {
	void *pos, *end;
	const struct stamp *stamp;
	__be32 outer_source, outer_destination;
	__be32 teid;
	__be32 ue;		/* folded as in the stamp */
	__u8 qfi;		/* 0xff: none */
	__u8 encapsulated;
	__u8 wrong_length;
	__u8 wrong_checksum;
};

const volatile __u32 run;	/* frames of other runs are not ours */
const volatile __u8 uplink;	/* the UE is the source of the user packet */

#define EXT_MAX	4	/* extension headers that are looked at */

/* arrival_pull - step over @octets
 *
 * Return: where they begin, or NULL if the frame ends before.
 */
static __always_inline void *arrival_pull(struct arrival *a, __u32 octets)
{
	void *at = a->pos;

	if (at + octets > a->end)
		return NULL;
	a->pos = at + octets;
	return at;
}

static __always_inline int arrival_ip4(struct arrival *a, struct iphdr **ip)
{
	const __u32 *words = a->pos;
	__u64 sum = 0;

	*ip = arrival_pull(a, sizeof(**ip));
	if (!*ip || (*ip)->ihl != 5 || (*ip)->protocol != IPPROTO_UDP)
		return 0;
	for (int i = 0; i < 5; i++)
		sum += words[i];
	a->wrong_checksum |= lab_fold(sum) != 0xffff;
	a->wrong_length |= bpf_ntohs((*ip)->tot_len) != a->end - (void *)*ip;
	return 1;
}

static __always_inline int arrival_ip6(struct arrival *a, struct ipv6hdr **ip6)
{
	*ip6 = arrival_pull(a, sizeof(**ip6));
	if (!*ip6 || (*ip6)->nexthdr != IPPROTO_UDP)
		return 0;
	a->wrong_length |= bpf_ntohs((*ip6)->payload_len) != a->end - a->pos;
	return 1;
}

static __always_inline struct udphdr *arrival_udp(struct arrival *a)
{
	struct udphdr *udp = arrival_pull(a, sizeof(*udp));

	if (udp)
		a->wrong_length |= bpf_ntohs(udp->len) != a->end - (void *)udp;
	return udp;
}

/* arrival_user - read a user packet up to its stamp
 *
 * Return: 1 if it is one of the generator's.
 */
static __always_inline int arrival_user(struct arrival *a, int ipv6)
{
	struct udphdr *udp;
	struct ipv6hdr *ip6;
	struct iphdr *ip;

	if (ipv6) {
		const __be32 *w;

		if (!arrival_ip6(a, &ip6))
			return 0;
		w = uplink ? ip6->saddr.in6_u.u6_addr32 : ip6->daddr.in6_u.u6_addr32;
		a->ue = w[0] ^ w[1] ^ w[2] ^ w[3];
	} else {
		if (!arrival_ip4(a, &ip))
			return 0;
		a->ue = uplink ? ip->saddr : ip->daddr;
	}
	udp = arrival_udp(a);
	if (!udp || udp->dest != bpf_htons(STAMP_PORT))
		return 0;
	a->stamp = arrival_pull(a, sizeof(*a->stamp));
	return a->stamp && a->stamp->magic == STAMP_MAGIC && a->stamp->run == run;
}

/* arrival_extensions - step over extension headers, reading the PDU Session
 * Container's QFI
 *
 * @type: type of the first one, 0 for none
 *
 * Return: 0 if the frame ends inside them or there are more than EXT_MAX.
 */
static __always_inline int arrival_extensions(struct arrival *a, __u8 type)
{
	for (int i = 0; type && i < EXT_MAX; i++) {
		const __u8 *ext = arrival_pull(a, 4);

		if (!ext || !ext[0])
			return 0;
		if (type == LAB_EXT_PSC)
			a->qfi = ext[2] & 0x3f;
		if (ext[0] > 1 && !arrival_pull(a, 4 * (ext[0] - 1)))
			return 0;
		if (a->pos - 1 < (void *)ext) /* never so, but the verifier does not see it */
			return 0;
		type = *(__u8 *)(a->pos - 1);
	}
	return !type;
}

/* arrival_outer - read outer IPv4, UDP and GTP-U headers of a G-PDU */
static __always_inline int arrival_outer(struct arrival *a)
{
	struct lab_gtpu *gtpu;
	struct udphdr *udp;
	struct iphdr *ip;
	const __u8 *opt;

	if (!arrival_ip4(a, &ip))
		return 0;
	udp = arrival_udp(a);
	gtpu = arrival_pull(a, offsetof(struct lab_gtpu, sequence));
	if (!udp || !gtpu || (gtpu->flags & 0xf0) != (LAB_GTPU_FLAGS & 0xf0) || gtpu->type != LAB_GTPU_G_PDU)
		return 0;
	a->encapsulated = 1;
	a->outer_source = ip->saddr;
	a->outer_destination = ip->daddr;
	a->teid = gtpu->teid;
	a->wrong_length |= bpf_ntohs(gtpu->length) != a->end - a->pos;
	if (!(gtpu->flags & 0x07))
		return 1;
	opt = arrival_pull(a, 4);
	return opt && arrival_extensions(a, gtpu->flags & 0x04 ? opt[3] : 0);
}

/* arrival_parse - read a frame
 *
 * @a: pos and end set, qfi 0xff, the rest 0
 *
 * Return: 1 if it is one of the generator's, of this run.
 */
static __always_inline int arrival_parse(struct arrival *a)
{
	const struct ethhdr *eth = arrival_pull(a, sizeof(*eth));
	const struct udphdr *udp;
	const __u8 *version;

	if (!eth)
		return 0;
	if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		return arrival_user(a, 1);
	udp = a->pos + sizeof(struct iphdr);
	if (eth->h_proto != bpf_htons(ETH_P_IP) || (void *)(udp + 1) > a->end)
		return 0;
	if (udp->dest != bpf_htons(LAB_GTPU_PORT))
		return arrival_user(a, 0);
	if (!arrival_outer(a))
		return 0;
	version = a->pos;
	if ((void *)(version + 1) > a->end)
		return 0;
	return *version >> 4 == 6 ? arrival_user(a, 1) : arrival_user(a, 0);
}
