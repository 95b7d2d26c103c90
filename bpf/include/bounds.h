/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include <bpf/bpf_helpers.h>

/* What verifiers need to be shown. Each pattern names the kernel that needs it; the
 * oldest on which all programs load is Linux 6.1. docs/kernels.md says how that is tried.
 *
 * length_bound()	a length that a helper takes, which may not be 0: up to 6.7
 * within()		a sum that cannot be negative, as an offset into a packet: up to 6.1; and a
 *			value that was compared where compilers may load it once more from the
 *			stack for its use (clang 16, words_short()): up to 6.1
 *
 * A function in line that returns an error or sets a pointer leaves both ways to the
 * verifier of 6.1: the pointer is compared once more where it is used (emit_outer()).
 *
 * The 512 octets of stack are those of a program and the deepest chain of calls from it,
 * and up to Linux 6.6 each frame is rounded up to 32 octets, on newer ones to 16. So a
 * small function at the end of a chain is in line (urr_tell(), urr_arrived()).
 */

/* length_bound - whether @octets is 1 to @max, so that every verifier sees it
 *
 * Compilers make a comparison with 0 one for equality, of which verifiers up to Linux
 * 6.7 learn no lower bound.
 */
static __always_inline int length_bound(__u32 *octets, __u32 max)
{
	__u32 less = *octets - 1;

	barrier_var(less);
	if (less >= max)
		return 0;
	less++;
	barrier_var(less);
	*octets = less;
	return 1;
}

/* within - @octets, which is not above @mask, one less than a power of two */
static __always_inline __u32 within(__u32 octets, __u32 mask)
{
	barrier_var(octets);
	return octets & mask;
}

/* The farthest offset in a frame at which the probe reads through a pointer; what is behind
 * it is copied. The verifier wants a bound.
 */
#define FRAME_AT_MAX	4096
