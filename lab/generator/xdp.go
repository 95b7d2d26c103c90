package generator

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/internal/xsk"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// xdpOutput sends by an AF_XDP socket on the first queue of a device, without a copy where the
// driver can. Nothing is received: the fill ring stays empty.
//
// A frame is on its way from put until the completion ring brings it back. Which are not says
// the UMEM; of their owners nothing is noted, since all are the kernel's or ours.
type xdpOutput struct {
	*xsk.Socket
	umem *xsk.UMEM
	back []uint64 // what the completion ring brings at once
	made uint32   // frames that are put and not yet handed over
}

const (
	xdpFrames   = 1024
	xdpPatience = time.Second // for a device that takes nothing
)

// openXDP opens a socket on the port.
//
// Errors: [errors.ErrUnsupported] is wrapped where the kernel has no AF_XDP.
func openXDP(port topology.Port) (*xdpOutput, error) {
	o := &xdpOutput{back: make([]uint64, xdpFrames)}
	err := port.Namespace.Do(func() (err error) {
		if o.umem, err = xsk.NewUMEM(xdpFrames, frameOctets); err != nil {
			return err
		}
		o.Socket, err = xsk.Open(xsk.Config{Device: port.Device, Index: port.Index, UMEM: o.umem, Entries: xdpFrames})
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("AF_XDP on %s of %s: %w", port.Device, port.Namespace.Name, err), o.close())
	}
	return o, nil
}

func (o *xdpOutput) room() []byte {
	if len(o.umem.Unused) == 0 {
		return nil
	}
	at := o.umem.Unused[len(o.umem.Unused)-1]
	return o.umem.Memory[at : at+frameOctets]
}

// put fills an entry of the TX ring: there are as many as frames.
func (o *xdpOutput) put(octets int, _ []byte) {
	last := len(o.umem.Unused) - 1
	at := (o.TX.Own + o.made) & (o.TX.Size - 1)
	o.TX.Entries[at] = unix.XDPDesc{Addr: o.umem.Unused[last], Len: uint32(octets)}
	o.umem.Unused = o.umem.Unused[:last]
	o.made++
}

// flush hands over what was put, and takes back what was sent. It returns when there is
// room again.
func (o *xdpOutput) flush() error {
	o.TX.Publish(o.made)
	o.made = 0
	for started := (time.Time{}); ; {
		if err := o.wake(); err != nil {
			return err
		}
		n := o.Completion.Take(o.back)
		o.umem.Unused = append(o.umem.Unused, o.back[:n]...)
		switch {
		case len(o.umem.Unused) > 0 && o.TX.Unread() == 0:
			return nil
		case n > 0 || started.IsZero():
			started = time.Now()
		case time.Since(started) > xdpPatience:
			return fmt.Errorf("AF_XDP: the device has not taken %d frames for %v", o.TX.Unread(), xdpPatience)
		}
	}
}

// wake lets the kernel look at the TX ring, if it wants that. In copy mode a call takes
// 32 frames.
func (o *xdpOutput) wake() error {
	if o.TX.Unread() == 0 || !o.TX.Asleep() {
		return nil
	}
	err := o.Wake()
	switch {
	case err == nil, errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EBUSY), errors.Is(err, unix.ENOBUFS):
		return nil // there is more to do, or no room now
	}
	return fmt.Errorf("AF_XDP: send: %w", err)
}

func (o *xdpOutput) close() error { return errors.Join(o.Socket.Close(), o.umem.Close()) }
