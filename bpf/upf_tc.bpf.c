//go:build ignore
/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The UPF on TC: the stages of upf_xdp.bpf.c on skbs, at the entry of a device. What is
 * not ours goes on to the programs behind this one, and to the host.
 */
#include "ctx_skb.h"
#include "ether.h"

/* What pointers have to reach for the stages: IP and TCP headers, which stand in the
 * linear part of what this machine's TCP sends; in a G-PDU with outer headers and usual
 * extension headers.
 */
#define REACH_BARE4	(ETH_HLEN + 20 + 20)
#define REACH_BARE6	(ETH_HLEN + 40 + 20)
#define REACH_GPDU	(ETH_HLEN + 40 + 8 + 16 + 40 + 20)
#define REACH_MORE	1600

/* Programs to which others go on. A program array is of one hook. */
#define TC_ETHER_GPDU	0
#define TC_GTPU		1
#define TC_N6		2
#define TC_ETHER	3

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} tc_programs SEC(".maps");

/* What one program says to the next: a bare packet may come on the device as well. What
 * others may have left there looks different.
 */
#define CB_WORD		0
#define CB_BOTH		0x706c626f

/* skb_finish - what the kernel is told: what passes goes to the next program
 *
 * What came by way of the helper pair is given to the host on the device on which it
 * came first. There it meets the programs again, and as it is nobody's, passes them.
 */
static __always_inline int skb_finish(struct __sk_buff *md, int action)
{
	__u32 ifindex = md->mark & MARK_IFINDEX;

	if (action != CTX_PASS)
		return action;
	if (md->ingress_ifindex != split_rx)
		return TC_ACT_UNSPEC;
	md_set_mark(md, 0);
	return bpf_redirect(ifindex, BPF_F_INGRESS);
}

/* A function of its own, which the verifier looks at once. */
__noinline int skb_gtpu(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };

	return upf_gtpu(&ctx, 0);
}

/* skb_tunnelled - the stages of a G-PDU, once more if they may not have reached all of
 * its extension headers
 */
static __always_inline int skb_tunnelled(struct __sk_buff *md)
{
	int result = skb_gtpu(md);

	if (result != -DROP_GTPU_SHORT && result != -DROP_IP_SHORT)
		return result;
	if (md->data_end - md->data >= md->len)
		return result;
	return md_linear(md, REACH_MORE) ? -DROP_INTERNAL : skb_gtpu(md);
}

SEC("tc")
int upf_gtpu_tc(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };
	int result;

	if (md_linear(md, REACH_GPDU))
		return upf_finish(-DROP_INTERNAL);
	result = ether_divert(&ctx, &tc_programs, TC_ETHER_GPDU, skb_tunnelled(md));
	if (result == -PASS_HOST && md->cb[CB_WORD] == CB_BOTH)
		bpf_tail_call(md, &tc_programs, TC_N6);
	return skb_finish(md, upf_finish(result));
}

SEC("tc")
int upf_n6_tc(struct __sk_buff *md)
{
	struct ctx ctx = { .md = md };

	if (md_linear(md, md->protocol == bpf_htons(ETH_P_IPV6) ? REACH_BARE6 : REACH_BARE4))
		return upf_finish(-DROP_INTERNAL);
	return skb_finish(md, upf_n6(&ctx, 0));
}

/* skb_stages - go on in the program for a frame of a port that is @role, VLAN_* */
static __always_inline int skb_stages(struct __sk_buff *md, __u32 role)
{
	md->cb[CB_WORD] = role == (VLAN_GTPU | VLAN_N6) ? CB_BOTH : 0;
	if (role & VLAN_ETHER)
		bpf_tail_call(md, &tc_programs, TC_ETHER);
	bpf_tail_call(md, &tc_programs, role & VLAN_GTPU ? TC_GTPU : TC_N6);
	return TC_ACT_SHOT;
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

	if (md_linear(md, REACH_BARE6))
		return upf_finish(-DROP_INTERNAL);
	if (split_frame(md))
		return split_off(&ctx, VLAN_ETHER);
	if (md_tags_back(md))
		return upf_finish(-DROP_INTERNAL);
	return skb_finish(md, ether_arrive(&ctx));
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
		return TC_ACT_SHOT;
	return skb_stages(md, role);
}

char _license[] SEC("license") = "GPL";
