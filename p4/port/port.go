// Package port gives a software switch its ports: Ethernet devices of this machine.
//
//	device ─ ring of a packet socket ─► [Receiver]: tags put back, super-packets cut, checksums completed ─► frames
//	frames ─► [Sender] ─ sendmmsg, past the queueing discipline ─► device
//
// A frame that comes stays where the kernel has put it, with room in front for what a tunnel puts around it, and leaves from
// there. Each worker of a switch has a receiver of its own of each port; the kernel spreads flows over them.
//
// Lengths are in octets. Frames are without FCS.
//
// Source: Linux, Documentation/networking/packet_mmap.rst; packet(7).
package port

import "sync/atomic"

// Frame is a frame that came, Buf[Start:End], and the memory that it is in: Buf[:Start] may be overwritten. It stays until
// Release.
type Frame struct {
	Buf        []byte
	Start, End int
}

// Receiver takes frames of a port. It is for one goroutine.
type Receiver interface {
	// Receive returns frames that are there, as many as there is room for. It does not wait.
	Receive(frames []Frame) int
	// Release gives the memory of all frames back that were received.
	Release()
	// Descriptor can be waited at with poll(2).
	Descriptor() int
	// Woken is to be called when poll(2) says that there is an error.
	Woken()
}

// Sender gives frames to a port. It is for one goroutine.
type Sender interface {
	// Send has a frame leave, which has to stay as it is until Flush.
	Send(frame []byte)
	// Flush sends what there is. What the device does not take is dropped and counted.
	Flush()
}

// Port is an Ethernet device.
type Port interface {
	Name() string
	// Receiver returns one of as many as there are workers.
	Receiver(worker int) Receiver
	// NewSender returns one of as many as there are workers, and one more.
	NewSender() (Sender, error)
	Stats() Stats
	Close() error
}

// Stats is what a port has counted.
type Stats struct {
	// RxFrames came. RxFull found no room, RxSenseless could not be cut, completed or read whole.
	RxFrames    uint64 `json:"rx_frames"`
	RxOctets    uint64 `json:"rx_octets"`
	RxFull      uint64 `json:"rx_full"`
	RxSenseless uint64 `json:"rx_senseless"`
	// TxFrames left. TxFull found no room at the device, TxTooLong were longer than its MTU allows, TxErrors could not
	// leave for another reason, such as a device that is down.
	TxFrames  uint64 `json:"tx_frames"`
	TxOctets  uint64 `json:"tx_octets"`
	TxFull    uint64 `json:"tx_full"`
	TxTooLong uint64 `json:"tx_too_long"`
	TxErrors  uint64 `json:"tx_errors"`
}

// counters are Stats that are counted by several goroutines.
type counters struct {
	rxFrames, rxOctets, rxFull, rxSenseless         atomic.Uint64
	txFrames, txOctets, txFull, txTooLong, txErrors atomic.Uint64
}

func (c *counters) stats() Stats {
	return Stats{
		RxFrames: c.rxFrames.Load(), RxOctets: c.rxOctets.Load(), RxFull: c.rxFull.Load(), RxSenseless: c.rxSenseless.Load(),
		TxFrames: c.txFrames.Load(), TxOctets: c.txOctets.Load(), TxFull: c.txFull.Load(), TxTooLong: c.txTooLong.Load(), TxErrors: c.txErrors.Load(),
	}
}
