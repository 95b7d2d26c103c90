/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "bounds.h"

/* What the traced twins write. Included by trace.h only. */

#define TRACE_MAX	4	/* traces at once */
#define TRACE_KEYS	16	/* TEIDs, and UE addresses of each kind, of a trace */
#define TRACE_SNAP_MAX	2048	/* octets of a frame, a power of two */

/* A trace: which packets it wants. A word that is 0 in a list is no entry. */
struct trace_want {
	__u64 reasons;		/* bit of enum upf_count: also packets that end so, whosever they are */
	__u64 all;		/* not 0: all packets but those that are left to the host */
	__u64 interval_ns;	/* between records at its rate */
	__u64 burst_ns;		/* how far ahead of the rate it may be */
	__u64 tat;		/* theoretical time of the next record */
	__u64 wanted;		/* packets that it wanted, before sampling */
	__u64 limited;		/* of the sampled ones: above the rate */
	__u64 lost;		/* no room in the ring */
	__u32 sample;		/* one in so many; 0: no such trace */
	__u32 snap;		/* octets of each frame, 1 to TRACE_SNAP_MAX */
	__u32 teid[TRACE_KEYS];		/* of the G-PDU, host order */
	__u32 ue_ip4[TRACE_KEYS];	/* source or destination of the user packet, host order */
	__u64 ue_ip6[TRACE_KEYS];	/* their first 64 bits */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, TRACE_MAX);
	__type(key, __u32);
	__type(value, struct trace_want);
} trace_wants SEC(".maps");

/* The head of a record; behind it arrived_snap octets of the frame as it came, and
 * left_snap as it went.
 */
struct trace_head {
	__u64 time_ns;		/* bpf_ktime_get_ns() when it came */
	__u64 key;		/* of the rule that was looked up; 0: none */
	__u64 src_ip6, dst_ip6;	/* of the user packet, host order */
	__u32 src_ip4, dst_ip4;
	__u32 teid;		/* of the G-PDU; 0: it came bare, or was not understood */
	__u32 ctl;		/* of the rule, with key */
	__u32 pdr;		/* PDR ID, where a key has several; 0: see key */
	__u32 reason;		/* enum upf_count; 0: forwarded */
	__u32 arrived_ifindex, left_ifindex;
	__u32 arrived_octets, left_octets;
	__u32 arrived_snap, left_snap;
	__u32 cpu;
	__u32 wants;		/* bit per trace */
	__u32 version;		/* of the user packet: 4, 6, or 0 */
	__u32 took_ns;		/* from when it came until its end */
};

struct trace_record {
	struct trace_head head;
	__u8 frames[2 * TRACE_SNAP_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trace_record);
} trace_records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} trace_ring SEC(".maps");


_Static_assert(COUNT_MAX <= 64, "a reason is a bit of trace_want.reasons");

static __always_inline struct trace_record *trace_record(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&trace_records, &zero);
}

/* trace_snap - how much of a frame the traces want: the most of any */
static __always_inline __u32 trace_snap(void)
{
	__u32 most = 0;

	for (__u32 i = 0; i < TRACE_MAX; i++) {
		__u32 key = i;
		const struct trace_want *w = bpf_map_lookup_elem(&trace_wants, &key);

		if (w && w->sample && w->snap > most)
			most = w->snap;
	}
	return most < TRACE_SNAP_MAX ? most : TRACE_SNAP_MAX;
}

/* trace_arrived - begin the record of a packet */
static __always_inline void trace_arrived(struct ctx *ctx)
{
	struct trace_record *r = trace_record();
	__u32 octets = ctx_octets(ctx), snap;

	if (!r)
		return;
	__builtin_memset(&r->head, 0, sizeof(r->head));
	r->head.time_ns = bpf_ktime_get_ns();
	r->head.cpu = bpf_get_smp_processor_id();
	r->head.arrived_ifindex = ctx_ifindex(ctx);
	r->head.arrived_octets = octets;
	snap = trace_snap();
	if (snap > octets)
		snap = octets;
	if (length_bound(&snap, TRACE_SNAP_MAX) && !ctx_load(ctx, r->frames, snap))
		r->head.arrived_snap = snap;
}

/* trace_packet - what parse found */
static __always_inline void trace_packet(const struct packet *p, __u32 tunnelled)
{
	struct trace_record *r = trace_record();

	if (!r)
		return;
	r->head.teid = tunnelled ? p->teid : 0;
	r->head.version = p->version;
	r->head.src_ip4 = p->src_ip4;
	r->head.dst_ip4 = p->dst_ip4;
	r->head.src_ip6 = p->src_ip6;
	r->head.dst_ip6 = p->dst_ip6;
}

/* trace_pdr - the ID of the PDR of a list that matched; 0: none, or the slow path
 * decides which
 *
 * @ctl:   of the match
 * @index: in pdrs, if the rule is a list
 *
 * A global function, so that the verifier looks at it once.
 */
__noinline int trace_pdr(__u32 ctl, __u32 index)
{
	const struct pdr *found;

	if (!(ctl & RULE_LIST) || ctl & RULE_SLOW)
		return 0;
	found = bpf_map_lookup_elem(&pdrs, &index);
	return found ? found->pdr_id : 0;
}

/* trace_match - which rule detect looked at */
static __always_inline void trace_match(const struct match *m)
{
	struct trace_record *r = trace_record();

	if (!r || !m->rule)
		return;
	r->head.key = m->key;
	r->head.ctl = m->ctl;
	r->head.pdr = trace_pdr(m->ctl, m->meter[0]);
}

/* trace_sent - by which device emit sends */
static __always_inline void trace_sent(__u32 ifindex)
{
	struct trace_record *r = trace_record();

	if (r)
		r->head.left_ifindex = ifindex;
}

/* trace_reason - why the packet is not forwarded here; the last one counts */
static __always_inline void trace_reason(__u32 reason)
{
	struct trace_record *r = trace_record();

	if (r)
		r->head.reason = reason;
}

/* trace_about - whether the packet is of a TEID or UE address of the trace */
static __always_inline int trace_about(const struct trace_want *w, const struct trace_head *h)
{
	for (int i = 0; i < TRACE_KEYS; i++) {
		if (h->teid && w->teid[i] == h->teid)
			return 1;
		if (h->version == 4 && w->ue_ip4[i] &&
		    (w->ue_ip4[i] == h->src_ip4 || w->ue_ip4[i] == h->dst_ip4))
			return 1;
		if (h->version == 6 && w->ue_ip6[i] &&
		    (w->ue_ip6[i] == h->src_ip6 || w->ue_ip6[i] == h->dst_ip6))
			return 1;
	}
	return 0;
}

/* trace_rate - whether the trace may have one more record now */
static __always_inline int trace_rate(struct trace_want *w, __u64 now)
{
	__u64 tat = *(volatile __u64 *)&w->tat;
	__u64 start = tat > now ? tat : now;

	if (start > now + w->burst_ns)
		return 0;
	return __sync_val_compare_and_swap(&w->tat, tat, start + w->interval_ns) == tat;
}

/* trace_wanted - whether trace @i wants the packet of the record
 *
 * A global function, so that the verifier looks at it once. Return: nonzero if so.
 */
__noinline int trace_wanted(__u32 i)
{
	struct trace_want *w = bpf_map_lookup_elem(&trace_wants, &i);
	struct trace_record *r = trace_record();
	const struct trace_head *h;
	__u32 sample;

	if (!w || !r)
		return 0;
	h = &r->head;
	sample = w->sample;
	if (!sample)
		return 0;
	if (!(w->reasons >> (h->reason & 63) & 1) && !(w->all && h->reason != PASS_HOST) && !trace_about(w, h))
		return 0;
	__sync_fetch_and_add(&w->wanted, 1);
	if (sample > 1 && bpf_get_prandom_u32() % sample)
		return 0;
	if (trace_rate(w, h->time_ns))
		return 1;
	__sync_fetch_and_add(&w->limited, 1);
	return 0;
}

/* trace_lost - count a record for which the ring had no room */
static __always_inline void trace_lost(__u32 wants)
{
	for (__u32 i = 0; i < TRACE_MAX; i++) {
		__u32 key = i;
		struct trace_want *w = bpf_map_lookup_elem(&trace_wants, &key);

		if (w && wants >> i & 1)
			__sync_fetch_and_add(&w->lost, 1);
	}
}

/* trace_left - add the frame as it leaves */
static __always_inline void trace_left(struct ctx *ctx, struct trace_record *r)
{
	__u32 octets = ctx_octets(ctx), at = r->head.arrived_snap, snap = trace_snap();

	r->head.left_octets = octets;
	if (snap > octets)
		snap = octets;
	barrier_var(at);
	if (at <= TRACE_SNAP_MAX && length_bound(&snap, TRACE_SNAP_MAX) &&
	    !ctx_load(ctx, r->frames + at, snap))
		r->head.left_snap = snap;
}

/* trace_finish - end the record of a packet, and hand it over if it is wanted
 *
 * Return: @action.
 */
static __always_inline int trace_finish(struct ctx *ctx, int action)
{
	struct trace_record *r = trace_record();
	__u32 wants = 0, size;

	if (!r)
		return action;
	for (__u32 i = 0; i < TRACE_MAX; i++)
		wants |= !!trace_wanted(i) << i;
	if (!wants)
		return action;
	r->head.wants = wants;
	r->head.took_ns = bpf_ktime_get_ns() - r->head.time_ns;
	if (r->head.left_ifindex && !r->head.reason)
		trace_left(ctx, r);
	size = sizeof(r->head) + r->head.arrived_snap + r->head.left_snap;
	barrier_var(size);
	if (size > sizeof(*r) || bpf_ringbuf_output(&trace_ring, r, size, 0))
		trace_lost(wants);
	return action;
}
