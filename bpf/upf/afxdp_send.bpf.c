/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

/* Sends frames of a worker's memory as XDP frames: the worker has the kernel run this
 * program with live frames (BPF_PROG_RUN), once for each frame. A run fills a page of the
 * kernel's with the next frame that is to leave and redirects it to the device.
 *
 * One program for each worker, with memory of its own.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "bounds.h"

#define BURST_MAX	256
#define START_MAX	512	/* octets of a place before the frame in it */
#define DEVICE_MAX	256

const volatile __u32 longest;	/* octets of a frame: no more than a place behind START_MAX has */

/* The memory, in places of one size, which the driver sets. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);	/* set by the driver */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 4096);
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, DEVICE_MAX);
	__type(key, __u32);
	__type(value, __u32);
} devices SEC(".maps");

/* A frame that is to leave. */
struct leaving {
	__u32 place;
	__u16 start;	/* in its place */
	__u16 octets;
};

/* What is to leave: written by the worker, between the system calls in which the
 * program runs.
 */
struct burst {
	__u32 device;	/* in devices */
	__u32 count;
	__u32 next;	/* the first frame that no run has taken */
	__u32 reserved;
	struct leaving leaving[BURST_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct burst);
} bursts SEC(".maps");

SEC("xdp")
int afxdp_send(struct xdp_md *ctx)
{
	__u32 key = 0, i, place, start, octets;
	struct burst *b = bpf_map_lookup_elem(&bursts, &key);
	const void *from;

	if (!b)
		return XDP_ABORTED;
	i = b->next;
	if (i >= b->count || i >= BURST_MAX)
		return XDP_DROP;
	b->next = i + 1;
	place = b->leaving[i].place;
	start = b->leaving[i].start;
	octets = b->leaving[i].octets;
	from = bpf_map_lookup_elem(&places, &place);
	barrier_var(start); /* what is compared is what is used, for Linux 6.1 */
	if (!from || start > START_MAX || !length_bound(&octets, longest))
		return XDP_ABORTED;
	if (bpf_xdp_adjust_tail(ctx, (int)octets - (int)bpf_xdp_get_buff_len(ctx)))
		return XDP_ABORTED;
	if (bpf_xdp_store_bytes(ctx, 0, (void *)from + start, octets))
		return XDP_ABORTED;
	return bpf_redirect_map(&devices, b->device, XDP_ABORTED);
}

char _license[] SEC("license") = "GPL";
