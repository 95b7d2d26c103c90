/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

/* The meter: at the far end of the UPF it takes the frames of the generator,
 * checks each against its stamp, counts it and drops it. All other frames go on
 * to the kernel.
 */
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "skb.h"
#include "arrival.h"
#include "window.h"
#include "latency.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);	/* streams, set before loading */
	__type(key, __u32);
	__type(value, struct window);
} window_by_stream SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);	/* streams, set before loading */
	__type(key, __u32);
	__type(value, struct stream_count);
} count_by_stream SEC(".maps");

/* Latency from the intended send time at 2 * stream, from the real one at
 * 2 * stream + 1.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);	/* 2 * streams, set before loading */
	__type(key, __u32);
	__type(value, struct latency);
} latency_by_stream SEC(".maps");

const volatile __u8 encapsulated;	/* a GTP-U header belongs on the frames */
const volatile __be32 outer_source, outer_destination;
const volatile __be32 server, server6;	/* that UEs talk to, IPv6 folded as in the stamp */
const volatile __u32 unenforced;	/* bits of enum misdelivery: what the UPF is known not to enforce */
const volatile __u8 time_stamps;	/* frames may be asked for with their time stamps */

#define STREAMS_MAX	256

__u64 counted_from[STREAMS_MAX];	/* by stream: frames before this sequence number are not counted */
#define SUM_EVERY_NS	4000	/* a payload is summed up, on average */
#define SUM_BURST_NS	(4096 * SUM_EVERY_NS)	/* of a sender that catches up */

__u64 summed_until;	/* ns: when all that have been summed up are due */
__u8 stamping;		/* one frame in 2^stamp_shift is asked for */
__u8 stamp_shift;

/* What the program was called with: one of both. */
struct context {
	struct xdp_md *xdp;
	struct __sk_buff *skb;
};

const enum misdelivery *unused_misdelivery __attribute__((unused));

/* qfi_mismatch - what is wrong with the QFI of a frame */
static __always_inline __u32 qfi_mismatch(__u8 got, __u8 want)
{
	if (!encapsulated || got == want)
		return MISDELIVERED_MAX;
	return got == QFI_NONE ? MISDELIVERED_NO_QFI : MISDELIVERED_QFI;
}

/* flow_mismatch - the first thing of the QoS flow's that is wrong, of which one that the
 * UPF is known not to enforce comes last
 */
static __always_inline __u32 flow_mismatch(const struct arrival *a, __u8 qfi, __u8 dscp)
{
	__u32 wrong = qfi_mismatch(a->qfi, qfi);

	if (wrong != MISDELIVERED_MAX && !(unenforced & 1U << wrong))
		return wrong;
	if (a->dscp != dscp && (wrong == MISDELIVERED_MAX || !(unenforced & 1U << MISDELIVERED_DSCP)))
		return MISDELIVERED_DSCP;
	return wrong;
}

/* session_mismatch - the first thing of the session's that is not as the stamp has it */
static __always_inline __u32 session_mismatch(const struct arrival *a)
{
	if (a->ue != a->stamp->ue)
		return MISDELIVERED_UE;
	if (encapsulated && a->teid != a->stamp->teid)
		return MISDELIVERED_TEID;
	return MISDELIVERED_MAX;
}

/* short_mismatch - the same of a short stamp */
static __always_inline __u32 short_mismatch(const struct arrival *a)
{
	if (stamp_hash(a->ue) != SHORT_CHECK_UE(a->short_check))
		return MISDELIVERED_UE;
	if (encapsulated && stamp_hash(a->teid) != SHORT_CHECK_TEID(a->short_check))
		return MISDELIVERED_TEID;
	return MISDELIVERED_MAX;
}

/* xdp_sum, skb_sum - the sum of a frame's octets from @offset on
 *
 * Global functions are verified once, and not for every way that leads to them.
 */
__noinline __u32 xdp_sum(struct xdp_md *ctx, __u32 offset)
{
	return octets_sum((void *)(long)ctx->data, (void *)(long)ctx->data_end, offset);
}

__noinline __u32 skb_sum(struct __sk_buff *ctx, __u32 offset)
{
	return octets_sum((void *)(long)ctx->data, (void *)(long)ctx->data_end, offset);
}

/* sum_due - whether the next payload may be summed up
 *
 * That costs as much as all else of a long frame, so those of a second are bounded: the
 * meter must not be the limit. CPUs that ask at the same moment may both be let.
 */
static __always_inline int sum_due(__u64 now)
{
	__u64 next = summed_until;

	if (next > now + SUM_BURST_NS)
		return 0;
	summed_until = (next > now ? next : now) + SUM_EVERY_NS;
	return 1;
}

/* payload_changed - whether the user packet's payload does not agree with its checksum
 *
 * A kernel that leaves checksums to the device sends what has to be completed: the checksum
 * is the pseudo header's sum then, and says nothing of the payload.
 */
static __always_inline int payload_changed(const struct arrival *a, const struct context *c)
{
	__u32 sum = c->skb ? skb_sum(c->skb, a->segment) : xdp_sum(c->xdp, a->segment);

	return lab_fold(a->pseudo_sum + sum) != 0xffff && a->check != lab_fold(a->pseudo_sum);
}

/* packet_mismatch - the first thing that is wrong with the user packet */
static __always_inline __u32 packet_mismatch(const struct arrival *a, const struct context *c, __u64 now)
{
	__u32 wrong = a->stamp ? session_mismatch(a) : short_mismatch(a);

	if (wrong != MISDELIVERED_MAX)
		return wrong;
	if (a->server != (a->ipv6 ? server6 : server))
		return MISDELIVERED_SERVER;
	if (sum_due(now) && payload_changed(a, c))
		return MISDELIVERED_PAYLOAD;
	if (a->stamp)
		return flow_mismatch(a, a->stamp->qfi, a->stamp->dscp);
	return flow_mismatch(a, SHORT_CHECK_QFI(a->short_check), SHORT_CHECK_DSCP(a->short_check));
}

/* misdelivery_of - the first thing that is wrong with a frame
 *
 * Return: an enum misdelivery, MISDELIVERED_MAX if all is right.
 */
static __always_inline __u32 misdelivery_of(const struct arrival *a, const struct context *c, __u64 now)
{
	if (a->encapsulated != encapsulated)
		return MISDELIVERED_ENCAPSULATION;
	if (a->wrong_length)
		return MISDELIVERED_LENGTH;
	if (a->wrong_checksum)
		return MISDELIVERED_CHECKSUM;
	if (encapsulated && (a->outer_source != outer_source || a->outer_destination != outer_destination))
		return MISDELIVERED_OUTER_ADDRESS;
	return packet_mismatch(a, c, now);
}

static __always_inline void latency_record(__u32 key, __u64 from, __u64 now)
{
	struct latency *l = bpf_map_lookup_elem(&latency_by_stream, &key);

	if (l)
		latency_count(l, now > from ? now - from : 0);
}

/* vary - add how much the latency differs from that of the frame before on this CPU, and
 * note the least and the most
 *
 * Source: RFC 5481, 4.1, of frames in the order of their arrival.
 */
static __always_inline void vary(struct stream_count *c, __u64 from, __u64 now)
{
	__u64 ns = now > from ? now - from : 0;

	if (c->received)
		c->variation_ns += ns > c->before_ns ? ns - c->before_ns : c->before_ns - ns;
	if (!c->received || ns < c->least_ns)
		c->least_ns = ns;
	if (ns > c->most_ns)
		c->most_ns = ns;
	c->before_ns = ns;
}

/* forget - @value, of which the verifier does not know any more what it can be
 *
 * It would follow what comes behind for each way in which a frame may be wrong.
 */
__noinline __u32 forget(__u32 value)
{
	asm volatile("" : "+r"(value));
	return value;
}

static __always_inline void count_new(struct stream_count *c, struct window *w, const struct arrival *a, __u32 wrong, __u64 now)
{

	vary(c, a->intended_ns, now);
	gap_note(w, now);
	c->received++;
	c->received_octets += a->octets;
	c->reordered += window_advance(w, a->sequence);
	if (!c->first_ns)
		c->first_ns = now;
	c->last_ns = now;
	if (wrong < MISDELIVERED_MAX)
		c->misdelivered[wrong]++;
	latency_record(2 * a->stream, a->intended_ns, now);
	if (a->stamp)
		latency_record(2 * a->stream + 1, a->stamp->sent_ns, now);
}

/* complete - the upper halves of what a short stamp has of sequence number and time: the
 * number is near the highest one so far, the time is past
 *
 * Return: 0, or -1 if the number cannot be.
 */
static __always_inline int complete(struct arrival *a, const struct window *w, __u64 from, __u64 now)
{
	__u64 near = w->next > from ? w->next : from;
	__s64 sequence = near + (__s32)((__u32)a->sequence - (__u32)near);
	__u64 late = (now - a->intended_ns) & SHORT_TIME_MASK;

	if (late > SHORT_TIME_MASK / 2)
		late = 0; /* it came before it was due: clocks of CPUs */
	a->sequence = sequence;
	a->intended_ns = now - late;
	return sequence < 0 ? -1 : 0;
}

/* stamp_mark - the mark of a frame that is asked for, 0 of others: lab/timestamp */
static __always_inline __u32 stamp_mark(const struct arrival *a)
{
	__u8 shift = stamp_shift & 63;

	if (!time_stamps || !stamping || a->sequence & ((1ULL << shift) - 1))
		return 0;
	return 1U << 31 | (a->stream & 0xff) << 23 | ((a->sequence >> shift) & 0x7fffff);
}

/* account - count a frame
 *
 * @mark: set, if the frame is counted for the first time
 *
 * Return: 1 if the stream is metered, though it may be before counted_from.
 */
static __always_inline int account(struct arrival *a, const struct context *ctx, __u32 *mark)
{
	__u64 now = bpf_ktime_get_ns(), from;
	struct stream_count *c;
	__u32 stream = a->stream;
	struct window *w;

	w = bpf_map_lookup_elem(&window_by_stream, &stream);
	c = bpf_map_lookup_elem(&count_by_stream, &stream);
	if (!w || !c)
		return 0;
	from = counted_from[stream % STREAMS_MAX];
	if (!a->stamp && complete(a, w, from, now))
		return 0;
	if (a->sequence < from)
		return 1;
	switch (window_note(w, a->sequence)) {
	case NEW:
		count_new(c, w, a, forget(misdelivery_of(a, ctx, now)), now);
		*mark = stamp_mark(a);
		break;
	case DUPLICATE:
		c->duplicated++;
		break;
	case STALE:
		c->stale++;
		break;
	}
	return 1;
}

/* metered - take a frame if it is the generator's
 *
 * @mark: set to what a socket buffer is to be marked with
 *
 * Return: 1 if it has been counted, and is nobody else's.
 */
static __always_inline int metered(struct rest r, const struct context *ctx, __u32 *mark)
{
	struct arrival a = { .qfi = QFI_NONE, .octets = r.end - r.pos, .start = r.pos };

	return arrival_parse(&a, &r) && account(&a, ctx, mark);
}

SEC("xdp")
int meter(struct xdp_md *ctx)
{
	struct rest r = { (void *)(long)ctx->data, (void *)(long)ctx->data_end };
	struct context c = { .xdp = ctx };
	__u32 mark;

	return metered(r, &c, &mark) ? XDP_DROP : XDP_PASS;
}

/* The same for socket buffers, which an XDP program would first have copied into
 * frames. One whose time stamp is asked for goes on to the packet socket that waits for
 * it, and to nobody else: IP drops what is for another host.
 */
SEC("tcx/ingress")
int meter_skb(struct __sk_buff *skb)
{
	struct context c = { .skb = skb };
	__u32 mark = 0;
	struct rest r;

	if (skb->data_end - skb->data < skb->len)
		bpf_skb_pull_data(skb, skb->len);
	r.pos = (void *)(long)skb->data;
	r.end = (void *)(long)skb->data_end;
	if (!metered(r, &c, &mark))
		return TC_ACT_UNSPEC;
	if (!mark || bpf_skb_change_type(skb, PACKET_OTHERHOST))
		return TC_ACT_SHOT;
	skb->mark = mark;
	return TC_ACT_OK;
}

char _license[] SEC("license") = "GPL";
