package probe

import "github.com/plumbline-upf/plumbline/internal/inet"

// Masks of the fingerprint (bpf/probe/print.h): what a UPF or a device may rightly
// change of the first 64 octets is left out.
//
//   - IPv4: TOS, TTL, header checksum; IPv6: Traffic Class, Hop Limit.
//   - Checksums of TCP, UDP and SCTP: who sends may leave them to the device.
//   - TCP with data: flags FIN, PSH and CWR, and the identification of IPv4. A packet may
//     be cut into several, or several put together, by the UPF as by the kernel, and then
//     they are anybody's.
//   - TCP with SYN: the first option, which is the maximum segment size.
//   - UDP with DF: an identification where there was 0, which a datagram gets that was put
//     together with others and cut again. This is no mask: bpf/probe/print.h,
//     print_unnumbered().
//   - NAT: addresses, ports, identifiers and checksums of ICMP.

// mask is what of the first octets of a packet is looked at.
type mask [64]byte

func (m *mask) leaveOut(first, octets int) {
	clear(m[min(first, len(m)):min(first+octets, len(m))])
}

// printMask returns the mask of packets of a kind, PRINT_* of bpf/probe.h.
func printMask(kind probeKind, nat bool) mask {
	var m mask
	for i := range m {
		m[i] = 0xff
	}
	transport := inet.LenIPv4
	if kind >= probeKindPRINT_IP6 {
		transport = inet.LenIPv6
		m.ip6(nat)
	} else {
		m.ip4(nat)
	}
	m.transport(kind&^probeKindPRINT_IP6, transport, nat)
	if kind == probeKindPRINT_TCP_DATA {
		m.leaveOut(4, 2)
	}
	return m
}

func (m *mask) ip4(nat bool) {
	m.leaveOut(1, 1)  // TOS
	m.leaveOut(8, 1)  // TTL
	m.leaveOut(10, 2) // checksum
	if nat {
		m.leaveOut(12, 8)
	}
}

func (m *mask) ip6(nat bool) {
	m[0], m[1] = 0xf0, 0x0f // Traffic Class
	m.leaveOut(7, 1)        // Hop Limit
	if nat {
		m.leaveOut(8, 32)
	}
}

// Flags of TCP that belong to the last or first of several packets.
const finPSHCWR = 0x01 | 0x08 | 0x80

func (m *mask) transport(kind probeKind, at int, nat bool) {
	switch kind {
	case probeKindPRINT_UDP:
		m.leaveOut(at+6, 2)
	case probeKindPRINT_TCP, probeKindPRINT_TCP_DATA, probeKindPRINT_TCP_SYN:
		m.leaveOut(at+16, 2)
	case probeKindPRINT_SCTP:
		m.leaveOut(at+8, 4)
	case probeKindPRINT_ICMP:
		if nat {
			m.leaveOut(at+2, 4)
		}
	}
	if nat && kind != probeKindPRINT_ICMP && kind != probeKindPRINT_OTHER {
		m.leaveOut(at, 4)
	}
	switch kind {
	case probeKindPRINT_TCP_DATA:
		m[at+13] &^= finPSHCWR
	case probeKindPRINT_TCP_SYN:
		m.leaveOut(at+20, 4)
	}
}
