/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* The tables that the control plane writes and the stages read. Sizes and byte
 * offsets are those of the Go types in package datapath/xdp (bpf2go makes them
 * from here).
 */

/* One F-TEID, or one UE address to which packets come bare from N6, in one
 * cache line.
 *
 * The tables are direct-mapped: a rule stands at (key & mask), and the whole
 * key is compared; keys whose place is taken stand in the overflow part behind,
 * found through a hash. So addresses from a pool and TEIDs that we allocate
 * cost one memory access, and any others one more.
 *
 * A writer that changes more than one word sets RULE_CHANGING first and counts
 * the generation up (the high bits of ctl) when it clears it; a reader looks at
 * ctl before and after, and hands the packet to the slow path, which waits, if
 * they differ. So no packet sees half a rule and none is lost. The order of the
 * loads is kept by the compiler (volatile) and by x86-64; on a CPU that orders
 * loads weakly the window is a few instructions wide.
 *
 * What does not fit in here stands with RULE_SLOW, and is done by the slow path:
 * several PDRs on one key, SDF filters, more than two meters, one URR or four
 * QFIs, buffering, an outer header for a PDI with a UE IPv6 prefix.
 */
struct rule {
	__u64 key;		/* rule_key_teid(), or rule_key_ip4(), or the IPv6 prefix; 0: empty */
	__u32 ctl;		/* generation << 22 | n6 << 16 | RULE_*; bpf/n6.h says what n6 is */
	__u32 meter[2];		/* indices in meters; 0: none */
	__u32 ue_ip4;		/* UE address to compare, host order, with RULE_MATCH_IP4 */
	union {
		__u64 ue_ip6;	/* UE prefix to compare, host order, with RULE_MATCH_IP6 */
		struct {	/* Outer Header Creation, with RULE_OUTER */
			__u16 hop;	/* index in hops: the peer */
			__u8 qfi;	/* to mark; 0: none */
			__u8 dscp;	/* with RULE_DSCP */
			__be32 teid;
		} out;
	};
	__u8 qfis[4];		/* that match; 0: none more; all 0: any */
	__u32 urr;		/* index in urrs; 0: none */
	__u64 packets;		/* forwarded */
	__u64 octets;		/* forwarded, of the user packet */
	__u64 dropped;		/* packets that matched and were then dropped */
};

_Static_assert(sizeof(struct rule) == 64, "a rule is one cache line");

#define RULE_FORW	0x0001
#define RULE_GATE	0x0002	/* closed */
#define RULE_MATCH_IP4	0x0004
#define RULE_MATCH_IP6	0x0008
#define RULE_DSCP	0x0010	/* Transport Level Marking; else copied */
#define RULE_UPLINK	0x0020	/* Source Interface Access: the UE is the source, not the destination */
#define RULE_OUTER	0x0040	/* create an outer header; else out on N6 as it is */
#define RULE_SLOW	0x0080	/* all is done by the slow path */
#define RULE_TO_ACCESS	0x0100	/* Destination Interface Access */
#define RULE_QUEUED	0x4000	/* the slow path may have packets that came before: see queue.h */
#define RULE_CHANGING	0x8000

static __always_inline __u64 rule_key_teid(__u32 teid)
{
	return 1ULL << 32 | teid;
}

/* The key of an IPv4 address cannot be that of an IPv6 prefix: 0:1::/32 is not
 * a unicast address.
 */
static __always_inline __u64 rule_key_ip4(__u32 addr)
{
	return 1ULL << 32 | addr;
}

/* A rate as GCRA knows it (ITU-T I.371, Annex A), of octets or of packets. Times
 * are in units of 2^-8 ns of bpf_ktime_get_ns(), so that one octet at 100 Gbit/s
 * is 20 of them.
 */
struct meter {
	__u64 tat;		/* theoretical arrival time of the next packet */
	__u64 unit_time;	/* of one octet, in 2^-24 ns; of one packet, in 2^-8 ns */
	__u64 tolerance;	/* how far tat may be ahead, in 2^-8 ns: the burst */
	__u64 reserved;
};

#define METER_FRACTION	8	/* bits of tat behind the nanosecond */
#define METER_SHIFT	16	/* from the time of an octet to tat */

/* What the slow path has of a rule: the packets in the ring that it has not
 * finished yet.
 */
struct queue {
	__u32 packets;
	__u32 full;		/* nothing more is let in: QUEUE_* */
};

#define QUEUE_BUFFER_FULL	1	/* written by the slow path: no room in the buffer */
#define QUEUE_DRAINING		2	/* until packets is 0 */

/* What a URR counted, which only ever grows, and how far it is to the next thing
 * to do about it: one cache line. All words are written whole.
 *
 * Before a packet is metered: URR_START is cleared and raises START_OF_TRAFFIC;
 * if the limit of its direction or of the total is URR_USED_UP it is dropped. A
 * packet that is forwarded is counted; then each of its two sums (that of its
 * direction, and the total) is held against its limit, and when it is not below
 * any more, once:
 *
 *	limit[i] < quota[i], or URR_BOTH << i: VOLUME_THRESHOLD
 *	limit[i] becomes quota[i] if the sum is below that;
 *	else, if there is a quota, URR_USED_UP, with VOLUME_QUOTA;
 *	else URR_NO_LIMIT
 *
 * So the packet that reaches a quota is the last one that is forwarded.
 */
struct urr {
	__u64 octets[2];	/* URR_UPLINK, URR_DOWNLINK: of user packets forwarded */
	__u64 packets[2];
	__u64 limit[3];		/* octets: URR_UPLINK, URR_DOWNLINK, URR_TOTAL */
	__u32 flags;
	__u32 id;		/* URR ID */
};

_Static_assert(sizeof(struct urr) == 64, "a URR is one cache line");

#define URR_UPLINK	0
#define URR_DOWNLINK	1
#define URR_TOTAL	2
#define URR_NO_LIMIT	(~0ULL)
#define URR_USED_UP	0

#define URR_START	0x01	/* the next packet raises START_OF_TRAFFIC */
#define URR_START_ASKED	0x02	/* for the driver: the rule says so */
#define URR_BOTH	0x10	/* << URR_UPLINK ...: threshold and quota are the same */

/* What is looked at only when a limit is reached, and whose the URR is. Beside
 * struct urr at the same index.
 */
struct urr_owner {
	__u64 seid;		/* of the UP function; 0: free */
	__u64 quota[3];		/* octets; URR_NO_LIMIT: none */
	/* What was counted when VOLUME_THRESHOLD was last raised. */
	__u64 reached_octets[2];
	__u64 reached_packets[2];
};

/* What of it was dropped instead of buffered, at the same index again: only the
 * slow path counts here.
 */
struct urr_dropped {
	__u64 packets;
	__u64 octets;
	__u64 limit[2];		/* packets, octets; 0: none, or reached */
	__u64 asked[2];		/* for the driver: what the rule says; 0: none */
};

/* A URR to look at, from the programs to the driver. */
struct urr_event {
	__u32 index;		/* in urrs */
	__u32 events;		/* URR_EVENT_* */
};

#define URR_EVENT_START		0x1
#define URR_EVENT_THRESHOLD	0x2
#define URR_EVENT_QUOTA		0x4

/* A neighbour behind a device of ours. dst is written as one word, so that a
 * packet has either the old MAC address or the new one; all else stays as it is
 * while the hop is in use.
 */
struct hop {
	__u64 dst;		/* 6 octets of MAC address as in the frame, then 2 of 0; 0: unresolved */
	__u64 src;		/* of the device, likewise */
	__be32 ip[4];		/* GTP-U: outer destination, IPv4 as ::ffff:a.b.c.d; N6: 0 */
	__be32 src_ip[4];	/* GTP-U: outer source, one of our endpoints; N6: 0 */
	__u32 ifindex;
	__u32 mtu;		/* octets of IP packet */
	__u16 outer;		/* octets of the outer headers, OUTER_IP4 or OUTER_IP6; N6: 0 */
	__u16 vlan;		/* VID of the tag that frames get; 0: none */
	__u32 reserved;
};

_Static_assert(sizeof(struct hop) == 64, "a hop is one cache line");
