/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "drop.h"
#include "rules.h"

/* The loader sets the sizes: a power of two and the overflow. */
struct rules {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rule);
};
struct rules uplink SEC(".maps");
struct rules downlink SEC(".maps");

/* Rules whose place was taken: index in uplink or downlink by key. */
struct overflow {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u32);
};
struct overflow uplink_by_key SEC(".maps");
struct overflow downlink_by_key SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct meter);
} meters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct hop);
} hops SEC(".maps");

/* Neighbours on the on-link prefix of N6: index in hops by address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct in6_addr);
	__type(value, __u32);
} hop_by_ip SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNT_MAX);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

/* Frames from N6 that the slow path has to send on. */
#define EXCEPTION_MAX 9216 /* octets of a frame */

struct exception {
	__u32 octets;
	__u32 reason;
	__u8 frame[EXCEPTION_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} exceptions SEC(".maps");

/* Set once before the programs are loaded. */
const volatile __u32 index_mask;
const volatile __be32 n3_ip4;
const volatile __u32 n3_ifindex;
const volatile __u32 n6_ifindex;
const volatile __u8 n3_mac[8];	/* of the N3 device, 6 octets */
const volatile __u8 n6_mac[8];

/* Changed while packets flow, each word whole. */
volatile struct n6_route n6;
volatile __u32 overflows;	/* how many rules stand behind the direct part */

const struct exception *unused_exception __attribute__((unused));
