/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <linux/types.h>

/* What can be wrong with a frame that arrives: X(name, text), in the order in
 * which it is looked for; a frame counts under the first that applies, and under
 * one that the UPF is known not to enforce only if no other does. One list makes the
 * enum, the counter index and, through bpf2go, the Go names.
 */
#define MISDELIVERIES(X) \
	X(ENCAPSULATION, "GTP-U header where none belongs, or none where one belongs") \
	X(LENGTH,        "lengths in the headers do not agree with the frame") \
	X(CHECKSUM,      "IPv4 header checksum is wrong") \
	X(OUTER_ADDRESS, "outer addresses are not those of UPF and gNB") \
	X(UE,            "address of another UE") \
	X(TEID,          "TEID of another session") \
	X(SERVER,        "address of another host than the one that the UE talks to") \
	X(PAYLOAD,       "the user packet's payload does not agree with its checksum") \
	X(QFI,           "QFI of another QoS flow") \
	X(NO_QFI,        "no QFI where one belongs") \
	X(DSCP,          "the user packet's DSCP was changed")

enum misdelivery {
#define X(name, text) MISDELIVERED_##name,
	MISDELIVERIES(X)
#undef X
	MISDELIVERED_MAX
};

/* Sequence window of a stream: which of the last WINDOW_SEQUENCES numbers have
 * arrived. Block b of 32 numbers has its bits in blocks[b % WINDOW_BLOCKS],
 * below the round b / WINDOW_BLOCKS that they belong to. So one word says whether a
 * number is new, and a window moves on without anything being cleared.
 */
#define WINDOW_BLOCKS		2048
#define WINDOW_SEQUENCES	(32 * WINDOW_BLOCKS)

struct window {
	__u64 blocks[WINDOW_BLOCKS];	/* round << 32 | bits */
	__u64 next;			/* one more than the highest number so far */
	__u64 last_ns;			/* when the last frame came, on any CPU */
	__u64 gap_ns, gap_end_ns;	/* the longest time without a frame between two, and its end */
};

/* Counts of a stream on one CPU. */
struct stream_count {
	__u64 received;
	__u64 received_octets;
	__u64 duplicated;
	__u64 reordered;
	__u64 stale;
	__u64 first_ns, last_ns;
	__u64 before_ns;	/* latency of the last frame */
	__u64 least_ns, most_ns;	/* latencies, of which the histogram has ranges alone */
	__u64 variation_ns;	/* sum of what latencies differ from the one before */
	__u64 misdelivered[MISDELIVERED_MAX];
};
