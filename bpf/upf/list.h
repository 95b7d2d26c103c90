/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "names.h"

/* Which PDR of a list a packet matches. The functions are global, so that the
 * verifier looks at them once.
 */

/* prefix_differs - whether the first @bits of 64 of @a and @b are not the same */
static __always_inline int prefix_differs(__u64 a, __u64 b, __u32 bits)
{
	return bits && (a ^ b) >> ((64 - bits) & 63);
}

/* addr_in - whether @addr is inside a prefix of the same version
 *
 * @bits: of IPv4 from 0 to 32, of IPv6 to 128
 */
static __always_inline int addr_in(const __u64 *addr, const __u64 *prefix, __u32 bits, int ip6)
{
	if (!ip6)
		return !prefix_differs(addr[1] << 32, prefix[1] << 32, bits);
	if (bits <= 64)
		return !prefix_differs(addr[0], prefix[0], bits);
	return addr[0] == prefix[0] && !prefix_differs(addr[1], prefix[1], bits - 64);
}

/* entry_version - whether the entry is for packets of this version of IP */
static __always_inline int entry_version(const struct entry *e, const struct flow *f)
{
	return !(e->flags & (f->has & FLOW_IP6 ? ENTRY_IP4 : ENTRY_IP6));
}

static __always_inline int entry_ports(const struct entry *e, const struct flow *f)
{
	__u32 remote = f->word >> 16, local = f->word & 0xffff;

	if (!(e->flags & (ENTRY_REMOTE_PORT | ENTRY_LOCAL_PORT)))
		return 1;
	if (!(f->has & FLOW_PORTS))
		return 0;
	if (e->flags & ENTRY_REMOTE_PORT && (remote < e->port[0] || remote > e->port[1]))
		return 0;
	return !(e->flags & ENTRY_LOCAL_PORT && (local < e->port[2] || local > e->port[3]));
}

/* entry_filter - whether the SDF filter matches
 *
 * Source: TS 29.244 V18.6.0, 8.2.5; RFC 6733, 4.3.1.
 */
static __always_inline int entry_filter(const struct entry *e, const struct flow *f)
{
	int ip6 = f->has & FLOW_IP6;

	if (!entry_version(e, f))
		return 0;
	if (e->flags & ENTRY_PROTOCOL && e->protocol != f->protocol)
		return 0;
	if (!entry_ports(e, f))
		return 0;
	if (e->flags & ENTRY_REMOTE && !addr_in(f->remote, e->remote, e->remote_bits, ip6))
		return 0;
	if (e->flags & ENTRY_LOCAL && !addr_in(f->local, e->local, e->local_bits, ip6))
		return 0;
	if ((f->label >> 20 & e->tos_mask) != e->tos)
		return 0;
	if (e->flags & ENTRY_SPI && (!(f->has & FLOW_SPI) || f->word != e->spi))
		return 0;
	return !(e->flags & ENTRY_FLOW_LABEL) || (ip6 && !((f->label ^ e->flow_label) & 0xfffff));
}

/* entry_match - compare what the entry has
 *
 * @ues: sets of UE addresses, one bit each, in which the packet's is
 *
 * Return: index in pdrs, or what does not match, negative, in the order of
 * enum upf_count; or -PASS_NAME, if that is not known.
 */
__noinline int entry_match(__u32 index, const struct flow *f, __u64 ues)
{
	int has;

	const struct entry *e = bpf_map_lookup_elem(&entries, &index);

	if (!e || !f)
		return -DROP_INTERNAL;
	if (e->ue && !(ues >> (e->ue & 63) & 1))
		return -DROP_UE_ADDRESS;
	if (e->qfis && !(f->has & FLOW_QFI && e->qfis >> (f->qfi & 63) & 1))
		return -DROP_QFI;
	if (!entry_filter(e, f))
		return -DROP_SDF_FILTER;
	if (e->flags & ENTRY_HOST) {
		has = name_host(e->flow_label >> ENTRY_HOST_SHIFT);
		if (has <= 0)
			return has ?: -DROP_SDF_FILTER;
	}
	return e->pdr;
}

/* entry_ue - the set of UE addresses, as a bit, that the entry says is met; 0: none */
__noinline __u64 entry_ue(__u32 index, const struct flow *f)
{
	const struct entry *e = bpf_map_lookup_elem(&entries, &index);

	if (!e || !f || !entry_version(e, f))
		return 0;
	return (__u64)addr_in(f->local, e->remote, e->remote_bits, f->has & FLOW_IP6) << (e->ue & 63);
}

/* list_ues - the sets of UE addresses, one bit each, in which the packet's is */
__noinline __u64 list_ues(__u32 first, __u32 count, const struct flow *f)
{
	__u64 ues = 0;

	if (!f)
		return 0;
	for (__u32 i = 0; i < LIST_MAX && i < count; i++)
		ues |= entry_ue(first + i, f);
	return ues;
}

/* list_match - find the first entry of a run that matches
 *
 * If none does, the reason is that of the one that came nearest.
 * Source: TS 29.244 V18.6.0, 5.2.1A.
 * Return: index in pdrs, or a negative enum upf_count.
 */
__noinline int list_match(__u32 first, __u32 count, const struct flow *f, __u64 ues)
{
	int nearest = -DROP_NO_PDR;

	if (!f)
		return -DROP_INTERNAL;
	for (__u32 i = 0; i < LIST_MAX && i < count; i++) {
		int found = entry_match(first + i, f, ues);

		if (found >= 0 || IS_PASS(-found))
			return found;
		nearest = found < nearest ? found : nearest;
	}
	return nearest;
}

static __always_inline int list_scan(__u32 first, __u32 count, const struct flow *f)
{
	__u32 before = count >> LIST_UES_SHIFT;
	__u64 ues = before ? list_ues(first, before, f) : 0;

	if (count & LIST_HOSTS)
		before++;
	return list_match(first + before, count & LIST_COUNT_MASK, f, ues);
}

static __always_inline __u32 flow_place(const struct flow *f)
{
	const __u64 *w = (const void *)f;
	__u64 h = 0;

	for (int i = 0; i < FLOW_KEY; i++)
		h = (h ^ w[i]) * 0x9e3779b97f4a7c15ULL + (h >> 32);
	return h >> (64 - FLOW_CACHE_BITS);
}

static __always_inline int flow_same(const struct flow *a, const struct flow *b)
{
	const __u64 *x = (const void *)a, *y = (const void *)b;
	__u64 differs = 0;

	for (int i = 0; i < FLOW_KEY; i++)
		differs |= x[i] ^ y[i];
	return !differs;
}

/* list_find - list_scan(), or what the flow cache of this CPU remembers of it
 *
 * The cache is direct-mapped. Its key has all that a list may look at, and the
 * number of the list, which changes with every change: so what it remembers is
 * never wrong, and nobody has to clear it. A name that is not known, or may change
 * by this packet, has no place in it.
 */
static __always_inline int list_find(__u32 first, __u32 count, struct flow *f)
{
	__u32 index;
	struct flow *had;

	if ((count & LIST_COUNT_MASK) <= LIST_LINEAR)
		return list_scan(first, count, f);
	if (count & LIST_HOSTS && (f->protocol == IPPROTO_TCP || f->protocol == IPPROTO_UDP) && !f->verdict)
		return list_scan(first, count, f);
	index = bpf_get_smp_processor_id() << FLOW_CACHE_BITS | flow_place(f);
	had = bpf_map_lookup_elem(&flows, &index);
	if (had && flow_same(had, f))
		return had->found;
	f->found = list_scan(first, count, f);
	if (had)
		*had = *f;
	return f->found;
}

/* list_detect - which PDR of a list the user packet at @user matches
 *
 * @list:  its number
 * @first: of its entries
 * @count: LIST_COUNT
 *
 * Return: index in pdrs, or a negative enum upf_count.
 */
__noinline int list_detect(struct ctx_md *md, __u64 user, __u64 list, __u32 first, __u32 count)
{
	__u32 zero = 0;
	struct flow_work *work = bpf_map_lookup_elem(&flow_now, &zero);
	struct upper u = {};
	struct flow *f;
	int err;

	if (!work)
		return -DROP_INTERNAL;
	f = &work->flow;
	__builtin_memset(f, 0, sizeof(*f));
	f->list = list;
	err = flow_read(md, user, work, &u);
	if (err)
		return err;
	if (count & LIST_UPPER && f->has & FLOW_FRAGMENT)
		return -PASS_RULES; /* which knows what the first one had: datapath/stages/datagrams.go */
	if (count & LIST_HOSTS)
		f->verdict = name_look(md, f, &u, first + (count >> LIST_UES_SHIFT));
	return list_find(first, count, f);
}

/* list_framed - the key of the framed route in which the destination of the user
 * packet at @user is; 0: there is none
 */
__noinline __u64 list_framed(struct ctx_md *md, __u64 user)
{
	struct framed_key k = { .bits = 128 };
	__u32 at = user & 0xffff;
	__u8 first = 0;
	__u64 *key;
	long err;

	if (md_load(md, at, &first, 1))
		return 0;
	if (first >> 4 == 4) {
		k.addr.in6_u.u6_addr32[2] = bpf_htonl(0xffff);
		err = md_load(md, at + offsetof(struct iphdr, daddr), &k.addr.in6_u.u6_addr32[3], 4);
	} else {
		err = md_load(md, at + offsetof(struct ipv6hdr, daddr), &k.addr, 16);
	}
	key = err ? NULL : bpf_map_lookup_elem(&framed_by_prefix, &k);
	return key ? *key : 0;
}
