/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* Outer Header Creation over IPv6, a part of emit.h. It differs from IPv4 in the
 * UDP checksum: RFC 6935 lets tunnels leave it out only where the receiver is
 * known to take that, and a receiver takes none by default. The checksum of the
 * user packet is no short cut to it: if that is wrong, the sum of all octets is
 * not what it says.
 */

#define SUM_STEP	64
#define SUM_MAX		9728	/* octets that are summed up; more than any linear frame has */

/* emit_sum_words - add up SUM_STEP octets; two sums, which do not wait for each
 * other
 */
static __always_inline __u64 emit_sum_words(const __u32 *w)
{
	__u64 even = 0, odd = 0;

#pragma unroll
	for (int i = 0; i < SUM_STEP / 4; i += 2) {
		even += w[i];
		odd += w[i + 1];
	}
	return even + odd;
}

/* emit_sum_rest - add up the octets from @at to the end, less than SUM_STEP */
static __always_inline __u64 emit_sum_rest(const struct ctx *ctx, __u32 at)
{
	const void *pos = ctx_data(ctx) + at, *end = ctx_end(ctx);
	__u64 sum = 0;

	for (int i = 0; i < SUM_STEP / 4; i++) {
		if (pos + 4 > end)
			break;
		sum += *(const __u32 *)pos;
		pos += 4;
	}
	if (pos + 2 <= end) {
		sum += *(const __u16 *)pos;
		pos += 2;
	}
	if (pos + 1 <= end)
		sum += *(const __u8 *)pos;
	return sum;
}

/* emit_sum - the one's complement sum of the octets of a frame from @at, an even
 * number, to the end, folded to 16 bits
 *
 * Global, so that the verifier looks at it once. The mask lets it forget how far
 * the loop is, so that it does not look at what follows once for each step.
 */
__noinline __u32 emit_sum(struct ctx_md *md, __u32 at)
{
	struct ctx ctx = { .md = md };
	__u64 sum = 0;

	for (int i = 0; i < SUM_MAX / SUM_STEP; i++) {
		const void *pos;

		at &= 0x3fff;
		barrier_var(at);
		pos = ctx_data(&ctx) + at;
		if (pos + SUM_STEP > ctx_end(&ctx))
			break;
		sum += emit_sum_words(pos);
		at += SUM_STEP;
	}
	sum += emit_sum_rest(&ctx, at & 0x3fff);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/* emit_check_udp - the UDP checksum over IPv6, all but the pseudo header in @sum
 *
 * Source: RFC 8200, 8.1.
 */
static __always_inline __u16 emit_check_udp(const struct route *r, __be16 octets, __u64 sum)
{
#pragma unroll
	for (int i = 0; i < 4; i++)
		sum += (__u64)r->hop->ip[i] + r->hop->src_ip[i];
	sum += octets + bpf_htons(IPPROTO_UDP);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff ? sum : ~sum;
}

/* emit_headers_ip6 - write IPv6, UDP and the fixed part of GTP-U
 *
 * @octets: behind the IPv6 header. The UDP checksum is left 0. Source: RFC 8200,
 * 3; RFC 6438, 3 (Flow Label).
 */
static __always_inline void emit_headers_ip6(struct ipv6hdr *ip6, const struct route *r, __u32 octets)
{
	struct udphdr *udp = (void *)(ip6 + 1);
	__be32 *to = (void *)&ip6->daddr, *from = (void *)&ip6->saddr;

	*(__be32 *)ip6 = bpf_htonl(6U << 28 | (__u32)r->dscp << 22 | r->flow >> 12);
	ip6->payload_len = bpf_htons(octets);
	ip6->nexthdr = IPPROTO_UDP;
	ip6->hop_limit = TTL_OUTER;
#pragma unroll
	for (int i = 0; i < 4; i++) {
		from[i] = r->hop->src_ip[i];
		to[i] = r->hop->ip[i];
	}
	udp->source = emit_source_port(r);
	udp->dest = bpf_htons(GTPU_PORT);
	udp->len = bpf_htons(octets);
	udp->check = 0;
	emit_gtpu((void *)(udp + 1), r, octets - sizeof(*udp) - sizeof(struct gtpu_hdr));
}

/* emit_outer_ip6 - Outer Header Creation over IPv6, and out to the peer
 *
 * Return: an action, or a negative enum upf_count.
 */
static __always_inline int emit_outer_ip6(struct ctx *ctx, const struct packet *p, const struct route *r)
{
	const int head = OUTER_IP6 + route_optional(r);
	const __u32 udp_at = sizeof(struct ethhdr) + sizeof(struct ipv6hdr);
	__u32 stays = route_stays(r), sum;
	struct ethhdr *eth;
	struct udphdr *udp;

	if (emit_resize(ctx, p, sizeof(*eth) + head + r->kept - stays, stays, 6))
		return -DROP_INTERNAL;
	if (ctx_reach(ctx))
		return -DROP_INTERNAL;
	eth = ctx_data(ctx);
	if ((void *)(eth + 1) + OUTER_IP6 > ctx_end(ctx))
		return -DROP_INTERNAL;
	emit_eth(eth, r, ETH_P_IPV6);
	emit_headers_ip6((void *)(eth + 1), r, head + r->kept + p->octets - sizeof(struct ipv6hdr));
	if (emit_optional(ctx, (void *)(eth + 1) + OUTER_IP6, r))
		return -DROP_INTERNAL;
	sum = emit_sum(ctx->md, udp_at);
	udp = (void *)eth + udp_at;
	udp->check = emit_check_udp(r, udp->len, sum);
	return emit_send(ctx, r);
}
