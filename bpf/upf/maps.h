/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <linux/in6.h>
#include "drop.h"
#include "n6.h"
#include "rules.h"

/* The loader sets the sizes: a power of two. */
struct rules {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rule);
};
struct rules rule_by_teid SEC(".maps");
struct rules rule_by_ue SEC(".maps");

/* Rules whose place was taken: index in the table by key. */
struct overflow {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u32);
};
struct overflow guest_by_teid SEC(".maps");
struct overflow guest_by_ue SEC(".maps");

/* Lists: runs of entries, and the PDRs that they lead to. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct entry);
} entries SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pdr);
} pdrs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pdr_counter);
} pdr_counters SEC(".maps");

/* What long lists made of flows, 2^FLOW_CACHE_BITS for each CPU. struct flow is
 * what the programs have in a place.
 */
#define FLOW_CACHE_BITS	12

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* whole pages: a flow is one cache line */
	__uint(max_entries, 1);
	__type(key, __u32);
	__uint(value_size, 64);
} flows SEC(".maps");

/* MAC addresses of UEs: the bridge of the slow path learns and forgets them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct station_key);
	__type(value, struct station);
} stations SEC(".maps");

/* Framed routes: key in rule_by_ue by prefix. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct framed_key);
	__type(value, __u64);
} framed_by_prefix SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct account);
} accounts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct urr_owner);
} urr_owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct urr_dropped);
} urr_drops SEC(".maps");

/* struct urr_event */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} urr_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct hop);
} hops SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, N6_WAYS);
	__type(key, __u32);
	__type(value, struct n6_way);
} n6_ways SEC(".maps");

/* For the driver alone: by number of the way. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, N6_WAYS);
	__type(key, __u32);
	__type(value, struct n6_name);
} n6_names SEC(".maps");

/* Neighbours on N6: index in hops by address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct neighbour_key);
	__type(value, __u32);
} hop_by_ip SEC(".maps");

/* Addresses of this host, to which no user packet goes; IPv4 is mapped. The bits say of
 * nearly all others that they are none: forward_own().
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct in6_addr);
	__type(value, __u32);
} own_addresses SEC(".maps");

/* Routes on N6: index in route_groups, or ROUTE_ONLINK, by prefix. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__type(key, struct route_key);
	__type(value, __u32);
} group_by_prefix SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 512);
	__type(key, __u32);
	__type(value, struct route_group);
} route_groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNT_MAX);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

/* Frames that the slow path has to send on, each as long as it is. */
#define EXCEPTION_MAX 9216 /* octets of a frame */

#define EXCEPTIONS_OCTETS (1 << 23)

struct exception {
	__u32 octets;
	__u32 reason;
	__u32 queue;		/* index in queues of the rule, plus 1; 0: none */
	__u32 tunnelled;	/* a G-PDU, not a bare packet */
	__u32 ifindex;		/* on which it came */
	__u32 wait;		/* index in name_waits, plus 1; 0: none */
	__u32 network;		/* of an Ethernet data network, on which the frame is; 0: none; 0x8000: of a UE */
	__u32 passes;		/* F-TEIDs of the UPF itself through which it has come; bare: the NAT has translated it */
	__u8 frame[EXCEPTION_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, EXCEPTIONS_OCTETS);
} exceptions SEC(".maps");

/* Where an exception is put together: a program is not interrupted by another
 * one on its CPU.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct exception);
} scratch SEC(".maps");

/* By slot of rule_by_ue, and behind these by slot of rule_by_teid. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct queue);
} queues SEC(".maps");

#define ENDPOINT_MAX 16

/* Set once before the programs are loaded. */
const volatile __u32 index_mask;

const volatile __u32 queue_max;	/* packets of one rule in the ring */
const volatile __u32 passes_max; /* F-TEIDs of the UPF itself that a packet may go through */
const volatile __be32 endpoint_ip4[ENDPOINT_MAX]; /* at which GTP-U is terminated; 0: none more */
const volatile struct endpoint_ip6 {
	__be32 word[4];
} endpoint_ip6[ENDPOINT_MAX]; /* likewise; first word 0: none more */

#define SPREAD_MAX 64
const volatile __u32 spread_count;	/* CPUs over which packets are spread */
const volatile __u32 spread_cpus[SPREAD_MAX];
const volatile __u32 spread_opaque;	/* T-PDUs may be no IP packets: by TEID, not by UE */

/* The clock of meters that stands still between ticks of the kernel: what it was when
 * the first packet in a tick asked. In a cache line that nothing else is in.
 */
struct coarse {
	__u64 jiffies;
	__u64 ns;
	__u64 reserved[6];
};

volatile struct coarse coarse __attribute__((aligned(64)));

/* Changed while packets flow, each word whole. */
volatile __u64 answer_tat;	/* theoretical time of the next answer, ns */
#define ANSWER_SHARES 1024
volatile __u64 share_tat[ANSWER_SHARES]; /* the same of answers to users, by hash */
#define OWN_WORDS 64
volatile __u64 own_bits[OWN_WORDS]; /* of own_addresses, by hash */
volatile __u32 overflows;	/* how many rules are not at home */
volatile __u32 framed_routes;	/* how many framed_by_prefix has */

const struct route_key *unused_route_key __attribute__((unused));
const struct exception *unused_exception __attribute__((unused));
const struct urr_event *unused_urr_event __attribute__((unused));
const struct ether_entry *unused_ether_entry __attribute__((unused));
