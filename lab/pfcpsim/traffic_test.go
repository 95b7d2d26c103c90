package pfcpsim

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/gtpu"
)

// modelTraffic carries packets through the model of a datapath.
type modelTraffic struct {
	upf *stages.UPF

	mu   sync.Mutex
	sent []Outcome
}

func (t *modelTraffic) Uplink(p Packet) (Outcome, error) {
	inner := userPacket(p)
	gpdu := append(gtpu.AppendGPDU(nil, p.TEID, gtpu.PDUTypeUplink, p.QFI, len(inner)), inner...)
	if p.EndMarker {
		gpdu = gtpu.AppendEndMarker(nil, p.TEID, gtpu.PDUTypeDownlink, 0)
	}
	outer := udp(p.Peer, p.N3, gtpu.Port, gtpu.Port, gpdu)
	return outcome(t.upf.FromN3(frame(ipPacket(p.Peer, p.N3, 17, outer)))), nil
}

func (t *modelTraffic) Downlink(p Packet) (Outcome, error) {
	return outcome(t.upf.FromN6(frame(userPacket(p)))), nil
}

func (t *modelTraffic) Sent() []Outcome {
	t.mu.Lock()
	defer t.mu.Unlock()
	sent := t.sent
	t.sent = nil
	return sent
}

// left takes what the model sends of its own accord.
func (t *modelTraffic) left(packet []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent = append(t.sent, tunnelled(packet))
}

// outcome says what the model did with a frame.
func outcome(f stages.Frame) Outcome {
	switch {
	case f.Reason == datapath.PassBuffer:
		return Outcome{Buffered: true}
	case f.Reason != datapath.ReasonNone:
		return Outcome{Drop: f.Reason.String()}
	case f.Tunnel:
		return tunnelled(f.Packet)
	}
	return Outcome{}
}

// tunnelled reads where a GTP-U packet goes.
func tunnelled(packet []byte) Outcome {
	at, to := 20, netip.AddrFrom4([4]byte(packet[16:20]))
	if packet[0]>>4 == 6 {
		at, to = 40, netip.AddrFrom16([16]byte(packet[24:40]))
	}
	h, err := gtpu.Parse(packet[at+8:])
	if err != nil {
		return Outcome{Drop: err.Error()}
	}
	qfi, _ := h.QFI()
	return Outcome{Peer: to, TEID: h.TEID(), QFI: qfi, EndMarker: h.Type() == gtpu.EndMarker}
}

// userPacket builds a UE's packet, or one to it.
func userPacket(p Packet) []byte {
	if p.RouterSolicitation {
		icmp := make([]byte, 8)
		icmp[0] = 133
		binary.BigEndian.PutUint16(icmp[2:], checksum(pseudo(p.From, p.To, 58, icmp)))
		b := ipPacket(p.From, p.To, 58, icmp)
		b[7] = 255
		return b
	}
	return ipPacket(p.From, p.To, 17, udp(p.From, p.To, orPort(p.FromPort, 4000), orPort(p.ToPort, 5000), make([]byte, p.Size)))
}

func orPort(port, otherwise uint16) uint16 {
	if port == 0 {
		return otherwise
	}
	return port
}

func udp(from, to netip.Addr, fromPort, toPort uint16, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, fromPort)
	b = binary.BigEndian.AppendUint16(b, toPort)
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(payload)))
	b = append(append(b, 0, 0), payload...)
	binary.BigEndian.PutUint16(b[6:], checksum(pseudo(from, to, 17, b)))
	return b
}

func ipPacket(from, to netip.Addr, protocol byte, payload []byte) []byte {
	if from.Is6() {
		b := []byte{0x60, 0, 0, 0, 0, 0, protocol, 64}
		binary.BigEndian.PutUint16(b[4:], uint16(len(payload)))
		return append(append(append(b, from.AsSlice()...), to.AsSlice()...), payload...)
	}
	b := []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol, 0, 0}
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(payload)))
	b = append(append(b, from.AsSlice()...), to.AsSlice()...)
	binary.BigEndian.PutUint16(b[10:], checksum(b))
	return append(b, payload...)
}

// pseudo is what the checksum of UDP and ICMPv6 counts.
func pseudo(from, to netip.Addr, protocol byte, b []byte) []byte {
	p := append(from.AsSlice(), to.AsSlice()...)
	p = binary.BigEndian.AppendUint32(p, uint32(len(b)))
	return append(append(p, 0, 0, 0, protocol), b...)
}

func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(b[i]) << 8
		if i+1 < len(b) {
			sum += uint32(b[i+1])
		}
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// frame puts a packet into an Ethernet frame.
func frame(packet []byte) []byte {
	b := make([]byte, 14, 14+len(packet))
	binary.BigEndian.PutUint16(b[12:], 0x0800)
	if packet[0]>>4 == 6 {
		binary.BigEndian.PutUint16(b[12:], 0x86dd)
	}
	return append(b, packet...)
}

// TestPacketCount: what is no number is not taken for the number that it begins with.
func TestPacketCount(t *testing.T) {
	for value, want := range map[any]int{3: 3, uint64(4): 4, "5": 5, "5x": 0, 2.5: 0} {
		p, err := newPacket(yaml.MapSlice{{Key: "count", Value: value}})
		if p.Count != want || errors.Is(err, ErrForm) != (want == 0) {
			t.Errorf("%v: got %d, %v, want %d", value, p.Count, err, want)
		}
	}
}
