/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "detect.h"
#include "gcra.h"
#include "urr.h"

/* A packet and the meters of a PDR of a list, while they are asked. */
struct charge {
	__u64 now;
	__u32 octets;
	__u32 within;	/* QERs, one bit each, within whose GBR the packet is */
	__u32 taken;	/* of refs[], one bit each, from which it has been taken */
	__u32 reserved;
};

static __always_inline __u32 charge_octets(const struct charge *c, __u32 ref)
{
	return (ref & METER_KIND) == METER_PACKETS ? METER_PACKET : c->octets;
}

/* charge_forced - whether an MBR cannot drop the packet, because it is within the
 * GBR of another QER
 */
static __always_inline int charge_forced(const struct charge *c, __u32 ref)
{
	return (ref & METER_KIND) == METER_MBR && c->within & ~(1U << ((ref & METER_QER) >> 26));
}

static __always_inline int charge_refused(__u32 ref)
{
	return (ref & METER_KIND) == METER_PACKETS ? -DROP_PACKET_RATE : -DROP_MBR;
}

/* charge_ask - whether a meter would let the packet pass; of a GBR, which lets
 * every packet pass, that is noted: but by the coarse clock only that it fits
 *
 * Return: 0, or a negative enum upf_count.
 */
__noinline int charge_ask(struct charge *c, __u32 ref)
{
	int fits;

	if (!c)
		return -DROP_INTERNAL;
	fits = meter_conforms(ref & METER_INDEX, c->now);
	if ((ref & METER_KIND) == METER_GBR && (fits || !(c->now & GCRA_COARSE)))
		c->within |= (fits ? 1U : 0) << ((ref & METER_QER) >> 26);
	else if (!fits && !charge_forced(c, ref))
		return charge_refused(ref);
	return 0;
}

/* charge_take - take the packet from the meter refs[@i], unless it is one that is
 * forced
 *
 * A GBR that it does not fit any more because another CPU was faster protects it
 * no more. Return: 0, or a negative enum upf_count.
 */
__noinline int charge_take(struct charge *c, __u32 ref, __u32 i)
{
	__u32 qer = 1U << ((ref & METER_QER) >> 26);
	int gbr = (ref & METER_KIND) == METER_GBR;

	if (!c)
		return -DROP_INTERNAL;
	if (charge_forced(c, ref) || (gbr && !(c->within & qer)))
		return 0;
	if (meter_take(ref & METER_INDEX, charge_octets(c, ref), c->now)) {
		c->taken |= 1U << (i & 31);
		return 0;
	}
	if (!gbr)
		return charge_refused(ref);
	c->within &= ~qer;
	return 0;
}

/* charge_end - give back what was taken from refs[@i], or, if the packet can @pass,
 * take it from an MBR that does not matter because of a GBR
 */
__noinline int charge_end(const struct charge *c, __u32 ref, __u32 i, int pass)
{
	if (!c)
		return 0;
	if (!pass && c->taken >> (i & 31) & 1)
		meter_return(ref & METER_INDEX, charge_octets(c, ref));
	else if (pass && charge_forced(c, ref))
		meter_force(ref & METER_INDEX, c->octets, c->now);
	return 0;
}

/* pdr_charge_at - take the packet from all meters of the PDR, or from none
 *
 * They stand in the order Packet Rates, GBRs, MBRs. A packet that is within the
 * GBR of one QER is not dropped by the MBR of another, but taken from it.
 *
 * Source: TS 29.244 V18.6.0, 5.4.4, 8.2.8 (MBR), 8.2.9 (GBR), 8.2.63 (Packet Rate).
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int pdr_charge_at(const struct pdr *pdr, __u32 octets, __u64 now)
{
	struct charge c = { .now = now, .octets = octets };
	int err = 0;

	for (__u32 i = 0; !err && i < PDR_METERS && i < pdr->meters; i++)
		err = charge_ask(&c, pdr->refs[i]);
	if (err)
		return err;
	for (__u32 i = 0; !err && i < PDR_METERS && i < pdr->meters; i++)
		err = charge_take(&c, pdr->refs[i], i);
	if (!err && !c.within)
		return 0;
	for (__u32 i = 0; i < PDR_METERS && i < pdr->meters; i++)
		charge_end(&c, pdr->refs[i], i, !err);
	return err;
}

/* pdr_charge - the same by the clock that it takes */
static __always_inline int pdr_charge(const struct pdr *pdr, __u32 octets)
{
	int err = 0;

	for (int exact = 0; exact < 2; exact++) {
		err = pdr_charge_at(pdr, octets, exact ? gcra_now() : gcra_coarse());
		if (!err)
			break;
	}
	return err;
}

/* pdr_urr - the URR with number @i of the PDR, as among refs; 0: none */
static __always_inline __u32 pdr_urr(const struct pdr *pdr, __u32 i)
{
	__u32 at = pdr->meters + i;

	barrier_var(at); /* what is compared is what is used */
	return at < PDR_REFS ? pdr->refs[at] : 0;
}

static __always_inline __u32 pdr_direction(const struct pdr *pdr)
{
	return pdr->ctl & RULE_UPLINK ? URR_UPLINK : URR_DOWNLINK;
}

/* pdr_admit - quotas, START_OF_TRAFFIC and gate; those URRs that measure before
 * enforcement count what arrives, but not if a quota stops it
 *
 * Source: TS 29.244 V18.6.0, 5.4.3 (gating), 5.2.2.2 (quota), 8.2.68 (MBQE).
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int pdr_admit(const struct pdr *pdr, __u32 octets)
{
	__u32 direction = pdr_direction(pdr);
	int spent = 0, before = 0;

	for (__u32 i = 0; i < PDR_URRS && i < pdr->urrs; i++) {
		spent |= urr_spent(pdr_urr(pdr, i) & URR_INDEX, direction);
		before |= pdr_urr(pdr, i) & URR_BEFORE;
	}
	for (__u32 i = 0; before && i < PDR_URRS && i < pdr->urrs; i++)
		if (pdr_urr(pdr, i) & URR_BEFORE)
			urr_arrived(pdr_urr(pdr, i) & URR_INDEX, direction, spent ? 0 : octets);
	if (pdr->ctl & RULE_GATE)
		return -DROP_GATE;
	for (__u32 i = 0; i < PDR_URRS && i < pdr->urrs; i++)
		urr_start(pdr_urr(pdr, i) & URR_INDEX);
	return spent ? -DROP_QUOTA : 0;
}

/* pdr_enforce - gate, quotas and meters of a PDR of a list
 *
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int pdr_enforce(const struct pdr *pdr, __u32 octets)
{
	int err = pdr_admit(pdr, octets);

	if (err)
		return err;
	return pdr->meters ? pdr_charge(pdr, octets) : 0;
}

/* rule_enforce - quota and meters of a rule that is no list, 0 where there is none
 *
 * A packet is taken from all of the PDR's meters or from none.
 *
 * Source: TS 29.244 V18.6.0, 5.4.4 (MBR), 5.2.2.2 (quota).
 * Return: 0, or a negative enum upf_count.
 */
static __always_inline int rule_enforce(__u32 first, __u32 second, __u32 urr, __u32 direction, __u32 octets)
{
	if (urr && urr_used_up(urr, direction))
		return -DROP_QUOTA;
	if (first && !meters_take(first, second, octets))
		return -DROP_MBR;
	return 0;
}
