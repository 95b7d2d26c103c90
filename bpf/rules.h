/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* The tables that the control plane writes and the stages read. Sizes and byte
 * offsets are those of the Go types in package datapath/xdp (bpf2go makes them
 * from here).
 */

/* One uplink F-TEID or one downlink UE address, in one cache line.
 *
 * The tables are direct-mapped: a rule stands at (key & mask), and the whole
 * key is compared; keys whose place is taken stand in the overflow part behind,
 * found through a hash. So addresses from a pool and TEIDs that we allocate
 * cost one memory access, and any others one more.
 *
 * A writer that changes more than one word sets RULE_CHANGING first and counts
 * the generation up (the high half of ctl) when it clears it; a reader looks at
 * ctl before and after, and hands the packet to the slow path, which waits, if
 * they differ. So no packet sees half a rule and none is lost. The order of the
 * loads is kept by the compiler (volatile) and by x86-64; on a CPU that orders
 * loads weakly the window is a few instructions wide.
 */
struct rule {
	__u64 key;		/* uplink: rule_key_teid(), downlink: rule_key_ip4(), _ip6(); 0: empty */
	__u32 ctl;		/* generation << 16 | RULE_* */
	__u32 meter[2];		/* indices in meters; 0: none */
	union {
		__u32 ue_ip4;	/* uplink: source to compare, host order, with RULE_MATCH_IP4 */
		__be32 teid;	/* downlink: of the outer header */
	};
	union {
		__u64 ue_ip6;	/* uplink: prefix to compare, host order, with RULE_MATCH_IP6 */
		struct {	/* downlink */
			__u16 hop;	/* index in hops, the peer */
			__u8 qfi;	/* 0: no PDU Session Container */
			__u8 dscp;	/* with RULE_DSCP */
			__u32 unused;
		};
	};
	__u64 qfis;		/* uplink: bit n is QFI n; 0: any */
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

/* A rate as GCRA knows it (ITU-T I.371, Annex A). Times are in units of 2^-8 ns
 * of bpf_ktime_get_ns(), so that one octet at 100 Gbit/s is 20 of them.
 */
struct meter {
	__u64 tat;		/* theoretical arrival time of the next packet */
	__u64 octet_time;	/* of one octet, in 2^-24 ns */
	__u64 burst;		/* tolerance */
	__u64 dropped;		/* packets that did not conform */
};

#define METER_FRACTION	8	/* bits of tat behind the nanosecond */
#define METER_SHIFT	16	/* from octet_time to tat */

/* A neighbour on N3 or N6. dst is written as one word, so that a packet has
 * either the old MAC address or the new one.
 */
struct hop {
	__u64 dst;		/* 6 octets of MAC address as in the frame, then 2 of 0; 0: unresolved */
	__be32 ip4;		/* N3: outer destination */
	__u32 mtu;		/* octets of IP packet */
};

/* Where user packets go that leave on N6: neighbours of the on-link prefix
 * directly, all others to the gateway. Indices in hops; 0: none.
 */
struct n6_route {
	__u32 onlink_ip4;	/* host order */
	__u32 mask_ip4;
	__u64 onlink_ip6;	/* high 64 bits, host order */
	__u64 mask_ip6;
	__u32 gateway_ip4;
	__u32 gateway_ip6;
};
