/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* What is needed of the kernel's type of network devices; the loader finds where it is. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

struct possible_net {
	struct net *net;
};

struct net_device {
	int ifindex;
	struct possible_net nd_net;
};

#pragma clang attribute pop
