/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIZES_P4
#define SIZES_P4

/* How many entries the tables have: the one place where that is said. The driver reads
 * them from P4Info.
 */
#ifndef SESSIONS
#define SESSIONS	163840
#endif
#define TUNNELS		SESSIONS	/* F-TEIDs of the UPF */
#define UE4S		SESSIONS	/* IPv4 addresses of UEs */
#ifndef UE6S
#define UE6S		SESSIONS	/* IPv6 prefixes of UEs, 64 bits long */
#endif
#ifndef ROUTES4
#define ROUTES4		16384		/* framed routes */
#define ROUTES6		16384
#endif
#define RULES		(2 * SESSIONS)	/* PDRs, each with its FAR and its QERs */
#ifndef RULE_BITS
#define RULE_BITS	19
#endif
#ifndef FILTERS4
#define FILTERS4	65536		/* SDF filters, of each IP version */
#define FILTERS6	65536
#endif
#define LIST_BITS	18
#ifndef METERS
#define METERS		(2 * SESSIONS)	/* MBRs of sessions, of each direction */
#define METER_BITS	19
#endif
#define SLICES		256		/* MBRs of slices, of each direction */
#define SLICE_BITS	8
#define PEERS		4096		/* GTP-U peers: gNBs, other UPFs */
#define PEER_BITS	12
#define HOPS		8192		/* next hops of all devices */
#define HOP_BITS	13
#ifndef DATA_ROUTES4
#define DATA_ROUTES4	16384		/* routes of the data networks */
#define DATA_ROUTES6	16384
#endif
#define PORTS		256
#define LOCALS		1024		/* addresses of the UPF's host, of each IP version */

#endif
