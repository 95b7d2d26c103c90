/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/types.h>
#include <linux/udp.h>
#include "gtpu.h"

/* Headers as the laboratory writes and checks them. No parser is shared with the
 * datapath under test, only numbers: a meter with the same parser would share its faults.
 */

/* GTP-U header with a PDU Session Container of one word as its only extension
 * header, as the generator writes it.
 *
 * Source: TS 29.281 V18.1.0, 5.1 and 5.2; TS 38.415 V18.0.0, 5.5.2.
 */
struct lab_gtpu {
	__u8 flags, type;
	__be16 length;		/* octets behind the teid */
	__be32 teid;
	__be16 sequence;
	__u8 npdu, next_ext;	/* these four octets are there if flags has E, S or PN */
	__u8 psc_len;		/* in units of 4 octets */
	__u8 psc_type;		/* PDU type in the high four bits */
	__u8 qfi;		/* in the low six bits */
	__u8 psc_next;
} __attribute__((packed, aligned(2)));

/* lab_fold - the 16-bit ones' complement sum of @sum, a sum of 32-bit words
 *
 * The sum does not depend on byte order. Source: RFC 1071, 2 (B).
 */
static __always_inline __u16 lab_fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* lab_halves - the two 32-bit words of @w, added */
static __always_inline __u64 lab_halves(__u64 w)
{
	return (w & 0xffffffff) + (w >> 32);
}
