/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "forward_n6.h"

/* What happens to user packets on the side of N6: NAT, MSS, DSCP. Mappings are
 * made and removed by the driver (datapath/stages/nat.go says how); here they are
 * used, by packets of TCP, UDP and ICMP Echo that are no fragments and have no IP
 * options. All else is left to the slow path.
 *
 * The functions are global, so that the common packet, of a data network without
 * any of this, carries nothing of them. They find the packet by its offset.
 */
struct nat_mapping {
	__u32 ue_ip4, outside_ip4;	/* host order */
	__u16 ue_port, outside_port;	/* host order; ICMP: Identifier */
	__u8 protocol;
	__u8 peer_port;		/* TCP: of the connection that state is of, its octets by exclusive or */
	__u16 network;		/* number of the data network */
	__u32 state;		/* NAT_*, by atomic operations */
	__u32 peer_ip4;		/* TCP: the other end of that connection, host order; 0: none yet */
	__u64 last;		/* ns: when the UE last used it, or NAT_CLOSING came */
};

_Static_assert(sizeof(struct nat_mapping) == 32, "two mappings in a cache line");

#define NAT_REPLIED	1	/* a packet came from outside */
#define NAT_CLOSING	2	/* TCP: FIN or RST of the one connection was seen, and no SYN or data of the UE since */
#define NAT_SHARED	4	/* TCP: of several connections, so that the end of one is not that of the mapping */
#define NAT_FRESH	1000000000ULL /* ns: last is not written for less */

struct nat_key {
	__u32 network;
	__u32 ip4;		/* host order */
	__u16 port;
	__u8 protocol;
	__u8 unused;
};

/* The addresses outside of one data network. */
#define NAT_PREFIXES	8
struct nat_pool {
	__u32 ip4[NAT_PREFIXES];	/* host order; behind the last 1, with mask 0 */
	__u32 mask[NAT_PREFIXES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nat_mapping);
} nat_mappings SEC(".maps");

/* Index in nat_mappings by the end of the UE, and by the end outside. */
struct nat_index {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct nat_key);
	__type(value, __u32);
};
struct nat_index nat_out SEC(".maps");
struct nat_index nat_in SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, N6_WAYS);
	__type(key, __u32);
	__type(value, struct nat_pool);
} nat_pools SEC(".maps");

/* Number of the data network by the device of arrival: in the one device's place,
 * or, if that is taken by another, in the hash.
 */
#define N6_DEVICES	64
volatile __u64 n6_devices[N6_DEVICES];	/* number << 32 | ifindex, by low bits of ifindex; 0: free */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, N6_WAYS);
	__type(key, __u32);
	__type(value, __u32);
} n6_by_device SEC(".maps");

volatile __u32 n6_arrivals;	/* N6_* of any data network: what may have to be done to bare packets */

#define TCP_FIN	1
#define TCP_SYN	2
#define TCP_RST	4
#define ICMP_ECHO_REPLY	0
#define ICMP_ECHO	8
#define OFFSET_MAX	1024	/* of a user packet in its frame */

struct transport {		/* TCP, UDP, or ICMP Echo */
	__be16 word[10];
};

/* nat_packet - the IPv4 packet at octet @at, if its transport header stands
 * whole behind a header without options
 */
static __always_inline struct iphdr *nat_packet(struct ctx_md *md, __u32 at)
{
	void *data = (void *)(long)md->data, *end = (void *)(long)md->data_end;
	struct iphdr *ip;

	if (at > OFFSET_MAX)
		return NULL;
	ip = data + at;
	if ((void *)(ip + 1) + 8 > end || ip->version != 4 || ip->ihl != 5)
		return NULL;
	if (ip->frag_off & bpf_htons(IP_FRAGMENT) || bpf_ntohs(ip->tot_len) < sizeof(*ip) + 8)
		return NULL;
	return ip;
}

/* nat_port - where the port of one end stands, in words; negative: nowhere */
static __always_inline int nat_port(const struct iphdr *ip, int destination)
{
	const __u8 *type = (void *)(ip + 1);

	switch (ip->protocol) {
	case IPPROTO_TCP:
	case IPPROTO_UDP:
		return destination ? 1 : 0;
	case IPPROTO_ICMP:
		return *type == (destination ? ICMP_ECHO_REPLY : ICMP_ECHO) ? 2 : -1;
	}
	return -1;
}

static __always_inline int nat_pooled(__u32 network, __u32 ip4)
{
	const struct nat_pool *pool = bpf_map_lookup_elem(&nat_pools, &network);

	if (!pool)
		return 0;
	for (int i = 0; i < NAT_PREFIXES; i++)
		if ((ip4 & pool->mask[i]) == pool->ip4[i])
			return 1;
	return 0;
}

/* sum_fold - a checksum that changes by @change: RFC 1624, equation 3 */
static __always_inline __u16 sum_fold(__u16 check, __u32 change)
{
	__u32 sum = (__u16)~check + change;

	sum = (sum & 0xffff) + (sum >> 16);
	return ~((sum & 0xffff) + (sum >> 16));
}

static __always_inline __u32 sum_word(__u16 before, __u16 after)
{
	return (__u16)~before + after;
}

static __always_inline __u32 sum_address(__be32 before, __be32 after)
{
	return sum_word(before, after) + sum_word(before >> 16, after >> 16);
}

/* nat_rewrite - put address and port of an end in, and change the checksums */
static __always_inline int nat_rewrite(struct iphdr *ip, void *end, int destination, __be32 ip4, __be16 port)
{
	__be16 *word = (void *)(ip + 1);
	__u32 change = sum_address(destination ? ip->daddr : ip->saddr, ip4), sum = change;
	int sum_at = 1, port_at = destination;

	if (ip->protocol == IPPROTO_TCP) {
		sum_at = 8;
		if ((void *)(word + 10) > end || bpf_ntohs(ip->tot_len) < sizeof(*ip) + 20)
			return -DROP_NAT_MAPPING;
	} else if (ip->protocol == IPPROTO_UDP) {
		sum_at = 3;
	} else {
		port_at = 2;
		sum = 0;	/* no pseudo-header */
	}
	if (destination)
		ip->daddr = ip4;
	else
		ip->saddr = ip4;
	ip->check = sum_fold(ip->check, change);
	sum += sum_word(word[port_at], port);
	word[port_at] = port;
	if (ip->protocol == IPPROTO_UDP && !word[sum_at])
		return 0;
	word[sum_at] = sum_fold(word[sum_at], sum);
	if (ip->protocol == IPPROTO_UDP && !word[sum_at])
		word[sum_at] = 0xffff;
	return 0;
}

/* nat_connection - note a segment: see connection() of datapath/stages/nat_packet.go */
static __always_inline void nat_connection(struct nat_mapping *m, const struct iphdr *ip, const __u8 *tcp,
					   int destination)
{
	const __u8 *port = destination ? tcp : tcp + 2;
	__u32 peer = bpf_ntohl(destination ? ip->saddr : ip->daddr);
	__u32 state = *(volatile __u32 *)&m->state, was = *(volatile __u32 *)&m->peer_ip4;
	__u8 peer_port = port[0] ^ port[1];
	int same = was == peer && *(volatile __u8 *)&m->peer_port == peer_port;
	int ends = tcp[13] & (TCP_FIN | TCP_RST);

	if (!destination) {
		int opens = tcp[13] & TCP_SYN && !ends;
		int data = bpf_ntohs(ip->tot_len) > sizeof(*ip) + (tcp[12] >> 4) * 4;

		if (!was || (opens && state & NAT_CLOSING)) {
			*(volatile __u8 *)&m->peer_port = peer_port;
			*(volatile __u32 *)&m->peer_ip4 = peer;
			same = 1;
		} else if (!same && (opens || data) && !(state & NAT_SHARED)) {
			__sync_fetch_and_or(&m->state, NAT_SHARED);
			state |= NAT_SHARED;
		}
		if (!ends && (opens || data) && state & NAT_CLOSING)
			__sync_fetch_and_and(&m->state, ~NAT_CLOSING);
	}
	if (ends && same && !(state & NAT_SHARED) && !(__sync_fetch_and_or(&m->state, NAT_CLOSING) & NAT_CLOSING))
		*(volatile __u64 *)&m->last = bpf_ktime_get_coarse_ns();
}

/* nat_use - note a packet of the mapping */
static __always_inline void nat_use(struct nat_mapping *m, const struct iphdr *ip, void *end, int destination)
{
	const __u8 *tcp = (void *)(ip + 1);

	if (destination) {
		if (!(*(volatile __u32 *)&m->state & NAT_REPLIED))
			__sync_fetch_and_or(&m->state, NAT_REPLIED);
	} else {
		__u64 now = bpf_ktime_get_coarse_ns();

		if ((__s64)(now - *(volatile __u64 *)&m->last) > (__s64)NAT_FRESH)
			*(volatile __u64 *)&m->last = now;
	}
	if (ip->protocol == IPPROTO_TCP && (void *)(tcp + 20) <= end)
		nat_connection(m, ip, tcp, destination);
}

/* nat_find - the mapping of a packet's end
 *
 * Return: the index, or a negative enum upf_count: @none if there is none.
 */
static __always_inline int nat_find(const struct iphdr *ip, __u32 network, int destination, int none)
{
	const __be16 *word = (void *)(ip + 1);
	struct nat_key key = { .network = network, .protocol = ip->protocol };
	int at = nat_port(ip, destination);
	__u32 *index;

	if (at < 0 || (ip->protocol == IPPROTO_TCP && bpf_ntohs(ip->tot_len) < sizeof(*ip) + 20))
		return -PASS_N6;
	key.ip4 = bpf_ntohl(destination ? ip->daddr : ip->saddr);
	key.port = bpf_ntohs(at == 0 ? word[0] : at == 1 ? word[1] : word[2]);
	index = destination ? bpf_map_lookup_elem(&nat_in, &key) : bpf_map_lookup_elem(&nat_out, &key);
	return index ? (int)*index : none;
}

/* n6_mapping - by which mapping the packet at octet @at leaves by a way
 *
 * Return: its index; 0: none is needed; or a negative enum upf_count.
 */
__noinline int n6_mapping(struct ctx_md *md, __u32 way, __u32 at)
{
	const struct n6_way *w = bpf_map_lookup_elem(&n6_ways, &way);
	const struct iphdr *ip;
	void *data = (void *)(long)md->data;

	if (!w || !(w->flags & N6_NAT))
		return 0;
	if (at <= OFFSET_MAX && data + at + 1 <= (void *)(long)md->data_end && *(__u8 *)(data + at) >> 4 == 6)
		return 0;
	ip = nat_packet(md, at);
	if (!ip || nat_pooled(w->network, bpf_ntohl(ip->daddr)))
		return -PASS_N6;
	return nat_find(ip, w->network, 0, -PASS_N6);
}

/* n6_translate - translate the packet at octet @at by a mapping */
__noinline int n6_translate(struct ctx_md *md, __u32 mapping, __u32 at, int destination)
{
	struct nat_mapping *m = bpf_map_lookup_elem(&nat_mappings, &mapping);
	struct iphdr *ip = nat_packet(md, at);
	void *end = (void *)(long)md->data_end;

	if (!m || !ip)
		return -DROP_INTERNAL;
	/* It may have come to its end since it was found, and be another's. */
	if (bpf_ntohl(destination ? ip->daddr : ip->saddr) != (destination ? m->outside_ip4 : m->ue_ip4))
		return -DROP_NAT_MAPPING;
	nat_use(m, ip, end, destination);
	if (destination)
		return nat_rewrite(ip, end, 1, bpf_htonl(m->ue_ip4), bpf_htons(m->ue_port));
	return nat_rewrite(ip, end, 0, bpf_htonl(m->outside_ip4), bpf_htons(m->outside_port));
}

/* n6_number - the number of the data network from which a packet comes; 0: none */
static __always_inline __u32 n6_number(__u32 ifindex)
{
	__u64 home = n6_devices[ifindex & (N6_DEVICES - 1)];
	__u32 *way;

	if ((__u32)home == ifindex)
		return home >> 32;
	way = bpf_map_lookup_elem(&n6_by_device, &ifindex);
	return way ? *way : 0;
}

/* n6_hides - whether a NAT is before the UEs on the data network of a device: what comes
 * from there to a UE's own address is not for it
 */
__noinline int n6_hides(__u32 ifindex)
{
	__u32 way = n6_number(ifindex);
	const struct n6_way *w = bpf_map_lookup_elem(&n6_ways, &way);

	return way && w && w->flags & N6_NAT;
}

/* nat_at - the octet of the IPv4 packet in a frame, behind one VLAN tag at most; 0:
 * there is none
 */
static __always_inline __u32 nat_at(struct ctx_md *md)
{
	void *data = (void *)(long)md->data, *end = (void *)(long)md->data_end;
	const struct ethhdr *eth = data;
	const __be16 *tag = (void *)(eth + 1);

	if ((void *)(tag + 2) > end)
		return 0;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		return sizeof(*eth);
	if (eth->h_proto == bpf_htons(ETH_P_8021Q) && tag[1] == bpf_htons(ETH_P_IP))
		return sizeof(*eth) + 4;
	return 0;
}

/* n6_untranslate - give a packet to an address outside back to its UE
 *
 * Return: 0 if it now has the UE's address, or a negative enum upf_count.
 */
__noinline int n6_untranslate(struct ctx_md *md)
{
	__u32 way = n6_number(md_ifindex(md)), at = nat_at(md);
	const struct n6_way *w = bpf_map_lookup_elem(&n6_ways, &way);
	void *data = (void *)(long)md->data;
	const struct iphdr *any, *ip;
	int mapping;

	if (!way || !w || !(w->flags & N6_NAT) || !at)
		return -PASS_HOST;
	any = data + at;
	if ((void *)(any + 1) > (void *)(long)md->data_end || any->version != 4 ||
	    !nat_pooled(w->network, bpf_ntohl(any->daddr)))
		return -PASS_HOST;
	ip = nat_packet(md, at);
	if (!ip)
		return -PASS_N6;
	if (split_before_nat(md, at))
		return -PASS_SPLIT;
	mapping = nat_find(ip, w->network, 1, -DROP_NAT_MAPPING);
	return mapping < 0 ? mapping : n6_translate(md, mapping, at, 1);
}
