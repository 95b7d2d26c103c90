/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <linux/types.h>

/* The stamp that the generator puts at the start of every frame's UDP payload
 * and the meter reads at the far end:
 *
 *	 0      4      8        16          24      32       36    40   44      46   47
 *	+------+------+--------+-----------+-------+--------+-----+----+-------+----+----+
 *	| magic| run  |sequence|intended_ns|sent_ns| session| TEID| UE |stream |QFI | 0  |
 *	+------+------+--------+-----------+-------+--------+-----+----+-------+----+----+
 *
 * Numbers are little endian: a stamp means something only on the machine whose
 * monotonic clock it was taken from. TEID and UE are as in the headers, network
 * byte order. UE is the UE's IPv4 address, or the four words of its IPv6
 * address xored.
 */
#define STAMP_MAGIC	0x424d4c50	/* "PLMB" as it stands in the frame */
#define STAMP_PORT	49200		/* UDP port of both ends of the user packet */

struct stamp {
	__u32 magic;
	__u32 run;
	__u64 sequence;		/* per stream, from 0 */
	__u64 intended_ns;	/* when the frame was due, CLOCK_MONOTONIC */
	__u64 sent_ns;		/* when the generator made it */
	__u32 session;		/* index of the session in the generator's list */
	__be32 teid;
	__be32 ue;
	__u16 stream;
	__u8 qfi;
	__u8 reserved;
} __attribute__((packed, aligned(2)));
