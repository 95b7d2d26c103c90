/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include "maps.h"

#define GTPU_PORT	2152
#define GTPU_V1_PT	0x30	/* version 1, protocol type GTP */
#define GTPU_V_PT_MASK	0xf0
#define GTPU_OPT_MASK	0x07	/* E, S or PN: the optional word is present */
#define GTPU_E		0x04
#define GTPU_G_PDU	255
#define GTPU_EXT_PSC	0x85	/* PDU Session Container */
#define GTPU_PSC_DOWNLINK 0x00	/* PDU types, in their place */
#define GTPU_PSC_UPLINK	0x10
#define GTPU_PSC_QFI	0x3f	/* in the octet of the QFI */
#define GTPU_EXT_MAX	8	/* extension headers that are stepped over */
#define IP_DF		0x4000
#define IP_FRAGMENT	0x3fff	/* more fragments, or an offset */

struct gtpu_hdr {
	__u8 flags, type;
	__be16 length;
	__be32 teid;
};

struct gtpu_opt {
	__be16 seq;
	__u8 npdu, next_ext;
};

/* PDU Session Container of one word, TS 38.415, 5.5.2 */
struct gtpu_psc {
	__u8 len, pdu_type, qfi, next_ext;
};

/* What the stages know of a packet.
 *
 * pos and left are the cursor: left is how many octets the enclosing header
 * says there are, never more than the frame has. The verifier believes only
 * comparisons with end, hence two conditions in packet_has().
 */
struct packet {
	void *pos, *end;
	__u32 left;
	__u32 octets;		/* length of the user packet */
	__u32 teid;		/* uplink: host order */
	__u32 src_ip4, dst_ip4;	/* of the user packet, host order */
	__u64 src_ip6, dst_ip6;	/* their first 64 bits, host order */
	__u8 version;		/* of the user packet: 4 or 6 */
	__u8 dscp;		/* of the user packet */
	__u32 has_psc;		/* there is a PDU Session Container, which begins with */
	__u32 pdu_type;		/* this octet: PDU type and flags, */
	__u32 qfi;		/* and this one: flags and QFI */
	__u32 exts;		/* not 0: there are extension headers beside one of one word */
};

static __always_inline void packet_init(struct packet *p, const struct ctx *ctx)
{
	p->pos = ctx_data(ctx);
	p->end = ctx_end(ctx);
	p->left = ctx_octets(ctx);
}

static __always_inline int packet_has(const struct packet *p, __u32 octets)
{
	return octets <= p->left && p->pos + octets <= p->end;
}

static __always_inline void packet_pull(struct packet *p, __u32 octets)
{
	p->pos += octets;
	p->left -= octets;
}

/* parse_ip4 - check that a whole IPv4 packet stands at the cursor and forget
 * what stands behind it
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int parse_ip4(struct packet *p)
{
	const struct iphdr *ip = p->pos;
	__u32 octets;

	if (!packet_has(p, sizeof(*ip)))
		return -DROP_IP_SHORT;
	octets = bpf_ntohs(ip->tot_len);
	if (ip->ihl < 5 || octets < ip->ihl * 4 || octets > p->left)
		return -DROP_IP_SHORT;
	p->left = octets;
	return 0;
}

static __always_inline __u64 ip6_prefix(const struct in6_addr *a)
{
	return (__u64)bpf_ntohl(a->in6_u.u6_addr32[0]) << 32 | bpf_ntohl(a->in6_u.u6_addr32[1]);
}

static __always_inline int parse_user_ip4(struct packet *p)
{
	const struct iphdr *ip = p->pos;
	int err = parse_ip4(p);

	if (err)
		return err;
	p->octets = p->left;
	p->src_ip4 = bpf_ntohl(ip->saddr);
	p->dst_ip4 = bpf_ntohl(ip->daddr);
	p->dscp = ip->tos >> 2;
	return 0;
}

static __always_inline int parse_user_ip6(struct packet *p)
{
	const struct ipv6hdr *ip6 = p->pos;

	if (!packet_has(p, sizeof(*ip6)))
		return -DROP_IP_SHORT;
	p->octets = sizeof(*ip6) + bpf_ntohs(ip6->payload_len);
	if (p->octets > p->left)
		return -DROP_IP_SHORT;
	p->src_ip6 = ip6_prefix(&ip6->saddr);
	p->dst_ip6 = ip6_prefix(&ip6->daddr);
	p->dscp = bpf_ntohs(*(__be16 *)ip6) >> 6 & 0x3f;
	return 0;
}

/* parse_user - read the IP header of the user packet at the cursor
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int parse_user(struct packet *p)
{
	if (!packet_has(p, 1))
		return -DROP_IP_SHORT;
	p->version = *(__u8 *)p->pos >> 4;
	if (p->version == 4)
		return parse_user_ip4(p);
	if (p->version == 6)
		return parse_user_ip6(p);
	return -DROP_IP_VERSION;
}

/* gtpu_comprehended - whether an extension header of @type may be stepped over:
 * it is one that we know, or comprehension is not required (bit 8 is 0)
 *
 * Source: TS 29.281 V18.1.0, figures 5.2.1-2 and 5.2.1-3.
 */
static __always_inline int gtpu_comprehended(__u8 type)
{
	return !(type & 0x80) || (type >= 0x81 && type <= GTPU_EXT_PSC) || type == 0xc0;
}

/* gtpu_note_ext - keep what the stages have to know of an extension header
 *
 * Of several PDU Session Containers the first one counts.
 */
static __always_inline void gtpu_note_ext(struct packet *p, const struct gtpu_psc *ext, __u32 type)
{
	if (type == GTPU_EXT_PSC && !p->has_psc) {
		p->pdu_type = ext->pdu_type;
		p->qfi = ext->qfi;
		p->has_psc = 1;
		p->exts |= ext->len ^ 1;
	} else {
		p->exts = 1;
	}
}

/* gtpu_skip_ext - step over the chain of extension headers, the first of @type
 *
 * Source: TS 29.281 V18.1.0, 5.2.1. Return: 0, or a negative enum upf_count.
 */
static __always_inline int gtpu_skip_ext(struct packet *p, __u8 type)
{
	for (int i = 0; i < GTPU_EXT_MAX; i++) {
		const struct gtpu_psc *ext = p->pos;
		__u32 octets;

		if (!type)
			return 0;
		if (!gtpu_comprehended(type))
			return -DROP_GTPU_EXT_TYPE;
		if (!packet_has(p, sizeof(*ext)))
			return -DROP_GTPU_SHORT;
		if (!ext->len)
			return -DROP_GTPU_EXT;
		gtpu_note_ext(p, ext, type);
		octets = ext->len * 4;
		if (!packet_has(p, octets))
			return -DROP_GTPU_SHORT;
		packet_pull(p, octets);
		type = *(__u8 *)(p->pos - 1);
	}
	return type ? -DROP_GTPU_EXT : 0;
}

/* parse_gtpu - step over a GTPv1-U header, extension headers included
 *
 * The optional word is there if any of E, S and PN is set, but its last octet
 * means something only if E is.
 *
 * Source: TS 29.281 V18.1.0, 5.1 and table 6.1-1.
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int parse_gtpu(struct packet *p)
{
	const struct gtpu_hdr *h = p->pos;
	const struct gtpu_opt *opt = (void *)(h + 1);
	__u32 octets;

	if (!packet_has(p, sizeof(*h)))
		return -DROP_GTPU_SHORT;
	if ((h->flags & GTPU_V_PT_MASK) != GTPU_V1_PT)
		return -DROP_GTPU_VERSION;
	octets = sizeof(*h) + bpf_ntohs(h->length);
	if (octets > p->left)
		return -DROP_GTPU_SHORT;
	if (h->type != GTPU_G_PDU)
		return -PASS_SIGNALLING;

	p->teid = bpf_ntohl(h->teid);
	p->left = octets;
	packet_pull(p, sizeof(*h));
	if (!(h->flags & GTPU_OPT_MASK))
		return 0;
	if (!packet_has(p, sizeof(*opt)))
		return -DROP_GTPU_SHORT;
	packet_pull(p, sizeof(*opt));
	return gtpu_skip_ext(p, h->flags & GTPU_E ? opt->next_ext : 0);
}

/* parse_local - whether GTP-U is terminated at @addr */
static __always_inline int parse_local(__be32 addr)
{
#pragma unroll
	for (int i = 0; i < ENDPOINT_MAX; i++) {
		if (!endpoint_ip4[i])
			return 0;
		if (endpoint_ip4[i] == addr)
			return 1;
	}
	return 0;
}

/* parse_tunnelled - from the frame to the user packet inside a G-PDU
 *
 * The outer UDP checksum is not looked at: the user packet has its own.
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int parse_tunnelled(struct packet *p)
{
	const struct ethhdr *eth = p->pos;
	const struct iphdr *ip = (void *)(eth + 1);
	const struct udphdr *udp;
	int err;

	if (!packet_has(p, sizeof(*eth) + sizeof(*ip)) || eth->h_proto != bpf_htons(ETH_P_IP))
		return -PASS_HOST;
	if (!parse_local(ip->daddr) || ip->protocol != IPPROTO_UDP || ip->version != 4)
		return -PASS_HOST;
	if (ip->frag_off & bpf_htons(IP_FRAGMENT))
		return -PASS_FRAGMENT;
	packet_pull(p, sizeof(*eth));
	err = parse_ip4(p);
	if (err)
		return err;
	packet_pull(p, ip->ihl * 4);
	udp = p->pos;
	if (!packet_has(p, sizeof(*udp)) || udp->dest != bpf_htons(GTPU_PORT))
		return -PASS_HOST;
	packet_pull(p, sizeof(*udp));
	err = parse_gtpu(p);
	return err ? err : parse_user(p);
}

/* parse_bare - from the frame to the user packet
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int parse_bare(struct packet *p)
{
	const struct ethhdr *eth = p->pos;

	if (!packet_has(p, sizeof(*eth)))
		return -PASS_HOST;
	if (eth->h_proto != bpf_htons(ETH_P_IP) && eth->h_proto != bpf_htons(ETH_P_IPV6))
		return -PASS_HOST;
	packet_pull(p, sizeof(*eth));
	return parse_user(p);
}
