/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

/* The bed limit: in the UPF's place, a program that only redirects. Whatever
 * arrives on N3 leaves on N6 and the other way round, unchanged but for the
 * Ethernet addresses, without which a UPF could not forward either.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_helpers.h>

struct hop {
	__u32 device;			/* interface index */
	__u16 addresses[ETH_ALEN];	/* Ethernet destination and source, as in the frame */
};

const volatile struct hop to_n3, to_n6;

static __always_inline int redirect(struct xdp_md *ctx, const volatile struct hop *hop)
{
	__u16 *words = (void *)(long)ctx->data;

	if ((void *)words + ETH_HLEN > (void *)(long)ctx->data_end)
		return XDP_DROP;
	for (int i = 0; i < ETH_ALEN; i++)
		words[i] = hop->addresses[i];
	return bpf_redirect(hop->device, 0);
}

SEC("xdp")
int bed_n3(struct xdp_md *ctx)
{
	return redirect(ctx, &to_n6);
}

SEC("xdp")
int bed_n6(struct xdp_md *ctx)
{
	return redirect(ctx, &to_n3);
}

char _license[] SEC("license") = "GPL";
