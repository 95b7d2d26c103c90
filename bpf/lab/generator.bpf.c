/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

/* The traffic generator: run with live frames (BPF_PROG_RUN,
 * BPF_F_TEST_XDP_LIVE_FRAMES), each run of the program makes one frame and
 * redirects it to a device, or drops the page because no frame is due yet.
 *
 * The kernel reuses a page as the last receiver left it, so every header and the
 * stamp are written whole each time. What is behind them is nobody's to change
 * and stays as the first frame had it.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "frame.h"
#include "schedule.h"
#include "stamp.h"
#include "write.h"

#define HEADERS_MAX	112	/* octets: Ethernet to inner UDP, whole words */
#define SHAPES_MAX	128	/* a power of two */
#define TURNS_MAX	4096	/* of all streams; a power of two */
#define STREAMS_MAX	64	/* a power of two */

/* What the frames of one length of a stream have in common. */
struct shape {
	__u64 headers[HEADERS_MAX / 8];	/* Ethernet to inner UDP, session fields 0 */
	__u64 l4_sum;		/* of pseudo header, UDP header, padding, head of the stamp */
	__u64 stamp_head;	/* the stamp's first word, or the short stamp's first half of it */
	__u32 ip_sum;		/* of the user packet's IP header without UE address */
	__u32 pseudo_sum;	/* of the user packet's pseudo header without UE address */
	__u32 outer_sum;	/* of outer pseudo header, UDP and GTP-U header */
	__u16 cut;		/* octets that the frame is shorter than the longest */
	__u8 short_stamp;
	__u8 ipv6;
};

/* The lengths of a stream's frames: its part of shape_by_turn. */
struct turn_range {
	__u16 first, count;
};

/* What a generator is, constant from loading on. */
const volatile __u32 device;		/* interface index to send by */
const volatile __u32 access_len;	/* entries of access_by_position */
const volatile __u8 plain;		/* one stream of one length with whole stamps, and none of the next three */
const volatile __u8 outer_checksum;	/* uplink: the outer UDP header has one */
const volatile __u8 marked;		/* some frames have a DSCP */
const volatile __u8 unlike;		/* what is padding in some frames is a stamp in others */
const volatile __u32 streams = 1;
const volatile __u32 first_stream;	/* its number */
const volatile __u32 turns = 1;		/* if there is one stream: after so many frames their lengths repeat */
const volatile struct turn_range turns_by_stream[STREAMS_MAX];
const volatile __u8 shape_by_turn[TURNS_MAX];
const volatile struct shape shapes[SHAPES_MAX];

/* The state of each stream, if there are several: of one it is in current. */
struct stream {
	__u64 sent;	/* frames, over all runs: also the next sequence number */
	__u64 turn;	/* of the next frame */
};

struct stream stream_by_number[STREAMS_MAX];

static __always_inline const struct access *next_access(void)
{
	__u32 key = current.position;

	current.position = key + 1 < access_len ? key + 1 : 0;
	return bpf_map_lookup_elem(&access_by_position, &key);
}

/* stream_shape - the length and the number of a frame of one of several streams */
static __always_inline const volatile struct shape *stream_shape(__u32 number, __u64 *sequence)
{
	const volatile struct turn_range *of = &turns_by_stream[number % STREAMS_MAX];
	struct stream *s = &stream_by_number[number % STREAMS_MAX];
	__u32 turn = of->first + s->turn;

	*sequence = s->sent++;
	s->turn = s->turn + 1 < of->count ? s->turn + 1 : 0;
	return &shapes[shape_by_turn[turn % TURNS_MAX] % SHAPES_MAX];
}

/* next_shape - the frame's length, by turns, and its number */
static __always_inline const volatile struct shape *next_shape(const struct access *a, int simple, __u64 *sequence)
{
	__u32 turn;

	if (!simple && streams > 1)
		return stream_shape(a->stream - first_stream, sequence);
	*sequence = current.sent;
	if (simple || turns == 1)
		return &shapes[0];
	turn = current.turn;
	current.turn = turn + 1 < turns ? turn + 1 : 0;
	return &shapes[shape_by_turn[turn % TURNS_MAX] % SHAPES_MAX];
}

/* make - write a frame
 *
 * @uplink: the frame is GTP-U; else plain IP
 * @ipv6:   the user packet is IPv6; else IPv4
 * @simple: what plain says
 *
 * They are constant at compile time, and so are all offsets.
 *
 * Return: 0, or -1 if the page is too short.
 */
static __always_inline int make(struct xdp_md *ctx, int uplink, int ipv6, int simple, const volatile struct shape *shape,
				const struct access *a, __u64 sequence, __u64 intended, __u64 now)
{
	const __u32 outer = uplink ? sizeof(struct iphdr) + sizeof(struct udphdr) + sizeof(struct lab_gtpu) : 0;
	const __u32 user = ETH_HLEN + outer;
	const __u32 udp = user + (ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	const __u32 stamp = udp + sizeof(struct udphdr);
	__u64 sum = shape->l4_sum, ue, ip6 = ipv6 ? shape->ip_sum : 0, *words;
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct lab_gtpu *gtpu;
	struct udphdr *inner;

	if (data + stamp + (simple ? sizeof(struct stamp) : SHORT_STAMP_OCTETS) > end)
		return -1;
	/* The last word may reach into the stamp, which comes after. */
	words = data;
	for (__u32 i = 0; i < (stamp + 7) / 8; i++)
		words[i] = shape->headers[i];
	if (!simple && shape->short_stamp)
		sum += write_short_stamp(data + stamp, shape->stamp_head, a, sequence, intended);
	else if (simple || data + stamp + sizeof(struct stamp) <= end)
		sum += write_stamp(data + stamp, shape->stamp_head, a, sequence, intended, now);
	else
		return -1;
	if (!simple && unlike)
		write_padding(data, end, stamp + (shape->short_stamp ? SHORT_STAMP_OCTETS : sizeof(struct stamp)));
	ue = ipv6 ? write_ue6(data + user, a, uplink) : write_ue4(data + user, a, uplink, shape->ip_sum);
	inner = data + udp;
	inner->check = (__u16)~lab_fold(sum + ue) ?: 0xffff; /* 0 means none. Source: RFC 768. */
	if (!simple && marked && ipv6)
		ip6 += mark6(data + user, a->dscp);
	else if (!simple && marked)
		mark4(data + user, a->dscp);
	if (!uplink)
		return 0;
	gtpu = data + user - sizeof(*gtpu);
	gtpu->teid = a->teid;
	gtpu->qfi = a->qfi;
	if (!simple && marked)
		mark4(data + ETH_HLEN, a->dscp);
	if (!simple && outer_checksum)
		((struct udphdr *)gtpu - 1)->check = outer_check(shape->outer_sum, shape->pseudo_sum, a, ue, ip6);
	return 0;
}

/* What the user packets of a generator are. */
enum family { IPV4, IPV6, BOTH };

/* generate - make one frame */
static __always_inline int generate(struct xdp_md *ctx, int uplink, enum family family, int simple)
{
	__u64 now = bpf_ktime_get_ns(), intended, sequence;
	const volatile struct shape *shape;
	const struct access *a;
	int err;

	if (next_intended(now, &intended))
		return XDP_DROP;
	a = next_access();
	if (!a)
		return XDP_ABORTED;
	shape = next_shape(a, simple, &sequence);
	if (!simple && (turns > 1 || streams > 1) && shape->cut && bpf_xdp_adjust_tail(ctx, -(int)shape->cut))
		return XDP_ABORTED;
	if (family == IPV6 || (family == BOTH && shape->ipv6))
		err = make(ctx, uplink, 1, simple, shape, a, sequence, intended, now);
	else
		err = make(ctx, uplink, 0, simple, shape, a, sequence, intended, now);
	if (err)
		return XDP_ABORTED;
	current.sent++;
	current.last_ns = now;
	return bpf_redirect(device, 0);
}

#define GENERATE(name, uplink, family)			\
	SEC("xdp")					\
	int generate_##name(struct xdp_md *ctx)		\
	{						\
		if (plain)				\
			return generate(ctx, uplink, family, 1);	\
		return generate(ctx, uplink, family, 0);	\
	}

GENERATE(uplink4, 1, IPV4)
GENERATE(uplink6, 1, IPV6)
GENERATE(uplink, 1, BOTH)
GENERATE(downlink4, 0, IPV4)
GENERATE(downlink6, 0, IPV6)
GENERATE(downlink, 0, BOTH)

char _license[] SEC("license") = "GPL";
