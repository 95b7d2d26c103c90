/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "detect.h"
#include "relay.h"

/* Octets in front of the user packet on N3 behind the Ethernet header. */
#define OUTER_IP4	(sizeof(struct iphdr) + sizeof(struct udphdr) + sizeof(struct gtpu_hdr))
#define OUTER_IP6	(sizeof(struct ipv6hdr) + sizeof(struct udphdr) + sizeof(struct gtpu_hdr))
#define OUTER_PSC	(sizeof(struct gtpu_opt) + sizeof(struct gtpu_psc))

/* What emit needs. */
struct route {
	const struct hop *hop;
	__u64 dst;		/* MAC address, as in struct hop */
	/* of the outer header: */
	__be32 teid;
	__u32 flow;		/* flow_hash() */
	__u8 dscp;
	__u8 has_psc;		/* with a PDU Session Container: */
	__u8 pdu_type, qfi;	/* its octets */
	/* or with the extension headers that the packet came with, before it: */
	__u32 kept;		/* octets of them; 0: none */
	__u32 psc_at;		/* from the optional word to the container that gets qfi; 0: none does */
	/* out on N6: */
	__u32 changes;		/* N6_* of N6_CHANGES */
};

/* route_optional - octets that are written behind the fixed part of GTP-U */
static __always_inline __u32 route_optional(const struct route *r)
{
	if (r->has_psc)
		return OUTER_PSC;
	return r->kept ? sizeof(struct gtpu_opt) : 0;
}

/* route_stays - octets in front of the user packet that stay as they came: the optional
 * word, and the extension headers behind it
 */
static __always_inline __u32 route_stays(const struct route *r)
{
	return r->kept ? sizeof(struct gtpu_opt) + r->kept : 0;
}

/* hop_use - take the hop with this index for a packet of @octets behind the
 * headers that the hop itself asks for
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int hop_use(__u32 index, __u32 octets, struct route *r)
{
	const struct hop *hop = bpf_map_lookup_elem(&hops, &index);

	if (!hop)
		return -PASS_UNRESOLVED;
	r->hop = hop;
	r->dst = *(volatile __u64 *)&hop->dst;
	if (!r->dst)
		return -PASS_UNRESOLVED;
	return octets + hop->outer > hop->mtu ? -PASS_TOO_BIG : 0;
}

#define IP4_LINK_LOCAL	0xa9fe	/* the first 16 bits of 169.254.0.0/16 */
#define IP6_LINK_LOCAL	0x3fa	/* the first 10 bits of fe80::/10 */
#define IP6_MULTICAST	0xff	/* the first 8 bits */

/* First octets of addresses among which there are some that are not forwarded. */
#define SCOPE_IP4	1
#define SCOPE_IP6	2
static const __u8 scope_octet[256] = {
	[0] = SCOPE_IP4 | SCOPE_IP6, [127] = SCOPE_IP4, [169] = SCOPE_IP4,
	[224 ... 253] = SCOPE_IP4, [254 ... 255] = SCOPE_IP4 | SCOPE_IP6,
};

/* scope_confined - whether a router forwards no packet from or to this address
 *
 * @addr: IPv4, or the first 64 bits of IPv6, host order
 *
 * IPv4: this network, loopback, link-local, multicast, reserved and broadcast. IPv6:
 * ::/64, in which are the unspecified address, loopback and IPv4 addresses,
 * link-local, multicast. A UPF without IP multicast routes none.
 *
 * Source: RFC 1812, 5.3.7; RFC 3927, 2.7; RFC 4291, 2.5 and 2.7.
 */
static __always_inline int scope_confined(__u64 addr, int ip6)
{
	__u32 first = addr >> 24;

	if (ip6)
		return !addr || addr >> 54 == IP6_LINK_LOCAL || addr >> 56 == IP6_MULTICAST;
	return first == 0 || first == 127 || first >= 224 || addr >> 16 == IP4_LINK_LOCAL;
}

/* scope_refused - whether a packet between these addresses is not forwarded; global,
 * so that the verifier looks at it once
 */
__noinline int scope_refused(__u64 src, __u64 dst, __u32 ip6)
{
	return scope_confined(src, ip6) || scope_confined(dst, ip6);
}

/* forward_scope - whether a router forwards the user packet, by its addresses
 *
 * Most packets are known by the first octets. Return: 0, or -DROP_SCOPE.
 */
static __always_inline int forward_scope(const struct packet *p)
{
	if (p->version == 4) {
		if ((scope_octet[p->src_ip4 >> 24] | scope_octet[p->dst_ip4 >> 24]) & SCOPE_IP4 &&
		    scope_refused(p->src_ip4, p->dst_ip4, 0))
			return -DROP_SCOPE;
	} else if ((scope_octet[p->src_ip6 >> 56] | scope_octet[p->dst_ip6 >> 56]) & SCOPE_IP6 &&
		   scope_refused(p->src_ip6, p->dst_ip6, 1)) {
		return -DROP_SCOPE;
	}
	return 0;
}

/* forward_ttl - whether the user packet may take one more hop */
static __always_inline int forward_ttl(const struct packet *p)
{
	const struct iphdr *ip = p->pos;
	const struct ipv6hdr *ip6 = p->pos;

	if (p->version == 4) {
		if (!packet_has(p, sizeof(*ip)) || ip->ttl <= 1)
			return -DROP_TTL;
	} else if (!packet_has(p, sizeof(*ip6)) || ip6->hop_limit <= 1) {
		return -DROP_TTL;
	}
	return forward_scope(p);
}

/* flow_ports - the first word behind the IP header if it holds ports */
static __always_inline __u32 flow_ports(const struct packet *p)
{
	const struct iphdr *ip = p->pos;
	const struct ipv6hdr *ip6 = p->pos;
	const __u32 *ports = NULL;
	__u8 proto = 0;

	if (p->version == 4) {
		if (packet_has(p, sizeof(*ip) + 4) && ip->ihl == 5 &&
		    !(ip->frag_off & bpf_htons(IP_FRAGMENT))) {
			proto = ip->protocol;
			ports = (void *)(ip + 1);
		}
	} else if (p->octets >= sizeof(*ip6) + 4 && packet_has(p, sizeof(*ip6) + 4)) {
		proto = ip6->nexthdr;
		ports = (void *)(ip6 + 1);
	}
	if (ports && (proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP))
		return bpf_ntohl(*ports);
	return 0;
}

/* flow_hash - a number that is one for a flow of the user and differs between
 * flows, its good bits first: what emit makes UDP source port and Flow Label of
 */
static __always_inline __u32 flow_hash(const struct packet *p)
{
	__u32 h = flow_ports(p);

	if (p->version == 4)
		h ^= p->src_ip4 ^ p->dst_ip4;
	else
		h ^= (__u32)p->src_ip6 ^ (__u32)(p->src_ip6 >> 32) ^ (__u32)p->dst_ip6;
	return h * 0x9e3779b1;
}

/* forward_refused - why a packet is dropped whose FAR does not forward */
static __always_inline int forward_refused(const struct match *m)
{
	if (m->ctl & RULE_SPENT)
		return -DROP_QUOTA;
	return m->ctl & RULE_INCOMPLETE ? -DROP_INCOMPLETE : -DROP_FAR;
}

/* forward_outer - out through a tunnel
 *
 * Source: TS 29.244 V18.6.0, 7.5.2.3, 8.2.12 (Transport Level Marking), 8.2.56
 * (Outer Header Creation). Return: 0, or a negative enum upf_count.
 */
static __always_inline int forward_outer(const struct match *m, const struct packet *p,
					 struct route *r)
{
	r->teid = m->out.teid;
	r->dscp = m->ctl & RULE_DSCP ? m->out.dscp : p->dscp;
	r->flow = flow_hash(p);
	return hop_use(m->out.hop, route_optional(r) + r->kept + packet_longest(p), r) ?: super_tunnel(p, r->hop);
}

/* forward_psc - the PDU Session Container of a packet that had none
 *
 * Source: TS 38.415 V18.0.0, 5.5.2 (PDU types).
 */
static __always_inline void forward_psc(const struct match *m, struct route *r)
{
	r->qfi = m->out.qfi;
	r->has_psc = r->qfi != 0;
	r->pdu_type = m->ctl & RULE_TO_ACCESS ? GTPU_PSC_DOWNLINK : GTPU_PSC_UPLINK;
}

/* forward_rqi - put the rule's RQI into the container of the packet, if it is a
 * downlink one, or take it from the one that is made, if that is none or not
 *
 * Source: TS 38.415 V18.0.0, 5.5.2.
 */
static __always_inline void forward_rqi(struct match *m, struct packet *p)
{
	if (p->has_psc) {
		if ((p->pdu_type & GTPU_PSC_TYPE) == GTPU_PSC_DOWNLINK)
			p->qfi |= GTPU_PSC_RQI;
	} else if (m->out.qfi == GTPU_PSC_RQI || !(m->ctl & RULE_TO_ACCESS)) {
		m->out.qfi &= GTPU_PSC_QFI;
	}
}

/* forward_relay - what the FAR of a G-PDU asks for: out through another tunnel
 *
 * It says FORW, else the rule had no outer header. The user packet stays as it
 * is: only who routes it between N6 and the UE takes one off its TTL. The PDU
 * Session Container goes on, with the rule's QFI and RQI if it has them.
 *
 * Source: TS 29.281 V18.1.0, 5.2.1 (intermediate nodes); TS 29.244 V18.6.0, 5.4.2.
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int forward_relay(const struct ctx *ctx, struct match *m, struct packet *p,
					 struct route *r)
{
	__u8 qfi = m->out.qfi & GTPU_PSC_QFI;
	int err;

	if (m->out.qfi & GTPU_PSC_RQI)
		forward_rqi(m, p);
	if (p->exts) {
		err = relay_exts(ctx->md, relay_exts_at(ctx, p), m->out.qfi);
		if (err < 0)
			return err;
		r->kept = p->exts_octets;
		r->psc_at = err;
		r->qfi = qfi ? (p->qfi & ~GTPU_PSC_QFI) | qfi : p->qfi;
	} else if (p->has_psc) {
		r->has_psc = 1;
		r->pdu_type = p->pdu_type;
		r->qfi = qfi ? (p->qfi & ~GTPU_PSC_QFI) | qfi : p->qfi;
	} else {
		forward_psc(m, r);
	}
	return forward_outer(m, p, r);
}

/* forward_n6 - what the FAR of a packet from N6 asks for
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int forward_n6(const struct match *m, const struct packet *p,
				      struct route *r)
{
	if (!(m->ctl & RULE_FORW))
		return forward_refused(m);
	forward_psc(m, r);
	return forward_ttl(p) ?: forward_outer(m, p, r);
}
