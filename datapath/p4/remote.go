package p4

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	p4rt "github.com/p4lang/p4runtime/go/p4/v1"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/afxdp"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// Target is a P4Runtime server outside of the process.
type Target struct {
	Address    string // host:port
	DeviceID   uint64
	ElectionID uint64
	Replace    bool // also a pipeline that is another one
	// Ports are the numbers of the target's ports, by the names of the TAP devices that stand
	// for them here.
	Ports map[string]uint32
	TLS   *tls.Config // nil: plain text
}

// remote is a target outside of the process. Each of its ports is a TAP device here, which has
// the port's addresses: what the pipeline hands to the CPU comes in there, and what the stages
// and the kernel send by it goes out of the port.
//
//	target ─► packet-in ─► TAP ─┬► AF_XDP ─► stages      G-PDUs and user packets
//	target ◄─ packet-out ◄─ TAP ┴► kernel                all else: ARP, BGP, ping
type remote struct {
	log    *slog.Logger
	target *Target
	taps   []*tap
	byPort map[uint32]*tap
	notify func()
	learn  func(frame []byte)

	client  atomic.Pointer[client]
	sending sync.Mutex    // of the stream
	lostIn  atomic.Uint64 // frames that no TAP device took
	lostOut atomic.Uint64 // frames that the target did not take
	refused sync.Once
	running sync.WaitGroup
	stop    int // eventfd
}

// tap is a port.
type tap struct {
	name string
	port uint32
	fd   int
	mac  atomic.Uint64 // see [macNumber]; 0: not known yet
}

// accepts reports whether a frame is for the device, as the filter of a network card does: a
// switch hands over all that its port has received.
func (t *tap) accepts(frame []byte) bool {
	if len(frame) < inet.LenEthernet {
		return false
	}
	own := t.mac.Load()
	return frame[0]&1 != 0 || own == 0 || macNumber([6]byte(frame)) == own
}

// setMACs notes the addresses of the devices.
func (r *remote) setMACs(ports []afxdp.Port) {
	for _, p := range ports {
		for _, t := range r.taps {
			if t.name == p.Name {
				t.mac.Store(macNumber(p.MAC))
			}
		}
	}
}

// maxFrame is how long a frame of a port is at most, octets.
const maxFrame = 1 << 16

// openRemote opens the TAP devices of the ports, in the network namespace of the caller.
func openRemote(t *Target, log *slog.Logger) (*remote, error) {
	r := &remote{log: log, target: t, byPort: map[uint32]*tap{}}
	var err error
	if r.stop, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	for name, port := range t.Ports {
		fd, err := openTAP(name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("p4: port %d: TAP device %s: %w", port, name, err), r.close())
		}
		one := &tap{name: name, port: port, fd: fd}
		r.taps, r.byPort[port] = append(r.taps, one), one
	}
	return r, nil
}

// openTAP attaches to a TAP device, which is made if there is none.
func openTAP(name string) (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("/dev/net/tun: %w", err)
	}
	ask, err := unix.NewIfreq(name)
	if err == nil {
		ask.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, ask)
	}
	if err != nil {
		return -1, errors.Join(os.NewSyscallError("TUNSETIFF", err), unix.Close(fd))
	}
	return fd, nil
}

// dial makes a connection to the target.
func (t *Target) dial() (*grpc.ClientConn, error) {
	c := insecure.NewCredentials()
	if t.TLS != nil {
		c = credentials.NewTLS(t.TLS)
	}
	conn, err := grpc.NewClient(t.Address, grpc.WithTransportCredentials(c),
		grpc.WithMaxHeaderListSize(16<<20), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return nil, fmt.Errorf("p4: target %s: %w", t.Address, err)
	}
	return conn, nil
}

// portOf is the number of the port of a device; 0: it is none.
func (r *remote) portOf(ports []afxdp.Port) func(device int) uint64 {
	return func(device int) uint64 { return uint64(r.target.Ports[ports[device].Name]) }
}

// NewLane implements [afxdp.Front]: all frames that come to a TAP device are for the stages.
func (r *remote) NewLane() afxdp.Lane { return nil }

// Changed implements [afxdp.Front].
func (r *remote) Changed() { r.notify() }

// packetIn takes a frame that the target hands to the CPU.
func (r *remote) packetIn(c *client, in *p4rt.PacketIn) {
	port, reason := uint32(0), datapath.ReasonNone
	for _, m := range in.GetMetadata() {
		switch m.GetMetadataId() {
		case c.schema.ports[inPort]:
			port = uint32(value(m.GetValue()))
		case c.schema.ports[inReason]:
			reason = datapath.Reason(value(m.GetValue()))
		}
	}
	t := r.byPort[port]
	if t == nil {
		r.lostIn.Add(1)
		return
	}
	if !t.accepts(in.GetPayload()) {
		return
	}
	if reason == datapath.PassRules {
		r.learn(in.GetPayload())
	}
	if _, err := unix.Write(t.fd, in.GetPayload()); err != nil {
		r.lostIn.Add(1)
	}
}

// Metadata of packets from and to the target: p4/headers.p4.
const inPort, inReason, outPort = "packet_in.ingress_port", "packet_in.reason", "packet_out.egress_port"

func value(b []byte) uint64 {
	var all [8]byte
	if len(b) > len(all) {
		return 0
	}
	copy(all[len(all)-len(b):], b)
	return binary.BigEndian.Uint64(all[:])
}

// start lets frames go from the devices to the target.
func (r *remote) start() {
	for _, t := range r.taps {
		r.running.Go(func() { r.forward(t) })
	}
}

// forward sends what leaves a TAP device to its port, until the end.
func (r *remote) forward(t *tap) {
	wait := []unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLIN}, {Fd: int32(r.stop), Events: unix.POLLIN}}
	buf := make([]byte, maxFrame)
	for {
		n, err := unix.Read(t.fd, buf)
		switch {
		case err == nil && n > 0:
			r.packetOut(t.port, buf[:n])
			continue
		case err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EIO): // EIO: it is down
			r.log.Error("port", "device", t.name, "err", os.NewSyscallError("read", err))
			return
		}
		wait[0].Revents, wait[1].Revents = 0, 0
		if _, err := unix.Poll(wait, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if wait[1].Revents != 0 {
			return
		}
	}
}

// packetOut has the target send a frame. While it is away frames are lost, and counted.
func (r *remote) packetOut(port uint32, frame []byte) {
	c := r.client.Load()
	if c == nil {
		r.lostOut.Add(1)
		return
	}
	out := &p4rt.PacketOut{Payload: frame, Metadata: []*p4rt.PacketMetadata{{MetadataId: c.schema.ports[outPort], Value: number(uint64(port))}}}
	r.sending.Lock()
	defer r.sending.Unlock()
	if err := c.stream.Send(&p4rt.StreamMessageRequest{Update: &p4rt.StreamMessageRequest_Packet{Packet: out}}); err != nil {
		r.lostOut.Add(1)
	}
}

// packetRefused notes that the target does not send a frame; the first is logged.
// Source: P4Runtime 1.4.1, 16.2 (StreamError).
func (r *remote) packetRefused(e *p4rt.StreamError) {
	r.lostOut.Add(1)
	r.refused.Do(func() {
		port := uint64(0)
		for _, m := range e.GetPacketOut().GetPacketOut().GetMetadata() {
			port = value(m.GetValue())
		}
		r.log.Error("the target refuses to send a frame; others are counted as tx_refused", "port", port, "err", e.GetMessage())
	})
}

func (r *remote) close() error {
	_, _ = unix.Write(r.stop, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // never full
	r.running.Wait()
	errs := []error{unix.Close(r.stop)}
	for _, t := range r.taps {
		errs = append(errs, unix.Close(t.fd))
	}
	return errors.Join(errs...)
}

// connect makes a client of the target, and takes its packets.
func (r *remote) connect(ctx context.Context, p *pipeline) (*client, error) {
	conn, err := r.target.dial()
	if err != nil {
		return nil, err
	}
	var c *client
	ready := make(chan struct{})
	c, err = connect(ctx, conn, r.target.DeviceID, r.target.ElectionID, p, r.target.Replace, func(m *p4rt.StreamMessageResponse) {
		switch <-ready; {
		case c == nil:
		case m.GetPacket() != nil:
			r.packetIn(c, m.GetPacket())
		case m.GetError().GetPacketOut() != nil:
			r.packetRefused(m.GetError())
		}
	})
	close(ready)
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", r.target.Address, errors.Join(err, conn.Close()))
	}
	return c, nil
}
