//go:build ignore
/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The UPF on TC: the stages of upf_xdp.bpf.c on skbs, at the entry of a device. What is
 * not ours goes on to the programs behind this one, and to the host.
 */
#include "ctx_skb.h"
#include "stages_skb.h"

SEC("tc")
int upf_gtpu_tc(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };
	int result;

	trace_divert(&ctx, TRACED_GTPU);
	result = skb_gpdu(&ctx, &tc_programs, TC_ETHER_GPDU, 0);
	if (result == -PASS_HOST && md->cb[CB_WORD] == CB_BOTH)
		bpf_tail_call(md, &tc_programs, TC_N6);
	return skb_finish(md, upf_finish(again_divert(&ctx, &tc_programs, TC_AGAIN, AGAIN_FIRST, result)));
}

/* Behind again_divert(): G-PDUs that the UPF itself has sent. */
SEC("tc")
int upf_again_tc(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };
	int result = skb_gpdu(&ctx, &tc_programs, TC_ETHER_GPDU, 1);

	return skb_finish(md, upf_finish(again_divert(&ctx, &tc_programs, TC_AGAIN, 0, result)));
}

SEC("tc")
int upf_n6_tc(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };

	trace_divert(&ctx, TRACED_N6);
	return skb_finish(md, upf_finish(again_divert(&ctx, &tc_programs, TC_AGAIN, AGAIN_FIRST, skb_n6(&ctx))));
}

/* skb_stages - go on in the program for a frame of a port that is @role, VLAN_* */
static __always_inline int skb_stages(struct __sk_buff *md, __u32 role)
{
	md->cb[CB_WORD] = role == (VLAN_GTPU | VLAN_N6) ? CB_BOTH : 0;
	if (role & VLAN_ETHER)
		bpf_tail_call(md, &tc_programs, TC_ETHER);
	bpf_tail_call(md, &tc_programs, role & VLAN_GTPU ? TC_GTPU : TC_N6);
	return upf_finish(-DROP_INTERNAL);
}

SEC("tc")
int upf_both_tc(struct __sk_buff *md)
{
	return skb_stages(md, VLAN_GTPU | VLAN_N6);
}

/* Of a device of which a port is tagged. */
SEC("tc")
int upf_vlan_tc(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };
	__u32 role = vlan_arrive(&ctx);

	if (role == VLAN_N6) {
		if (md_linear(md, REACH_BARE6))
			return upf_finish(-DROP_INTERNAL);
		if (vlan_stray(md))
			return upf_finish(-DROP_DEVICE);
	}
	return role ? skb_stages(md, role) : TC_ACT_UNSPEC;
}

/* Behind ether_divert(): G-PDUs of Ethernet PDU sessions. */
SEC("tc")
int upf_ether_gpdu_tc(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };

	return skb_finish(md, ether_gpdu(&ctx));
}

/* Of the device of an Ethernet data network. */
SEC("tc")
int upf_ether_tc(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };

	trace_divert(&ctx, TRACED_ETHER);
	return skb_ether(&ctx);
}

/* skb_mend - set the Length of a G-PDU that was cut out of a tunnel's super-packet:
 * the kernel knows all headers but GTP-U's
 */
static __always_inline int skb_mend(struct __sk_buff *md)
{
	__u32 udp_at = ETH_HLEN + (md->protocol == bpf_htons(ETH_P_IPV6) ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	struct {
		struct udphdr udp;
		struct gtpu_hdr gtpu;
	} h;
	const __u32 length_at = sizeof(h.udp) + offsetof(struct gtpu_hdr, length);
	__u32 octets;
	__be16 length;

	if (bpf_skb_load_bytes(md, udp_at, &h, sizeof(h)) || h.gtpu.type != GTPU_G_PDU)
		return 0;
	octets = bpf_ntohs(h.udp.len);
	if (octets < sizeof(h) || bpf_ntohs(h.gtpu.length) <= octets - sizeof(h))
		return 0;
	length = bpf_htons(octets - sizeof(h));
	return bpf_skb_store_bytes(md, udp_at + length_at, &length, sizeof(length), 0);
}

/* Of the device on which packets come that were cut: split.h. */
SEC("tc")
int upf_split_tc(struct __sk_buff *md)
{
	__u32 role = md->mark >> MARK_ROLE_SHIFT;

	if (!role)
		return TC_ACT_SHOT; /* nobody else's packets come here */
	if (role & VLAN_GTPU && skb_mend(md))
		return upf_finish(-DROP_INTERNAL);
	return skb_stages(md, role);
}

char _license[] SEC("license") = "GPL";
