/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "frame.h"
#include "stamp.h"

/* What is written into a frame for the session that it belongs to. Sums are partial ones'
 * complement sums of 16-bit words, in the byte order of the machine.
 */

/* The session of a frame, as it stands in the last two words of the stamp. The
 * access pattern is the order of the entries: the generator walks them from the
 * first to the last and begins again, which the hardware can prefetch.
 */
struct access {
	__u32 session;
	__be32 teid;
	__be32 ue;		/* as in the stamp */
	__u16 stream;
	__u8 qfi;
	__u8 dscp;
	__u8 ue6[16];		/* IPv6 address of the UE */
};

/* In a replay they are those that UEs of the file stand for, in turn: UE n has entry
 * base + n.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);	/* set before loading */
	__type(key, __u32);
	__type(value, struct access);
} access_by_position SEC(".maps");

/* write_stamp - write the stamp at @s, whose first word is @head
 *
 * Return: the sum of what differs from frame to frame, for the checksum.
 */
static __always_inline __u64 write_stamp(void *s, __u64 head, const struct access *a, __u64 sequence, __u64 intended, __u64 now)
{
	const __u64 *words = (const void *)a;
	__u64 *out = s;

	out[0] = head;
	out[1] = sequence;
	out[2] = intended;
	out[3] = now;
	out[4] = words[0];
	out[5] = words[1];
	return lab_halves(sequence) + lab_halves(intended) + lab_halves(now) +
	       lab_halves(words[0]) + lab_halves(words[1]);
}

/* write_short_stamp - the same in short */
static __always_inline __u64 write_short_stamp(void *s, __u64 head, const struct access *a, __u64 sequence, __u64 intended)
{
	__u64 check = short_check(a->ue, a->teid, a->qfi, a->dscp), *out = s, word;
	__u16 rest = check >> (64 - SHORT_TIME_BITS);

	word = (intended & SHORT_TIME_MASK) | check << SHORT_TIME_BITS;
	out[0] = head | sequence << 32;
	out[1] = word;
	*(__u16 *)(out + 2) = rest;
	return (__u32)sequence + lab_halves(word) + rest;
}

#define STAMPS_END	160	/* octets: no stamp ends behind */

/* write_padding - write what is behind the stamp as far as any stamp may have been on this
 * page: octet n of a frame is n
 */
static __always_inline void write_padding(void *data, const void *end, __u32 from)
{
	for (__u32 i = from; i < STAMPS_END; i++) {
		__u8 *octet = data + i;

		if ((void *)(octet + 1) > end)
			break;
		*octet = i;
	}
}

/* write_ue4 - set source or destination of an IPv4 user packet
 *
 * Return: the sum of the address.
 */
static __always_inline __u64 write_ue4(struct iphdr *ip, const struct access *a, int uplink, __u32 ip_sum)
{
	if (uplink)
		ip->saddr = a->ue;
	else
		ip->daddr = a->ue;
	ip->check = ~lab_fold((__u64)ip_sum + a->ue);
	return a->ue;
}

static __always_inline __u64 write_ue6(struct ipv6hdr *ip6, const struct access *a, int uplink)
{
	const __u64 *from = (const void *)a->ue6;
	__u64 *to = (void *)(uplink ? &ip6->saddr : &ip6->daddr);

	to[0] = from[0];
	to[1] = from[1];
	return lab_halves(from[0]) + lab_halves(from[1]);
}

/* mark4 - set the DSCP of an IPv4 header whose checksum is right */
static __always_inline void mark4(struct iphdr *ip, __u8 dscp)
{
	ip->tos = dscp << 2;
	ip->check = ~lab_fold((__u64)(__u16)~ip->check + bpf_htons(dscp << 2));
}

/* mark6 - set the DSCP of an IPv6 header
 *
 * Return: the sum of what was added.
 */
static __always_inline __u64 mark6(struct ipv6hdr *ip6, __u8 dscp)
{
	__u16 *word = (void *)ip6, add = bpf_htons(dscp << 6);

	*word |= add;
	return add;
}

/* outer_check - the outer UDP checksum, without a look at the user packet: its IPv4
 * header sums up to nothing, its segment to the complement of its pseudo header.
 *
 * @outer_sum:  of outer pseudo header, UDP and GTP-U header
 * @pseudo_sum: of the user packet's pseudo header without UE address
 * @ue:         of the UE's address
 * @ip6:        of the rest of an IPv6 header; 0 for IPv4
 *
 * Source: RFC 768; Linux Documentation/networking/checksum-offloads.rst, LCO.
 */
static __always_inline __u16 outer_check(__u32 outer_sum, __u32 pseudo_sum, const struct access *a, __u64 ue, __u64 ip6)
{
	__u64 sum = outer_sum + (__u64)a->teid + a->qfi; /* qfi is the first octet of its word */

	sum += (__u16)~lab_fold(pseudo_sum + ue);
	if (ip6)
		sum += ip6 + ue;
	return (__u16)~lab_fold(sum) ?: 0xffff;
}
