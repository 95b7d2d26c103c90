package xdp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/stages"
	"github.com/plumbline-upf/plumbline/internal/checksum"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Ethernet data networks are those of Ethernet PDU sessions: bpf/ether.h. Frames to
// groups are passed to packet sockets on their devices, and the slow path bridges
// them; it sends through these sockets, too. All other frames are the programs': with
// TC, whose hook is behind packet sockets, the sockets would see them as well.

// etherPort is the socket of an Ethernet data network.
type etherPort struct {
	fd      int
	network int // number of the data network, from 1 on
	index   int // of the device
}

// Octets in front of each frame of the socket: struct virtio_net_hdr, which says
// what is left to be done to the frame.
const (
	lenVirtio     = 10
	needsChecksum = 0x01 // VIRTIO_NET_HDR_F_NEEDS_CSUM
)

// etherIdle is how long a reader waits before it looks whether it is to end, and
// what MAC addresses have not been seen for long.
const etherIdle = 200 * time.Millisecond

// startEthernet opens the sockets of the Ethernet data networks and starts to
// read them.
func (d *Driver) startEthernet() error {
	var ports []*etherPort
	var done sync.WaitGroup
	ended := make(chan struct{})
	d.detach = append(d.detach, func() error {
		close(ended)
		done.Wait()
		var errs []error
		for _, p := range ports {
			errs = append(errs, unix.Close(p.fd))
		}
		return errors.Join(errs...)
	})
	for i := range d.cfg.N6.Networks {
		if !d.cfg.N6.Networks[i].Ethernet {
			continue
		}
		dev := d.ports.n6[i].device
		p, err := openEther(dev.index, i+1)
		if err != nil {
			return fmt.Errorf("xdp: packet socket on %s (needs CAP_NET_RAW): %w", dev.name, err)
		}
		ports = append(ports, p)
		raw := d.slow.send.(*rawSender)
		for _, way := range d.networks[i].ways() {
			raw.ether[way] = p
		}
	}
	for _, p := range ports {
		done.Go(func() { d.slow.readEther(p, ended) })
	}
	return nil
}

// toGroups is a filter of packet sockets: frames to groups.
//
// Source: Linux include/uapi/linux/filter.h.
var toGroups = []unix.SockFilter{
	{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: 0}, // the destination's first octet
	{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: 1, Jf: 1},
	{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 18},
	{Code: unix.BPF_RET | unix.BPF_K},
}

func openEther(index, network int) (*etherPort, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	idle := unix.NsecToTimeval(int64(etherIdle))
	err = errors.Join(
		unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(toGroups)), Filter: &toGroups[0]}),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &idle),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP,
			&unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8, Ifindex: index}))
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return &etherPort{fd, network, index}, nil
}

// readEther treats the frames of an Ethernet data network until ended is closed.
func (s *slowPath) readEther(p *etherPort, ended <-chan struct{}) {
	frame, control := make([]byte, 1<<16), make([]byte, 64)
	s.d.ending.fail(s.d.readAll("an Ethernet data network", func() error {
		select {
		case <-ended:
			return net.ErrClosed
		default:
		}
		n, c, _, _, err := unix.Recvmsg(p.fd, frame[4:], control, 0)
		switch {
		case err == nil && n >= lenVirtio+inet.LenEthernet:
			s.readFrame(p, frame[:4+n], control[:c])
		case err == nil, errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			s.stages.Age()
		case errors.Is(err, unix.ENETDOWN): // said once, and the next read waits
		default:
			return err
		}
		return nil
	}))
}

// readFrame treats a frame as a packet socket gives it.
func (s *slowPath) readFrame(p *etherPort, b, control []byte) {
	f, reason := whole(b, control)
	if reason != datapath.ReasonNone {
		s.count(reason)
		return
	}
	s.fromEthernet(p.network, f)
}

// whole makes the frame what it is on the wire: with the tag that the kernel has
// taken off, and with the checksum that it has left to others. b is room for a
// tag, struct virtio_net_hdr and frame. One that has still to be cut into
// segments is too long.
//
// Source: Linux include/uapi/linux/virtio_net.h, if_packet.h (tpacket_auxdata).
func whole(b, control []byte) ([]byte, datapath.Reason) {
	header, f := b[4:4+lenVirtio], b[4+lenVirtio:]
	if header[1] != 0 { // gso_type
		return nil, datapath.DropMTU
	}
	if header[0]&needsChecksum != 0 {
		start, at := int(binary.NativeEndian.Uint16(header[6:])), int(binary.NativeEndian.Uint16(header[8:]))
		if start+at+2 > len(f) {
			return nil, datapath.DropEthernetShort
		}
		binary.BigEndian.PutUint16(f[start+at:], upperChecksum(f[start:])) // it holds the sum of the pseudo header
	}
	tpid, tci, ok := strippedTag(control)
	if !ok {
		return f, datapath.ReasonNone
	}
	tagged := b[lenVirtio:]
	copy(tagged, f[:12])
	binary.BigEndian.PutUint16(tagged[12:], tpid)
	binary.BigEndian.PutUint16(tagged[14:], tci)
	return tagged, datapath.ReasonNone
}

// strippedTag returns the VLAN tag in a struct tpacket_auxdata.
func strippedTag(control []byte) (tpid, tci uint16, ok bool) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0, 0, false
	}
	for _, m := range messages {
		if m.Header.Level != unix.SOL_PACKET || m.Header.Type != unix.PACKET_AUXDATA || len(m.Data) < 20 {
			continue
		}
		status := binary.NativeEndian.Uint32(m.Data)
		if status&unix.TP_STATUS_VLAN_VALID == 0 {
			return 0, 0, false
		}
		tpid = unix.ETH_P_8021Q
		if status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
			tpid = binary.NativeEndian.Uint16(m.Data[18:])
		}
		return tpid, binary.NativeEndian.Uint16(m.Data[16:]), true
	}
	return 0, 0, false
}

// upperChecksum is that of UDP or TCP over b, which holds the sum of the pseudo header; never 0,
// which would mean that there is none. Source: RFC 768.
func upperChecksum(b []byte) uint16 {
	if c := checksum.Of(b); c != 0 {
		return c
	}
	return 0xffff
}

// fromEthernet treats a frame to a group that came from an Ethernet data network.
func (s *slowPath) fromEthernet(network int, frame []byte) {
	s.d.mu.RLock()
	defer s.d.mu.RUnlock()
	s.finishAll(s.stages.Ethernet(network, frame))
}

// ofUE is what EXCEPTION_OF_UE is in the number of a network.
const ofUE = 1 << 15

// bridge treats a frame on an Ethernet data network with the driver's lock held for
// reading. It returns what becomes of it at the last session to which it goes.
func (s *slowPath) bridge(e exception) stages.Out {
	network := s.d.numbered(uint32(e.network &^ ofUE))
	if e.network&ofUE != 0 {
		return s.finishAll(s.stages.OnNetwork(network, e.frame))
	}
	return s.finishAll(s.stages.Ethernet(network, e.frame))
}

func (s *slowPath) finishAll(all []stages.Out) (last stages.Out) {
	for _, out := range all {
		s.finish(out, came{})
		last = out
	}
	return last
}

func (r *rawSender) ethernet(frame []byte, way int) error {
	p := r.ether[way]
	if p == nil {
		return unix.EHOSTUNREACH // its network is for IP
	}
	out := append(make([]byte, lenVirtio, lenVirtio+len(frame)), frame...)
	return unix.Sendto(p.fd, out, unix.MSG_DONTWAIT, &unix.SockaddrLinklayer{Ifindex: p.index})
}
