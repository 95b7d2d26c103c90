package probetest

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Wire is one end of an Ethernet link, as the frames have it that it sends.
type Wire struct {
	Device    string
	MAC, Peer net.HardwareAddr // own address, and the one to send to
	VLAN      uint16           // of a tag in each frame; 0: none

	// From and To are the addresses of the outer headers. Without them the wire is N6:
	// user packets are sent as they are.
	From, To netip.Addr
	// Downlink: the PDU Session Container says so.
	Downlink bool
}

// outer is how many octets stand between Ethernet header and GTP-U header.
func (w *Wire) outer() int {
	if w.From.Is6() {
		return inet.LenIPv6 + inet.LenUDP
	}
	return inet.LenIPv4 + inet.LenUDP
}

// gpdu is a user packet in its tunnel; QFI 0: without a PDU Session Container.
func (w *Wire) gpdu(teid uint32, qfi byte, packet []byte) []byte {
	kind := byte(gtpu.PDUTypeUplink)
	if w.Downlink {
		kind = gtpu.PDUTypeDownlink
	}
	return append(gtpu.AppendGPDU(nil, teid, kind, qfi, len(packet)), packet...)
}

// datagram is a G-PDU with the headers of UDP and IP.
func (w *Wire) datagram(teid uint32, qfi byte, packet []byte) []byte {
	h := header{from: w.From, to: w.To, protocol: unix.IPPROTO_UDP}
	return h.packet(udp(gtpu.Port, gtpu.Port, w.gpdu(teid, qfi, packet)))
}

// frame is an IP packet with the Ethernet header of the wire.
func (w *Wire) frame(packet []byte) []byte {
	b := append(append(make([]byte, 0, inet.LenEthernet+inet.LenTag+len(packet)), w.Peer...), w.MAC...)
	if w.VLAN != 0 {
		b = be.AppendUint16(be.AppendUint16(b, unix.ETH_P_8021Q), w.VLAN)
	}
	kind := uint16(unix.ETH_P_IP)
	if packet[0]>>4 == 6 {
		kind = unix.ETH_P_IPV6
	}
	return append(be.AppendUint16(b, kind), packet...)
}

// open returns a packet socket on the device in the namespace of the calling thread.
// Frames of protocol are received, in network byte order; 0: none.
func (w *Wire) open(protocol uint16) (int, error) {
	device, err := net.InterfaceByName(w.Device)
	if err != nil {
		return -1, fmt.Errorf("device %s: %w", w.Device, err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, room),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: device.Index}))
	if err != nil {
		return -1, errors.Join(fmt.Errorf("packet socket on %s: %w", w.Device, err), unix.Close(fd))
	}
	return fd, nil
}

// room is how many octets may wait to be read: a forwarder that lost packets by itself
// could not say what became of them.
const room = 64 << 20
