//go:build ignore
/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The twins of the programs of upf_tc.bpf.c that run while somebody traces: see
 * trace.h. A packet that is cut is seen before, and then each one that was cut out of
 * it; one that comes on a device for both GTP-U and bare packets by the program that
 * it is for.
 */
#define UPF_TRACED
#include "ctx_skb.h"
#include "stages_skb.h"

/* Functions of their own, so that what they need of the stack is free again while the
 * stages run, which are a call deeper than on XDP.
 */
__noinline int skb_trace(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };

	trace_arrived(&ctx);
	return 0;
}

__noinline int skb_traced(struct __sk_buff *md, int action)
{
	struct ctx ctx = { .md = md };

	return trace_finish(&ctx, action);
}

/* skb_ended - end the record of a packet, and go on with one that has come to an F-TEID
 * of the UPF itself
 */
static __always_inline int skb_ended(struct __sk_buff *md, int first, int result)
{
	if (result == -PASS_AGAIN) {
		result = again_count(first);
		if (!result) {
			skb_traced(md, CTX_DROP);
			bpf_tail_call(md, &traced_programs, TRACED_AGAIN);
			result = -DROP_INTERNAL;
		}
	}
	return skb_traced(md, skb_finish(md, upf_finish(result)));
}

SEC("tc")
int upf_gtpu_traced(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };
	int result;

	skb_trace(md);
	result = skb_gpdu(&ctx, &traced_programs, TRACED_ETHER_GPDU, 0);
	if (result == -PASS_HOST && md->cb[CB_WORD] == CB_BOTH)
		bpf_tail_call(md, &traced_programs, TRACED_N6);
	return skb_ended(md, AGAIN_FIRST, result);
}

/* What the UPF itself has sent has a record of its own. */
SEC("tc")
int upf_again_traced(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };

	skb_trace(md);
	return skb_ended(md, 0, skb_gpdu(&ctx, &traced_programs, TRACED_ETHER_GPDU, 1));
}

SEC("tc")
int upf_n6_traced(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };

	skb_trace(md);
	return skb_ended(md, AGAIN_FIRST, skb_n6(&ctx));
}

SEC("tc")
int upf_ether_traced(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };

	skb_trace(md);
	return skb_traced(md, skb_ether(&ctx));
}

/* It goes on with the record of the one before it. */
SEC("tc")
int upf_ether_gpdu_traced(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };

	return skb_traced(md, skb_finish(md, ether_gpdu(&ctx)));
}

char _license[] SEC("license") = "GPL";
