/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* What programs on socket buffers include for <linux/bpf.h>.
 *
 * struct __sk_buff points to two types of which clang would write no more than the names
 * into the BTF, in the order of their addresses in its own memory (19.1.7,
 * BTFDebug::FixupDerivedTypes, a std::map of pointers). That order depends on the machine,
 * so one source would give two objects. As arguments of a function they are written
 * whole, where they stand. No program calls it, so none has it once loaded. */

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

__attribute__((used)) static void whole_types(const struct bpf_flow_keys *keys, const struct bpf_sock *sk)
{
	(void)keys;
	(void)sk;
}
