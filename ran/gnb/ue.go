package gnb

import (
	"encoding/binary"
	"net/netip"
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/internal/vnet"
)

// fteid is a UPF's tunnel endpoint, the uplink of one UE.
type fteid struct {
	teid    uint32
	address netip.Addr
}

// ue is a UE as the downlink sees it.
type ue struct {
	UE
	out   packetWriter
	added bool // packets to out that are not written yet
	mtu   int  // of the device
	local bool // packets may come that never were on a wire

	packets     atomic.Uint64 // user packets given to the device
	total       atomic.Uint64 // octets of user packets, from the IP header on
	writeErrors atomic.Uint64 // user packets that the device refused
	otherQFI    atomic.Uint64 // user packets of another QoS flow
	noQFI       atomic.Uint64 // user packets without a QFI, where the UE has one
	endMarkers  atomic.Uint64
	errorIndics atomic.Uint64 // Error Indications about the uplink TEID
	told        atomic.Bool   // of one in the log, since the tunnel is there
}

// packetWriter is a [vnet.Writer].
type packetWriter interface {
	Room() int
	Add(packet []byte, flow uint32)
	AddUnfinished(packet []byte, flow uint32, mtu int) (vnet.Super, bool)
	Flush() (lost int, err error)
}

// add gives the device a user packet, together with others by and by.
func (u *ue) add(b []byte) {
	if u.out.Room() == 0 {
		u.flush()
	}
	packets, octets, flow := 1, len(b), flowOf(b)
	if s, ok := u.unfinished(b, flow); ok {
		packets, octets = s.Volume(len(b))
	} else {
		u.out.Add(b, flow)
	}
	u.packets.Add(uint64(packets))
	u.total.Add(uint64(octets))
	u.added = true
}

func (u *ue) unfinished(b []byte, flow uint32) (vnet.Super, bool) {
	if !u.local {
		return vnet.Super{}, false
	}
	return u.out.AddUnfinished(b, flow, u.mtu)
}

// flush writes what was added.
func (u *ue) flush() {
	if lost, err := u.out.Flush(); err != nil {
		u.writeErrors.Add(uint64(lost))
	}
	u.added = false
}

// Flow returns a number that all packets of a flow have and that differs from that of
// others in its high bits, as [vnet.Writer.Add] wants it. ok is false if b does not
// start like an IP packet.
func Flow(b []byte) (flow uint32, ok bool) {
	if !isIP(b) {
		return 0, false
	}
	return flowOf(b), true
}

// flowOf returns a number that all packets of a flow have, good bits first. Of a
// fragment, where ports would be there is something else.
//
// Precondition: isIP(b).
func flowOf(b []byte) uint32 {
	const golden = 0x9e3779b97f4a7c15
	n := binary.NativeEndian
	flow, ports := uint64(0), 40
	if b[0]>>4 == 4 {
		flow, ports = n.Uint64(b[12:])^uint64(b[9]), int(b[0]&0xf)*4
	} else {
		flow = (n.Uint64(b[8:])+n.Uint64(b[16:]))*golden ^ (n.Uint64(b[24:]) + n.Uint64(b[32:])) ^ uint64(b[6])
	}
	if len(b) >= ports+4 {
		flow = flow*golden + uint64(n.Uint32(b[ports:]))
	}
	return uint32(flow * golden >> 32)
}
