//go:build ignore
/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The UPF on XDP: one program for devices on which GTP-U is terminated (N3, N9,
 * S1-U, S5/S8-U), one for the N6 device, one for a device that is both, and one
 * for a device with tagged ports.
 */
#include "ctx_xdp.h"
#include "ether.h"
#include "spread.h"

/* xdp_finish - end with what became of a packet in the program that it came to */
static __always_inline int xdp_finish(struct ctx *ctx, int result)
{
	return upf_finish(again_divert(ctx, &again_program, 0, AGAIN_FIRST, result));
}

/* cpu_finish - the same on the CPU to which it was handed */
static __always_inline int cpu_finish(struct ctx *ctx, int first, int result)
{
	return upf_finish(again_divert(ctx, &again_cpu_program, 0, first, result));
}

SEC("xdp")
int upf_gtpu_xdp(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	trace_divert(&ctx, TRACED_GTPU);
	return xdp_finish(&ctx, ether_divert(&ctx, &ether_program, 0, upf_gtpu(&ctx, UPF_IN_LINE)));
}

SEC("xdp")
int upf_n6_xdp(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	trace_divert(&ctx, TRACED_N6);
	return xdp_finish(&ctx, upf_n6(&ctx, UPF_IN_LINE));
}

SEC("xdp")
int upf_both_xdp(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };
	int result;

	trace_divert(&ctx, TRACED_BOTH);
	result = ether_divert(&ctx, &ether_program, 0, upf_gtpu(&ctx, 0));
	return xdp_finish(&ctx, result == -PASS_HOST ? upf_n6(&ctx, 0) : result);
}

/* The stages as functions of their own, which the verifier looks at once and not
 * for each way on which a tag may have been taken off.
 */
__noinline int vlan_gtpu(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	return upf_gtpu(&ctx, 0);
}

__noinline int vlan_n6(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	return upf_n6(&ctx, 0);
}

/* Of a device of which a port is tagged. */
SEC("xdp")
int upf_vlan_xdp(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };
	__u32 role = vlan_arrive(&ctx);
	int result = -PASS_HOST;

	if (!role)
		return CTX_PASS;
	if (role == VLAN_N6 && vlan_stray(md))
		return upf_finish(-DROP_DEVICE);
	trace_divert(&ctx, trace_twin(role));
	if (role & VLAN_GTPU)
		result = ether_divert(&ctx, &ether_program, 0, vlan_gtpu(md));
	return xdp_finish(&ctx, result == -PASS_HOST && role & VLAN_N6 ? vlan_n6(md) : result);
}

/* Of a device whose packets are spread over CPUs. While somebody traces, packets
 * stay on the CPU on which they came.
 */
SEC("xdp")
int upf_spread_xdp(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };
	__u32 role = vlan_arrive(&ctx);
	int result = -PASS_HOST;

	if (!role)
		return CTX_PASS;
	if (role == VLAN_N6 && vlan_stray(md))
		return upf_finish(-DROP_DEVICE);
	trace_divert(&ctx, trace_twin(role));
	if (role & VLAN_GTPU)
		result = spread_gpdu(&ctx);
	if (result == -PASS_HOST && role & VLAN_N6)
		result = spread_bare(&ctx);
	return upf_finish(result);
}

/* The stages, on the CPU to which a packet was handed. */
SEC("xdp/cpumap")
int upf_gtpu_cpu(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	return cpu_finish(&ctx, AGAIN_FIRST, ether_divert(&ctx, &ether_cpu_program, 0, upf_gtpu(&ctx, UPF_IN_LINE)));
}

SEC("xdp/cpumap")
int upf_n6_cpu(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	return cpu_finish(&ctx, AGAIN_FIRST, upf_n6(&ctx, UPF_IN_LINE));
}

/* Behind again_divert(): G-PDUs that the UPF itself has sent. */
SEC("xdp")
int upf_again_xdp(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };
	int result = ether_divert(&ctx, &ether_program, 0, upf_gtpu(&ctx, UPF_AGAIN));

	return upf_finish(again_divert(&ctx, &again_program, 0, 0, result));
}

SEC("xdp/cpumap")
int upf_again_cpu(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	return cpu_finish(&ctx, 0, ether_divert(&ctx, &ether_cpu_program, 0, upf_gtpu(&ctx, UPF_AGAIN)));
}

/* Behind ether_divert(): G-PDUs of Ethernet PDU sessions. */
SEC("xdp")
int upf_ether_gpdu_xdp(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	return ether_gpdu(&ctx);
}

SEC("xdp/cpumap")
int upf_ether_cpu(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	return ether_gpdu(&ctx);
}

/* Of the device of an Ethernet data network. */
SEC("xdp")
int upf_ether_xdp(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	trace_divert(&ctx, TRACED_ETHER);
	return ether_arrive(&ctx);
}

char _license[] SEC("license") = "GPL";
