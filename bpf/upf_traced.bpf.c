//go:build ignore
/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The twins of the programs of upf_xdp.bpf.c that run while somebody traces: the
 * same stages over the same tables, with a record of each packet. See trace.h.
 */
#define UPF_TRACED
#include "ctx_xdp.h"
#include "ether.h"

SEC("xdp")
int upf_gtpu_traced(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	trace_arrived(&ctx);
	return trace_finish(&ctx, upf_finish(ether_divert(&ctx, &traced_programs, TRACED_ETHER_GPDU, upf_gtpu(&ctx, 0))));
}

SEC("xdp")
int upf_n6_traced(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	trace_arrived(&ctx);
	return trace_finish(&ctx, upf_n6(&ctx, 0));
}

SEC("xdp")
int upf_both_traced(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };
	int result;

	trace_arrived(&ctx);
	result = ether_divert(&ctx, &traced_programs, TRACED_ETHER_GPDU, upf_gtpu(&ctx, 0));
	return trace_finish(&ctx, result == -PASS_HOST ? upf_n6(&ctx, 0) : upf_finish(result));
}

SEC("xdp")
int upf_ether_traced(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	trace_arrived(&ctx);
	return trace_finish(&ctx, ether_arrive(&ctx));
}

/* It goes on with the record of the one before it. */
SEC("xdp")
int upf_ether_gpdu_traced(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	return trace_finish(&ctx, ether_gpdu(&ctx));
}

char _license[] SEC("license") = "GPL";
