/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "emit.h"
#include "enforce.h"
#include "measure.h"

/* The way of a packet through the stages. Until measure nothing is changed, so
 * that a packet can still be handed to the slow path, which starts afresh.
 */

/* upf_dropped - count on the rule what its QERs and FAR drop */
static __always_inline int upf_dropped(const struct match *m, int err)
{
	if (!IS_PASS(-err))
		measure_dropped(m);
	return err;
}

static __always_inline int upf_tunnelled(struct ctx *ctx, struct packet *p)
{
	struct match m = {};
	struct route r = {};
	int err = detect_tunnelled(p, &m);

	if (err)
		return err;
	err = forward_tunnelled(&m, p, &r);
	if (!err || !IS_PASS(-err))
		err = match_end(&m) ?: err;
	if (!err)
		err = enforce(&m, p);
	if (err)
		return upf_dropped(&m, err);
	measure(&m, p);
	return m.ctl & RULE_OUTER ? emit_outer(ctx, p, &r) : emit_bare(ctx, p, &r);
}

static __always_inline int upf_bare(struct ctx *ctx, struct packet *p)
{
	struct match m = {};
	struct route r = {};
	int err = detect_bare(p, &m);

	if (err)
		return err;
	err = forward_n6(&m, p, &r);
	if (!err || !IS_PASS(-err))
		err = match_end(&m) ?: err;
	if (!err)
		err = enforce(&m, p);
	if (err)
		return upf_dropped(&m, err);
	measure(&m, p);
	return emit_ttl(p) ? -DROP_INTERNAL : emit_outer(ctx, p, &r);
}

/* upf_exception - hand a frame from N6 to the slow path
 *
 * Return: the action.
 */
static __always_inline int upf_exception(struct ctx *ctx, __u32 reason)
{
	__u32 octets = ctx_octets(ctx);
	struct exception *e;

	if (octets == 0 || octets > EXCEPTION_MAX) {
		count(DROP_MTU);
		return CTX_DROP;
	}
	e = bpf_ringbuf_reserve(&exceptions, sizeof(*e), 0);
	if (!e) {
		count(DROP_SLOW_FULL);
		return CTX_DROP;
	}
	e->octets = octets;
	e->reason = reason;
	if (ctx_load(ctx, e->frame, octets)) {
		bpf_ringbuf_discard(e, 0);
		count(DROP_INTERNAL);
		return CTX_DROP;
	}
	bpf_ringbuf_submit(e, 0);
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

static __always_inline int upf_gtpu(struct ctx *ctx)
{
	struct packet p = {};
	int err;

	packet_init(&p, ctx);
	err = parse_tunnelled(&p);
	return err ? err : upf_tunnelled(ctx, &p);
}

static __always_inline int upf_n6(struct ctx *ctx)
{
	struct packet p = {};
	int err, reason;

	packet_init(&p, ctx);
	err = parse_bare(&p);
	if (!err)
		err = upf_bare(ctx, &p);
	reason = -err;
	if (err < 0 && IS_PASS(reason) && reason != PASS_HOST)
		return upf_exception(ctx, reason);
	return upf_finish(err);
}
