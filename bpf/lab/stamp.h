/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <linux/types.h>

/* The stamp that the generator puts at the start of every frame's UDP payload
 * and the meter reads at the far end:
 *
 *	 0      4      8        16          24      32       36    40   44      46   47
 *	+------+------+--------+-----------+-------+--------+-----+----+-------+----+----+
 *	| magic| run  |sequence|intended_ns|sent_ns| session| TEID| UE |stream |QFI |DSCP|
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
	__u8 dscp;		/* of the user packet */
};

/* The short stamp, of frames whose payload cannot hold the other one:
 *
 *	 0      4          8             13      18
 *	+------+----------+-------------+-------+
 *	| head | sequence | intended_ns | check |
 *	+------+----------+-------------+-------+
 *
 * head is a hash of the run, whose highest bit tells it from STAMP_MAGIC, and the stream
 * in its lowest octet. The sequence number and the time are the lowest 32 and 40 bits of
 * those above: a frame may be late by 9 minutes. When the frame was really sent is
 * not in it. check has QFI and DSCP, and 14 bits each of a hash of UE and TEID, so that one
 * frame in 16384 that goes astray is not noticed.
 */
#define SHORT_STAMP_OCTETS	18
#define SHORT_HEAD_BIT		0x80000000
#define SHORT_TIME_BITS		40
#define SHORT_TIME_MASK		((1ULL << SHORT_TIME_BITS) - 1)
#define STAMP_HASH		0x9e3779b1	/* 2^32 divided by the golden ratio */
#define STAMP_HASH_BITS		14

/* stamp_hash - a hash of a TEID or a UE, as it stands in the header */
static __always_inline __u64 stamp_hash(__be32 v)
{
	return (__u32)(v * STAMP_HASH) >> (32 - STAMP_HASH_BITS);
}

/* short_check - the check of a short stamp, 40 bits */
static __always_inline __u64 short_check(__be32 ue, __be32 teid, __u8 qfi, __u8 dscp)
{
	return qfi | (__u64)dscp << 6 | stamp_hash(ue) << 12 | stamp_hash(teid) << 26;
}

/* Fields of a check. */
#define SHORT_CHECK_QFI(check)	((check) & 0x3f)
#define SHORT_CHECK_DSCP(check)	((check) >> 6 & 0x3f)
#define SHORT_CHECK_UE(check)	((check) >> 12 & 0x3fff)
#define SHORT_CHECK_TEID(check)	((check) >> 26 & 0x3fff)
