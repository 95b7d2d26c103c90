//go:build ignore
/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

/* A device as a port of the P4 switch: all its frames go to the XDP socket of their queue,
 * and so to user space. Those of a queue without one stay with the kernel.
 *
 * One program for each device, with sockets of its own.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

#define QUEUE_MAX	256
#define TAG		4	/* octets of a tag */

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, QUEUE_MAX);
	__type(key, __u32);
	__type(value, __u32);
} port_sockets SEC(".maps");

/* Linux 6.8; for programs that are bound to a device. */
extern int bpf_xdp_metadata_rx_vlan_tag(const struct xdp_md *ctx, __be16 *vlan_proto, __u16 *vlan_tci) __ksym;

SEC("xdp")
int port_frames(struct xdp_md *ctx)
{
	return bpf_redirect_map(&port_sockets, ctx->rx_queue_index, XDP_PASS);
}

/* port_tags - the same on a device that keeps the outer tag beside the frame, where it would
 * be lost: it is put back
 */
SEC("xdp")
int port_tags(struct xdp_md *ctx)
{
	__u16 protocol = 0, tci = 0;
	__be16 *tag;
	__u8 *data;

	if (bpf_xdp_metadata_rx_vlan_tag(ctx, &protocol, &tci))
		return bpf_redirect_map(&port_sockets, ctx->rx_queue_index, XDP_PASS);
	if (bpf_xdp_adjust_head(ctx, -TAG))
		return XDP_DROP;
	data = (void *)(long)ctx->data;
	if (data + TAG + ETH_HLEN > (__u8 *)(long)ctx->data_end)
		return XDP_DROP;
	__builtin_memmove(data, data + TAG, 2 * ETH_ALEN);
	tag = (__be16 *)(data + 2 * ETH_ALEN);
	tag[0] = protocol;
	tag[1] = bpf_htons(tci);
	return bpf_redirect_map(&port_sockets, ctx->rx_queue_index, XDP_DROP);
}

char _license[] SEC("license") = "GPL";
