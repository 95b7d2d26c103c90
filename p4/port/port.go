// Package port gives a software switch its ports: Ethernet devices of this machine.
//
// There are two kinds of ports. Packet sockets are for all devices:
//
//	device ─ ring of a packet socket ─► [Receiver]: tags put back, super-packets cut, checksums completed ─► frames
//	frames ─► [Sender] ─ sendmmsg, past the queueing discipline ─► device
//
// AF_XDP sockets are for devices whose driver takes XDP programs, and may spare the copies:
//
//	device ─ program (bpf/p4switch/port.bpf.c) ─► RX ring ─► [Receiver] ─► frames
//	frames ─► [Sender] ─ copied ─► TX ring ─► device
//
// A received frame stays in the kernel's buffer, with headroom for tunnel headers, until it is
// released. Each worker of a switch has its own receiver for each port; the kernel distributes
// flows over them.
//
// Lengths are in octets. Frames are without FCS.
//
// Source: Linux, Documentation/networking/packet_mmap.rst, af_xdp.rst; packet(7).
package port

import "sync/atomic"

// Kind says of which kind a port is to be.
type Kind string

// Kinds.
const (
	Auto   Kind = "auto"   // AF_XDP where nothing of a frame gets lost by it; else packet sockets
	AFXDP  Kind = "af_xdp" // AF_XDP sockets, or an error
	Packet Kind = "packet" // packet sockets
)

// Mode says how the frames of a port come and go.
type Mode string

// Modes.
const (
	ModePacket   Mode = "packet"           // rings of packet sockets
	ModeGeneric  Mode = "af_xdp_generic"   // AF_XDP, behind the driver
	ModeNative   Mode = "af_xdp_native"    // AF_XDP, in the driver
	ModeZeroCopy Mode = "af_xdp_zero_copy" // the driver uses the frames themselves
)

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
	Mode() Mode
	// Receiver returns one of as many as there are workers.
	Receiver(worker int) Receiver
	// NewSender returns one of as many as there are workers, and one more.
	NewSender() (Sender, error)
	Stats() Stats
	Close() error
}

// Stats is what a port has counted.
type Stats struct {
	// RxFrames came. RxFull found no room, or were longer than a frame can be (AF_XDP); RxSenseless could not be cut,
	// completed or read whole.
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
