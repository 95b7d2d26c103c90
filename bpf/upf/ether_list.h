/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "list.h"

/* Which PDR of a list a frame of an Ethernet PDU session matches. There is no
 * cache of flows for frames.
 */

/* What a list may look at of a frame. */
struct frame {
	__u64 source, destination;	/* as in struct ether_entry */
	__u64 user;		/* as user_at(), and FLOW_UPLINK, of the IP packet inside; 0: none */
	__u32 flow;		/* flow_hash() of that */
	__u32 dscp;
	__u16 s_tci, c_tci;
	__u16 ethertype;	/* behind the tags */
	__u8 has;		/* FRAME_* */
	__u8 qfi;
};

#define FRAME_S_TAG	0x1
#define FRAME_C_TAG	0x2
#define FRAME_QFI	0x4

/* The frame that a CPU looks at: there is no room on the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct frame);
} frame_now SEC(".maps");

/* frame_begin - the frame of this CPU, empty; NULL never */
static __always_inline struct frame *frame_begin(void)
{
	__u32 zero = 0;
	struct frame *f = bpf_map_lookup_elem(&frame_now, &zero);

	if (f)
		__builtin_memset(f, 0, sizeof(*f));
	return f;
}

static __always_inline __u64 mac_number(const __u8 *mac)
{
	return (__u64)bpf_ntohs(*(__be16 *)mac) << 32 | bpf_ntohl(*(__be32 *)(mac + 2));
}

/* mac_is_group - whether it is a broadcast or multicast address */
static __always_inline int mac_is_group(__u64 number)
{
	return number >> 40 & 1;
}

struct ether_tag {
	__be16 tci;
	__be16 proto;		/* of what is behind it */
};

/* ether_tag - step over the tag at the cursor if the Ethertype before it is @tpid
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int ether_tag(struct packet *p, struct frame *f, __u16 tpid, __u16 *tci, __u8 has)
{
	const struct ether_tag *tag = p->pos;

	if (f->ethertype != tpid)
		return 0;
	if (!packet_has(p, sizeof(*tag)))
		return -DROP_ETHERNET_SHORT;
	*tci = bpf_ntohs(tag->tci);
	f->ethertype = bpf_ntohs(tag->proto);
	f->has |= has;
	packet_pull(p, sizeof(*tag));
	return 0;
}

#define FRAME_AT	0x3fff	/* of an offset, for the verifier */

/* ether_inner - read the IP packet at the cursor; a broken one is none */
static __always_inline void ether_inner(const struct ctx *ctx, struct packet *p, struct frame *f)
{
	if ((f->ethertype != ETH_P_IP && f->ethertype != ETH_P_IPV6) || parse_user(p))
		return;
	if ((p->version == 4) != (f->ethertype == ETH_P_IP))
		return;
	f->dscp = p->dscp;
	f->flow = flow_hash(p);
	f->user = user_at(ctx, p);
}

/* ether_parse - read a frame, and the IP packet in it if there is one
 *
 * @at: user_at() of the frame
 *
 * It has a service tag and a customer tag at most; what is behind them has the
 * Ethertype. Global, so that the verifier looks at it once.
 *
 * Source: IEEE Std 802.1Q-2022, 9.5. Return: 0, or a negative enum upf_count.
 */
__noinline int ether_parse(struct ctx_md *md, __u64 at, struct frame *f)
{
	struct ctx ctx = { .md = md };
	struct packet p = { .end = ctx_end(&ctx), .left = at >> USER_OCTETS & 0xffff };
	const struct ethhdr *eth;

	p.pos = ctx_data(&ctx) + (at & FRAME_AT);
	eth = p.pos;
	if (!f || !packet_has(&p, sizeof(*eth)))
		return -DROP_ETHERNET_SHORT;
	f->destination = mac_number(eth->h_dest);
	f->source = mac_number(eth->h_source);
	f->ethertype = bpf_ntohs(eth->h_proto);
	packet_pull(&p, sizeof(*eth));
	if (ether_tag(&p, f, ETH_P_8021AD, &f->s_tci, FRAME_S_TAG) ||
	    ether_tag(&p, f, ETH_P_8021Q, &f->c_tci, FRAME_C_TAG))
		return -DROP_ETHERNET_SHORT;
	ether_inner(&ctx, &p, f);
	return 0;
}

static __always_inline int tag_matches(const struct frame *f, __u8 has, __u16 tci, __u16 want, __u16 mask)
{
	return f->has & has && (tci & mask) == want;
}

/* ether_sdf - whether one of a run of SDF filters matches the flow of this CPU */
__noinline int ether_sdf(__u32 first, __u32 count)
{
	__u32 zero = 0;
	const struct flow *f = bpf_map_lookup_elem(&flow_now, &zero);

	if (!f)
		return 0;
	for (__u32 i = 0; i < LIST_MAX && i < count; i++)
		if (entry_match(first + i, f, 0) >= 0)
			return 1;
	return 0;
}

/* ether_filter - whether an Ethernet Packet Filter matches
 *
 * @first: of the list's entries
 * Source: TS 29.244 V18.6.0, 7.5.2.2-3.
 */
static __always_inline int ether_filter(const struct ether_entry *e, const struct frame *f, __u32 first)
{
	if (f->source < e->source[0] || f->source > e->source[1] ||
	    f->destination < e->destination[0] || f->destination > e->destination[1])
		return 0;
	if (e->ethertype && e->ethertype != f->ethertype)
		return 0;
	if (e->flags & ETHER_C_TAG && !tag_matches(f, FRAME_C_TAG, f->c_tci, e->c_tci, e->c_mask))
		return 0;
	if (e->flags & ETHER_S_TAG && !tag_matches(f, FRAME_S_TAG, f->s_tci, e->s_tci, e->s_mask))
		return 0;
	return !e->sdfs || (f->user && ether_sdf(first + e->sdf, e->sdfs));
}

/* ether_match - compare what the entry has
 *
 * Return: index in pdrs, or what does not match, negative, in the order of
 * enum upf_count.
 */
__noinline int ether_match(__u32 index, const struct frame *f, __u32 first)
{
	const struct ether_entry *e = bpf_map_lookup_elem(&entries, &index);

	if (!e || !f)
		return -DROP_INTERNAL;
	if (e->qfis && !(f->has & FRAME_QFI && e->qfis >> (f->qfi & 63) & 1))
		return -DROP_QFI;
	return ether_filter(e, f, first) ? (int)e->pdr : -DROP_SDF_FILTER;
}

/* ether_flow - make the IP packet at @user the flow of this CPU
 *
 * Return: 0, or a negative enum upf_count.
 */
__noinline int ether_flow(struct ctx_md *md, __u64 user)
{
	__u32 zero = 0;
	struct flow_work *work = bpf_map_lookup_elem(&flow_now, &zero);
	struct upper u;

	if (!work)
		return -DROP_INTERNAL;
	__builtin_memset(&work->flow, 0, sizeof(work->flow));
	return flow_read(md, user, work, &u);
}

/* ether_list - find the first entry of a list that matches; see list_match()
 *
 * @count: LIST_COUNT
 * Return: index in pdrs, or a negative enum upf_count.
 */
__noinline int ether_list(struct ctx_md *md, const struct frame *f, __u32 first, __u32 count)
{
	__u32 before = count >> LIST_UES_SHIFT;
	int nearest = -DROP_NO_PDR;

	if (!f)
		return -DROP_INTERNAL;
	if (before && f->user) {
		int err = ether_flow(md, f->user);

		if (err)
			return err;
	}
	for (__u32 i = 0; i < LIST_MAX && i < (count & LIST_COUNT_MASK); i++) {
		int found = ether_match(first + before + i, f, first);

		if (found >= 0)
			return found;
		nearest = found < nearest ? found : nearest;
	}
	return nearest;
}
