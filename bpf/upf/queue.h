/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "maps.h"

/* The order of packets that take different ways: a packet does not go the fast
 * way while the slow path has one of its rule that came before it.
 *
 *	struct queue	packets counts what is in the ring of exceptions; the slow
 *			path counts down when it has sent or buffered a packet
 *	RULE_QUEUED	set whenever a rule changes, and when a packet goes the slow
 *			way in passing; cleared by the first packet that finds
 *			nothing queued
 *
 * So after a change from BUFF to FORW packets go through the ring, behind those
 * that waited, until it has none of them, and then past it, none overtaking any.
 * If they come faster than the slow path sends they would do so for ever: when
 * queue_max are in the ring the next ones are dropped until it is drained. Packets
 * of a rule that goes the fast way, but which go the slow way themselves, being too
 * big or of a PDR that only the slow path does, find room there for so many as well.
 *
 * If the process has ended, what it has left in the ring goes nowhere, and nobody
 * has to wait for it.
 */

/* A socket of the process. The kernel takes it out when the process ends, however
 * it does (Linux 5.3; commit 0402acd683c6): kill -9 is seen by the next packet. On a
 * kernel without AF_XDP the loader makes this an array, in which something always
 * is.
 */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} attended SEC(".maps");

struct place {
	struct rule *rule;
	struct queue *queue;
	__u32 index;		/* in queues */
};

/* place_find - where a rule stands, and its queue
 *
 * Return: 0, or -1 if it has gone.
 */
static __always_inline int place_find(struct place *at, __u64 key, __u32 tunnelled)
{
	void *table = tunnelled ? (void *)&rule_by_teid : (void *)&rule_by_ue;
	__u32 slot = (__u32)key & index_mask;
	__u32 *guest;

	at->rule = bpf_map_lookup_elem(table, &slot);
	if (!at->rule)
		return -1;
	if (at->rule->key != key) {
		guest = bpf_map_lookup_elem(tunnelled ? (void *)&guest_by_teid : (void *)&guest_by_ue, &key);
		if (!guest)
			return -1;
		slot = *guest;
		at->rule = bpf_map_lookup_elem(table, &slot);
		if (!at->rule || at->rule->key != key)
			return -1;
	}
	at->index = tunnelled ? slot + index_mask + 1 : slot;
	at->queue = bpf_map_lookup_elem(&queues, &at->index);
	return at->queue ? 0 : -1;
}

/* What stages of IP packets say of a rule of an Ethernet PDU session. */
#define PASS_ETHER	COUNT_MAX

/* What emit says of a packet to an F-TEID of the UPF itself: see again.h. */
#define PASS_AGAIN	(COUNT_MAX + 1)

/* How a packet meets its rule. */
#define QUEUE_TUNNELLED	1	/* through a tunnel, not bare */
#define QUEUE_FRAMES	2	/* in the stages for frames */

/* queue_attended - whether there is a process that reads the ring */
static __always_inline int queue_attended(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&attended, &zero) != NULL;
}

/* queue_packets - how many packets the slow path has that it will finish */
static __always_inline __u32 queue_packets(struct queue *q)
{
	__u32 packets = *(volatile __u32 *)&q->packets;

	if (!packets || queue_attended())
		return packets;
	q->packets = 0;
	q->full = 0;
	return 0;
}

/* queue_enter - what becomes of a packet whose rule says that it is changing,
 * that the slow path does it, or that this may have packets of it
 *
 * @ctl: control word of the rule as it was read
 * @how: QUEUE_*
 * Return: 0 if the packet may go on, the fast way, and RULE_QUEUED is cleared;
 * -PASS_ETHER, or a negative enum upf_count.
 */
__noinline int queue_enter(__u64 key, __u32 ctl, __u32 how)
{
	struct place at = {};
	__u32 packets, full;

	if (ctl & RULE_ETHER && !(how & QUEUE_FRAMES))
		return -PASS_ETHER;
	if (ctl & RULE_CHANGING || place_find(&at, key, how & QUEUE_TUNNELLED))
		return -PASS_CHANGING;
	packets = queue_packets(at.queue);
	full = *(volatile __u32 *)&at.queue->full;
	if (ctl & RULE_SLOW && full == QUEUE_DRAINING)
		full = 0; /* of the rule as it was: all goes through the ring now */
	if (!packets && !(ctl & RULE_SLOW)) {
		at.queue->full = 0;
		__sync_val_compare_and_swap(&at.rule->ctl, ctl, ctl & ~RULE_QUEUED);
		packets = *(volatile __u32 *)&at.queue->packets;
		if (!packets)
			return 0;
		/* Another CPU put one there meanwhile, and its mark has gone perhaps. */
		__sync_fetch_and_or(&at.rule->ctl, RULE_QUEUED);
	}
	if (!full && packets < queue_max)
		return ctl & RULE_SLOW ? -PASS_RULES : -PASS_QUEUED;
	__sync_fetch_and_add(&at.rule->dropped, 1);
	if (full == QUEUE_BUFFER_FULL)
		return -DROP_BUFFER_FULL;
	if (!(ctl & RULE_SLOW))
		at.queue->full = QUEUE_DRAINING;
	return -DROP_SLOW_FULL;
}

#define QUEUE_NO_ROOM	(~0U)

/* queue_add - count a packet that goes into the ring
 *
 * @in_passing: only as its rule was changing, or its next hop was not known
 * Return: its index in queues, plus 1; 0: none; QUEUE_NO_ROOM: so many of its rule
 * are in there that it is to be dropped.
 */
__noinline int queue_add(__u64 key, __u32 tunnelled, __u32 in_passing)
{
	struct place at = {};

	if (!key || place_find(&at, key, tunnelled))
		return 0;
	if (__sync_fetch_and_add(&at.queue->packets, 1) >= queue_max) {
		__sync_fetch_and_sub(&at.queue->packets, 1);
		__sync_fetch_and_add(&at.rule->dropped, 1);
		return QUEUE_NO_ROOM;
	}
	if (in_passing)
		__sync_fetch_and_or(&at.rule->ctl, RULE_QUEUED);
	return at.index + 1;
}

/* queue_remove - take back what queue_add() counted; @queue is what it returned */
__noinline int queue_remove(__u32 queue)
{
	__u32 index = queue - 1;
	struct queue *q = bpf_map_lookup_elem(&queues, &index);

	if (q)
		__sync_fetch_and_sub(&q->packets, 1);
	return 0;
}
