/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <linux/types.h>

/* What the probe's programs and Go share: points, counts, samples.
 *
 * A series is one slice in one direction through one UPF. A pair is a UPF and a slice:
 * series = pair << 1 | direction.
 */
#define SERIES_DOWNLINK	1	/* of a series: it came in by N6 */
#define SERIES_LEARN	0x8000	/* with a series in flight: whom it came from is to be learnt */
#define SERIES_UNTIMED	0x4000	/* with a series in flight: only to learn; it makes it one that no table has */
#define SERIES_NONE	(~0U)

enum way { WAY_IN, WAY_OUT };

enum side { SIDE_BOTH, SIDE_N3, SIDE_N6 };

#define POINT_ADDRESSES	8

/* A point, as the program there knows it. Addresses are as in headers; 0 ends them. */
struct point {
	__u32 number;		/* in count_by_point */
	__u8 upf;
	__u8 way;		/* enum way */
	__u8 side;		/* enum side */
	__u8 bare;		/* packets have no Ethernet header */
	__u8 own;		/* what is unicast here is for a UE, known or not: a device of the UPF alone */
	__u8 any;		/* all GTP-U is the UPF's */
	__u16 pair;		/* of the UPF and no slice */
	__u8 unused[4];
	__be32 ip4[POINT_ADDRESSES];
	__u64 ip6[2 * POINT_ADDRESSES];
};

/* Counts of a point on one CPU. */
struct count {
	__u64 packets;		/* of the UPF's, at a way out those that are counted below too */
	__u64 unmatched;
	__u64 ambiguous;
	__u64 untimed;
	__u64 foreign;		/* of others: not in packets */
	__u64 unparsed;		/* likewise */
};

/* Counts of a series on one CPU; what is swept is counted elsewhere. */
struct account {
	__u64 in;
	__u64 turn;		/* with samples: matched ones, of which each so many is reported */
	__u64 lost;
	__u64 ambiguous;
	__u64 evicted;
	__u64 untimed;		/* of in: not chosen */
	__u64 untimed_octets;
};

/* One packet. */
struct sample {
	__u64 in_ns, out_ns;
	__u32 octets;
	__u32 teid;
	__u16 series;
	__u16 cpu;
	__u8 qfi;
	__u8 unused[3];
};

/* How much of a packet is told apart from others: by protocol, for IPv6 from
 * PRINT_IP6 on.
 */
enum kind {
	PRINT_OTHER,
	PRINT_TCP,		/* no data, no SYN */
	PRINT_TCP_DATA,
	PRINT_TCP_SYN,
	PRINT_UDP,
	PRINT_ICMP,
	PRINT_SCTP,
	PRINT_IP6 = 8,
	PRINT_MAX = 16,
};

#define PRINT_WORDS	8	/* of 8 octets from the IP header on */
#define PRINT_OCTETS	(8 * PRINT_WORDS)

/* Octets as they are in packets. */
struct print_words {
	__u64 word[PRINT_WORDS];
};

/* A way to a pair by the address of a UE, of IPv6 the first 64 bits. */
struct prefix_key {
	__u32 bits;		/* of what follows */
	__u8 upf;
	__u8 version;
	__u8 address[8];
};

#define PREFIX_KEY_BITS	16	/* before the address */
#define PREFIX_WEAK	(1U << 16)	/* with a pair: what was learnt from packets comes before it */

#define QFIS		64
