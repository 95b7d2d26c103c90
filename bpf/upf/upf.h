/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "again.h"
#include "bounds.h"
#include "emit.h"
#include "enforce.h"
#include "measure.h"

/* The way of a packet through the stages. Until measure nothing is changed, so
 * that a packet can still be handed to the slow path, which starts afresh.
 */

#define ANSWER_TIME	10000000ULL	/* ns: 100 a second */
#define ANSWER_BURST	1000000000ULL
#define SHARE_TIME	100000000ULL	/* ns: 10 a second */

/* answer_allow - take one answer at @tat, one in @time ns
 *
 * Of two CPUs at once one may go away empty: it is a bound, not a rate.
 */
static __always_inline int answer_allow(volatile __u64 *tat, __u64 time)
{
	__u64 now = bpf_ktime_get_ns(), was = *tat, start = was > now ? was : now;

	if (start > now + ANSWER_BURST)
		return 0;
	return __sync_val_compare_and_swap(tat, was, start + time) == was;
}

/* upf_share - whether the slow path shall tell the sender of a user packet why we
 * drop it: a few packets a second of a user, whoever sends how many
 *
 * @key: of the rule, so that a user who uses up a share uses up no other's
 * Return: 1 or 0.
 */
__noinline int upf_share(__u64 key)
{
	__u32 share = (__u32)(key ^ key >> 32) * 0x9e3779b1U >> 22;

	return answer_allow(&share_tat[share & (ANSWER_SHARES - 1)], SHARE_TIME);
}

/* upf_dropped - count on the rule what its QERs and FAR drop, but not what the
 * slow path drops, which counts it there
 */
static __always_inline int upf_dropped(const struct match *m, const struct packet *p, int err)
{
	if (packet_super(p))
		return -PASS_SPLIT;
	if ((err == -DROP_TTL || err == -DROP_SCOPE) && upf_share(m->key))
		return -PASS_ANSWER;
	if (!IS_PASS(-err))
		measure_dropped(m);
	return err;
}

/* upf_admit - whether the packet may leave; @err is what forward said
 *
 * Return: 0, when it has been counted, or a negative enum upf_count.
 */
static __always_inline int upf_admit(const struct ctx *ctx, struct match *m, const struct packet *p, int err)
{
	if (!err || !IS_PASS(-err))
		err = match_end(m) ?: err;
	if (!err)
		err = pass(ctx, m, p);
	return err ? upf_dropped(m, p, err) : 0;
}

#define UPF_IN_LINE	2	/* pass_home() is */
#define UPF_AGAIN	4	/* in the program for G-PDUs that the UPF itself has sent */

/* upf_admit_home - upf_admit() on the ways of the common session; @way:
 * UPF_IN_LINE, and the direction as in pass_home()
 *
 * It is in line where the verifier has to look at no more than one such way: a program
 * with both ways, or for skbs, calls rule_pass() instead, for one return more.
 */
static __always_inline int upf_admit_home(const struct ctx *ctx, struct match *m, const struct packet *p, __u32 way, int err)
{
	if (!err || !IS_PASS(-err))
		err = match_end(m) ?: err;
	if (!err && !(way & UPF_IN_LINE && pass_home(m, p, way & ~UPF_IN_LINE)))
		err = pass(ctx, m, p);
	return err ? upf_dropped(m, p, err) : 0;
}

static __always_inline int upf_relay(struct ctx *ctx, struct packet *p, struct match *m)
{
	struct route r = {};

	return upf_admit(ctx, m, p, forward_relay(ctx, m, p, &r)) ?: emit_outer(ctx, p, &r);
}

/* upf_tunnelled - the way of a G-PDU
 *
 * It parts early, so that the common one, out on N6, carries nothing of the other.
 */
static __always_inline int upf_tunnelled(struct ctx *ctx, struct packet *p, struct match *m, __u32 in_line)
{
	struct route r = {};
	int err = detect_tunnelled(ctx, p, m), mapping = 0;

	if (err)
		return err;
	if (m->ctl & RULE_OUTER)
		return upf_relay(ctx, p, m);
	if (p->exts & GTPU_FOREIGN && m->ctl & RULE_FORW)
		return match_end(m) ?: -DROP_GTPU_EXT_TYPE;
	err = forward_bare(m, p, &r);
	if (!err && packet_super(p) && r.changes & N6_NAT)
		err = -PASS_SPLIT;
	if (!err && r.changes) {
		mapping = n6_prepare(ctx, rule_n6(m->ctl), &r.changes, packet_at(ctx, p));
		if (mapping < 0)
			err = mapping;
	}
	err = upf_admit_home(ctx, m, p, in_line | URR_UPLINK, err);
	if (!err && r.changes)
		err = n6_leave(ctx, rule_n6(m->ctl), r.changes, packet_at(ctx, p), mapping);
	return err ?: emit_bare(ctx, p, &r);
}

/* @translated: the NAT has given it the UE's address */
static __always_inline int upf_bare(struct ctx *ctx, struct packet *p, struct match *m, __u32 in_line, __u32 translated)
{
	struct route r = {};
	int err = detect_bare(ctx, p, m), clamp = 0;

	if (err)
		return err;
	err = forward_n6(m, p, &r);
	/* What is the slow path's may be a packet in a tunnel of N6, which no NAT hides. */
	if (n6_arrivals & N6_NAT && !IS_PASS(-err) && !translated && p->version == 4 && n6_hides(md_ifindex(ctx->md)))
		err = -DROP_NAT_MAPPING;
	if (!err && n6_arrivals & N6_MSS) {
		clamp = n6_arrive(ctx->md, packet_at(ctx, p));
		if (clamp < 0)
			err = clamp;
	}
	err = upf_admit_home(ctx, m, p, in_line | URR_DOWNLINK, err);
	if (err)
		return err;
	if (clamp)
		n6_clamp(ctx->md, clamp, packet_at(ctx, p));
	return emit_ttl(p) ? -DROP_INTERNAL : emit_outer(ctx, p, &r);
}

#define EXCEPTION_TUNNELLED	1	/* a G-PDU, not a bare packet */
#define EXCEPTION_AGAIN		2	/* at an F-TEID to which the UPF itself sent it */
#define EXCEPTION_TRANSLATED	4	/* a bare packet that the NAT has translated */
#define EXCEPTION_NETWORK_SHIFT	16	/* above: Ethernet data network, on which a frame is */
#define EXCEPTION_OF_UE		0x80000000	/* which has come from a UE there */

/* upf_exception - hand a frame to the slow path
 *
 * @key: of its rule; 0: none
 * @how: EXCEPTION_*
 * Return: the action.
 */
static __noinline int upf_exception(struct ctx *ctx, __u64 key, __u32 how, __u32 reason)
{
	__u32 octets = ctx_octets(ctx), zero = 0, tunnelled = how & EXCEPTION_TUNNELLED;
	struct exception *e = bpf_map_lookup_elem(&scratch, &zero);

	if (!e)
		return CTX_DROP;
	if (!length_bound(&octets, EXCEPTION_MAX)) {
		count(DROP_MTU);
		return CTX_DROP;
	}
	if (ctx_load(ctx, e->frame, octets)) {
		count(DROP_INTERNAL);
		return CTX_DROP;
	}
	e->octets = octets;
	e->reason = reason;
	e->tunnelled = tunnelled;
	e->passes = how & EXCEPTION_AGAIN ? again_passes() : !!(how & EXCEPTION_TRANSLATED);
	e->network = how >> EXCEPTION_NETWORK_SHIFT;
	e->ifindex = ctx_ifindex(ctx);
	e->queue = queue_add(key, tunnelled, reason == PASS_CHANGING || reason == PASS_UNRESOLVED || reason == PASS_BRIDGE);
	if (e->queue == QUEUE_NO_ROOM) {
		count(DROP_SLOW_FULL);
		return CTX_DROP;
	}
	e->wait = reason == PASS_NAME ? name_wait_add() : 0;
	/* Frames of no rule, which a stranger may send, leave half of the ring to rules. */
	if (!e->queue && !e->wait && bpf_ringbuf_query(&exceptions, BPF_RB_AVAIL_DATA) > EXCEPTIONS_OCTETS / 2) {
		count(DROP_SLOW_FULL);
		return CTX_DROP;
	}
	if (bpf_ringbuf_output(&exceptions, e, offsetof(struct exception, frame) + octets, 0)) {
		if (e->queue)
			queue_remove(e->queue);
		if (e->wait)
			name_wait_remove(e->wait);
		count(DROP_SLOW_FULL);
		return CTX_DROP;
	}
	count(reason);
	return CTX_DROP;
}

/* upf_finish - from what became of the packet to an action */
static __always_inline int upf_finish(int result)
{
	if (result >= 0)
		return result;
	count(-result);
	return IS_PASS(-result) ? CTX_PASS : CTX_DROP;
}

/* upf_answer - whether the slow path shall tell the sender why we drop this
 *
 * It does so for a few packets a second, whoever sends how many. Return: @err, or
 * what hands the packet on.
 */
__noinline int upf_answer(int err)
{
	if (err != -DROP_NO_PDR && err != -DROP_GTPU_EXT_TYPE)
		return err;
	return answer_allow(&answer_tat, ANSWER_TIME) ? -PASS_ANSWER : err;
}

#ifdef CTX_SKB
/* split_wanted - whether a packet of which @err has become is to be cut */
static __always_inline int split_wanted(const struct ctx *ctx, int err)
{
	if (err == -PASS_SPLIT)
		return 1;
	return err < 0 && md_segment(ctx->md) && err != -PASS_AGAIN && err != -PASS_HOST && err != -PASS_SIGNALLING && err != -PASS_FRAGMENT &&
	       err != -DROP_INTERNAL; /* it has been counted by then */
}

/* split_off - send the packet to be cut; @role: VLAN_* of the port it came on
 *
 * Return: the action.
 */
static __always_inline int split_off(struct ctx *ctx, __u32 role)
{
	if (split_done(ctx->md)) {
		count(DROP_INTERNAL);
		return CTX_DROP;
	}
	count(PASS_SPLIT);
	md_set_mark(ctx->md, role << MARK_ROLE_SHIFT | (ctx_ifindex(ctx) & MARK_IFINDEX));
	return bpf_redirect(split_tx, 0);
}
#else
#define split_wanted(ctx, err)	0
#define split_off(ctx, role)	CTX_DROP
#endif

/* upf_opaque - what becomes of a T-PDU that is no IP packet
 *
 * @key: rule_key_teid() of the tunnel through which it came; 0: no G-PDU
 * @err: why it is none
 *
 * It may be of an Ethernet PDU session, or of an unstructured one, whose rules are
 * the slow path's. The function takes no pointers: what the common packet needs
 * stays in registers.
 * Return: -PASS_ETHER, or a negative enum upf_count.
 */
__noinline int upf_opaque(__u64 key, int err)
{
	struct rule *rule;
	__u32 ctl;

	if (!key)
		return err;
	rule = rule_find(&rule_by_teid, &guest_by_teid, key);
	ctl = rule ? *(volatile __u32 *)&rule->ctl : 0;
	if (ctl & RULE_ETHER)
		return -PASS_ETHER;
	return ctl & RULE_SLOW ? -PASS_RULES : err;
}

_Static_assert(DROP_SDF_FILTER == DROP_UE_ADDRESS + 2 && DROP_QFI == DROP_UE_ADDRESS + 1, "in the order of how near a PDR comes");

/* upf_unmatched - whether @reason is that PDRs have the F-TEID but do not match */
static __always_inline int upf_unmatched(int reason)
{
	return (__u32)reason - DROP_UE_ADDRESS <= DROP_SDF_FILTER - DROP_UE_ADDRESS;
}

/* upf_gtpu - a frame of a device on which GTP-U is terminated
 *
 * What the kernel has to put together, or to hand to the GTP-U socket, is passed
 * to it; a G-PDU that has a rule goes through the ring, in its order, and so does all
 * that the UPF itself has sent here, of which the kernel would take nothing: UPF_AGAIN.
 * Return: an action, -PASS_ETHER, -PASS_AGAIN, or a negative enum upf_count.
 */
static __always_inline int upf_gtpu(struct ctx *ctx, __u32 how)
{
	struct packet p = {};
	struct match m = {};
	int err;

	packet_init(&p, ctx);
	err = parse_tunnelled(&p);
	trace_packet(&p, 1);
	if (!err) {
		super_begin(ctx, &p);
		err = upf_tunnelled(ctx, &p, &m, how & UPF_IN_LINE);
	} else if (err == -DROP_IP_SHORT || err == -DROP_IP_VERSION) {
		m.key = p.teid ? rule_key_teid(p.local, p.teid) : 0;
		err = upf_opaque(m.key, err);
		if (err != -PASS_RULES)
			m.key = 0;
	}
	trace_match(&m);
	if (split_wanted(ctx, err))
		return split_off(ctx, VLAN_GTPU);
	if (err >= 0 || err <= -PASS_ETHER)
		return err;
	if (upf_unmatched(-err) && p.version == 6 && forward_scope(&p) && upf_share(m.key))
		err = -PASS_ANSWER; /* it may solicit a router */
	if (!IS_PASS(-err))
		err = upf_answer(err);
	if (how & UPF_AGAIN)
		return IS_PASS(-err) ? upf_exception(ctx, m.key, EXCEPTION_TUNNELLED | EXCEPTION_AGAIN, -err) : err;
	return IS_PASS(-err) && m.key ? upf_exception(ctx, m.key, EXCEPTION_TUNNELLED, -err) : err;
}

/* upf_n6_once - a frame from N6 through the stages */
static __always_inline int upf_n6_once(struct ctx *ctx, struct match *m, __u32 in_line, __u32 translated)
{
	struct packet p = {};
	int err;

	packet_init(&p, ctx);
	err = parse_bare(&p);
	trace_packet(&p, 0);
	if (!err) {
		super_begin(ctx, &p);
		err = upf_bare(ctx, &p, m, in_line, translated);
	}
	trace_match(m);
	return split_wanted(ctx, err) ? split_off(ctx, VLAN_N6) : err;
}

/* upf_n6 - a frame from N6
 *
 * One that is to an address of a NAT goes through the stages once more, when it
 * has the address of its UE again. Return: an action, or -PASS_AGAIN.
 */
static __always_inline int upf_n6(struct ctx *ctx, __u32 in_line)
{
	struct match m;
	int err, reason;
	__u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < 2; i++) {
		m = (struct match){};
		err = upf_n6_once(ctx, &m, in_line, i);
		if (err != -PASS_HOST || !(n6_arrivals & N6_NAT))
			break;
		err = i ? -DROP_NAT_MAPPING : n6_untranslate(ctx->md);
		if (err)
			break;
	}
	if (err >= 0 || err == -PASS_AGAIN)
		return err;
	if (err == -PASS_SPLIT)
		return split_off(ctx, VLAN_N6);
	reason = -err;
	if (IS_PASS(reason) && reason != PASS_HOST)
		return upf_exception(ctx, m.key, i ? EXCEPTION_TRANSLATED : 0, reason);
	return upf_finish(err);
}
