/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "print.h"

/* Which series a packet belongs to.
 *
 * At N3 by TEID, else by the prefix of its source, else by QFI; at N6 by its
 * destination: a prefix, or what was learnt of the UE's own packets when the UPF let one
 * of them out. So nobody's address is learnt that the UPF does not forward for.
 *
 * What was found stands in found_by_key for an epoch, so that the next packet needs one
 * cache line. A key is a hash with a secret; a value is
 *
 *	epoch << 32 | FOUND_* | pair
 *
 * CPUs write sets at the same time: one half of an entry with the other half of another
 * one is recognized, and something is looked for once more.
 */
#define FOUND_PAIR	(1ULL << 16)
#define FOUND_LEARNT	(1ULL << 17)	/* and the UE's address is learnt */
#define FOUND_FOREIGN	(1ULL << 18)	/* it is nobody's */
#define FOUND_EPOCH	32

static __always_inline struct found *found_set(__u64 key)
{
	__u32 index = key % FOUND_SETS;

	return bpf_map_lookup_elem(&found_by_key, &index);
}

/* found_get - what was found of @key in this epoch; 0: nothing */
static __always_inline __u64 found_get(__u64 key)
{
	const volatile struct found *set = found_set(key);
	__u64 value, found = 0;

	if (!set)
		return 0;
#pragma unroll
	for (int i = 0; i < FOUND_WAYS; i++) {
		value = set->value[i];
		if ((set->check[i] ^ value) == key)
			found = value;
	}
	return found >> FOUND_EPOCH == *(volatile __u32 *)&epoch ? found & 0xffffffff : 0;
}

/* found_put - note what was found, in the place of the same, of something old, or of
 * anything
 */
static __always_inline void found_put(__u64 key, __u64 value)
{
	volatile struct found *set = found_set(key);
	__u32 now = *(volatile __u32 *)&epoch, way = (key >> 32) % FOUND_WAYS;
	__u64 has;

	if (!set)
		return;
	for (__u32 i = 0; i < FOUND_WAYS; i++) {
		has = set->value[i];
		if ((set->check[i] ^ has) == key) {
			way = i;
			break;
		}
		if (has >> FOUND_EPOCH != now)
			way = i;
	}
	value |= (__u64)now << FOUND_EPOCH;
	set->check[way] = key ^ value;
	set->value[way] = value;
}

/* ue_key, tunnel_key - of the UE at an address, and of its packets from a tunnel */
static __always_inline __u64 ue_key(__u8 upf, const struct user *u, __u64 address, __u16 port)
{
	__u64 rest = (__u64)upf << 8 | u->version;

	if (nat)
		rest |= (__u64)u->protocol << 16 | (__u64)port << 24;
	return print_end(print_word(address, 0) + print_word(rest, 1));
}

static __always_inline __u64 tunnel_key(__u8 upf, const struct user *u)
{
	__u64 rest = (__u64)upf << 40 | (__u64)u->qfi << 32 | u->teid;

	return print_end(print_word(u->source, 2) + print_word(rest, 3));
}

static __always_inline __u64 ue_source(__u8 upf, const struct user *u)
{
	return ue_key(upf, u, u->source, u->ports);
}

static __always_inline __u64 ue_destination(__u8 upf, const struct user *u)
{
	return ue_key(upf, u, u->destination, u->ports >> 16);
}

/* prefix_find - pair, or PREFIX_WEAK with a pair, of the longest prefix of @address
 *
 * Return: SERIES_NONE if there is none.
 */
static __always_inline __u32 prefix_find(__u8 upf, __u8 version, __u64 address)
{
	struct prefix_key key = { .bits = PREFIX_KEY_BITS + (version == 4 ? 32 : 64), .upf = upf, .version = version };
	__u32 *pair;

	__builtin_memcpy(key.address, &address, sizeof(key.address));
	pair = bpf_map_lookup_elem(&pair_by_prefix, &key);
	return pair ? *pair : SERIES_NONE;
}

/* tunnel_pair - the pair of a packet from a tunnel, @none if nothing is known */
static __always_inline __u32 tunnel_pair(__u8 upf, __u16 none, const struct user *u)
{
	__u64 teid = (__u64)upf << 32 | u->teid;
	__u32 *pair = bpf_map_lookup_elem(&pair_by_teid, &teid), prefix, flow = upf * QFIS + u->qfi;

	if (pair)
		return *pair;
	prefix = prefix_find(upf, u->version, u->source);
	if (prefix < PREFIX_WEAK)
		return prefix;
	pair = bpf_map_lookup_elem(&pair_by_qfi, &flow);
	return pair && *pair ? *pair - 1 : none;
}

/* slice_up_hard - look for the series of a packet from a tunnel
 *
 * @none: pair of the UPF and no slice
 *
 * Return: with SERIES_LEARN while the UE's address is not learnt.
 */
__noinline int slice_up_hard(__u8 upf, __u16 none, const struct user *u, __u64 found)
{
	__u32 pair = found, *learnt;
	__u64 key, ue;

	if (!u)
		return none << 1;
	key = tunnel_key(upf, u);
	ue = ue_source(upf, u);
	if (!(found & FOUND_PAIR))
		pair = tunnel_pair(upf, none, u);
	pair &= 0x3fff;
	learnt = nat ? NULL : bpf_map_lookup_elem(&pair_by_ue, &ue);
	found = FOUND_PAIR | pair;
	if (learnt && *learnt == pair)
		found |= FOUND_LEARNT;
	found_put(key, found);
	return pair << 1 | (found & FOUND_LEARNT ? 0 : SERIES_LEARN);
}

/* slice_up - the series of a packet from a tunnel, with SERIES_LEARN if its UE is to be
 * learnt
 */
static __always_inline __u32 slice_up(const volatile struct point *point, const struct user *u)
{
	__u8 upf = point->upf;
	__u64 found = found_get(tunnel_key(upf, u));

	if (found & FOUND_LEARNT)
		return (found & 0x3fff) << 1;
	if (nat && found)
		return (found & 0x3fff) << 1 | SERIES_LEARN;
	return slice_up_hard(upf, point->pair, u, found);
}

/* slice_ue_hard - look for the pair of a UE
 *
 * Return: FOUND_*.
 */
__noinline int slice_ue_hard(__u8 upf, __u8 version, __u64 address, __u64 key)
{
	__u32 prefix = prefix_find(upf, version, address), *learnt = bpf_map_lookup_elem(&pair_by_ue, &key);
	__u64 found = FOUND_FOREIGN;

	if (prefix < PREFIX_WEAK)
		found = FOUND_PAIR | prefix;
	else if (learnt)
		found = FOUND_PAIR | *learnt;
	else if (prefix != SERIES_NONE)
		found = FOUND_PAIR | (prefix & 0x3fff);
	if (learnt)
		found |= FOUND_LEARNT;
	found_put(key, found);
	return found;
}

static __always_inline __u64 slice_ue(__u8 upf, __u8 version, __u64 address, __u64 key)
{
	__u64 found = found_get(key);

	return found ? found : slice_ue_hard(upf, version, address, key);
}

static __always_inline int user_multicast(const struct user *u)
{
	__u8 first = u->destination;

	return u->version == 4 ? first >= 224 : first == 0xff;
}

/* slice_down - the series of a packet from N6, SERIES_NONE if it is for no UE */
static __always_inline __u32 slice_down(const volatile struct point *point, const struct user *u)
{
	__u8 upf = point->upf;
	__u64 found = slice_ue(upf, u->version, u->destination, ue_destination(upf, u));

	if (found & FOUND_PAIR)
		return (found & 0x3fff) << 1 | SERIES_DOWNLINK;
	if (point->own && !user_multicast(u))
		return point->pair << 1 | SERIES_DOWNLINK;
	return SERIES_NONE;
}

/* slice_learn - the UPF lets a packet of a UE out: remember who it is */
__noinline int slice_learn(__u64 key, __u32 pair)
{
	__u32 *learnt = bpf_map_lookup_elem(&pair_by_ue, &key);

	if (learnt && *learnt == pair)
		return 0;
	bpf_map_update_elem(&pair_by_ue, &key, &pair, BPF_ANY);
	found_put(key, 0); /* a prefix may say otherwise */
	return 0;
}
