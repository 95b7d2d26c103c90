/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

/* The traffic generator for frames that are unlike each other, such as those of a capture
 * file: each run of the program copies the next one whole, then writes session, stamp and
 * checksums. See generator.bpf.c for how it is run.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "bounds.h"
#include "frame.h"
#include "schedule.h"
#include "stamp.h"
#include "write.h"

#define REPLAY_OCTETS	2048	/* of the longest frame */

/* A frame, with the fields of session and stamp 0 but for the stamp's head. */
struct replay_frame {
	__u64 l4_sum;		/* of pseudo header, datagram or segment, without UE address */
	__u64 stamp_head;	/* as struct shape has it */
	__u64 gap_ns;		/* until the next frame in the file */
	__u32 ip_sum;		/* of the user packet's IP header without UE address */
	__u32 pseudo_sum;	/* of its pseudo header without UE address */
	__u32 outer_sum;	/* of outer pseudo header, UDP and GTP-U header */
	__u32 ue;		/* number of the UE in the file */
	__u16 octets;
	__u16 stamp;		/* where the stamp is */
	__u16 check;		/* where the checksum of the datagram or segment is */
	__u8 dscp;		/* as the user packet has it */
	__u8 short_stamp;
	__u8 ipv6;
	__u8 reserved[7];
	__u8 data[REPLAY_OCTETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);	/* set before loading */
	__type(key, __u32);
	__type(value, struct replay_frame);
} frame_by_position SEC(".maps");

const volatile __u32 device;		/* interface index to send by */
const volatile __u8 outer_checksum;	/* uplink: the outer UDP header has one */
const volatile __u32 frames;		/* entries of frame_by_position */
const volatile __u32 access_len;	/* entries of access_by_position: ues at least */
const volatile __u32 ues;		/* UEs in the file */
const volatile __u32 longest;		/* octets of the longest frame */

__u32 base;

/* advance - go on to the next frame; after the last one, other sessions have their turn */
static __always_inline void advance(void)
{
	if (++current.position < frames)
		return;
	current.position = 0;
	base = base + 2 * ues <= access_len ? base + ues : 0;
}

/* write_session - write what differs from session to session into a frame
 *
 * @uplink: the frame is GTP-U; else plain IP
 * @ipv6:   the user packet is IPv6; else IPv4
 *
 * Return: the sum of the UE's address, 0 if the frame is too short.
 */
static __always_inline __u64 write_session(void *data, const void *end, const struct replay_frame *f, const struct access *a,
					   int uplink, int ipv6)
{
	const __u32 user = ETH_HLEN + (uplink ? sizeof(struct iphdr) + sizeof(struct udphdr) + sizeof(struct lab_gtpu) : 0);

	struct lab_gtpu *gtpu;
	__u64 ue;

	if (data + user + sizeof(struct ipv6hdr) > end)
		return 0;
	ue = ipv6 ? write_ue6(data + user, a, uplink) : write_ue4(data + user, a, uplink, f->ip_sum);
	if (!uplink)
		return ue;
	gtpu = data + user - sizeof(*gtpu);
	gtpu->teid = a->teid;
	gtpu->qfi = a->qfi;
	if (outer_checksum)
		((struct udphdr *)gtpu - 1)->check = outer_check(f->outer_sum, f->pseudo_sum, a, ue, ipv6 ? f->ip_sum : 0);
	return ue;
}

/* write_replay - write stamp and checksum of the datagram or segment
 *
 * @sum: of all else in it
 *
 * Return: 0, or -1 if the frame is too short.
 */
static __always_inline int write_replay(void *data, const void *end, const struct replay_frame *f, const struct access *a,
					__u64 sum, __u64 intended, __u64 now)
{
	void *stamp = data + (f->stamp & (REPLAY_OCTETS - 1));
	__u16 *check = data + (f->check & (REPLAY_OCTETS - 1));

	if (stamp + SHORT_STAMP_OCTETS > end || (void *)(check + 1) > end)
		return -1;
	if (f->short_stamp)
		sum += write_short_stamp(stamp, f->stamp_head, a, current.sent, intended);
	else if (stamp + sizeof(struct stamp) <= end)
		sum += write_stamp(stamp, f->stamp_head, a, current.sent, intended, now);
	else
		return -1;
	*check = (__u16)~lab_fold(sum) ?: 0xffff; /* never 0. Source: RFC 768. */
	return 0;
}

/* copy - make the page the frame @f */
static __always_inline int copy(struct xdp_md *ctx, const struct replay_frame *f)
{
	__u32 octets = f->octets;

	if (octets < ETH_HLEN || octets > REPLAY_OCTETS || octets > longest)
		return -1;
	if (octets < longest && bpf_xdp_adjust_tail(ctx, (int)octets - (int)longest))
		return -1;
	if (!length_bound(&octets, REPLAY_OCTETS))
		return -1;
	return bpf_xdp_store_bytes(ctx, 0, (void *)f->data, octets);
}

/* fold_ue6 - the UE's IPv6 address as a stamp has it */
static __always_inline __be32 fold_ue6(const struct access *a)
{
	const __be32 *words = (const void *)a->ue6;

	return words[0] ^ words[1] ^ words[2] ^ words[3];
}

static __always_inline int replay(struct xdp_md *ctx, int uplink)
{
	__u32 position = current.position, entry;
	__u64 now = bpf_ktime_get_ns(), intended, ue;
	const struct replay_frame *f = bpf_map_lookup_elem(&frame_by_position, &position);
	const struct access *of;
	struct access a;
	void *data, *end;

	if (!f)
		return XDP_ABORTED;
	if (current.stretch)
		current.interval = f->gap_ns * current.stretch ?: 1;
	if (next_intended(now, &intended))
		return XDP_DROP;
	entry = base + f->ue;
	of = bpf_map_lookup_elem(&access_by_position, &entry);
	if (!of || copy(ctx, f))
		return XDP_ABORTED;
	a = *of;
	a.dscp = f->dscp;
	if (f->ipv6)
		a.ue = fold_ue6(&a);
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	ue = f->ipv6 ? write_session(data, end, f, &a, uplink, 1) : write_session(data, end, f, &a, uplink, 0);
	if (!ue || write_replay(data, end, f, &a, f->l4_sum + ue, intended, now))
		return XDP_ABORTED;
	advance();
	current.sent++;
	current.last_ns = now;
	return bpf_redirect(device, 0);
}

SEC("xdp")
int replay_uplink(struct xdp_md *ctx)
{
	return replay(ctx, 1);
}

SEC("xdp")
int replay_downlink(struct xdp_md *ctx)
{
	return replay(ctx, 0);
}

char _license[] SEC("license") = "GPL";
