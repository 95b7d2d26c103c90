//go:build ignore
/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What becomes of packets on the way to the queues of CPUs (spread.h), of which
 * nobody but the kernel knows.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "drop.h"

#define CPU_MAX 1024

/* Those of the UPF's programs. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNT_MAX);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

/* Packets that came into the queue, by CPU to which it belongs. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CPU_MAX);
	__type(key, __u32);
	__type(value, __u64);
} spread_counts SEC(".maps");

/* Set once before the program is loaded: IDs of the two maps. */
const volatile __u32 spread_maps[2];

static __always_inline void add(void *map, __u32 key, __u64 n)
{
	__u64 *sum = bpf_map_lookup_elem(map, &key);

	if (sum)
		*sum += n;
}

/* The arguments of the tracepoint are: ID of the map, packets that came into the
 * queue, packets that found no room, CPU. Source: Linux, include/trace/events/xdp.h.
 */
SEC("tp_btf/xdp_cpumap_enqueue")
int spread_enqueued(__u64 *args)
{
	__u32 map = args[0], processed = args[1], drops = args[2], cpu = args[3];

	if (map != spread_maps[0] && map != spread_maps[1])
		return 0;
	add(&spread_counts, cpu, processed);
	if (drops)
		add(&counts, DROP_SPREAD_FULL, drops);
	return 0;
}

char _license[] SEC("license") = "GPL";
