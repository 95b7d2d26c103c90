/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once
#include "bounds.h"
#include "flow.h"
#include "queue.h"

/* What flows are called. A filter with a host means TCP connections by the name
 * that one of their packets has shown, in a TLS ClientHello or an HTTP request, and
 * QUIC by that in the ClientHello of its Initial packets.
 * The slow path reads names (datapath/stages/names.go) and writes here which hosts
 * of a session's filters a flow has; the programs use that.
 *
 *	not learnt		to the slow path, which learns it
 *	SYN, RST		to the slow path: no name, or another one
 *	may show a name		to the slow path, if what is known may change by that
 *	more of a stream	to the slow path: beyond what it has read, or the body
 *				of a request, of the side whose requests it reads
 *	not used for long	to the slow path, which knows how long a flow lasts
 *	all else		by what was learnt
 *
 * Of a flow of which no name was shown that is what was learnt. With UDP:
 *
 *	long header of QUIC	to the slow path, if what is known may change by that:
 *				Initial packets may stand behind others in a datagram
 *	not used for long	to the slow path, as above
 *	not learnt		no name: it begins with a long header
 *	all else		by what was learnt
 *
 * The driver bounds how many flows of a session, and of all, are here.
 *
 * Order: a packet that goes to the slow path because of its name is counted by its
 * flow until it has been sent, and later ones of the flow follow it there. Flows
 * share counters by their hash, which costs some of them a detour and no more.
 */
struct named_key {
	__u64 set;		/* number of the hosts: ENTRY_HOSTS of the list */
	__u64 remote[2], local[2];	/* as in struct flow */
	__u32 ports;		/* remote in the high half */
	__u32 kind;		/* FLOW_IP6, or 0, and NAME_UDP, or 0 */
};

#define NAME_UDP	0x20	/* beside FLOW_IP6 */

struct named {
	__u64 hosts[LIST_MAX / 64];	/* bit n: the flow has host n of the set */
	__u64 last;		/* ns: when a packet of it came, or not much later */
	__u16 verdict;		/* number of what is in hosts, below NAME_NONE; 0: it has none */
	__u16 shows;		/* NAME_* that may change what is in hosts */
	__u32 until;		/* sequence number: what is before changes nothing */
};

#define NAME_HELLO	0x1	/* ClientHello */
#define NAME_UPLINK	0x2	/* request from the UE */
#define NAME_DOWNLINK	0x4	/* request to the UE */
#define NAME_STREAM_UPLINK	0x8	/* what comes behind until from the UE; with UDP any long header */
#define NAME_STREAM_DOWNLINK	0x10	/* the same, to the UE */

#define NAME_NONE	0xffff	/* verdict of a UDP flow of which nothing was learnt */

#define NAME_AGE	60000000000ULL	/* ns */
#define NAME_FRESH	1000000000ULL	/* ns: last is not written for less */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__type(key, struct named_key);
	__type(value, struct named);
} names SEC(".maps");

/* Packets of flows that the slow path has because of their names, by hash. */
#define NAME_WAITS_BITS	14

struct name_wait {
	__u32 packets;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << NAME_WAITS_BITS);
	__type(key, __u32);
	__type(value, struct name_wait);
} name_waits SEC(".maps");

/* What is known of the name of the packet that a CPU looks at. */
struct name_now {
	struct named_key key;
	__u64 hosts[LIST_MAX / 64];
	__s32 err;		/* 0, or a negative enum upf_count if an entry has a host */
	__u32 verdict;		/* for the flow cache; 0: none */
	__u32 wait;		/* index in name_waits, if err is not 0 */
	__u32 data, octets;	/* where what TCP carries begins in the frame, and how much it is */
	__u32 flags;		/* of TCP */
	__u32 seq;		/* of the first octet */
	__u8 head[16];		/* of a UDP datagram: there is no room on the stack */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct name_now);
} name_scratch SEC(".maps");

#define NAME_TCP	20	/* octets of a TCP header */
#define NAME_TCP_SEQ	4	/* where it has the Sequence Number */
#define NAME_TCP_DATA	12	/* where it has Data Offset and flags */
#define NAME_SYN	0x02
#define NAME_RST	0x04
#define NAME_ACK	0x10

/* How TLS and HTTP begin, as in showsName() of the slow path. */
#define NAME_LOOK	21	/* octets that are looked at */
#define NAME_EMPTY	4	/* octets of empty lines before a method */
#define NAME_METHOD	16	/* letters of a method */
#define NAME_METHOD_MIN	3
#define TLS_HANDSHAKE	22
#define TLS_MAJOR	3
#define TLS_RECORD	5	/* octets of a record's header */
#define TLS_CLIENT_HELLO 1

/* name_segment - read the TCP header
 *
 * Return: nonzero if there is one, whole.
 */
static __always_inline int name_segment(struct ctx_md *md, struct name_now *now, const struct upper *u)
{
	__u8 h[NAME_TCP_DATA + 2 - NAME_TCP_SEQ] = {};
	const __u8 *data = &h[NAME_TCP_DATA - NAME_TCP_SEQ];
	__u32 octets;

	if (u->protocol != IPPROTO_TCP || u->at + NAME_TCP > u->octets ||
	    md_load(md, u->user + u->at + NAME_TCP_SEQ, h, sizeof(h)))
		return 0;
	octets = (data[0] >> 4) * 4;
	if (octets < NAME_TCP || u->at + octets > u->octets)
		return 0;
	now->flags = data[1];
	now->seq = (__u32)h[0] << 24 | h[1] << 16 | h[2] << 8 | h[3];
	now->data = u->user + u->at + octets;
	now->octets = u->octets - u->at - octets;
	return 1;
}

/* name_request - whether octets may be how an HTTP request begins, or the beginning
 * of that: RFC 9112, 2.2 and 3
 */
static __always_inline int name_request(const __u8 *b, __u32 octets)
{
	__u32 empty = 0;

	for (__u32 i = 0; i < NAME_LOOK && i < octets; i++) {
		if ((b[i] == '\r' || b[i] == '\n') && i == empty && empty < NAME_EMPTY) {
			empty++;
			continue;
		}
		if (b[i] == ' ')
			return i - empty >= NAME_METHOD_MIN;
		if (b[i] < 'A' || b[i] > 'Z' || i - empty == NAME_METHOD)
			return 0;
	}
	return 1;
}

static __always_inline int name_hello(const __u8 *b, __u32 octets)
{
	return b[0] == TLS_HANDSHAKE && (octets < 2 || b[1] == TLS_MAJOR) &&
	       (octets <= TLS_RECORD || b[TLS_RECORD] == TLS_CLIENT_HELLO);
}

/* name_shown - whether the segment may show what changes what is known
 *
 * @shows: NAME_*
 * Return: 1 or 0; 1 if it cannot be read.
 */
static __noinline int name_shown(struct ctx_md *md, __u32 data, __u32 octets, __u32 shows)
{
	__u8 b[NAME_LOOK] = {};

	if (!octets)
		return 0;
	if (octets > NAME_LOOK)
		octets = NAME_LOOK;
	if (!length_bound(&octets, NAME_LOOK) || md_load(md, data, b, octets))
		return 1;
	if (shows & NAME_HELLO && name_hello(b, octets))
		return 1;
	return shows & (NAME_UPLINK | NAME_DOWNLINK) && name_request(b, octets);
}

static __always_inline __u32 name_hash(const struct named_key *key)
{
	const __u64 *w = (const void *)key;
	__u64 h = 0;

	for (__u32 i = 0; i < sizeof(*key) / 8; i++)
		h = (h ^ w[i]) * 0x9e3779b97f4a7c15ULL + (h >> 32);
	return h >> (64 - NAME_WAITS_BITS);
}

/* name_waited - whether the slow path has packets that it will finish */
static __always_inline int name_waited(__u32 index)
{
	struct name_wait *w = bpf_map_lookup_elem(&name_waits, &index);

	if (!w || !*(volatile __u32 *)&w->packets)
		return 0;
	if (queue_attended())
		return 1;
	w->packets = 0;
	return 0;
}

/* name_streams - whether the segment has more of a stream than was read of it */
static __always_inline int name_streams(const struct name_now *now, const struct named *had, __u32 uplink)
{
	return had->shows & (uplink ? NAME_STREAM_UPLINK : NAME_STREAM_DOWNLINK) && now->octets &&
	       (__s32)(now->seq + now->octets - had->until) > 0;
}

/* name_learnt - take what was learnt of the flow, if the packet may use it
 *
 * Return: 0 or -PASS_NAME.
 */
static __always_inline int name_learnt(struct ctx_md *md, struct name_now *now, __u32 uplink)
{
	__u64 time = bpf_ktime_get_ns();
	struct named *had;
	__s64 age;
	__u32 shows;

	/* Who finds nothing waiting finds what those that waited have taught. */
	if (name_waited(now->wait))
		return -PASS_NAME;
	had = bpf_map_lookup_elem(&names, &now->key);
	if (!had)
		return -PASS_NAME;
	age = time - *(volatile __u64 *)&had->last;
	if (age > (__s64)NAME_AGE && queue_attended())
		return -PASS_NAME;
	if (name_streams(now, had, uplink))
		return -PASS_NAME;
	shows = had->shows & (NAME_HELLO | (uplink ? NAME_UPLINK : NAME_DOWNLINK));
	if (shows && name_shown(md, now->data, now->octets, shows))
		return -PASS_NAME;
	if (age > (__s64)NAME_FRESH)
		*(volatile __u64 *)&had->last = time;
	__builtin_memcpy(now->hosts, had->hosts, sizeof(now->hosts));
	now->verdict = had->verdict;
	return 0;
}

#define NAME_UDP_HEADER	8
#define NAME_LONG	5	/* octets of a long header of QUIC up to the end of its version */
#define QUIC_LONG	0x80
#define QUIC_VERSION1	0x00000001
#define QUIC_VERSION2	0x6b3343cf

/* name_long - whether a UDP datagram begins with a long header of QUIC that the slow
 * path reads: RFC 9000, 17.2; RFC 9369, 3.1
 *
 * Return: 1 or 0; 1 if it cannot be read.
 */
static __always_inline int name_long(struct ctx_md *md, struct name_now *now, const struct upper *u)
{
	const __u8 *b = now->head;
	__u32 version;

	if (u->at + NAME_UDP_HEADER + NAME_LONG > u->octets)
		return 0;
	if (md_load(md, u->user + u->at + NAME_UDP_HEADER, now->head, NAME_LONG))
		return 1;
	version = (__u32)b[1] << 24 | b[2] << 16 | b[3] << 8 | b[4];
	return b[0] & QUIC_LONG && (version == QUIC_VERSION1 || version == QUIC_VERSION2);
}

/* name_datagram - take what was learnt of a UDP flow, if the packet may use it
 *
 * Return: 0 or -PASS_NAME.
 */
static __always_inline int name_datagram(struct name_now *now, int shown, __u32 uplink)
{
	__u64 time = bpf_ktime_get_ns();
	struct named *had;
	__s64 age;

	if (name_waited(now->wait))
		return -PASS_NAME;
	had = bpf_map_lookup_elem(&names, &now->key);
	if (!had) {
		now->verdict = NAME_NONE;
		return shown ? -PASS_NAME : 0;
	}
	age = time - *(volatile __u64 *)&had->last;
	if (age > (__s64)NAME_AGE && queue_attended())
		return -PASS_NAME;
	if (shown && had->shows & (NAME_HELLO | (uplink ? NAME_STREAM_UPLINK : NAME_STREAM_DOWNLINK)))
		return -PASS_NAME;
	if (age > (__s64)NAME_FRESH)
		*(volatile __u64 *)&had->last = time;
	__builtin_memcpy(now->hosts, had->hosts, sizeof(now->hosts));
	now->verdict = had->verdict;
	return 0;
}

static __always_inline int name_ask(struct ctx_md *md, const struct flow *f, const struct upper *u,
				    struct name_now *now)
{
	int udp = u->protocol == IPPROTO_UDP && u->at + NAME_UDP_HEADER <= u->octets;

	if (!udp && !name_segment(md, now, u))
		return 0; /* of no flow that could have a name */
	__builtin_memcpy(now->key.remote, f->remote, sizeof(f->remote));
	__builtin_memcpy(now->key.local, f->local, sizeof(f->local));
	now->key.ports = f->word;
	now->key.kind = (f->has & FLOW_IP6) | (udp ? NAME_UDP : 0);
	now->wait = name_hash(&now->key);
	if (udp)
		return name_datagram(now, name_long(md, now, u), f->has & FLOW_UPLINK);
	if ((now->flags & (NAME_SYN | NAME_ACK)) == NAME_SYN || now->flags & NAME_RST)
		return -PASS_NAME;
	return name_learnt(md, now, f->has & FLOW_UPLINK);
}

/* name_look - what hosts the flow of a packet has, for name_host()
 *
 * @hosts: index of the entry with the number of the set
 * Return: the number under which the flow cache may have what the list makes of the
 * packet; 0: it must not be asked.
 */
__noinline __u32 name_look(struct ctx_md *md, const struct flow *f, const struct upper *u, __u32 hosts)
{
	const struct entry *e = bpf_map_lookup_elem(&entries, &hosts);
	__u32 zero = 0;
	struct name_now *now = bpf_map_lookup_elem(&name_scratch, &zero);

	if (!now)
		return 0;
	now->err = -DROP_INTERNAL;
	if (!e || !f || !u)
		return 0;
	now->key.set = e->qfis;
	__builtin_memset(now->hosts, 0, sizeof(now->hosts));
	now->verdict = 0;
	now->err = name_ask(md, f, u, now);
	return now->err ? 0 : now->verdict;
}

/* name_host - whether the flow of which name_look() was told has a host
 *
 * Return: 1, 0, or a negative enum upf_count.
 */
static __always_inline int name_host(__u32 host)
{
	__u32 zero = 0;
	const struct name_now *now = bpf_map_lookup_elem(&name_scratch, &zero);

	if (!now)
		return -DROP_INTERNAL;
	return now->err ?: (int)(now->hosts[host >> 6 & (LIST_MAX / 64 - 1)] >> (host & 63) & 1);
}

/* name_wait_add - count a packet that the slow path gets because of its name
 *
 * Return: its index in name_waits, plus 1; 0: none.
 */
__noinline __u32 name_wait_add(void)
{
	__u32 zero = 0;
	const struct name_now *now = bpf_map_lookup_elem(&name_scratch, &zero);
	struct name_wait *w;
	__u32 index;

	if (!now)
		return 0;
	index = now->wait;
	w = bpf_map_lookup_elem(&name_waits, &index);
	if (!w)
		return 0;
	__sync_fetch_and_add(&w->packets, 1);
	return index + 1;
}

/* name_wait_remove - take back what name_wait_add() counted; @wait is what it returned */
__noinline int name_wait_remove(__u32 wait)
{
	__u32 index = wait - 1;
	struct name_wait *w = bpf_map_lookup_elem(&name_waits, &index);

	if (w)
		__sync_fetch_and_sub(&w->packets, 1);
	return 0;
}
