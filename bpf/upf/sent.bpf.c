//go:build ignore
/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What becomes of frames that the UPF's programs redirected: the kernel drops those that
 * the device does not take, and tells nobody but these tracepoints.
 *
 * Source: Linux, include/trace/events/xdp.h, kernel/bpf/devmap.c (bq_xmit_all).
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "btf_device.h"
#include "drop.h"

#define DEVICES_MAX 128

/* Those of the UPF's programs. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNT_MAX);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

/* Set once before the programs are loaded: the network namespace, and the devices in it
 * on which the UPF's programs are.
 */
const volatile __u32 sent_netns;
const volatile __u32 sent_count;
const volatile __u32 sent_devices[DEVICES_MAX];

/* ours - does the UPF's program run on the device? */
static __always_inline int ours(const struct net_device *dev)
{
	if (!dev || dev->nd_net.net->ns.inum != sent_netns)
		return 0;
	for (__u32 i = 0; i < DEVICES_MAX && i < sent_count; i++)
		if ((__u32)dev->ifindex == sent_devices[i])
			return 1;
	return 0;
}

static __always_inline void add(__u32 why, __u64 frames)
{
	__u64 *sum = bpf_map_lookup_elem(&counts, &why);

	if (sum)
		*sum += frames;
}

/* Frames of one device that were handed to another one's driver. The arguments are: where
 * they came in, where they are to leave, how many were sent, how many not, and what the
 * driver said: an error is about all of them, as few were sent when its ring was full.
 */
SEC("tp_btf/xdp_devmap_xmit")
int sent_frames(__u64 *args)
{
	int drops = (int)args[3], err = (int)args[4];

	if (drops > 0 && ours((const struct net_device *)args[0]))
		add(err ? DROP_TX_REFUSED : DROP_TX_FULL, drops);
	return 0;
}

/* A frame that the kernel did not hand on: the arguments begin with where it came in. */
SEC("tp_btf/xdp_redirect_err")
int sent_not(__u64 *args)
{
	if (ours((const struct net_device *)args[0]))
		add(DROP_TX_REFUSED, 1);
	return 0;
}

char _license[] SEC("license") = "GPL";
