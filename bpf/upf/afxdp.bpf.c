//go:build ignore
/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Which frames of a device are the UPF's: those go to the XDP socket of their
 * queue, and so to user space; all others stay with the kernel. GTP-U to our
 * addresses is ours, and packets from N6 to UE addresses, framed routes and
 * addresses of a NAT, which the driver keeps in the tables below.
 *
 * One program for each device, with roles and sockets of its own.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include "drop.h"
#include "gtpu.h"

#define ENDPOINT_MAX	16
#define QUEUE_MAX	256
#define IP_FRAGMENT	0x3fff	/* more fragments, or an offset */

/* In wire order, IPv4 as ::ffff:a.b.c.d. */
struct address {
	__u32 word[4];
};

struct prefix {
	__u32 bits;	/* of addr; IPv4 is mapped */
	struct address addr;
};

/* Set once before the program is loaded. */
const volatile struct address endpoints[ENDPOINT_MAX];
const volatile __u32 endpoint_count;	/* of those on this device */
const volatile __u32 is_n6;
const volatile __u32 is_ethernet;	/* all frames are the UPF's */

__u32 prefixes;	/* how many there are; set by the driver */

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, QUEUE_MAX);
	__type(key, __u32);
	__type(value, __u32);
} socket_by_queue SEC(".maps");

/* UE addresses. Keys are in wire order. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);	/* set by the driver */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __be32);
	__type(value, __u8);
} ue_by_ip4 SEC(".maps");

/* The upper half of the address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __be64);
	__type(value, __u8);
} ue_by_ip6 SEC(".maps");

/* Framed routes, and addresses of a NAT. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u8);
} ue_by_prefix SEC(".maps");

/* By enum upf_count: what stays with the kernel. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNT_MAX);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

static __always_inline int is_endpoint(const struct address *a)
{
	for (__u32 i = 0; i < ENDPOINT_MAX; i++) {
		const volatile struct address *e = &endpoints[i];

		if (i >= endpoint_count)
			return 0;
		if (e->word[3] == a->word[3] && e->word[2] == a->word[2] && e->word[1] == a->word[1] && e->word[0] == a->word[0])
			return 1;
	}
	return 0;
}

static __always_inline int has_prefix(const struct address *a)
{
	struct prefix key = { .bits = 128, .addr = *a };

	return prefixes && bpf_map_lookup_elem(&ue_by_prefix, &key);
}

/* is_gtpu - whether the packet behind an IP header is for the GTP-U port */
static __always_inline int is_gtpu(const struct udphdr *udp, const void *end)
{
	return (const void *)(udp + 1) <= end && udp->dest == bpf_htons(GTPU_PORT);
}

/* spoilt - a packet that ends inside its IP header, or has none: on N6 the UPF counts
 * it as such
 */
static __always_inline __u32 spoilt(void)
{
	return is_n6 ? COUNT_NONE : PASS_HOST;
}

/* claim_ip4 - whether an IPv4 packet is the UPF's
 *
 * Outer fragments are not: the kernel puts them together and gives the message to
 * the GTP-U socket.
 * Return: COUNT_NONE if it is, else what it is counted as.
 */
static __always_inline __u32 claim_ip4(const struct iphdr *ip, const void *end)
{
	struct address to = { .word = { 0, 0, bpf_htonl(0xffff) } };

	if ((const void *)(ip + 1) > end)
		return spoilt();
	if (ip->version != 4)
		return ip->version == 6 ? PASS_HOST : spoilt();
	to.word[3] = ip->daddr;
	if (endpoint_count && ip->protocol == IPPROTO_UDP && is_endpoint(&to)) {
		if (ip->frag_off & bpf_htons(IP_FRAGMENT))
			return PASS_FRAGMENT;
		return ip->ihl >= 5 && is_gtpu((const void *)ip + ip->ihl * 4, end) ? COUNT_NONE : PASS_HOST;
	}
	if (!is_n6)
		return PASS_HOST;
	if (bpf_map_lookup_elem(&ue_by_ip4, &to.word[3]) || has_prefix(&to))
		return COUNT_NONE;
	return PASS_HOST;
}

/* claim_ip6 - likewise for IPv6 */
static __always_inline __u32 claim_ip6(const struct ipv6hdr *ip, const void *end)
{
	struct address to;
	__be64 prefix;

	if ((const void *)(ip + 1) > end)
		return spoilt();
	if (ip->version != 6)
		return ip->version == 4 ? PASS_HOST : spoilt();
	__builtin_memcpy(&to, &ip->daddr, sizeof(to));
	if (endpoint_count && is_endpoint(&to)) {
		if (ip->nexthdr == IPPROTO_FRAGMENT)
			return PASS_FRAGMENT;
		return ip->nexthdr == IPPROTO_UDP && is_gtpu((const void *)(ip + 1), end) ? COUNT_NONE : PASS_HOST;
	}
	if (!is_n6)
		return PASS_HOST;
	__builtin_memcpy(&prefix, &to, sizeof(prefix));
	if (bpf_map_lookup_elem(&ue_by_ip6, &prefix) || has_prefix(&to))
		return COUNT_NONE;
	return PASS_HOST;
}

static __always_inline __u32 claim(const struct xdp_md *ctx)
{
	const void *end = (const void *)(long)ctx->data_end;
	const struct ethhdr *eth = (const void *)(long)ctx->data;

	if (is_ethernet)
		return COUNT_NONE;
	if ((const void *)(eth + 1) > end)
		return PASS_HOST;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		return claim_ip4((const void *)(eth + 1), end);
	return eth->h_proto == bpf_htons(ETH_P_IPV6) ? claim_ip6((const void *)(eth + 1), end) : PASS_HOST;
}

SEC("xdp")
int afxdp(struct xdp_md *ctx)
{
	__u32 count = claim(ctx);
	__u64 *n;

	if (count == COUNT_NONE)
		return bpf_redirect_map(&socket_by_queue, ctx->rx_queue_index, XDP_PASS);
	n = bpf_map_lookup_elem(&counts, &count);
	if (n)
		*n += 1;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
