package generator

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/mmsg"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// packetOutput sends by an AF_PACKET socket: any device takes that, past queueing
// disciplines.
type packetOutput struct {
	file    *os.File
	sender  *mmsg.Sender
	frames  [packetBatch][1][]byte
	lengths int // of frames that are put
}

const (
	packetBatch    = 64
	packetPatience = time.Second // for a device that takes nothing
	frameOctets    = 4096        // of memory for a frame
)

// openPacket opens a socket on the port. It may be called in any namespace.
func openPacket(port topology.Port) (*packetOutput, error) {
	o := &packetOutput{}
	err := port.Namespace.Do(func() error {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			return fmt.Errorf("packet socket (needs CAP_NET_RAW): %w", err)
		}
		o.file = os.NewFile(uintptr(fd), "packet socket")
		return errors.Join(
			unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1),
			unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: port.Index})) // protocol 0: receives nothing
	})
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	conn, err := o.file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	o.sender = mmsg.NewSender(conn, packetBatch)
	memory := make([]byte, packetBatch*frameOctets)
	for i := range o.frames {
		o.frames[i][0] = memory[i*frameOctets : (i+1)*frameOctets]
	}
	return o, nil
}

func (o *packetOutput) room() []byte {
	if o.lengths == packetBatch {
		return nil
	}
	return o.frames[o.lengths][0][:frameOctets]
}

func (o *packetOutput) put(octets int, request []byte) {
	f := &o.frames[o.lengths]
	f[0] = f[0][:octets]
	o.sender.Add(f[:])
	if request != nil {
		o.sender.Control(request)
	}
	o.lengths++
}

// flush sends the frames. A device that has no room now is asked again.
func (o *packetOutput) flush() error {
	started := time.Time{}
	for o.lengths > 0 {
		sent, err := o.sender.Flush()
		switch {
		case err == nil:
			o.sender.Reset()
			o.lengths = 0
		case !errors.Is(err, syscall.ENOBUFS):
			return fmt.Errorf("send %d frames: %w", o.lengths, err)
		case sent > 0 || started.IsZero():
			started = time.Now()
		case time.Since(started) > packetPatience:
			return fmt.Errorf("the device takes no frame for %v: %w", packetPatience, err)
		}
	}
	return nil
}

func (o *packetOutput) close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}
