//go:build ignore
/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The twins of the programs of upf_xdp.bpf.c that run while somebody traces: the
 * same stages over the same tables, with a record of each packet. See trace.h.
 */
#define UPF_TRACED
#include "ctx_xdp.h"
#include "ether.h"

/* A function of its own, which the verifier looks at once. */
__noinline int xdp_record(struct xdp_md *md, int action)
{
	struct ctx ctx = { .md = md };

	return trace_finish(&ctx, action);
}

/* xdp_traced - end the record of a packet, and go on with one that has come to an F-TEID
 * of the UPF itself
 */
static __always_inline int xdp_traced(struct ctx *ctx, int first, int result)
{
	if (result == -PASS_AGAIN) {
		result = again_count(first);
		if (!result) {
			xdp_record(ctx->md, CTX_DROP);
			bpf_tail_call(ctx->md, &traced_programs, TRACED_AGAIN);
			result = -DROP_INTERNAL;
		}
	}
	return xdp_record(ctx->md, upf_finish(result));
}

SEC("xdp")
int upf_gtpu_traced(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	trace_arrived(&ctx);
	return xdp_traced(&ctx, AGAIN_FIRST, ether_divert(&ctx, &traced_programs, TRACED_ETHER_GPDU, upf_gtpu(&ctx, 0)));
}

SEC("xdp")
int upf_n6_traced(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	trace_arrived(&ctx);
	return xdp_traced(&ctx, AGAIN_FIRST, upf_n6(&ctx, 0));
}

SEC("xdp")
int upf_both_traced(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };
	int result;

	trace_arrived(&ctx);
	result = ether_divert(&ctx, &traced_programs, TRACED_ETHER_GPDU, upf_gtpu(&ctx, 0));
	return xdp_traced(&ctx, AGAIN_FIRST, result == -PASS_HOST ? upf_n6(&ctx, 0) : result);
}

/* What the UPF itself has sent has a record of its own. */
SEC("xdp")
int upf_again_traced(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };

	trace_arrived(&ctx);
	return xdp_traced(&ctx, 0, ether_divert(&ctx, &traced_programs, TRACED_ETHER_GPDU, upf_gtpu(&ctx, UPF_AGAIN)));
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
