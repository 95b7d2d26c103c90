/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "bounds.h"
#include "pass.h"

/* Super-packets: what a sender left to be cut (GSO), or a receiver put together (GRO).
 * Each packet that it stands for is one to the probe, with the fingerprint that it has
 * when it is alone, so that it does not matter who cuts, where, or whether at all.
 *
 * At N6, and inside one GTP-U message, a TCP segment or UDP datagram is cut: lengths,
 * TCP sequence number and IPv4 identification count up. At N3 one UDP super-packet may
 * also be several GTP-U messages, each with all its headers.
 */
#define SUPER_PACKETS	1024	/* of one super-packet; more are not parsed */

/* Too large for the stack. */
struct super {
	struct user user;
	struct print_words head;	/* the headers, then zeros */
	struct print_words words;	/* of a packet, */
	struct print_words beyond;	/* which the verifier believes that it may be longer than */
	__u32 segment;			/* octets of payload of each packet but the last */
	__u32 headers;			/* octets of IP and transport headers */
	__u32 payload;			/* octets behind them */
	__u32 octets;			/* of the frame */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct super);
} super_scratch SEC(".maps");

struct super_walk {
	frame_source *source;
	const volatile struct point *point;
	struct super *super;
	__u64 now;
};

static __always_inline void be16_add(void *at, __u16 n)
{
	*(__be16 *)at = bpf_htons(bpf_ntohs(*(__be16 *)at) + n);
}

/* segment_headers - write what is different in the headers of packet @i
 *
 * @octets: of its payload
 */
static __always_inline void segment_headers(struct super *s, __u32 i, __u32 octets)
{
	void *w = &s->words, *l4 = w + 40;

	if (s->user.version == 4) {
		((__be16 *)w)[1] = bpf_htons(s->headers + octets);
		be16_add(w + 4, i);
		l4 = w + 20;
	} else {
		((__be16 *)w)[2] = bpf_htons(s->headers - 40 + octets);
	}
	if (s->user.protocol == PROTOCOL_UDP)
		((__be16 *)l4)[2] = bpf_htons(8 + octets);
	else
		((__be32 *)l4)[1] = bpf_htonl(bpf_ntohl(((__be32 *)l4)[1]) + i * s->segment);
}

/* segment_payload - copy what there is of the payload in the first octets of a packet */
static __always_inline void segment_payload(const struct super_walk *walk, struct super *s, __u32 from, __u32 octets)
{
	__u32 headers = s->headers, room;

	if (headers >= PRINT_OCTETS)
		return;
	room = PRINT_OCTETS - headers;
	if (octets > room)
		octets = room;
	if (!length_bound(&octets, PRINT_OCTETS))
		return;
	source_load(walk->source, s->user.at + headers + from, (void *)&s->words + headers, octets);
}

/* segment_pass - one packet of those that a user packet stands for */
static long segment_pass(__u64 i, void *context)
{
	struct super_walk *walk = context;
	struct super *s = walk->super;
	__u32 from = i * s->segment, octets, kind, behind;

	if (from >= s->payload)
		return 1;
	octets = s->payload - from;
	if (octets > s->segment)
		octets = s->segment;
	s->words = s->head;
	segment_headers(s, i, octets);
	segment_payload(walk, s, from, octets);
	s->user.octets = s->headers + octets;
	behind = s->user.octets - (s->user.version == 4 ? 20 : 40);
	kind = s->user.version == 4 ? user_ip4(&s->user, &s->words, behind) : user_ip6(&s->user, &s->words, behind);
	s->user.print = print_of(s->words.word, kind, walk->point->upf);
	pass(walk->point, &s->user, walk->now);
	return 0;
}

/* message_pass - one of several GTP-U messages */
static long message_pass(__u64 i, void *context)
{
	struct super_walk *walk = context;
	struct super *s = walk->super;
	struct frame f = { .room = &s->words, .source = walk->source, .octets = s->octets };
	struct user *u = &s->user;
	enum seen seen;
	__u32 at;

	u->at = s->headers + i * s->segment;
	if (u->at >= s->octets)
		return 1;
	u->qfi = 0;
	at = u->at;
	seen = parse_tunnel(&f, u, &at);
	u->at = at;
	if (seen == SEEN_USER)
		seen = parse_user(&f, u, walk->point->upf);
	if (seen == SEEN_USER)
		pass(walk->point, u, walk->now);
	else
		pass_over(walk->point, seen);
	return 0;
}

/* segment_begin - read the headers of a user packet that is to be cut
 *
 * Return: 0, or -1.
 */
static __always_inline int segment_begin(const struct super_walk *walk, struct super *s)
{
	struct frame f = { .room = &s->words, .source = walk->source, .octets = s->octets, .segment = s->segment };
	const struct print_words *w;
	const __u8 *l4;
	__u32 ip;

	if (user_head(&f, &s->user, &ip) || (s->user.version == 4 && ip != 20))
		return -1;
	s->payload = s->user.octets;
	w = words_copy(walk->source, s->user.at, s->payload, 0);
	if (!w)
		return -1;
	l4 = (const __u8 *)w + (s->user.version == 4 ? 20 : 40);
	if (s->user.protocol == PROTOCOL_UDP)
		s->headers = ip + 8;
	else if (s->user.protocol == PROTOCOL_TCP)
		s->headers = ip + (l4[12] >> 4) * 4;
	else
		return -1;
	if (s->headers >= s->payload || s->headers < ip + 8)
		return -1;
	s->payload -= s->headers;
	w = words_copy(walk->source, s->user.at, s->headers, 0);
	if (!w)
		return -1;
	s->head = *w;
	return 0;
}

/* super_pass - a super-packet is at the point
 *
 * @u:    as parse_to_user() has left it, with SEEN_USER or SEEN_DATAGRAMS in @seen
 * @walk: source, point and time, 0 for now
 */
static __always_inline void super_pass(struct super_walk *walk, const struct user *u, enum seen seen, __u32 octets, __u32 segment)
{
	__u32 zero = 0;
	struct super *s = bpf_map_lookup_elem(&super_scratch, &zero);

	if (!s)
		return;
	walk->super = s;
	if (!walk->now)
		walk->now = bpf_ktime_get_ns();
	s->user = *u;
	s->octets = octets;
	s->segment = segment;
	s->headers = u->at;
	if (seen == SEEN_DATAGRAMS)
		bpf_loop(SUPER_PACKETS, message_pass, walk, 0);
	else if (segment_begin(walk, s))
		pass_over(walk->point, SEEN_UNPARSED);
	else
		bpf_loop(SUPER_PACKETS, segment_pass, walk, 0);
}
