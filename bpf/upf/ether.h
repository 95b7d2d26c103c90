/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "upf.h"
#include "ether_list.h"

/* Ethernet PDU sessions. The UPF is a bridge between tunnels and Ethernet data
 * networks: it routes nothing and changes nothing of a frame.
 *
 *	G-PDU ─► PDRs of the F-TEID ─► frame ─┬─► device of the data network
 *	                                      └─► the station that has its destination
 *	device ─► frame ─► station ─► PDRs of its session ─► G-PDU
 *
 * stations has the MAC addresses of UEs, and those that were heard on the data
 * network, which no UE can take. They are learnt by the slow path, from frames whose
 * source is not there; it gets frames to groups as well, of which it makes copies,
 * and ARP, from which it learns what it answers for others.
 *
 * These are programs of their own, behind a tail call: the stages of IP packets
 * find out that a rule is of such a session, and that nothing else may look at
 * the T-PDU.
 */

#ifndef CTX_SKB
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} ether_program SEC(".maps");
#endif

/* The same for programs on a CPUMAP, which the kernel tells apart. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} ether_cpu_program SEC(".maps");

/* ether_divert - go on with a frame in the program that is for it
 *
 * Return: @result, which is none of -PASS_ETHER.
 */
static __always_inline int ether_divert(struct ctx *ctx, void *programs, __u32 index, int result)
{
	if (result != -PASS_ETHER)
		return result;
	bpf_tail_call(ctx->md, programs, index);
	return -DROP_INTERNAL;
}

#define TCI_VLAN	0xfff	/* of a tag */
#define ETHER_BRIDGED	0x10000	/* what is left is a frame on the network in the low bits */

/* ether_now - the time, to a few milliseconds, which is enough for stations */
static __always_inline __u64 ether_now(void)
{
	return bpf_ktime_get_coarse_ns();
}

/* frame_lan - what a frame on a data network is in: station_key.lan */
static __always_inline __u32 frame_lan(const struct frame *f, __u32 network)
{
	__u32 tci = f->has & FRAME_S_TAG ? f->s_tci : f->has & FRAME_C_TAG ? f->c_tci : 0;

	return (network & 0xffff) | (tci & TCI_VLAN) << STATION_VLAN_SHIFT;
}

/* station_find - the station that has a MAC address, if it was heard of lately */
static __always_inline struct station *station_find(__u64 mac, __u32 lan, __u64 now)
{
	union {
		__be64 octets;
		struct station_key key;
	} at = { .octets = bpf_cpu_to_be64(mac << 16) };
	struct station *s;

	at.key.lan = lan;
	s = bpf_map_lookup_elem(&stations, &at.key);
	if (s && (__s64)(now - *(volatile __u64 *)&s->seen_ns) < (__s64)STATION_AGE)
		return s;
	return NULL;
}

/* station_heard - note that a frame came from a station
 *
 * The word is written rarely, so that CPUs that share it do not wait for each other.
 */
static __always_inline void station_heard(struct station *s, __u64 now)
{
	if ((__s64)(now - *(volatile __u64 *)&s->seen_ns) > (__s64)STATION_STEP)
		*(volatile __u64 *)&s->seen_ns = now;
}

/* ether_begin - match_begin() of a rule of an Ethernet PDU session */
static __always_inline int ether_begin(struct match *m, struct rule *rule, __u32 tunnelled)
{
	m->rule = rule;
	m->seen = rule_ctl(rule);
	if (m->seen & (RULE_CHANGING | RULE_SLOW | RULE_QUEUED)) {
		int err = queue_enter(m->key, m->seen, QUEUE_FRAMES | tunnelled);

		if (err)
			return err;
	}
	if ((m->seen & (RULE_ETHER | RULE_LIST)) != (RULE_ETHER | RULE_LIST))
		return -PASS_CHANGING;
	m->ctl = m->seen;
	m->meter[0] = rule->meter[0];
	m->meter[1] = rule->meter[1];
	return 0;
}

/* ether_detect - find the PDR of a frame
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int ether_detect(const struct ctx *ctx, const struct packet *p, struct match *m,
					struct frame *f)
{
	int found;

	if (f->user && m->seen & RULE_UPLINK)
		f->user |= (__u64)FLOW_UPLINK << USER_HAS;
	if (p->has_psc) {
		f->has |= FRAME_QFI;
		f->qfi = p->qfi & GTPU_PSC_QFI;
	}
	found = ether_list(ctx->md, f, m->meter[LIST_FIRST], m->meter[LIST_COUNT]);
	if (found >= 0)
		return detect_pdr(p, m, found);
	m->meter[0] = 0; /* no PDR: pdrs has none there */
	return match_end(m) ?: found;
}

/* ether_relay - out through another tunnel */
static __always_inline int ether_relay(struct ctx *ctx, struct packet *p, struct match *m,
				       const struct frame *f)
{
	struct route r = {};
	int err = forward_relay(ctx, m, p, &r);

	r.flow = f->flow;
	return upf_admit(ctx, m, p, err) ?: emit_outer(ctx, p, &r);
}

/* ether_learnt - whether the bridge knows that the source of an uplink frame is
 * where it came from
 */
static __always_inline int ether_learnt(const struct match *m, const struct frame *f, __u32 lan, __u64 now)
{
	struct station *s;

	if (!(m->ctl & RULE_UPLINK))
		return 1;
	s = station_find(f->source, lan, now);
	if (!s || !s->slot || s->slot != m->rule->ue_ip4)
		return 0;
	station_heard(s, now);
	return 1;
}

/* ether_outside - whether the bridge knows that the source of a frame from the data
 * network is there; a group is nowhere
 */
static __always_inline int ether_outside(const struct frame *f, __u32 lan, __u64 now)
{
	struct station *s;

	if (mac_is_group(f->source))
		return 1;
	s = station_find(f->source, lan, now);
	if (!s || s->slot)
		return 0;
	station_heard(s, now);
	return 1;
}

/* ether_fits - whether the device of a data network takes a frame: a tag is beyond
 * its MTU, as the kernel has it
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int ether_fits(const struct n6_way *w, const struct packet *p, const struct frame *f)
{
	__u32 header = sizeof(struct ethhdr), mtu = *(volatile __u16 *)&w->mtu;

	if (f->has & (FRAME_S_TAG | FRAME_C_TAG))
		header += sizeof(struct ether_tag);
	if (!mtu)
		return -PASS_UNRESOLVED;
	return p->octets > mtu + header ? -DROP_MTU : 0;
}

/* ether_leave - Outer Header Removal, and out on the data network
 *
 * Return: an action, ETHER_BRIDGED with the network if a UE has the destination, or
 * a negative enum upf_count.
 */
static __always_inline int ether_leave(struct ctx *ctx, struct packet *p, struct match *m,
				       const struct frame *f)
{
	__u32 way = rule_n6(m->ctl), lan;
	const struct n6_way *w = bpf_map_lookup_elem(&n6_ways, &way);
	const struct station *to;
	__u64 now = ether_now();
	int err = 0;

	if (!w)
		return -DROP_INTERNAL;
	lan = frame_lan(f, w->network);
	if (mac_is_group(f->destination) || f->ethertype == ETH_P_ARP || !ether_learnt(m, f, lan, now))
		return match_end(m) ?: -PASS_BRIDGE;
	to = station_find(f->destination, lan, now);
	if (to && !to->slot)
		to = NULL;
	if (!(m->ctl & RULE_FORW))
		err = forward_refused(m);
	else if (!to)
		err = ether_fits(w, p, f);
	else if (to->slot == m->rule->ue_ip4)
		err = -DROP_NO_MAC;
	err = upf_admit(ctx, m, p, err);
	if (err)
		return err;
	if (emit_resize(ctx, p, 0, 0, 0))
		return -DROP_INTERNAL;
	if (to)
		return ETHER_BRIDGED | (lan & 0xffff);
	trace_sent(w->ifindex);
	return ctx_redirect(ctx, w->ifindex);
}

/* ether_up - the way of a frame out of a tunnel; as ether_leave() */
static __always_inline int ether_up(struct ctx *ctx, struct packet *p, struct match *m)
{
	struct frame *f = frame_begin();
	struct rule *rule;
	int err = f ? ether_parse(ctx->md, user_at(ctx, p), f) : -DROP_INTERNAL;

	if (!f || err)
		return err;
	p->dscp = f->dscp;
	rule = rule_find(&rule_by_teid, &guest_by_teid, m->key);
	if (!rule)
		return -DROP_NO_PDR;
	err = ether_begin(m, rule, 1) ?: ether_detect(ctx, p, m, f);
	if (err)
		return err;
	if (p->exts & GTPU_FOREIGN && (m->ctl & (RULE_OUTER | RULE_FORW)) == RULE_FORW)
		return match_end(m) ?: -DROP_GTPU_EXT_TYPE;
	return m->ctl & RULE_OUTER ? ether_relay(ctx, p, m, f) : ether_leave(ctx, p, m, f);
}

/* ether_tunnelled - a G-PDU of an Ethernet PDU session
 *
 * Return: an action, or ETHER_BRIDGED.
 */
__noinline int ether_tunnelled(struct ctx_md *md)
{
	struct ctx ctx = { .md = md };
	struct packet p = {};
	struct match m = {};
	int err;

	packet_init(&p, &ctx);
	err = parse_message(&p);
	if (err)
		return upf_finish(err);
	p.octets = p.left;
	packet_single(&p);
	trace_packet(&p, 1);
	m.key = rule_key_teid(p.local, p.teid);
	err = ether_up(&ctx, &p, &m);
	trace_match(&m);
	if (err >= 0)
		return err;
	if (!IS_PASS(-err))
		return upf_finish(upf_answer(err));
	return upf_exception(&ctx, m.key, EXCEPTION_TUNNELLED, -err);
}

/* ether_down - the way of a frame on a data network to the UE that has its
 * destination
 *
 * @network: number of the data network, and ETHER_BRIDGED if the frame is of a UE
 * Return: an action, or a negative enum upf_count.
 */
static __always_inline int ether_down(struct ctx *ctx, struct packet *p, struct match *m, __u32 network)
{
	struct route r = {};
	struct frame *f = frame_begin();
	const struct station *s;
	__u64 now = ether_now();
	struct rule *rule;
	__u32 slot, lan;
	int err = f ? ether_parse(ctx->md, user_at(ctx, p), f) : -DROP_INTERNAL;

	if (!f || err)
		return err;
	p->dscp = f->dscp;
	lan = frame_lan(f, network);
	s = station_find(f->destination, lan, now);
	slot = s ? s->slot - 1 : ~0U;
	rule = bpf_map_lookup_elem(&rule_by_ue, &slot);
	if (!s || !rule || *(volatile __u64 *)&rule->key != s->key)
		return -DROP_NO_MAC;
	m->key = s->key;
	err = ether_begin(m, rule, 0);
	if (!err && (f->ethertype == ETH_P_ARP || (!(network & ETHER_BRIDGED) && !ether_outside(f, lan, now))))
		err = -PASS_BRIDGE;
	if (!err)
		err = ether_detect(ctx, p, m, f);
	if (err)
		return err;
	if (!(m->ctl & RULE_FORW)) {
		err = forward_refused(m);
	} else if (m->ctl & RULE_OUTER) {
		forward_psc(m, &r);
		err = forward_outer(m, p, &r);
		r.flow = f->flow;
	} else {
		err = -PASS_RULES;
	}
	return upf_admit(ctx, m, p, err) ?: emit_outer(ctx, p, &r);
}

/* ether_frame - a frame on the data network with this number, from 1 on; with
 * ETHER_BRIDGED it is of a UE
 *
 * Return: the action.
 */
__noinline int ether_frame(struct ctx_md *md, __u32 network)
{
	struct ctx ctx = { .md = md };
	struct packet p = {};
	struct match m = {};
	int err;

	packet_init(&p, &ctx);
	p.octets = p.left;
	packet_single(&p);
	trace_packet(&p, 0);
	err = ether_down(&ctx, &p, &m, network);
	trace_match(&m);
	if (err < 0 && IS_PASS(-err))
		return upf_exception(&ctx, m.key, network << EXCEPTION_NETWORK_SHIFT |
				     (network & ETHER_BRIDGED ? EXCEPTION_OF_UE : 0), -err);
	return upf_finish(err);
}

/* ether_arrive - a frame on the device of an Ethernet data network
 *
 * One to a group is left to the packet socket there, so that floods do not take the
 * room in the ring from others. Return: the action.
 */
static __always_inline int ether_arrive(struct ctx *ctx)
{
	__u32 network = n6_number(ctx_ifindex(ctx));
	const struct ethhdr *eth = ctx_data(ctx);

	if (!network || (void *)(eth + 1) > ctx_end(ctx))
		return CTX_PASS;
	if (eth->h_dest[0] & 1) {
		count(PASS_BRIDGE);
		return CTX_PASS;
	}
	return ether_frame(ctx->md, network);
}

/* ether_gpdu - a frame that ether_divert() has brought here */
static __always_inline int ether_gpdu(struct ctx *ctx)
{
	int result = ether_tunnelled(ctx->md);

	return result & ETHER_BRIDGED ? ether_frame(ctx->md, result) : result;
}
