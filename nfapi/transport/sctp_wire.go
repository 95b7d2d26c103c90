package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"net"
	"net/netip"
	"os"
	"syscall"
)

// The SCTP of this process: package sctp of Pion makes and reads packets; here they are
// given their ports, checked, and carried.
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+-------------------------------+-------------------------------+
//	|          source port          |       destination port        |
//	+-------------------------------+-------------------------------+
//	|                       verification tag                        |
//	+---------------------------------------------------------------+
//	|                            CRC32c                             |
//	+---------------+---------------+-------------------------------+
//	|  chunk type   |     flags     |            length             |
//	+---------------+---------------+-------------------------------+
//	|  INIT, INIT ACK: initiate tag                                 |
//
// Source: RFC 9260, 3.1 to 3.3.
const (
	sctpHeader   = 12
	sctpLeast    = sctpHeader + 4
	sctpWithTSN  = sctpLeast + lenInitFixed // INIT and INIT ACK have their initial TSN
	sctpWithTag  = sctpLeast + 4
	offSCTPTag   = 4
	offSCTPSum   = 8
	offSCTPChunk = 12

	chunkInit             = 1
	chunkInitAck          = 2
	chunkAbort            = 6
	chunkSack             = 3
	chunkShutdown         = 7
	chunkShutdownComplete = 14
	flagTReflects         = 1 // T: the verification tag is the receiver's own
)

// EncapsulationPort is the UDP port of SCTP in UDP. Source: RFC 6951, 5.2.
const EncapsulationPort = 9899

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sctpSum is the checksum of a packet; its field counts as zeros.
func sctpSum(b []byte) uint32 {
	sum := crc32.Update(0, castagnoli, b[:offSCTPSum])
	sum = crc32.Update(sum, castagnoli, []byte{0, 0, 0, 0})
	return crc32.Update(sum, castagnoli, b[offSCTPSum+4:])
}

// setPorts gives a packet its ports, and the checksum that goes with them.
func setPorts(b []byte, source, target uint16) {
	binary.BigEndian.PutUint16(b, source)
	binary.BigEndian.PutUint16(b[2:], target)
	binary.LittleEndian.PutUint32(b[offSCTPSum:], sctpSum(b))
}

// goodPacket reports whether b is an SCTP packet with a right checksum.
func goodPacket(b []byte) bool {
	return len(b) >= sctpLeast && binary.LittleEndian.Uint32(b[offSCTPSum:]) == sctpSum(b)
}

func chunkOf(b []byte) byte   { return b[offSCTPChunk] }
func tagOf(b []byte) uint32   { return binary.BigEndian.Uint32(b[offSCTPTag:]) }
func flagsOf(b []byte) byte   { return b[offSCTPChunk+1] }
func initTSN(b []byte) uint32 { return binary.BigEndian.Uint32(b[offSCTPChunk+16:]) }
func initTag(b []byte) uint32 { return binary.BigEndian.Uint32(b[offSCTPChunk+4:]) }

// acknowledged is the last TSN that an outgoing packet acknowledges; last if it does not. Pion puts
// another number into SHUTDOWN, which Linux treats as a violation: that of the last SACK is
// correct.
func acknowledged(b []byte, last uint32) uint32 {
	for at := offSCTPChunk; len(b)-at >= 8; {
		if b[at] == chunkSack {
			last = binary.BigEndian.Uint32(b[at+4:])
		}
		size := int(binary.BigEndian.Uint16(b[at+2:]))
		if size < 4 {
			break
		}
		at += (size + 3) &^ 3
	}
	return last
}

// Parameters of INIT and INIT ACK that Pion has a use for.
const (
	paramStateCookie = 0x0007
	paramExtensions  = 0x8008
	paramForwardTSN  = 0xc000

	lenInitFixed = 16 // octets of the chunk behind its header and before the parameters
)

// plain takes out of an INIT or INIT ACK the parameters that Pion does not know: for one
// of them, such as the addresses and address types that Linux sends, it would refuse the
// whole. We have one address, and no authentication. b is changed; its checksum is not
// right any more.
func plain(b []byte) []byte {
	from := offSCTPChunk + 4 + lenInitFixed
	if c := chunkOf(b); c != chunkInit && c != chunkInitAck || len(b) < from {
		return b
	}
	to, end := from, from // end is without padding, as a chunk's length is
	for len(b)-from >= 4 {
		kind, size := binary.BigEndian.Uint16(b[from:]), int(binary.BigEndian.Uint16(b[from+2:]))
		padded := min((size+3)&^3, len(b)-from)
		if size < 4 || size > len(b)-from {
			break
		}
		if kind == paramStateCookie || kind == paramExtensions || kind == paramForwardTSN {
			end = to + size
			to += copy(b[to:], b[from:from+padded])
		}
		from += padded
	}
	binary.BigEndian.PutUint16(b[offSCTPChunk+2:], uint16(end-offSCTPChunk))
	return b[:to]
}

// abort is the answer to a packet of an association that does not exist: its peer then
// knows. Source: RFC 9260, 8.4.
func abort(b []byte) []byte {
	a := make([]byte, sctpLeast)
	copy(a[offSCTPTag:], b[offSCTPTag:offSCTPTag+4])
	a[offSCTPChunk], a[offSCTPChunk+1], a[offSCTPChunk+3] = chunkAbort, flagTReflects, 4
	setPorts(a, binary.BigEndian.Uint16(b[2:]), binary.BigEndian.Uint16(b))
	return a
}

// wire carries SCTP packets. The port of an address is that of the UDP around it; over
// IP there is none.
type wire interface {
	read(b []byte) (n int, from netip.AddrPort, err error)
	write(b []byte, to netip.AddrPort) error
	local() netip.Addr
	Close() error
}

// opener opens a wire at a local address. port is the UDP port, 0: any.
type opener func(local netip.Addr, port uint16) (wire, error)

// raw carries SCTP as IP protocol 132.
type raw struct{ *net.IPConn }

func rawWire(local netip.Addr, _ uint16) (wire, error) {
	network := "ip4:132"
	if local.Is6() {
		network = "ip6:132"
	}
	c, err := net.ListenIP(network, &net.IPAddr{IP: local.AsSlice()})
	if errors.Is(err, syscall.EPERM) {
		return nil, fmt.Errorf("sctp: this kernel has none, and without CAP_NET_RAW it cannot be had otherwise; network sctp-udp or tcp can: %w", errors.Join(ErrUnsupported, err))
	}
	if err != nil {
		return nil, fmt.Errorf("sctp: %w", err)
	}
	return raw{c}, nil
}

func (w raw) read(b []byte) (int, netip.AddrPort, error) {
	n, from, err := w.ReadFromIP(b)
	if err != nil {
		return 0, netip.AddrPort{}, err
	}
	a, _ := netip.AddrFromSlice(from.IP)
	return n, netip.AddrPortFrom(a.Unmap(), 0), nil
}

func (w raw) write(b []byte, to netip.AddrPort) error {
	_, err := w.WriteToIP(b, &net.IPAddr{IP: to.Addr().AsSlice()})
	return err
}

func (w raw) local() netip.Addr {
	a, _ := netip.AddrFromSlice(w.LocalAddr().(*net.IPAddr).IP)
	return a.Unmap()
}

// encapsulated carries SCTP in UDP. Source: RFC 6951.
type encapsulated struct{ *net.UDPConn }

func udpWire(local netip.Addr, port uint16) (wire, error) {
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(local, port)))
	if err != nil {
		return nil, fmt.Errorf("sctp in udp: %w", err)
	}
	return encapsulated{c}, nil
}

func (w encapsulated) read(b []byte) (int, netip.AddrPort, error) {
	n, from, err := w.ReadFromUDPAddrPort(b)
	return n, netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), err
}

func (w encapsulated) write(b []byte, to netip.AddrPort) error {
	_, err := w.WriteToUDPAddrPort(b, to)
	return err
}

func (w encapsulated) local() netip.Addr { return addrPort(w.LocalAddr()).Addr() }

// route is the address that packets to another one are sent from.
func route(ctx context.Context, to netip.Addr) (netip.Addr, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "udp", netip.AddrPortFrom(to, EncapsulationPort).String())
	if err != nil {
		return netip.Addr{}, err
	}
	defer c.Close()
	a := addrPort(c.LocalAddr()).Addr()
	if !a.IsValid() {
		return netip.Addr{}, os.ErrInvalid
	}
	return a, nil
}
