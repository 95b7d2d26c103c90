/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <bpf/bpf_core_read.h>
#include "latency.h"
#include "probe.h"

/* The parts of a delay, for a UPF that reads packets from a socket or a TUN device:
 *
 *	comes in ──── queued ────► read returns ──── inside ────► leaves
 *
 * A packet leaves on the thread that sends it: tcx programs run within its system call.
 * If that thread is the one that read the packet, and reads no more before it is done
 * with what it has read, then its last read from where this direction's packets come
 * was the packet's. A read that returned before the packet came in was not: the packet
 * came another way, and its parts are unknown.
 *
 * Packets of one read share the time at which it returned: inside is what all before in
 * the batch took, too.
 */

/* A file that a UPF reads packets from. */
struct reader {
	__u32 tgid;	/* as the first PID namespace has it */
	__s32 fd;
};

/* The last reads of a thread, by the direction of what was read. */
struct reads {
	__u64 returned_ns[2];
	__u64 packets[2];	/* of the last read that left */
};

/* Counts of a series on one CPU. */
struct parts {
	__u64 unknown;	/* packets without parts */
	__u64 batched;	/* packets whose read another one had left from before */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct reader);
	__type(value, __u32);	/* direction: 0, or SERIES_DOWNLINK */
} direction_by_reader SEC(".maps");

/* Threads that are gone are forgotten as those least used. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);	/* thread */
	__type(value, struct reads);
} reads_by_thread SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);	/* series, set before loading */
	__type(key, __u32);
	__type(value, struct latency);
} queued_by_series SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);	/* series, set before loading */
	__type(key, __u32);
	__type(value, struct latency);
} inside_by_series SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);	/* series, set before loading */
	__type(key, __u32);
	__type(value, struct parts);
} parts_by_series SEC(".maps");

/* Set before loading. */
const volatile __u8 parting;		/* delays are taken apart */
#define READ_CALLS	5
const volatile __u32 read_calls[READ_CALLS];	/* numbers of read, readv, recvfrom, recvmsg, recvmmsg */

/* What a system call was: registers as its entry has saved them. The names of one
 * architecture are not there on the other.
 */
struct pt_regs___x86 {
	unsigned long di;
	unsigned long orig_ax;
} __attribute__((preserve_access_index));

struct pt_regs___arm64 {
	__u64 orig_x0;
	__s32 syscallno;
} __attribute__((preserve_access_index));

static __always_inline int is_read(__u32 number)
{
	for (int i = 0; i < READ_CALLS; i++) {
		if (read_calls[i] == number)
			return 1;
	}
	return 0;
}

/* read_returned - note when a thread of a UPF has been given packets */
SEC("tp_btf/sys_exit")
int read_returned(__u64 *context)
{
	struct pt_regs___x86 *x86 = (void *)context[0];
	struct pt_regs___arm64 *arm64 = (void *)context[0];
	__u64 thread = bpf_get_current_pid_tgid();
	struct reader reader = { .tgid = thread >> 32 };
	struct reads *reads, none = {};
	__u32 number, id = thread;
	__u32 *direction;

	if ((__s64)context[1] <= 0)
		return 0;
	if (bpf_core_field_exists(x86->orig_ax)) {
		number = x86->orig_ax;
		reader.fd = x86->di;
	} else {
		number = arm64->syscallno;
		reader.fd = arm64->orig_x0;
	}
	if (!is_read(number))
		return 0;
	direction = bpf_map_lookup_elem(&direction_by_reader, &reader);
	if (!direction)
		return 0;
	reads = bpf_map_lookup_elem(&reads_by_thread, &id);
	if (!reads) {
		bpf_map_update_elem(&reads_by_thread, &id, &none, BPF_NOEXIST);
		reads = bpf_map_lookup_elem(&reads_by_thread, &id);
	}
	if (!reads)
		return 0;
	reads->returned_ns[*direction & SERIES_DOWNLINK] = bpf_ktime_get_ns();
	reads->packets[*direction & SERIES_DOWNLINK] = 0;
	return 0;
}

/* parts_count - take the delay of a packet apart, which leaves now
 *
 * Not global: where delays are not taken apart it must not be verified, since older
 * kernels do not tell programs at a device which thread they run on (6.10).
 */
static __noinline int parts_count(__u32 series, __u64 in_ns, __u64 now)
{
	__u32 thread = bpf_get_current_pid_tgid(), way = series & SERIES_DOWNLINK;
	struct reads *reads = bpf_map_lookup_elem(&reads_by_thread, &thread);
	struct parts *parts = bpf_map_lookup_elem(&parts_by_series, &series);
	struct latency *queued = bpf_map_lookup_elem(&queued_by_series, &series);
	struct latency *inside = bpf_map_lookup_elem(&inside_by_series, &series);
	__u64 returned_ns;

	if (!parts || !queued || !inside)
		return 0;
	returned_ns = reads ? reads->returned_ns[way] : 0;
	if (!reads || returned_ns < in_ns || returned_ns > now) {
		parts->unknown++;
		return 0;
	}
	if (reads->packets[way]++)
		parts->batched++;
	latency_count(queued, returned_ns - in_ns);
	latency_count(inside, now - returned_ns);
	return 0;
}
