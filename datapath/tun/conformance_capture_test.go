package tun

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// sending sends what leaves a vector, and takes it from where it has left.
func (b *bed) sending(o *output) func([]*vector.Packet) {
	return func(out []*vector.Packet) { b.first = append(b.first, b.send(out, o.send)...) }
}

// send has packets sent, and returns them as they have left, as the model has them.
func (b *bed) send(out []*vector.Packet, send func([]*vector.Packet)) [][]byte {
	b.captured()
	want := make([]*vector.Packet, len(out))
	for i, p := range out {
		q := *p
		want[i] = &q
	}
	send(out)
	left := b.captured()
	var all [][]byte
	for _, p := range want {
		// Packets of one address of ours, and those of one device, leave in their order.
		i := slices.IndexFunc(left, func(l departed) bool { return l.from == b.exit(p) })
		if i < 0 && p.Frame && len(p.Octets()) < inet.LenEthernet+6 { // nobody sees a tag without payload: the kernel throws it away
			all = append(all, p.Octets())
			continue
		}
		if i < 0 {
			b.errs = append(b.errs, fmt.Sprintf("did not leave: %v", p.Octets()))
			continue
		}
		octets := left[i].octets
		left = slices.Delete(left, i, i+1)
		if p.Outer != nil {
			octets = b.modelled(octets, p)
		}
		all = append(all, octets)
	}
	if len(left) > 0 {
		b.errs = append(b.errs, fmt.Sprintf("left besides: %x", left))
	}
	return all
}

// departed is a packet that has left, and from where: an address of ours, or the name of a
// device.
type departed struct {
	from   string
	octets []byte
}

func (b *bed) exit(p *vector.Packet) string {
	if p.Outer != nil {
		return p.Outer.Local.String()
	}
	return b.traffic.ways[p.Way].Name
}

// captured returns what has left: towards tunnels, IP packets; towards data networks,
// packets or, of the Ethernet one, frames.
func (b *bed) captured() (left []departed) {
	buf, control := make([]byte, 1<<16), make([]byte, 64)
	for {
		n, aux, _, from, err := unix.Recvmsg(b.capture, buf, control, 0)
		if err != nil {
			return left
		}
		ll, ok := from.(*unix.SockaddrLinklayer)
		if !ok {
			continue
		}
		octets := tagged(bytes.Clone(buf[:n]), control[:aux])
		if dev := b.deviceOf(ll.Ifindex); dev != nil && ll.Pkttype != unix.PACKET_OUTGOING {
			if dev.TAP && !dev.frames {
				octets = octets[inet.LenEthernet:]
			}
			left = append(left, departed{dev.Name, octets})
		} else if dev == nil && ll.Pkttype == unix.PACKET_OUTGOING && isGTPU(octets) {
			left = append(left, departed{source(octets[inet.LenEthernet:]).String(), octets[inet.LenEthernet:]})
		}
	}
}

func source(ip []byte) netip.Addr {
	if ip[0]>>4 == 6 {
		return netip.AddrFrom16([16]byte(ip[8:24]))
	}
	return netip.AddrFrom4([4]byte(ip[12:16]))
}

func (b *bed) deviceOf(index int) *device {
	for _, dev := range b.traffic.devices {
		if dev.index() == index {
			return dev
		}
	}
	return nil
}

// isGTPU reports whether a frame has a datagram from the GTP-U port.
func isGTPU(frame []byte) bool {
	ip := frame[inet.LenEthernet:]
	switch {
	case len(ip) >= 28 && ip[0] == 0x45:
		return ip[9] == unix.IPPROTO_UDP && binary.BigEndian.Uint16(ip[20:]) == gtpu.Port
	case len(ip) >= 48 && ip[0]>>4 == 6:
		return ip[6] == unix.IPPROTO_UDP && binary.BigEndian.Uint16(ip[40:]) == gtpu.Port
	}
	return false
}

// modelled makes of a packet that the kernel has made an outer header for what the model
// makes: UDP ports but for a flow's own source port, checksums, Identification and Flow Label are
// its own; addresses, lengths, DSCP, DF and TTL are compared.
func (b *bed) modelled(ip []byte, p *vector.Packet) []byte {
	q := *p
	q.Buf = append(make([]byte, vector.Headroom), p.Octets()...)
	q.Start, q.End = vector.Headroom, len(q.Buf)
	if !q.PutOuter() {
		b.errs = append(b.errs, fmt.Sprintf("no outer header for %+v", p))
		return ip
	}
	want, got := q.Octets(), bytes.Clone(ip)
	if want[0]>>4 == 4 {
		copy(got[4:6], want[4:6]) // Identification
		copy(got[10:12], want[10:12])
		copy(got[20:22], want[20:22])
		copy(got[26:28], want[26:28])
	} else {
		copy(got[1:4], append([]byte{got[1]&0xf0 | want[1]&0xf}, want[2:4]...)) // Flow Label
		copy(got[40:42], want[40:42])
		copy(got[46:48], want[46:48])
	}
	return got
}

// tagged is a frame of which the kernel has the outermost tag beside it, with the tag: struct
// tpacket_auxdata of linux/if_packet.h.
func tagged(frame, control []byte) []byte {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil || len(messages) != 1 || len(messages[0].Data) < 20 {
		return frame
	}
	aux := messages[0].Data
	if binary.NativeEndian.Uint32(aux)&unix.TP_STATUS_VLAN_VALID == 0 {
		return frame
	}
	tag := binary.BigEndian.AppendUint16(nil, binary.NativeEndian.Uint16(aux[18:]))
	return slices.Insert(frame, 12, binary.BigEndian.AppendUint16(tag, binary.NativeEndian.Uint16(aux[16:]))...)
}
