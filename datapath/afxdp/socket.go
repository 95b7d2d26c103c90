package afxdp

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/internal/xsk"
)

// socket is an AF_XDP socket of a worker, on one queue of a device.
type socket struct {
	*xsk.Socket
	device *device
	queue  int
	lent   int // frames that the kernel has of the fill ring, or has filled and we have not taken

	leaving []unix.XDPDesc // what the vector that is treated sends here
	lived   time.Time      // when frames left as XDP frames last
}

// openSocket makes a socket over the UMEM, which the first one of a worker
// registers; shared is that one, or nil. flags are those of its bind: XDP_COPY,
// XDP_ZEROCOPY.
func openSocket(dev *device, queue int, u *xsk.UMEM, entries int, shared *xsk.Socket, flags uint16) (*socket, error) {
	s, err := xsk.Open(xsk.Config{
		Device: dev.name, Index: dev.index, Queue: queue, UMEM: u, Shared: shared, Entries: entries, Flags: flags, Burst: vector.MaxVector,
	})
	if err != nil {
		return nil, fmt.Errorf("afxdp: %w", err)
	}
	return &socket{Socket: s, device: dev, queue: queue}, nil
}
