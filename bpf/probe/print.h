/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "parse.h"

/* The fingerprint: the first 64 octets of the user packet, padded with zeros, options of
 * an IPv4 header left out, through a mask that takes out what a UPF or a device may
 * rightly change. Go makes the masks (probe/print.go), and its tests compute the same.
 */
#define PRINT_MIX	0x9e3779b97f4a7c15ULL

/* print_end - spread each bit of a sum over all */
static __always_inline __u64 print_end(__u64 sum)
{
	sum ^= sum >> 32;
	sum *= PRINT_MIX;
	return sum ^ sum >> 29;
}

/* print_word - a word by a secret, odd factor: sums of such products differ for words
 * that do, but by accident. Words are folded, or else their highest bits would only
 * count in the highest ones of the product.
 */
static __always_inline __u64 print_word(__u64 w, __u32 secret)
{
	return (w ^ w >> 32) * print_seed.word[secret];
}

/* print_of - the fingerprint of @w at @upf; a CPU does the words at the same time */
static __always_inline __u64 print_of(const __u64 *w, __u32 kind, __u8 upf)
{
	const volatile struct print_words *mask = &print_mask[kind % PRINT_MAX];
	__u64 sum = (__u64)upf << 32;

#pragma unroll
	for (int i = 0; i < PRINT_WORDS; i++)
		sum += print_word(w[i] & mask->word[i], i);
	return print_end(sum);
}

#define PRINT_UNMIX	0xf1de83e19937733dULL	/* the inverse of PRINT_MIX */
#define IP_DF		0x4000

/* numbered_of - the identification of a UDP datagram at which nobody looks, and which it
 * may have got on its way; 0: none
 *
 * Who puts datagrams together keeps that of the first, and the kernel counts up from
 * there when it cuts them again. Source: RFC 6864, 4.1.
 */
static __always_inline __u16 numbered_of(const struct print_words *w, enum kind kind)
{
	const __be16 *word = (const void *)w;

	return kind == PRINT_UDP && word[3] == bpf_htons(IP_DF) && *(const __u8 *)w == 0x45 ? word[2] : 0;
}

/* print_unnumbered - the fingerprint that a datagram with u->numbered has with
 * identification 0: the first word is replaced in the sum of which the other one was made
 */
static __always_inline __u64 print_unnumbered(const struct user *u)
{
	__u64 mask = print_mask[PRINT_UDP].word[0], sum = u->print;
	__u64 word = 0x45 | (__u64)bpf_htons(u->octets) << 16 | (__u64)bpf_htons(IP_DF) << 48;

	sum ^= sum >> 29 ^ sum >> 58;
	sum *= PRINT_UNMIX;
	sum ^= sum >> 32;
	sum += print_word(word & mask, 0) - print_word((word | (__u64)u->numbered << 32) & mask, 0);
	return print_end(sum);
}

/* timed_of - whether the packet is one of those that are timed, which both points find
 * alike, since it is their fingerprint that says so
 *
 * Of a datagram whose identification may have come on its way it is that without.
 */
static __always_inline int timed_of(const struct user *u)
{
	__u64 print = u->print;

	if (!timed_below)
		return 1;
	if (u->numbered)
		print = print_unnumbered(u);
	return print >> 32 < timed_below;
}

#define TCP_SYN		0x02

/* kind_of - by which mask
 *
 * @l4:     its header, of which 14 octets can be read
 * @octets: from there on
 */
static __always_inline enum kind kind_of(__u8 protocol, const __u8 *l4, __u32 octets)
{
	switch (protocol) {
	case PROTOCOL_UDP:
		return PRINT_UDP;
	case PROTOCOL_ICMP:
	case PROTOCOL_ICMP6:
		return PRINT_ICMP;
	case PROTOCOL_SCTP:
		return PRINT_SCTP;
	case PROTOCOL_TCP:
		if (l4[13] & TCP_SYN)
			return PRINT_TCP_SYN;
		return octets > (l4[12] >> 4) * 4 ? PRINT_TCP_DATA : PRINT_TCP;
	}
	return PRINT_OTHER;
}

/* Octets of a packet that pointers do not reach. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct print_words);
} words_scratch SEC(".maps");

/* words_copy - copy the first 64 octets of the user packet, zeros where it ends
 *
 * @skip: octets of IPv4 options, which are left out
 *
 * They stand there until the next copy. Return: NULL if the frame ends before.
 */
static __noinline struct print_words *words_copy(frame_source *source, __u32 at, __u32 octets, __u32 skip)
{
	__u32 zero = 0, first = skip ? 20 : PRINT_OCTETS;
	struct print_words *room = bpf_map_lookup_elem(&words_scratch, &zero);
	__s32 rest;

	if (!room || octets < 20)
		return NULL;
	__builtin_memset(room, 0, sizeof(*room));
	if (source_load(source, at, room, octets < first ? octets : first))
		return NULL;
	rest = octets - 20 - skip;
	if (!skip || rest <= 0)
		return room;
	if (rest > PRINT_OCTETS - 20)
		rest = PRINT_OCTETS - 20;
	return source_load(source, at + 20 + skip, (void *)room + 20, rest) ? NULL : room;
}

/* words_short - the same of a packet of 40 to 63 octets, such as an acknowledgement of
 * TCP, if pointers reach it
 *
 * What is behind the last whole word is taken from the last 8 octets: words are stored as
 * they are loaded, which a CPU need not wait for.
 *
 * Return: NULL if it is no such packet.
 */
static __always_inline const struct print_words *words_short(struct frame *f, __u32 at, __u32 octets)
{
	__u32 zero = 0, last = octets - 8;
	const __u64 *first, *more;
	struct print_words *room;
	__u64 rest;

	barrier_var(last);
	if (at > FRAME_AT_MAX)
		return NULL;
	at = within(at, 2 * FRAME_AT_MAX - 1);
	first = frame_reach(f, at, 40);
	if (last < 32 || last >= 56 || !first)
		return NULL;
	more = frame_reach(f, at + last, 8);
	room = bpf_map_lookup_elem(&words_scratch, &zero);
	if (!more || !room)
		return NULL;
	rest = octets % 8 ? *more >> (64 - octets % 8 * 8) : 0;
	for (int i = 0; i < 5; i++)
		room->word[i] = first[i];
	room->word[5] = room->word[6] = room->word[7] = 0;
	if (octets < 48) {
		room->word[5] = rest;
		return room;
	}
	more = frame_reach(f, at + 40, 8);
	if (!more)
		return NULL;
	room->word[5] = *more;
	if (octets < 56) {
		room->word[6] = rest;
		return room;
	}
	more = frame_reach(f, at + 48, 8);
	if (!more)
		return NULL;
	room->word[6] = *more;
	room->word[7] = rest;
	return room;
}

/* user_ports - ports or identifiers as in the packet, by which addresses are translated */
static __always_inline __u32 user_ports(enum kind kind, const __be16 *l4)
{
	if (kind == PRINT_ICMP)
		return (__u32)l4[2] << 16 | l4[2];
	return kind == PRINT_OTHER ? 0 : (__u32)l4[1] << 16 | l4[0];
}

/* user_ip4, user_ip6 - what the words of a packet say
 *
 * @behind: octets behind the IP header
 *
 * Return: the mask.
 */
static __always_inline __u32 user_ip4(struct user *u, const struct print_words *w, __u32 behind)
{
	enum kind kind = PRINT_OTHER;

	u->source = w->word[1] >> 32;
	u->destination = (__u32)w->word[2];
	if (!(bpf_ntohs(((const __be16 *)w)[3]) & IP_OFFSET))
		kind = kind_of(u->protocol, (const __u8 *)w + 20, behind);
	u->numbered = numbered_of(w, kind);
	if (nat)
		u->ports = user_ports(kind, (const void *)w + 20);
	return kind;
}

static __always_inline __u32 user_ip6(struct user *u, const struct print_words *w, __u32 behind)
{
	enum kind kind = kind_of(u->protocol, (const __u8 *)w + 40, behind);

	u->source = w->word[1];
	u->destination = w->word[3];
	if (nat)
		u->ports = user_ports(kind, (const void *)w + 40);
	return PRINT_IP6 + kind;
}

/* user_head - length, version and protocol
 *
 * @headers: octets of the IP header
 *
 * Return: 0, or -1.
 */
static __always_inline int user_head(struct frame *f, struct user *u, __u32 *headers)
{
	__u32 left = f->octets - u->at;
	const __u8 *octet = frame_at(f, u->at, 20);
	__u32 announced;

	if (!octet)
		return -1;
	u->version = octet[0] >> 4;
	if (u->version == 4) {
		announced = bpf_ntohs(((const __be16 *)octet)[1]);
		*headers = (octet[0] & 15) * 4;
		u->octets = announced;
		u->protocol = octet[9];
	} else {
		announced = bpf_ntohs(((const __be16 *)octet)[2]);
		*headers = 40;
		u->octets = 40 + announced;
		u->protocol = octet[6];
	}
	if (!announced && f->segment) /* longer than it can say: BIG TCP */
		u->octets = left;
	if (*headers < 20 || u->octets < *headers || (u->version != 4 && u->version != 6))
		return -1;
	return u->octets <= left || u->cut ? 0 : -1;
}

/* parse_user - read the user packet
 *
 * Return: SEEN_USER or SEEN_UNPARSED.
 */
static __always_inline enum seen parse_user(struct frame *f, struct user *u, __u8 upf)
{
	const struct print_words *w = NULL;
	__u32 headers, skip = 0, kind;

	if (user_head(f, u, &headers))
		return SEEN_UNPARSED;
	if (u->version == 4)
		skip = headers - 20;
	if (!skip)
		w = u->octets >= PRINT_OCTETS ? frame_reach(f, u->at, PRINT_OCTETS) : words_short(f, u->at, u->octets);
	if (!w)
		w = words_copy(f->source, u->at, u->octets, skip);
	if (!w)
		return SEEN_UNPARSED;
	kind = u->version == 4 ? user_ip4(u, w, u->octets - headers) : user_ip6(u, w, u->octets - headers);
	u->print = print_of(w->word, kind, upf);
	return SEEN_USER;
}
