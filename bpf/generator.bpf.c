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
#include "lab_frame.h"
#include "lab_stamp.h"

#define HEADERS_MAX	112	/* octets: Ethernet to inner UDP, whole words */
#define SHAPES_MAX	4	/* a power of two */
#define TURNS_MAX	64
#define DUE_SHIFT	20	/* due and interval count 2^-20 ns */

/* The session of a frame, as it stands in the last two words of the stamp. The
 * access pattern is the order of the entries: the generator walks them from the
 * first to the last and begins again, which the hardware can prefetch.
 */
struct access {
	__u32 session;
	__be32 teid;
	__be32 ue;
	__u16 stream;
	__u8 qfi;
	__u8 reserved;
	__u8 ue6[16];		/* IPv6 address of the UE */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);	/* set before loading */
	__type(key, __u32);
	__type(value, struct access);
} access_by_position SEC(".maps");

/* What frames of one length have in common. Sums are partial ones' complement
 * sums of 16-bit words, in the byte order of the machine.
 */
struct shape {
	__u64 headers[HEADERS_MAX / 8];	/* Ethernet to inner UDP, session fields 0 */
	__u64 udp_sum;		/* of pseudo header, UDP header, padding, run and magic */
	__u32 ip_sum;		/* of the user packet's IP header without UE address */
	__u32 pseudo_sum;	/* of the user packet's pseudo header without UE address */
	__u32 outer_sum;	/* of outer pseudo header, UDP and GTP-U header */
	__u32 cut;		/* octets that the frame is shorter than the longest */
};

/* What a generator is, constant from loading on. */
const volatile __u32 device;		/* interface index to send by */
const volatile __u32 access_len;	/* entries of access_by_position */
const volatile __u8 outer_checksum;	/* uplink: the outer UDP header has one */
const volatile __u32 turns = 1;		/* after so many frames their lengths repeat */
const volatile __u8 shape_by_turn[TURNS_MAX];
const volatile struct shape shapes[SHAPES_MAX];
__u64 stamp_head;			/* magic and run as they stand in the stamp */

/* A run: what it shall do, set before it, and what it has done. */
struct run {
	__u64 start_ns;		/* intended send time of the first frame */
	__u64 end_ns;		/* no frame is made from here on */
	__u64 interval;		/* between intended send times, 2^-20 ns; 0: no pacing */
	__u64 limit;		/* the run is done when sent is this */
	__u64 due;		/* the next intended send time less start_ns, 2^-20 ns */
	__u64 sent;		/* frames, over all runs: also the next sequence number */
	__u64 last_ns;		/* when the last frame was made */
	__u32 position;		/* next entry of access_by_position */
	__u16 turn;		/* of the next frame */
	__u16 finished;		/* 1 when the run is done */
};

struct run current;

/* next_intended - take a place in the schedule
 *
 * @now:      the time
 * @intended: set to when the frame was due
 *
 * Return: 0, or -1 if nothing is due.
 */
static __always_inline int next_intended(__u64 now, __u64 *intended)
{
	if (now >= current.end_ns || current.sent >= current.limit) {
		current.finished = 1;
		return -1;
	}
	*intended = current.interval ? current.start_ns + (current.due >> DUE_SHIFT) : now;
	if (now < *intended || now < current.start_ns)
		return -1;
	current.due += current.interval;
	return 0;
}

static __always_inline const struct access *next_access(void)
{
	__u32 key = current.position;

	current.position = key + 1 < access_len ? key + 1 : 0;
	return bpf_map_lookup_elem(&access_by_position, &key);
}

/* next_shape - the frame's length, by turns */
static __always_inline const volatile struct shape *next_shape(void)
{
	__u32 turn = current.turn;

	if (turns == 1)
		return &shapes[0];
	current.turn = turn + 1 < turns ? turn + 1 : 0;
	return &shapes[shape_by_turn[turn % TURNS_MAX] % SHAPES_MAX];
}

/* write_stamp - write the stamp at @s
 *
 * Return: the sum of what differs from frame to frame, for the checksum.
 */
static __always_inline __u64 write_stamp(void *s, const struct access *a, __u64 intended, __u64 now)
{
	const __u64 *words = (const void *)a;
	__u64 *out = s;

	out[0] = stamp_head;
	out[1] = current.sent;
	out[2] = intended;
	out[3] = now;
	out[4] = words[0];
	out[5] = words[1];
	return lab_halves(current.sent) + lab_halves(intended) + lab_halves(now) +
	       lab_halves(words[0]) + lab_halves(words[1]);
}

/* write_ue4 - set source or destination of an IPv4 user packet
 *
 * Return: the sum of the address.
 */
static __always_inline __u64 write_ue4(struct iphdr *ip, const struct access *a, int uplink, __u32 ip_sum)
{
	if (uplink)
		ip->saddr = a->ue;
	else
		ip->daddr = a->ue;
	ip->check = ~lab_fold((__u64)ip_sum + a->ue);
	return a->ue;
}

static __always_inline __u64 write_ue6(struct ipv6hdr *ip6, const struct access *a, int uplink)
{
	const __u64 *from = (const void *)a->ue6;
	__u64 *to = (void *)(uplink ? &ip6->saddr : &ip6->daddr);

	to[0] = from[0];
	to[1] = from[1];
	return lab_halves(from[0]) + lab_halves(from[1]);
}

/* outer_check - the outer UDP checksum, without a look at the user packet: its IPv4
 * header sums up to nothing, its datagram to the complement of its pseudo header.
 *
 * @ue: sum of the UE's address
 *
 * Source: RFC 768; Linux Documentation/networking/checksum-offloads.rst, LCO.
 */
static __always_inline __u16 outer_check(const volatile struct shape *s, const struct access *a, __u64 ue, int ipv6)
{
	__u64 sum = s->outer_sum + (__u64)a->teid + a->qfi; /* qfi is the first octet of its word */

	sum += (__u16)~lab_fold(s->pseudo_sum + ue);
	if (ipv6)
		sum += s->ip_sum + ue;
	return (__u16)~lab_fold(sum) ?: 0xffff;
}

/* generate - make one frame
 *
 * @uplink: the frame is GTP-U; else plain IP
 * @ipv6:   the user packet is IPv6; else IPv4
 *
 * Both are constant at compile time, and so are all offsets.
 */
static __always_inline int generate(struct xdp_md *ctx, int uplink, int ipv6)
{
	const __u32 outer = uplink ? sizeof(struct iphdr) + sizeof(struct udphdr) + sizeof(struct lab_gtpu) : 0;
	const __u32 user = ETH_HLEN + outer;
	const __u32 udp = user + (ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	const __u32 stamp = udp + sizeof(struct udphdr);
	__u64 now = bpf_ktime_get_ns(), intended, sum, ue, *words;
	const volatile struct shape *shape;
	const struct access *a;
	struct lab_gtpu *gtpu;
	struct udphdr *inner;
	void *data;

	if (next_intended(now, &intended))
		return XDP_DROP;
	a = next_access();
	if (!a)
		return XDP_ABORTED;
	shape = next_shape();
	if (turns > 1 && shape->cut && bpf_xdp_adjust_tail(ctx, -(int)shape->cut))
		return XDP_ABORTED;
	data = (void *)(long)ctx->data;
	if (data + stamp + sizeof(struct stamp) > (void *)(long)ctx->data_end)
		return XDP_ABORTED;

	/* The last word may reach into the stamp, which comes after. */
	words = data;
	for (__u32 i = 0; i < (stamp + 7) / 8; i++)
		words[i] = shape->headers[i];
	sum = shape->udp_sum + write_stamp(data + stamp, a, intended, now);
	ue = ipv6 ? write_ue6(data + user, a, uplink) : write_ue4(data + user, a, uplink, shape->ip_sum);
	inner = data + udp;
	inner->check = (__u16)~lab_fold(sum + ue) ?: 0xffff; /* 0 means none. Source: RFC 768. */
	if (uplink) {
		gtpu = data + user - sizeof(*gtpu);
		gtpu->teid = a->teid;
		gtpu->qfi = a->qfi;
		if (outer_checksum)
			((struct udphdr *)gtpu - 1)->check = outer_check(shape, a, ue, ipv6);
	}
	current.sent++;
	current.last_ns = now;
	return bpf_redirect(device, 0);
}

SEC("xdp")
int generate_uplink4(struct xdp_md *ctx)
{
	return generate(ctx, 1, 0);
}

SEC("xdp")
int generate_uplink6(struct xdp_md *ctx)
{
	return generate(ctx, 1, 1);
}

SEC("xdp")
int generate_downlink4(struct xdp_md *ctx)
{
	return generate(ctx, 0, 0);
}

SEC("xdp")
int generate_downlink6(struct xdp_md *ctx)
{
	return generate(ctx, 0, 1);
}

char _license[] SEC("license") = "GPL";
