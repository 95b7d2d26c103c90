package correctness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// recorder notes every frame of a run that arrives at the gNB, for what counts
// cannot tell. It keeps up with a hundred thousand frames a second.
type recorder struct {
	fd     int
	run    uint32
	ahead  int64 // of CLOCK_REALTIME before CLOCK_MONOTONIC, ns
	stop   atomic.Bool
	ended  sync.WaitGroup
	frames []frame // of receive until it has ended
}

// frame is a G-PDU or an End Marker that arrived.
type frame struct {
	at        int64 // ns
	intended  int64 // ns; 0: of an End Marker
	sent      int64 // ns; 0: of an End Marker
	sequence  uint64
	teid      uint32
	endMarker bool
}

// record begins to note what arrives at p of the run.
func record(p topology.Port, run uint32) (*recorder, error) {
	r := &recorder{run: run, ahead: time.Now().UnixNano() - now()}
	err := p.Namespace.Do(func() (err error) {
		r.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("correctness: recorder: %w", err)
	}
	const room = 256 << 20 // octets: without privilege to have it, lost frames are told
	timeout := unix.NsecToTimeval(int64(20 * time.Millisecond))
	err = errors.Join(
		unix.SetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, room),
		unix.SetsockoptTimeval(r.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout),
		unix.SetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.Bind(r.fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_IP), Ifindex: p.Index}))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("correctness: recorder: %w", err), unix.Close(r.fd))
	}
	r.ended.Go(r.receive)
	return r, nil
}

func networkOrder(v uint16) uint16 { return v<<8 | v>>8 }

// end returns what has arrived, in that order.
func (r *recorder) end() ([]frame, error) {
	r.stop.Store(true)
	r.ended.Wait()
	stats, err := unix.GetsockoptTpacketStats(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err == nil && stats.Drops > 0 {
		err = fmt.Errorf("the recorder lost %d frames", stats.Drops)
	}
	if err = errors.Join(err, unix.Close(r.fd)); err != nil {
		return nil, fmt.Errorf("correctness: %w", err)
	}
	return r.frames, nil
}

// receive reads until it is to stop and nothing has come for a while.
func (r *recorder) receive() {
	packet, control := make([]byte, 1<<16), make([]byte, 128)
	for {
		n, c, _, from, err := unix.Recvmsg(r.fd, packet, control, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN) && !r.stop.Load():
			continue
		case err != nil:
			return
		}
		if l, ok := from.(*unix.SockaddrLinklayer); ok && l.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		if f, ok := r.parse(packet[:n]); ok {
			f.at = arrival(control[:c]) - r.ahead
			r.frames = append(r.frames, f)
		}
	}
}

// arrival is the kernel's time stamp, of CLOCK_REALTIME.
func arrival(control []byte) int64 {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= 16 {
			return int64(binary.NativeEndian.Uint64(m.Data))*1e9 + int64(binary.NativeEndian.Uint64(m.Data[8:]))
		}
	}
	return 0
}

// parse takes frames of our run and End Markers.
func (r *recorder) parse(b []byte) (f frame, ok bool) {
	const outer = inet.LenEthernet + 20 + 8
	if len(b) < outer || b[23] != unix.IPPROTO_UDP || binary.BigEndian.Uint16(b[36:]) != gtpu.Port {
		return f, false
	}
	h, err := gtpu.Parse(b[outer:])
	if err != nil {
		return f, false
	}
	f.teid = h.TEID()
	if h.Type() == gtpu.EndMarker {
		f.endMarker = true
		return f, true
	}
	user := b[outer+len(h):]
	if h.Type() != gtpu.GPDU || len(user) < userHeaders {
		return f, false
	}
	stamp, err := generator.DecodeStamp(user[userHeaders:])
	if err != nil || stamp.Run != r.run {
		return f, false
	}
	f.intended, f.sent, f.sequence = int64(stamp.IntendedNs), int64(stamp.SentNs), stamp.Sequence
	return f, true
}
