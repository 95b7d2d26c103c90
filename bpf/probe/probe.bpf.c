/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

/* The probe at a device: one program for each point, made for it by constants, so that
 * what does not concern it is not even looked at. Packets go on as they came.
 */
#include "read_skb.h"
#include "pass.h"
#include "super.h"
#include "sweep.h"

const volatile struct point here __attribute__((aligned(64)));

const enum way *unused_way __attribute__((unused));
const enum side *unused_side __attribute__((unused));
const enum kind *unused_print __attribute__((unused));

/* probe_super - a super-packet, up to its user packet or GTP-U messages */
__noinline int probe_super(struct __sk_buff *skb, const struct user *u, __u32 seen, __u64 now)
{
	struct super_walk walk = { .source = skb, .point = &here, .now = now };

	if (u)
		super_pass(&walk, u, seen, skb->len, skb->gso_size);
	return 0;
}

SEC("tc")
int probe(struct __sk_buff *skb)
{
	__u64 room[3];
	struct frame f = {
		.room = room,
		.source = skb,
		.data = (void *)(long)skb->data,
		.end = (void *)(long)skb->data_end,
		.octets = skb->len,
		.segment = skb->gso_size,
	};
	__u64 now = here.way == WAY_OUT && !timed_below ? bpf_ktime_get_ns() : 0;
	struct user u = {};
	enum seen seen = parse_to_user(&f, &here, &u);

	if (f.segment && (seen == SEEN_USER || seen == SEEN_DATAGRAMS)) {
		probe_super(skb, &u, seen, now);
		return TC_ACT_UNSPEC;
	}
	if (seen == SEEN_USER)
		seen = parse_user(&f, &u, here.upf);
	if (seen == SEEN_USER)
		pass(&here, &u, now);
	else
		pass_over(&here, seen);
	return TC_ACT_UNSPEC;
}

/* sweep - look through the table for what is lost. Run by Go. */
SEC("syscall")
int sweep(void *context)
{
	struct sweeping s = { .now = bpf_ktime_get_ns() };

	(void)context;
	bpf_loop(flight_mask + 1, sweep_set, &s, 0);
	held = s.held;
	return 0;
}

char _license[] SEC("license") = "GPL";
