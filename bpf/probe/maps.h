/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "latency.h"
#include "probe.h"

/* Packets in flight: sets of a cache line. Tables that are looked up for every packet can
 * be mapped, since only then does the kernel give them whole pages, and sets begin where
 * lines do.
 */
#define FLIGHT_WAYS	4

struct flight {
	__u64 tag[FLIGHT_WAYS];		/* of the fingerprint; 0: empty */
	__u64 when[FLIGHT_WAYS];	/* time in ns << 16 | series; probe_flight.h */
} __attribute__((aligned(64)));

/* What was found of keys lately: probe_slice.h. */
#define FOUND_WAYS	4

struct found {
	__u64 check[FOUND_WAYS];	/* key ^ value */
	__u64 value[FOUND_WAYS];
} __attribute__((aligned(64)));

#define FOUND_SETS	16384	/* a power of two */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);	/* set before loading, a power of two */
	__type(key, __u32);
	__type(value, struct flight);
} flight_by_print SEC(".maps");

/* With samples: TEID << 8 | QFI that what is in a way of a set came with. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);	/* FLIGHT_WAYS for each set, set before loading */
	__type(key, __u32);
	__type(value, __u64);
} tunnel_by_way SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);	/* series, set before loading */
	__type(key, __u32);
	__type(value, struct account);
} account_by_series SEC(".maps");

/* What was matched of a series on one CPU: as many as there are delays. */
struct matched {
	__u64 octets;
	struct latency delay;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);	/* series, set before loading */
	__type(key, __u32);
	__type(value, struct matched);
} matched_by_series SEC(".maps");

/* Lost ones that were swept, on all CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);	/* series, set before loading */
	__type(key, __u32);
	__type(value, __u64);
} swept_by_series SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1024);	/* points */
	__type(key, __u32);
	__type(value, struct count);
} count_by_point SEC(".maps");

/* Pairs by UPF << 32 | TEID. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 18);
	__type(key, __u64);
	__type(value, __u32);
} pair_by_teid SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 18);
	__type(key, struct prefix_key);
	__type(value, __u32);	/* pair, PREFIX_WEAK */
} pair_by_prefix SEC(".maps");

/* Pairs + 1 by UPF * QFIS + QFI; 0: none. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, QFIS);	/* for each UPF, set before loading */
	__type(key, __u32);
	__type(value, __u32);
} pair_by_qfi SEC(".maps");

/* Learnt from packets: whose address stands for whom. The least used are forgotten. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 17);
	__type(key, __u64);	/* ue_key() */
	__type(value, __u32);
} pair_by_ue SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FOUND_SETS);
	__type(key, __u32);
	__type(value, struct found);
} found_by_key SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);	/* the largest page there is; set before loading */
} samples SEC(".maps");

/* All are set before loading. */
const volatile __u32 flight_mask;	/* sets - 1 */
const volatile __u64 timeout_ns;
const volatile __u8 nat;
const volatile __u32 timed_below;	/* of 2^32, timed_of(); 0: every packet is timed */
const volatile __u8 sampling;		/* there are samples: every or above is not 0 */
const volatile __u32 sample_every;
const volatile __u64 sample_above_ns;
const volatile struct print_words print_mask[PRINT_MAX] __attribute__((aligned(64)));
const volatile struct print_words print_seed __attribute__((aligned(64)));

/* Shared by all programs, each a table of its own. */
__u32 epoch SEC(".data.epoch");			/* what was found in an earlier one is looked for again */
__u64 samples_lost SEC(".data.samples_lost");	/* for which the ring had no room */
__u64 held SEC(".data.held");			/* packets that the last sweep left in flight */
