//go:build ignore
/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Around a program that is measured by BPF_PROG_RUN: the kernel does not give
 * the packet back as it was between two runs, so this program does, chooses a
 * session, and tail-calls the program under test.
 */
#include "ctx_xdp.h"

#define RESTORE 96 /* octets that a program under test may change */

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} target SEC(".maps");

/* Set before each measurement. */
volatile __u8 frame[RESTORE];	/* start of the frame as it was */
volatile __u32 frame_octets;
volatile __u32 sessions;
volatile __u32 random;		/* choose among all sessions; else always the first */
volatile __u32 teid_at;		/* where to put TEID + session; 0: nowhere */
volatile __u32 address_at;	/* where to put UE address + session */
volatile __u32 teid, address;	/* of the first session */

/* The clock of the programs under test, if a test has given them one in ns, and how
 * far it goes on with each run.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} clock SEC(".maps");

volatile __u64 tick;

static __u64 state = 0x9e3779b97f4a7c15;

static __always_inline __u32 choose(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return random ? (__u32)(((state >> 32) * sessions) >> 32) : 0;
}

static __always_inline void put(const struct ctx *ctx, __u32 at, __u32 value)
{
	__u8 *p = ctx_data(ctx);

	if (!at || at > RESTORE - 4)
		return;
	p += at;
	if ((void *)(p + 4) <= ctx_end(ctx))
		*(__be32 *)p = bpf_htonl(value);
}

static __always_inline void turn_clock(void)
{
	__u32 zero = 0;
	__u64 *now = bpf_map_lookup_elem(&clock, &zero);

	if (now)
		__sync_fetch_and_add(now, tick);
}

SEC("xdp")
int restore(struct xdp_md *md)
{
	struct ctx ctx = { .md = md };
	__u32 session = choose();
	__u8 *packet;

	if (tick)
		turn_clock();
	if (ctx_push(&ctx, ctx_octets(&ctx) - frame_octets))
		return XDP_ABORTED;
	packet = ctx_data(&ctx);
	if ((void *)(packet + RESTORE) > ctx_end(&ctx))
		return XDP_ABORTED;
	for (int i = 0; i < RESTORE; i += 8)
		*(__u64 *)(packet + i) = *(volatile __u64 *)(frame + i);
	put(&ctx, teid_at, teid + session);
	put(&ctx, address_at, address + session);
	bpf_tail_call(md, &target, 0);
	return XDP_ABORTED;
}

SEC("xdp")
int nothing(struct xdp_md *md)
{
	(void)md;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
