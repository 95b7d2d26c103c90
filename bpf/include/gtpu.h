/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <linux/types.h>

/* GTP-U as it is on the wire, for every program that reads or writes it. Only numbers and
 * layouts are here: each program has a parser of its own, so that those that check a UPF
 * do not share its mistakes.
 *
 * Source: TS 29.281 V18.1.0, 4.4.2, 5.1, 5.2 and 6.1; TS 38.415 V18.0.0, 5.5.2.
 */
#define GTPU_PORT	2152
#define GTPU_V1_PT	0x30	/* version 1, protocol type GTP */
#define GTPU_V_PT_MASK	0xf0
#define GTPU_OPT_MASK	0x07	/* E, S or PN: the optional word is present */
#define GTPU_E		0x04
#define GTPU_G_PDU	255
#define GTPU_EXT_PSC	0x85	/* PDU Session Container */
#define GTPU_PSC_DOWNLINK 0x00	/* PDU types, in their place */
#define GTPU_PSC_UPLINK	0x10
#define GTPU_PSC_TYPE	0xf0	/* in the octet of the PDU type */
#define GTPU_PSC_QFI	0x3f	/* in the octet of the QFI */
#define GTPU_PSC_RQI	0x40	/* likewise, of a downlink one */

/* Extension headers that are stepped over: no program reads fewer than the UPF forwards. */
#define GTPU_EXT_MAX	8

struct gtpu_hdr {
	__u8 flags, type;
	__be16 length;		/* octets behind the teid */
	__be32 teid;
};

/* There if flags has E, S or PN. */
struct gtpu_opt {
	__be16 seq;
	__u8 npdu, next_ext;
};

/* PDU Session Container of one word. */
struct gtpu_psc {
	__u8 len;		/* in units of 4 octets */
	__u8 pdu_type, qfi, next_ext;
};
