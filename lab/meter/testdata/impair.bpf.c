/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

/* In the UPF's place, a program that redirects uplink frames with IPv4 user
 * packets as they are, and harms every so many. It is what the meter is tested
 * with.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "frame.h"
#include "stamp.h"

enum impairment { NOTHING, LOSS, DUPLICATE, SWAP, WRONG_TEID, WRONG_UE, WRONG_QFI };

const enum impairment *unused_impairment __attribute__((unused));

struct frame {
	struct ethhdr eth;
	struct iphdr outer;
	struct udphdr outer_udp;
	struct lab_gtpu gtpu;
	struct iphdr user;
	struct udphdr udp;
	struct stamp stamp;
} __attribute__((packed, aligned(2)));

/* The device twice: a frame that is broadcast to it leaves two times. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u32);
} twice SEC(".maps");

const volatile __u32 device;		/* interface index to send by */
const volatile __u32 chosen;		/* enum impairment */
const volatile __u32 every;		/* which frames are harmed: each so manieth */

__u64 seen;

/* renumber - give a frame another number, with the checksum that belongs to it */
static __always_inline void renumber(struct frame *f, __u64 sequence)
{
	__u16 before = lab_fold(lab_halves(f->stamp.sequence));

	f->udp.check = ~lab_fold((__u64)(__u16)~f->udp.check + (__u16)~before + lab_halves(sequence));
	f->stamp.sequence = sequence;
}

/* swap - exchange the numbers of the harmed frame and the one before it
 *
 * A program cannot hold a frame back. As the meter sees it, two frames whose
 * numbers are exchanged came in the wrong order.
 */
static __always_inline void swap(struct frame *f, __u64 n)
{
	if (n % every == every - 2)
		renumber(f, f->stamp.sequence + 1);
	if (n % every == every - 1)
		renumber(f, f->stamp.sequence - 1);
}

static __always_inline void wrong_ue(struct frame *f)
{
	__u32 *address = (void *)&f->user + 12;

	f->user.check = ~lab_fold((__u64)(__u16)~f->user.check + (__u32)~*address + (*address ^ 0x01000000));
	*address ^= 0x01000000;
}

static __always_inline int harm(struct frame *f)
{
	switch (chosen) {
	case LOSS:
		return XDP_DROP;
	case DUPLICATE:
		return bpf_redirect_map(&twice, 0, BPF_F_BROADCAST);
	case WRONG_TEID:
		f->gtpu.teid ^= 0x01000000;
		break;
	case WRONG_UE:
		wrong_ue(f);
		break;
	case WRONG_QFI:
		f->gtpu.qfi ^= 1;
		break;
	}
	return bpf_redirect(device, 0);
}

SEC("xdp")
int impair(struct xdp_md *ctx)
{
	struct frame *f = (void *)(long)ctx->data;
	__u64 n;

	if ((void *)(f + 1) > (void *)(long)ctx->data_end || f->stamp.magic != STAMP_MAGIC)
		return XDP_PASS;
	n = seen++;
	if (chosen == SWAP)
		swap(f, n);
	if (n % every == every - 1)
		return harm(f);
	return bpf_redirect(device, 0);
}

char _license[] SEC("license") = "GPL";
