/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "gtpu.h"
#include "packet.h"

/* What is to be done about an extension header by its type: nothing if it is one that we
 * know, or if comprehension is not required (bit 8 is 0). Of an unknown one bit 7 says
 * whether an intermediate node has to comprehend it, too.
 *
 * Source: TS 29.281 V18.1.0, figures 5.2.1-2 and 5.2.1-3.
 */
#define GTPU_FOREIGN	0x100	/* in packet.exts: only who ends the tunnel has to comprehend one */
#define GTPU_REFUSED	0x200	/* no node may step over it that does not */
static const __u16 gtpu_ext[256] = {
	[0x80] = GTPU_FOREIGN, [GTPU_EXT_PSC + 1 ... 0xbf] = GTPU_FOREIGN, [0xc1 ... 0xff] = GTPU_REFUSED,
};

/* gtpu_note_ext - keep what the stages have to know of an extension header
 *
 * Of several PDU Session Containers the first one counts.
 */
static __always_inline void gtpu_note_ext(struct packet *p, const struct gtpu_psc *ext, __u32 type)
{
	p->exts |= gtpu_ext[type & 0xff] & GTPU_FOREIGN;
	if (type == GTPU_EXT_PSC && !p->has_psc) {
		p->pdu_type = ext->pdu_type;
		p->qfi = ext->qfi;
		p->has_psc = 1;
		p->exts |= ext->len ^ 1;
	} else {
		p->exts |= 1;
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
		if (gtpu_ext[type] & GTPU_REFUSED)
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
	int err;

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
	octets = p->left;
	err = gtpu_skip_ext(p, h->flags & GTPU_E ? opt->next_ext : 0);
	p->exts_octets = octets - p->left;
	return err;
}
