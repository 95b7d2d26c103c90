/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

/* The probe at devices of any network namespace, without entering them: one program
 * sees all that is received on the machine, another one all that is sent.
 */
#include "btf.h"
#include "pass.h"
#include "super.h"

struct device_key {
	__u32 namespace;	/* inode */
	__u32 ifindex;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct device_key);
	__type(value, struct point);
} received_at SEC(".maps"), sent_at SEC(".maps");

/* host_pass - a packet is at the point of its device, which has one
 *
 * @start: where its IP header is, if it has no Ethernet header
 */
static __always_inline void host_pass(struct sk_buff *skb, const volatile struct point *point, __u32 start)
{
	struct skb_shared_info *shared = (void *)(skb->head + skb->end);
	struct user u = {};
	struct frame_dynptr data;
	__u64 room[3];
	struct frame f = { .room = room, .source = &data, .octets = skb->len, .start = start };
	__u64 now = point->way == WAY_OUT && !timed_below ? bpf_ktime_get_ns() : 0;
	__u16 segment = 0;
	enum seen seen;

	if (bpf_dynptr_from_skb((void *)skb, 0, &data))
		return;
	bpf_probe_read_kernel(&segment, sizeof(segment), __builtin_preserve_access_index(&shared->gso_size));
	f.segment = segment;
	seen = parse_to_user(&f, point, &u);
	if (segment && (seen == SEEN_USER || seen == SEEN_DATAGRAMS)) {
		struct super_walk walk = { .source = &data, .point = point, .now = now };

		super_pass(&walk, &u, seen, f.octets, segment);
		return;
	}
	if (seen == SEEN_USER)
		seen = parse_user(&f, &u, point->upf);
	if (seen == SEEN_USER)
		pass(point, &u, now);
	else
		pass_over(point, seen);
}

static __always_inline struct device_key device_of(struct sk_buff *skb)
{
	struct device_key key = {};

	key.namespace = skb->dev->nd_net.net->ns.inum;
	key.ifindex = skb->dev->ifindex;
	return key;
}

SEC("tp_btf/netif_receive_skb")
int host_received(__u64 *args)
{
	struct sk_buff *skb = (void *)args[0];
	struct device_key key = device_of(skb);
	const volatile struct point *point = bpf_map_lookup_elem(&received_at, &key);
	__be16 type = skb->protocol;

	/* A tag that the device has not taken out is behind the Ethernet header, which has gone. */
	if (point)
		host_pass(skb, point, type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD) ? 4 : 0);
	return 0;
}

SEC("tp_btf/net_dev_queue")
int host_sent(__u64 *args)
{
	struct sk_buff *skb = (void *)args[0];
	struct device_key key = device_of(skb);
	const volatile struct point *point = bpf_map_lookup_elem(&sent_at, &key);

	if (point)
		host_pass(skb, point, 0);
	return 0;
}

char _license[] SEC("license") = "GPL";
