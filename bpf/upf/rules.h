/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <stddef.h>
#include <linux/in6.h>

/* The tables that the control plane writes and the stages read. Sizes and byte
 * offsets are those of the Go types in package datapath/xdp, which bpf2go makes.
 */

/* Outer Header Creation, and what is marked into the container in it. */
struct outer {
	__u16 hop;		/* index in hops: the peer */
	__u8 qfi;		/* and RQI, as in the container; 0: none */
	__u8 dscp;		/* with RULE_DSCP */
	__be32 teid;
};

/* One F-TEID, or one UE address to which packets come bare from N6, in one
 * cache line.
 *
 * The tables are direct-mapped: a rule stands at (key & mask), and the whole
 * key is compared; keys whose place is taken stand in any other slot, found
 * through a hash. So addresses from a pool and TEIDs that we allocate
 * cost one memory access, and any others one more.
 *
 * A writer that changes more than one word sets RULE_CHANGING first and counts
 * the generation up (the high bits of ctl) when it clears it; a reader looks at
 * ctl before and after, and hands the packet to the slow path, which waits, if
 * they differ. So no packet sees half a rule and none is lost. rule_ctl() keeps the
 * order of the loads.
 *
 * What does not fit in here, several PDRs on one key, SDF filters, more than two meters,
 * one URR or four QFIs, GBR, packet rates, marking, stands with RULE_LIST: the line names
 * a run of struct entry, in Precedence order. What the programs do not do at all stands
 * with RULE_SLOW and is done by the slow path: buffering, a list that is too long.
 */
struct rule {
	__u64 key;		/* rule_key_teid(), or rule_key_ip4(), or the IPv6 prefix; 0: empty */
	__u32 ctl;		/* generation << 22 | n6 << 16 | RULE_*; bpf/upf/n6.h says what n6 is */
	__u32 meter[2];		/* indices of meters; 0: none. With RULE_LIST: LIST_* */
	__u32 ue_ip4;		/* UE address to compare, host order, with RULE_MATCH_IP4 */
	union {
		__u64 ue_ip6;	/* UE prefix to compare, host order, with RULE_MATCH_IP6 */
		__u64 list;	/* number of the list, which no other ever had, with RULE_LIST */
		struct outer out;	/* with RULE_OUTER */
	};
	__u8 qfis[4];		/* that match; 0: none more; all 0: any */
	__u32 urr;		/* index of the URR; 0: none */
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
#define RULE_SPENT	RULE_DSCP	/* without RULE_FORW: a quota is used up */
#define RULE_UPLINK	0x0020	/* Source Interface Access: the UE is the source, not the destination */
#define RULE_OUTER	0x0040	/* create an outer header; else out on N6 as it is */
#define RULE_SLOW	0x0080	/* all is done by the slow path */
#define RULE_TO_ACCESS	0x0100	/* Destination Interface Access */
#define RULE_LIST	0x0200	/* several PDRs, or more of one than fits in here */
#define RULE_COPY	0x0400	/* of a PDR of a list: there are copies of its packets to be made */
#define RULE_AT_HOME	0x0800	/* meter and URR stand where the UE address says */
#define RULE_ETHER	0x1000	/* of an Ethernet PDU session, with RULE_LIST or RULE_SLOW: see ether.h */
#define RULE_INCOMPLETE	0x2000	/* without RULE_FORW: what is to be done has not been said yet */
#define RULE_QUEUED	0x4000	/* the slow path may have packets that came before: see queue.h */
#define RULE_CHANGING	0x8000

/* rule_key_teid - the key of an F-TEID
 *
 * @local: endpoint.Tag of the address: IPv4 in host order; of IPv6 a number of
 *         240.0.0.0/4, in which there is no address at which GTP-U is terminated
 */
static __always_inline __u64 rule_key_teid(__u32 local, __u32 teid)
{
	return (__u64)local << 32 | teid;
}

/* The key of an IPv4 address cannot be that of an IPv6 prefix: 0:1::/32 is not
 * a unicast address.
 */
static __always_inline __u64 rule_key_ip4(__u32 addr)
{
	return 1ULL << 32 | addr;
}

/* Where the URR and the meters of a session stand if they can: at the home of its
 * UE address among the rules of bare packets. A packet tells that without its rule,
 * so that with RULE_AT_HOME all that is needed of a session is on its way from
 * memory at once, and not one behind the other.
 *
 * @home: ue_home()
 * Return: index in accounts; that of the URR, too.
 */
static __always_inline __u32 home_account(__u32 home)
{
	return 1 + home;
}

/* The key of what is reached through framed routes of a session; neither IPv4
 * nor a unicast IPv6 prefix. The driver makes it of the SEID.
 */
#define RULE_KEY_ROUTES	(1ULL << 62)

/* Frames to a UE of an Ethernet PDU session have the same kind of key: such a
 * session has no framed routes. Of a rule of such a session with RULE_LIST ue_ip4
 * is where that rule stands in rule_by_ue, plus 1; 0: the session has none.
 */

/* A MAC address that was learnt, and where. */
struct station_key {
	__u8 mac[6];
	__u16 unused;
	__u32 lan;		/* data network, as in struct n6_way; above: VLAN, 0: none */
};

#define STATION_VLAN_SHIFT	16

struct station {
	__u64 key;		/* of the rule for frames that go there; 0: it is on the data network */
	__u64 seen_ns;		/* bpf_ktime_get_ns() of a frame from there, to STATION_STEP */
	__u64 seid;		/* for the driver: whose it is; 0: of the data network */
	__u32 slot;		/* of the rule in rule_by_ue, plus 1; 0: it is on the data network */
	__u32 reserved;
};

#define STATION_AGE	300000000000ULL	/* ns: forgotten after so long */
#define STATION_STEP	1000000000ULL

/* The key of framed_by_prefix: IPv4 as ::ffff:a.b.c.d. */
struct framed_key {
	__u32 bits;
	struct in6_addr addr;
};

/* The words of struct rule.meter with RULE_LIST: a run of struct entry, of which
 * the first ones say what UE addresses there are, the others what matches.
 */
#define LIST_FIRST	0	/* index in entries */
#define LIST_COUNT	1	/* how many match; above LIST_UES_SHIFT how many stand before */
#define LIST_COUNT_MASK	0x3fff
#define LIST_UPPER	0x4000	/* an entry compares what only first fragments have */
#define LIST_HOSTS	0x8000	/* and one with ENTRY_HOSTS between these and those */
#define LIST_UES_SHIFT	16
#define LIST_MAX	256	/* entries of a run */
#define LIST_LINEAR	16	/* of those that match: beyond that the flow cache is asked */

/* One thing that a packet may match: QFIs and one SDF filter of a PDR, with one
 * range of ports on each side, in one cache line. All of it has to match. A PDR
 * with several filters has several entries, one behind the other. Remote and local
 * are as in the filter: local is the UE's end.
 *
 * An entry with ENTRY_UE stands before those that match: an address at the UE's
 * end inside remote is one of the set of addresses whose number is ue. So what
 * PDRs have in common is compared once.
 *
 * An entry with ENTRY_HOST matches packets of flows that have host number
 * ENTRY_HOST_SHIFT of the set whose number is qfis of the entry with ENTRY_HOSTS,
 * which stands in front of all that match: see names.h.
 *
 * Addresses and prefixes are in host order, high half first; those of IPv4 are
 * the last 32 bits, and their lengths are counted from there.
 */
struct entry {
	__u64 qfis;		/* bit n is QFI n; 0: any */
	__u64 remote[2], local[2];
	union {
		__u16 port[4];	/* remote first and last, local first and last */
		__u32 spi;	/* of ESP or AH, with ENTRY_SPI */
	};
	__u32 pdr;		/* index in pdrs */
	__u32 flow_label;	/* and, with ENTRY_HOST, the number of a host above */
	__u16 flags;		/* ENTRY_* */
	__u8 remote_bits, local_bits;	/* length of the prefix */
	__u8 protocol;
	__u8 tos, tos_mask;	/* tos is under the mask */
	__u8 ue;		/* set of UE addresses, from 1 on; 0: any address */
};

_Static_assert(sizeof(struct entry) == 64, "an entry is one cache line");

#define ENTRY_IP4	0x0001	/* matches IPv4 only */
#define ENTRY_IP6	0x0002	/* matches IPv6 only */
#define ENTRY_REMOTE	0x0004	/* remote is compared */
#define ENTRY_LOCAL	0x0008
#define ENTRY_REMOTE_PORT 0x0010
#define ENTRY_LOCAL_PORT 0x0020
#define ENTRY_PROTOCOL	0x0040
#define ENTRY_SPI	0x0080
#define ENTRY_FLOW_LABEL 0x0100
#define ENTRY_UE	0x0200
#define ENTRY_HOST	0x0400
#define ENTRY_HOSTS	0x0800
#define ENTRY_HOST_SHIFT 20
#define ENTRY_UES	63	/* sets of UE addresses of a list */

/* The same for a frame of an Ethernet PDU session: QFIs of a PDR, and one Ethernet
 * Packet Filter with one pair of MAC addresses. SDF filters inside of it are a run
 * of struct entry among those that stand in front of the ones that match.
 *
 * MAC addresses are numbers: the first octet on the wire is the highest of 48 bits.
 */
struct ether_entry {
	__u64 qfis;
	__u64 source[2], destination[2];	/* first and last that match */
	__u16 c_tci, c_mask;	/* with ETHER_C_TAG; c_tci is under the mask */
	__u16 s_tci, s_mask;	/* with ETHER_S_TAG */
	__u32 pdr;		/* where struct entry has it */
	__u16 sdf, sdfs;	/* the first, counted from the list's first entry, and how many; 0: none */
	__u16 flags;
	__u16 ethertype;	/* behind the tags; 0: any */
	__u32 reserved;
};

_Static_assert(sizeof(struct ether_entry) == sizeof(struct entry), "both stand in one table");
_Static_assert(offsetof(struct ether_entry, pdr) == offsetof(struct entry, pdr), "whoever walks a list finds its PDRs");

#define ETHER_C_TAG	0x0001	/* has to be there */
#define ETHER_S_TAG	0x0002

#define PDR_REFS	26
#define PDR_METERS	16	/* at most among them */
#define PDR_URRS	10

/* What is done with a packet that matched: a PDR's FAR, QERs and URRs. Never
 * changed while a list names it: a PDR that changes gets another one.
 */
struct pdr {
	__u32 ctl;		/* RULE_*, RULE_LIST among them; without a generation */
	__u32 counter;		/* index in pdr_counters */
	struct outer out;	/* with RULE_OUTER */
	__u8 dscp_copied;	/* bits of the user packet's DSCP to add to out.dscp */
	__u8 reserved;
	__u8 meters, urrs;	/* how many of refs[] are in use: first meters, then URRs */
	__u16 pdr_id;
	__u16 reserved2;
	__u32 refs[PDR_REFS];
};

_Static_assert(sizeof(struct pdr) == 128, "a PDR is two cache lines");

/* A meter among refs: its index, and what it does. */
#define METER_INDEX	0x03ffffff
#define METER_QER	0x3c000000	/* which of the PDR's QERs it is of */
#define METER_KIND	0xc0000000
#define METER_MBR	0x00000000
#define METER_GBR	0x40000000
#define METER_PACKETS	0x80000000	/* Packet Rate */

/* A URR among refs: its index. */
#define URR_INDEX	0x7fffffff
#define URR_BEFORE	0x80000000	/* counts before enforcement (MBQE) */

/* What was counted for a PDR of a list; as at the end of struct rule. */
struct pdr_counter {
	__u64 packets;		/* forwarded */
	__u64 octets;		/* forwarded, of the user packet */
	__u64 dropped;		/* packets that matched and were then dropped */
	__u32 pdr_id;
	__u32 serial;		/* another one for each PDR that has the counters, one after the other */
};

/* A rate as GCRA knows it (ITU-T I.371, Annex A), of octets or of packets. Times
 * are in units of 2^-8 ns of bpf_ktime_get_ns(), so that one octet at 100 Gbit/s
 * is 20 of them.
 */
struct meter {
	__u64 tat;		/* theoretical arrival time of the next packet */
	__u64 unit_time;	/* of one octet, in 2^-24 ns; of one packet, in 2^-8 ns */
	__u64 tolerance;	/* how far tat may be ahead, in 2^-8 ns: the burst */
	__u64 coarse;		/* so far ahead of the coarse clock is too far; 0: it is not asked */
};

#define METER_FRACTION	8	/* bits of tat behind the nanosecond */
#define METER_SHIFT	16	/* from the time of an octet to tat */
#define METER_PACKET	0	/* as a number of octets: one packet */

/* tat is never further ahead than this beyond tolerance and unit_time: then it is
 * from long ago, and the clock has gone round.
 */
#define METER_AHEAD	(1ULL << 38)

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
 * So the packet that reaches a quota is the last one that is forwarded, or on several
 * CPUs one of those that were under way.
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
/* << URR_OWED_SHIFT: URR_EVENT_* for which the ring had no room. In flags of index 0,
 * which is no URR: what any URR has.
 */
#define URR_OWED_SHIFT	8

/* A URR and two meters, those of a session at home: side by side, since what a packet
 * waits for is pages as much as cache lines. URR i is in account i, meter m in account
 * m / 2. They belong together at home only.
 */
struct account {
	struct urr urr;
	struct meter meter[2];	/* at home URR_UPLINK, URR_DOWNLINK */
};

_Static_assert(sizeof(struct account) == 128, "an account is two cache lines");

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
	__u32 index;		/* of the URR */
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
	__u16 vlan;		/* VID of the tag that frames get; 0: none; HOP_OWN */
	__u32 reserved;
};

_Static_assert(sizeof(struct hop) == 64, "a hop is one cache line");

#define HOP_OWN	0xffff	/* the peer is the UPF itself: see again.h */
