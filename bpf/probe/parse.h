/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "gtpu.h"
#include "maps.h"

/* From the frame to the user packet.
 *
 * Lengths and offsets are octets of the frame. What is read goes into struct user at
 * once, so that the verifier need not remember where a header was read from.
 */
#define PROTOCOL_ICMP	1
#define PROTOCOL_TCP	6
#define PROTOCOL_UDP	17
#define PROTOCOL_ICMP6	58
#define PROTOCOL_SCTP	132

#define USUAL_OCTETS	58	/* parse_usual(): of all headers */

#define IP_OFFSET	0x1fff
#define IP_MORE		0x2000

/* What a frame is to a point. */
enum seen {
	SEEN_USER,		/* a user packet */
	SEEN_NOTHING,		/* nothing that is counted: signalling, ARP */
	SEEN_FOREIGN,		/* a packet of others */
	SEEN_UNPARSED,		/* a user packet that cannot be read */
	SEEN_DATAGRAMS,		/* a super-packet of GTP-U messages */
	SEEN_BARE,		/* to be read as a user packet */
};

struct user {
	__u64 print;		/* fingerprint */
	__u64 source, destination;	/* as in the packet; of IPv6 the first 64 bits */
	__u32 at;		/* where its IP header is */
	__u32 octets;		/* IP header and above */
	__u32 teid;		/* host order */
	__u32 message;		/* octets of the GTP-U message */
	__u32 ports;		/* NAT: source and destination, or identifiers, as in the packet */
	__u16 cut;		/* the frame is the first fragment only */
	__u8 tunnelled;
	__u8 qfi;
	__u8 version, protocol;
	__u16 numbered;		/* print_unnumbered(): identification, as in the packet */
};

/* frame_at - @octets of the frame from octet @at on
 *
 * Return: where they are, until the next call; NULL if the frame ends before.
 */
static __always_inline const void *frame_at(struct frame *f, __u32 at, __u32 octets)
{
	const void *p = frame_reach(f, at, octets);

	if (p)
		return p;
	return source_load(f->source, at, f->room, octets) ? NULL : f->room;
}

/* step - go on by @octets, which mostly are @usual
 *
 * A CPU that predicts so goes on at once, and does not wait for the length to be read.
 */
static __always_inline void step(__u32 *at, __u32 octets, __u32 usual)
{
	__u32 more = octets - usual;

	barrier_var(more);
	*at += usual;
	if (more)
		*at += more;
	barrier_var(*at);
}

/* vlan_hard - step over up to two VLAN tags behind the Ethernet addresses
 *
 * Return: octets up to what is behind them << 16 | its type, as in the frame.
 */
HARD int vlan_hard(frame_source *source)
{
	__u16 tags[6];

	if (source_load(source, 12, tags, sizeof(tags)))
		return 0;
	if (tags[2] != bpf_htons(ETH_P_8021Q) && tags[2] != bpf_htons(ETH_P_8021AD))
		return 18 << 16 | tags[2];
	return 22 << 16 | tags[4];
}

/* parse_link - step over the Ethernet header, VLAN tags included
 *
 * Return: SEEN_BARE or SEEN_NOTHING.
 */
static __always_inline enum seen parse_link(struct frame *f, const volatile struct point *point, __u32 *at)
{
	const __u16 *eth;
	__u32 tagged;
	__u16 type;

	*at = f->start;
	if (point->bare)
		return SEEN_BARE;
	eth = frame_at(f, 0, ETH_HLEN);
	if (!eth)
		return SEEN_NOTHING;
	type = eth[6];
	*at = ETH_HLEN;
	if (type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD)) {
		tagged = vlan_hard(f->source);
		type = tagged;
		*at = tagged >> 16;
	}
	return type == bpf_htons(ETH_P_IP) || type == bpf_htons(ETH_P_IPV6) ? SEEN_BARE : SEEN_NOTHING;
}

static __always_inline int point_has_ip4(const volatile struct point *point, __be32 address)
{
	for (int i = 0; i < POINT_ADDRESSES && point->ip4[i]; i++) {
		if (point->ip4[i] == address)
			return 1;
	}
	return point->any;
}

static __always_inline int point_has_ip6(const volatile struct point *point, __u64 high, __u64 low)
{
	for (int i = 0; i < POINT_ADDRESSES && point->ip6[2 * i] | point->ip6[2 * i + 1]; i++) {
		if (point->ip6[2 * i] == high && point->ip6[2 * i + 1] == low)
			return 1;
	}
	return point->any;
}

/* The outer IP header, to which it all is the same. */
struct outer {
	__u32 octets;	/* of the header */
	int ours;	/* from or to the UPF */
	int later;	/* a fragment, not the first */
	int first;	/* the first of fragments */
};

/* outer_ip - read what may be the outer IP header
 *
 * Return: 1 if UDP is behind it, which a later fragment may lack.
 */
static __always_inline int outer_ip(struct frame *f, const volatile struct point *point, __u32 at, struct outer *o)
{
	const __u32 *w = frame_at(f, at, 20);
	const __u8 *octet = (const void *)w;
	__u16 fragment;

	if (!w)
		return 0;
	if (octet[0] >> 4 == 4) {
		fragment = bpf_ntohs(((const __be16 *)w)[3]);
		o->later = fragment & IP_OFFSET;
		o->first = fragment & IP_MORE;
		o->octets = (octet[0] & 15) * 4;
		o->ours = point_has_ip4(point, point->way == WAY_IN ? w[4] : w[3]);
		return octet[9] == PROTOCOL_UDP && o->octets >= 20;
	}
	if (octet[0] >> 4 != 6 || octet[6] != PROTOCOL_UDP)
		return 0;
	w = frame_at(f, at + (point->way == WAY_IN ? 24 : 8), 16);
	if (!w)
		return 0;
	o->octets = 40;
	o->later = o->first = 0;
	o->ours = point_has_ip6(point, (__u64)w[1] << 32 | w[0], (__u64)w[3] << 32 | w[2]);
	return 1;
}

/* parse_outer - step over outer IP and UDP headers, if there are such
 *
 * Return: SEEN_USER if GTP-U is behind them, else SEEN_BARE, at the point of N3 alone
 * SEEN_NOTHING or SEEN_FOREIGN.
 */
static __always_inline enum seen parse_outer(struct frame *f, const volatile struct point *point, struct user *u, __u32 *at)
{
	enum seen other = point->side == SIDE_N3 ? SEEN_NOTHING : SEEN_BARE;
	const __be16 *udp;
	struct outer o;

	if (!outer_ip(f, point, *at, &o) || o.later)
		return other;
	step(at, o.octets, 20);
	udp = frame_at(f, *at, 8);
	if (!udp || udp[1] != bpf_htons(GTPU_PORT))
		return other;
	if (!o.ours)
		return point->side == SIDE_N3 ? SEEN_FOREIGN : SEEN_BARE;
	u->cut = o.first != 0;
	*at += 8;
	return SEEN_USER;
}

/* What is behind extension headers, and what they say. */
struct extensions {
	__u32 end;
	__u32 qfi;
};

/* extensions_hard - step over extension headers, the first of @type
 *
 * Source: TS 29.281 V18.1.0, 5.2.1; TS 38.415 V18.0.0, 5.5.2.
 * Return: SEEN_USER or SEEN_UNPARSED.
 */
HARD int extensions_hard(frame_source *source, __u32 at, __u8 type, struct extensions *e)
{
	__u64 room[3];
	struct frame f = { .room = room, .source = source };

	if (!e)
		return SEEN_UNPARSED;
	for (int i = 0; type && i < GTPU_EXT_MAX; i++) {
		const __u8 *ext = frame_at(&f, at, 4);
		__u32 octets;

		if (!ext || !ext[0])
			return SEEN_UNPARSED;
		octets = ext[0] * 4;
		if (type == GTPU_EXT_PSC)
			e->qfi = ext[2] & (QFIS - 1);
		type = ext[3];
		if (octets > 4) {
			ext = frame_at(&f, at + octets - 1, 1);
			if (!ext)
				return SEEN_UNPARSED;
			type = ext[0];
		}
		at += octets;
	}
	e->end = at;
	return type ? SEEN_UNPARSED : SEEN_USER;
}

/* parse_extensions - the same, if there is but a PDU Session Container of one word */
static __always_inline enum seen parse_extensions(struct frame *f, struct user *u, __u32 *at, __u8 type)
{
	struct extensions e = {};
	const __u8 *ext;
	enum seen seen;

	if (!type)
		return SEEN_USER;
	ext = frame_at(f, *at, 4);
	if (ext && type == GTPU_EXT_PSC && ext[0] == 1 && !ext[3]) {
		u->qfi = ext[2] & (QFIS - 1);
		*at += 4;
		return SEEN_USER;
	}
	seen = extensions_hard(f->source, *at, type, &e);
	u->qfi = e.qfi;
	*at = e.end;
	return seen;
}

/* parse_tunnel - step over the GTP-U header
 *
 * Source: TS 29.281 V18.1.0, 5.1.
 * Return: SEEN_USER if a T-PDU is behind it.
 */
static __always_inline enum seen parse_tunnel(struct frame *f, struct user *u, __u32 *at)
{
	const __u8 *h = frame_at(f, *at, 8), *opt;
	__u8 flags;

	if (!h)
		return SEEN_UNPARSED;
	flags = h[0];
	if ((flags & GTPU_V_PT_MASK) != GTPU_V1_PT || h[1] != GTPU_G_PDU)
		return SEEN_NOTHING;
	u->tunnelled = 1;
	u->message = 8 + bpf_ntohs(((const __be16 *)h)[1]);
	u->teid = bpf_ntohl(((const __be32 *)h)[1]);
	*at += 8;
	if (!(flags & GTPU_OPT_MASK))
		return SEEN_USER;
	opt = frame_at(f, *at, 4);
	if (!opt)
		return SEEN_UNPARSED;
	*at += 4;
	return parse_extensions(f, u, at, flags & GTPU_E ? opt[3] : 0);
}

/* parse_usual - the same as parse_to_user() of what most frames at N3 are, at one go:
 * Ethernet, IPv4 without options, UDP, GTP-U with a PDU Session Container of one word
 *
 * Return: 1, or 0 if it is another one.
 */
static __always_inline int parse_usual(struct frame *f, const volatile struct point *point, struct user *u)
{
	const __u8 *h;
	__u32 ext;

	if (point->side == SIDE_N6 || point->bare || f->segment)
		return 0;
	h = frame_reach(f, 0, USUAL_OCTETS);
	if (!h)
		return 0;
	if ((*(const __u32 *)(h + 12) & bpf_htonl(0xffffff00)) != bpf_htonl(ETH_P_IP << 16 | 0x4500))
		return 0;
	if (*(const __be16 *)(h + 20) & bpf_htons(IP_MORE | IP_OFFSET) || h[23] != PROTOCOL_UDP)
		return 0;
	if (*(const __be16 *)(h + 36) != bpf_htons(GTPU_PORT))
		return 0;
	if (*(const __be16 *)(h + 42) != bpf_htons((GTPU_V1_PT | GTPU_E) << 8 | GTPU_G_PDU) || h[53] != GTPU_EXT_PSC)
		return 0;
	ext = *(const __u32 *)(h + 54);
	if ((ext & bpf_htonl(0xff0000ff)) != bpf_htonl(1 << 24))
		return 0;
	if (!point_has_ip4(point, *(const __be32 *)(h + (point->way == WAY_IN ? 30 : 26))))
		return 0;
	u->at = USUAL_OCTETS;
	u->tunnelled = 1;
	u->message = 8 + bpf_ntohs(*(const __be16 *)(h + 44));
	u->teid = bpf_ntohl(*(const __be32 *)(h + 46));
	u->qfi = bpf_ntohl(ext) >> 8 & (QFIS - 1);
	return 1;
}

/* parse_to_user - from the frame to the IP header of the user packet, or to the first of
 * several GTP-U messages
 *
 * Return: SEEN_USER, or what it is instead.
 */
static __always_inline enum seen parse_to_user(struct frame *f, const volatile struct point *point, struct user *u)
{
	__u32 at, start;
	enum seen seen;

	if (parse_usual(f, point, u))
		return SEEN_USER;
	seen = parse_link(f, point, &at);
	u->at = at;
	if (seen != SEEN_BARE)
		return seen;
	if (point->side == SIDE_N6)
		return SEEN_USER;
	seen = parse_outer(f, point, u, &at);
	if (seen == SEEN_BARE)
		return SEEN_USER;
	if (seen != SEEN_USER)
		return seen;
	start = u->at = at;
	seen = parse_tunnel(f, u, &at);
	if (seen == SEEN_USER && f->segment && u->message <= f->segment && f->octets - start > f->segment)
		return SEEN_DATAGRAMS;
	u->at = at;
	return seen;
}
