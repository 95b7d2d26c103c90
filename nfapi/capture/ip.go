package capture

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/gopacket/gopacket/ip4defrag"
	"github.com/gopacket/gopacket/ip6defrag"
	"github.com/gopacket/gopacket/layers"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Protocols. Source: RFC 8200, 4; IANA, Assigned Internet Protocol Numbers.
const (
	hopByHop = 0

	routing            = 43
	fragment           = 44
	authentication     = 51
	destinationOptions = 60
	protocolSCTP       = 132
)

// ip takes an IP packet of which the capture has b; whole is how long the frame says that it
// is, with what may be behind it.
func (d *decoder) ip(b []byte, whole int) error {
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		return d.ipv4(b, whole)
	case len(b) >= 40 && b[0]>>4 == 6:
		return d.ipv6(b, whole)
	case whole > len(b):
		d.stats.Cut++
	}
	return nil // what is no packet is no message; others come
}

// within cuts b to the length in the header, and counts packets that the capture has only in part.
// A packet that was shorter than its header says is dropped by any receiver: ok is false.
func (d *decoder) within(b []byte, total, whole int) (packet []byte, ok bool) {
	switch {
	case total > whole:
		d.stats.Short++
		return nil, false
	case total > len(b):
		d.stats.Cut++
	}
	return b[:min(total, len(b))], true
}

func (d *decoder) ipv4(b []byte, whole int) error {
	header, total := int(b[0]&0xf)*4, int(binary.BigEndian.Uint16(b[2:]))
	if total == 0 { // the sender left it to an offload
		total = whole
	}
	b, ok := d.within(b, total, whole)
	if !ok || header < 20 || len(b) < header {
		return nil
	}
	source, target := netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	if binary.BigEndian.Uint16(b[6:])&0x3fff == 0 {
		return d.transport(b[9], source, target, b[header:], total-header)
	}
	if total > len(b) {
		return nil
	}
	protocol, payload, ok := d.fragments.ipv4(b, d.stats.Packets)
	if !ok {
		d.stats.Unfinished++
	}
	if payload == nil {
		return nil
	}
	return d.transport(protocol, source, target, payload, len(payload))
}

func (d *decoder) ipv6(b []byte, whole int) error {
	total := 40 + int(binary.BigEndian.Uint16(b[4:]))
	if total == 40 { // the sender left it to an offload
		total = whole
	}
	b, ok := d.within(b, total, whole)
	if !ok {
		return nil
	}
	source, target, next := netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:])), b[6]
	b, total = b[40:], total-40
	for {
		octets := 0
		switch next {
		case hopByHop, routing, destinationOptions, authentication, fragment:
			if len(b) < 8 {
				return nil
			}
			octets = (int(b[1]) + 1) * 8
		default:
			return d.transport(next, source, target, b, total)
		}
		switch {
		case next == authentication:
			octets = (int(b[1]) + 2) * 4
		case next == fragment && binary.BigEndian.Uint16(b[2:])&^6 == 0: // the only one
			octets = 8
		case next == fragment:
			if total > len(b) {
				return nil
			}
			if next, b = d.fragments.ipv6(source, target, b); b == nil {
				return nil
			}
			total = len(b)
			continue
		}
		if octets > len(b) {
			return nil
		}
		next, b, total = b[0], b[octets:], total-octets
	}
}

// transport takes what an IP packet carries: b of whole octets.
func (d *decoder) transport(protocol uint8, source, target netip.Addr, b []byte, whole int) error {
	if len(b) < 8 {
		return nil
	}
	f := flow{netip.AddrPortFrom(source, binary.BigEndian.Uint16(b)), netip.AddrPortFrom(target, binary.BigEndian.Uint16(b[2:]))}
	switch protocol {
	case inet.ProtoUDP:
		if octets := int(binary.BigEndian.Uint16(b[4:])); octets >= 8 && octets < whole {
			b, whole = b[:min(octets, len(b))], octets
		}
		return d.udp(f, b[8:], whole-8)
	case inet.ProtoTCP:
		return d.tcp(f, b, whole)
	case protocolSCTP:
		return d.sctp(f, b, whole)
	}
	return nil
}

// fragments puts datagrams together.
type fragments struct {
	v4    *ip4defrag.IPv4Defragmenter
	v6    *ip6defrag.IPv6Defragmenter
	swept time.Time // time of the last expiry of IPv6 fragments
}

func newFragments() *fragments {
	return &fragments{ip4defrag.NewIPv4Defragmenter(), ip6defrag.NewIPv6Defragmenter(), time.Time{}}
}

// count is the number of a packet as a time: that of the capture is as its author likes.
func count(packet int) time.Time { return time.Unix(0, int64(packet)) }

// ipv4 takes a fragment, which is the packet with that number. payload is that of the
// datagram if it is whole now; ok is false if the fragment cannot be of one.
func (f *fragments) ipv4(b []byte, packet int) (protocol uint8, payload []byte, ok bool) {
	ip := &layers.IPv4{}
	if err := ip.DecodeFromBytes(bytes.Clone(b), nothing{}); err != nil {
		return 0, nil, false
	}
	whole, err := f.v4.DefragIPv4WithTimestamp(ip, count(packet))
	if err != nil || whole == nil {
		return 0, nil, err == nil
	}
	return uint8(whole.Protocol), whole.Payload, true
}

// it does not say that a packet is cut off, which is known.
type nothing struct{}

func (nothing) SetTruncated() {}

// ipv6 takes what begins with a fragment header.
func (f *fragments) ipv6(source, target netip.Addr, b []byte) (next uint8, payload []byte) {
	ip := &layers.IPv6{Version: 6, SrcIP: source.AsSlice(), DstIP: target.AsSlice()}
	at := binary.BigEndian.Uint16(b[2:])
	header := &layers.IPv6Fragment{
		NextHeader: layers.IPProtocol(b[0]), FragmentOffset: at >> 3, MoreFragments: at&1 != 0, Identification: binary.BigEndian.Uint32(b[4:]),
	}
	header.Payload = bytes.Clone(b[8:])
	whole := f.v6.DefragIPv6(ip, header)
	if whole == nil {
		return 0, nil
	}
	return uint8(whole.NextHeader), whole.Payload
}

// giveUp forgets datagrams of IPv4 of which nothing came in the last [maxWait] packets, and of
// IPv6 those that began before the last call; all if the packet is -1. It says how many.
func (f *fragments) giveUp(packet int) int {
	now := time.Now()
	older4, older6 := count(packet-maxWait), f.swept
	if f.swept = now; packet < 0 {
		older4, older6 = now, now.Add(time.Hour)
	}
	return f.v4.DiscardOlderThan(older4) + f.v6.DiscardOlderThan(older6)
}
