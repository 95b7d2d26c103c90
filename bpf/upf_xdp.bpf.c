//go:build ignore
/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The UPF on XDP: one program for devices on which GTP-U is terminated (N3, N9,
 * S1-U, S5/S8-U), one for the N6 device and one for a device that is both.
 */
#include "ctx_xdp.h"
#include "upf.h"

SEC("xdp")
int upf_gtpu_xdp(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	trace_divert(&ctx, TRACED_GTPU);
	return upf_finish(upf_gtpu(&ctx));
}

SEC("xdp")
int upf_n6_xdp(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	trace_divert(&ctx, TRACED_N6);
	return upf_n6(&ctx);
}

SEC("xdp")
int upf_both_xdp(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };
	int result;

	trace_divert(&ctx, TRACED_BOTH);
	result = upf_gtpu(&ctx);
	return result == -PASS_HOST ? upf_n6(&ctx) : upf_finish(result);
}

char _license[] SEC("license") = "GPL";
