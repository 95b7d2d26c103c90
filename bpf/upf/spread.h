/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "upf.h"

/* Spreading over CPUs. To a NIC all packets of a gNB are one flow, or few, so they
 * arrive at one CPU. The program on the device then only finds out whose packet it
 * is, and hands it to the CPU of that UE, on which the stages run (CPUMAP). A UE has
 * one CPU both ways, so that rules, meters and URRs are written by one CPU. A queue
 * keeps the order, so a flow's packets leave as they came.
 *
 * There are two maps, since the program of a CPU has to know where a packet came
 * from: what came from N6 must not be taken for a G-PDU.
 */
struct {
	__uint(type, BPF_MAP_TYPE_CPUMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_cpumap_val);
} spread_gtpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CPUMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_cpumap_val);
} spread_n6 SEC(".maps");

/* spread_cpu - the CPU of a UE address */
static __always_inline __u32 spread_cpu(__u64 address)
{
	__u32 h = ((__u32)address ^ (__u32)(address >> 32)) * 0x9e3779b1U;
	__u32 i = (__u64)h * spread_count >> 32;

	return spread_cpus[i & (SPREAD_MAX - 1)];
}

/* spread_uplink - whether a G-PDU comes from the UE's side, as far as it says
 *
 * Without a container it is taken for one that does: so it is on S1-U.
 */
static __always_inline int spread_uplink(const struct packet *p)
{
	return !p->has_psc || (p->pdu_type & GTPU_PSC_TYPE) == GTPU_PSC_UPLINK;
}

static __always_inline __u64 spread_address(const struct packet *p, int uplink)
{
	if (p->version == 4)
		return uplink ? p->src_ip4 : p->dst_ip4;
	return uplink ? p->src_ip6 : p->dst_ip6;
}

/* spread_gpdu - hand a G-PDU to the CPU of its UE, or of its TEID if the T-PDU is
 * no IP packet
 *
 * Return: an action, or a negative enum upf_count.
 */
static __always_inline int spread_gpdu(struct ctx *ctx)
{
	struct packet p = {};
	int err;

	packet_init(&p, ctx);
	err = parse_tunnelled(&p);
	if (err == -DROP_IP_SHORT || err == -DROP_IP_VERSION || (!err && spread_opaque))
		return bpf_redirect_map(&spread_gtpu, spread_cpu(p.teid), 0);
	if (err)
		return IS_PASS(-err) ? err : upf_answer(err);
	return bpf_redirect_map(&spread_gtpu, spread_cpu(spread_address(&p, spread_uplink(&p))), 0);
}

static __always_inline int spread_bare(struct ctx *ctx)
{
	struct packet p = {};
	int err;

	packet_init(&p, ctx);
	err = parse_bare(&p);
	if (err)
		return err;
	return bpf_redirect_map(&spread_n6, spread_cpu(spread_address(&p, 0)), 0);
}
