/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <linux/types.h>
#include <bpf/bpf_helpers.h>

/* When frames are due. */

#define DUE_SHIFT	20	/* due and interval count 2^-20 ns */
#define SEGMENTS_MAX	1024	/* a power of two */

/* A run: what it shall do, set before it, and what it has done. */
struct run {
	__u64 start_ns;		/* intended send time of the first frame */
	__u64 end_ns;		/* no frame is made from here on */
	__u64 interval;		/* between intended send times, 2^-20 ns; 0: no pacing */
	__u64 limit;		/* the run is done when sent is this */
	__u64 due;		/* the next intended send time less start_ns, 2^-20 ns */
	__u64 sent;		/* frames, over all runs and streams */
	__u64 last_ns;		/* when the last frame was made */
	__u32 position;		/* next entry of access_by_position */
	__u16 turn;		/* of the next frame, if there is one stream */
	__u16 finished;		/* 1 when the run is done */
	__u32 uneven;		/* not 0: there are bursts or a ramp */
	__u32 further;		/* frames that are due at one moment, beside the first */
	__u32 left;		/* of these, still to come */
	__u32 reserved;
	__u64 segment_end;	/* the interval changes when due has reached this */
	__u64 segment;		/* length of a segment of a ramp, 2^-20 ns */
	__u64 stretch;		/* of a replay: 2^-20 ns for each ns of the file; 0: the interval holds */
};

struct run current;

/* A ramp: the interval in each of its segments. */
__u64 interval_by_segment[SEGMENTS_MAX];

/* next_segment - the interval that holds from due on */
static __always_inline void next_segment(void)
{
	__u64 segment = current.segment ? current.due / current.segment : 0;

	current.interval = interval_by_segment[segment % SEGMENTS_MAX];
	current.segment_end = segment + 1 < SEGMENTS_MAX ? (segment + 1) * current.segment : ~0ULL;
}

/* next_uneven - go on in a schedule with bursts or a ramp */
static __always_inline void next_uneven(void)
{
	if (current.left) {
		current.left--;
		return;
	}
	current.left = current.further;
	current.due += current.interval;
	if (current.due >= current.segment_end)
		next_segment();
}

/* next_intended - take a place in the schedule
 *
 * @now:      the time
 * @intended: set to when the frame was due
 *
 * Return: 0, or -1 if nothing is due.
 */
static __always_inline int next_intended(__u64 now, __u64 *intended)
{
	__u64 due = current.due, at = current.start_ns + (due >> DUE_SHIFT), interval = current.interval;

	if (now >= current.end_ns || current.sent >= current.limit) {
		current.finished = 1;
		return -1;
	}
	if (now < at)
		return -1;
	*intended = interval ? at : now;
	if (current.uneven)
		next_uneven();
	else
		current.due = due + interval;
	return 0;
}
