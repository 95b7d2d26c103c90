/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "detect.h"

/* Tracing: what becomes of chosen packets, for a person to read.
 *
 * The programs that packets meet test one word, trace_on, and while it is set
 * make a tail call into twins of theirs (upf_traced.bpf.c): the same stages,
 * compiled with UPF_TRACED, which makes something of the functions below. So
 * nobody pays for what nobody looks at. If the process is killed, the kernel
 * empties the array of the twins, the tail call fails, and the packet goes on
 * untraced.
 *
 * A record is made in memory of the CPU's own while the packet is under way, and
 * goes into a ring at its end if one of the traces wants it. Traces are sampled
 * and have a rate each, so that they cost a bounded part of a CPU; what does not
 * fit into the ring is counted.
 */

/* Twins in traced_programs. */
#define TRACED_GTPU	0
#define TRACED_N6	1
#define TRACED_BOTH	2
#define TRACED_ETHER	3
#define TRACED_ETHER_GPDU	4	/* to which the first and the third go on */
#define TRACED_AGAIN	5	/* to which they go on with what is for an F-TEID of the UPF itself */
#define TRACED_MAX	6

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, TRACED_MAX);
	__type(key, __u32);
	__type(value, __u32);
} traced_programs SEC(".maps");

volatile __u32 trace_on;	/* there are traces */

/* trace_twin - that of a port which is VLAN_* */
static __always_inline __u32 trace_twin(__u32 role)
{
	return role - 1;
}

/* trace_divert - go on in the twin while somebody traces */
static __always_inline void trace_divert(struct ctx *ctx, __u32 twin)
{
	if (trace_on)
		bpf_tail_call(ctx->md, &traced_programs, twin);
}

#ifdef UPF_TRACED
#include "trace_record.h"
#else

#define trace_packet(p, tunnelled)
#define trace_match(m)
#define trace_sent(ifindex)
#define trace_reason(reason)

#endif
