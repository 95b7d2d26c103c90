/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

/* Super-packets of the gNB, at the egress of its N3 device.
 *
 * A program's TCP hands a UE's device packets of up to 64 KiB. The gNB puts the
 * headers of one G-PDU before such a packet, and sends the frame through a packet
 * socket whose virtio header says where the inner TCP header is. What the kernel
 * cannot be told so is that the packet is in a tunnel, and without that it would
 * not let it pass: it would have to cut UDP and knows no size to cut it to. So
 * this program takes the outer headers off and puts them on again, as those of a
 * tunnel.
 *
 *	Ethernet │ IPv4 │ UDP │ GTP-U │ IP │ TCP │ ...
 *	          └ outer: LEN octets ┘
 *
 * The frame goes on by the kernel's route and neighbour of its outer destination,
 * and passes here again, without the mark.
 */
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>
#include <stddef.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "gtpu.h"
#include "skb.h"

#define MARK 0x67746d70		/* of the gNB's packet socket: superMark in Go */

/* IPv4 (20), UDP (8), GTP-U (8), and what a QFI adds. */
#define LEN_BARE 36
#define LEN_QFI (LEN_BARE + 8)

/* Since Linux 6.3: not in the headers of older ones. */
#define DECAP_L3_IPV4 (1ULL << 7)
#define DECAP_L3_IPV6 (1ULL << 8)

#define GROW (BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 | \
	      BPF_F_ADJ_ROOM_ENCAP_L4_UDP)

/* wrap - make @len octets behind the Ethernet header those of a tunnel
 *
 * @outer: room for them
 *
 * Return: 0, or a negative error.
 */
static __always_inline int wrap(struct __sk_buff *skb, void *outer, __u32 len)
{
	__u64 shrink = BPF_F_ADJ_ROOM_FIXED_GSO;
	__u8 version;
	int err;

	err = bpf_skb_load_bytes(skb, ETH_HLEN, outer, len);
	if (err)
		return err;
	err = bpf_skb_load_bytes(skb, ETH_HLEN + len, &version, sizeof(version));
	if (err)
		return err;
	shrink |= version >> 4 == 6 ? DECAP_L3_IPV6 : DECAP_L3_IPV4;
	err = bpf_skb_adjust_room(skb, -(__s32)len, BPF_ADJ_ROOM_MAC, shrink);
	if (err)
		return err;
	err = bpf_skb_adjust_room(skb, len, BPF_ADJ_ROOM_MAC, GROW);
	if (err)
		return err;
	return bpf_skb_store_bytes(skb, ETH_HLEN, outer, len, 0);
}

SEC("tc")
int super_n3(struct __sk_buff *skb)
{
	__u8 outer[LEN_QFI];
	__u8 flags;
	int err;

	if (skb->mark != MARK)
		return TC_ACT_UNSPEC;
	skb->mark = 0;
	err = bpf_skb_load_bytes(skb, ETH_HLEN + LEN_BARE - 8, &flags, sizeof(flags));
	if (err)
		return TC_ACT_SHOT;
	if (flags & GTPU_OPT_MASK)
		err = wrap(skb, outer, LEN_QFI);
	else
		err = wrap(skb, outer, LEN_BARE);
	if (err)
		return TC_ACT_SHOT;
	return bpf_redirect_neigh(skb->ifindex, NULL, 0, 0);
}

char _license[] SEC("license") = "GPL";
