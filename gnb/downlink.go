package gnb

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.zx2c4.com/wireguard/tun"

	"plumbline/gtpu"
	"plumbline/mmsg"
)

// headroom is what lies in a slot before a datagram. With the 8 octets of a GTP-U
// header before a user packet there is always room for a virtio header.
const headroom = 16

// verdict is what became of a datagram from N3. Each has exactly one.
type verdict int

const (
	delivered verdict = iota
	malformed
	unknownPeer
	unknownTEID
	badTPDU
	echoRequest
	echoResponse
	errorIndication
	endMarker
	otherMessage
	verdicts // how many there are
)

// downlink takes everything that arrives on N3 and gives user packets to the
// UE's device. One goroutine runs it.
//
// A datagram's way: slot of the arena > permitted peer > gtpu.Parse > UE by
// TEID > the UE's batch, still in its slot > device, which joins TCP segments.
// All of it is hostile: what is not understood ends as a count.
type downlink struct {
	conn *net.UDPConn
	in   *mmsg.Receiver
	mem  arena

	peers  []netip.Prefix
	byTEID map[uint32]*ue
	byPeer map[fteid]*ue
	paths  *paths
	indic  *errorIndicator
	log    *slog.Logger

	touched []*ue // those with packets in this batch
	counts  [verdicts]atomic.Uint64
	errs    atomic.Uint64 // of the socket
}

// fteid is a UPF's tunnel endpoint, the uplink of one UE.
type fteid struct {
	teid    uint32
	address netip.Addr
}

// ue is a UE as the downlink sees it.
type ue struct {
	UE
	device tun.Device
	batch  [][]byte // user packets in their slots, vnetHeader octets before each
	octets int      // of the batch

	super io.Writer // device, for packets whose virtio header is written here; nil: all are whole
	mtu   int       // of the device

	packets     atomic.Uint64 // user packets given to the device
	total       atomic.Uint64 // octets of user packets, from the IP header on
	writeErrors atomic.Uint64 // writes that the device refused
	otherQFI    atomic.Uint64 // user packets of another QoS flow
	endMarkers  atomic.Uint64
	errorIndics atomic.Uint64 // Error Indications about the uplink TEID
}

// run delivers packets until the socket is closed.
func (d *downlink) run() {
	for {
		n, err := d.in.Next()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			d.errs.Add(1)
			time.Sleep(retryDelay)
			continue
		}
		for i := range n {
			slot := d.mem.slot(i)
			d.receive(slot[:headroom+d.in.Size(i)], d.in.Source(i))
		}
		d.flush()
	}
}

// receive handles the datagram that follows the headroom of slot.
func (d *downlink) receive(slot []byte, from netip.AddrPort) {
	d.counts[d.judge(slot, from)].Add(1)
}

func (d *downlink) judge(slot []byte, from netip.AddrPort) verdict {
	if !d.permitted(from.Addr()) {
		return unknownPeer
	}
	b := slot[headroom:]
	h, err := gtpu.Parse(b)
	if err != nil {
		return malformed
	}
	end := gtpu.LenGPDU + h.Length()
	switch h.Type() {
	case gtpu.GPDU:
		return d.deliver(slot[:headroom+end], headroom+len(h), h, from)
	case gtpu.EchoRequest:
		d.paths.answer(h, from)
		return echoRequest
	case gtpu.EchoResponse:
		d.paths.answered(h, from.Addr())
		return echoResponse
	case gtpu.ErrorIndication:
		return d.errorIndication(b[len(h):end], from.Addr())
	case gtpu.EndMarker:
		return d.endMarker(h.TEID())
	}
	return otherMessage
}

func (d *downlink) permitted(from netip.Addr) bool {
	for _, p := range d.peers {
		if p.Contains(from) {
			return true
		}
	}
	return len(d.peers) == 0
}

// deliver puts the user packet slot[start:] into its UE's batch.
func (d *downlink) deliver(slot []byte, start int, h gtpu.Header, from netip.AddrPort) verdict {
	u, ok := d.byTEID[h.TEID()]
	if !ok {
		d.indic.send(h.TEID(), from.Addr())
		return unknownTEID
	}
	if !isIP(slot[start:]) {
		return badTPDU
	}
	if qfi, ok := h.QFI(); ok && u.QFI != 0 && qfi != u.QFI {
		u.otherQFI.Add(1)
	}
	if v, ok := u.unfinished(slot[start:]); ok {
		u.writeSuper(slot, start, v)
		return delivered
	}
	if len(u.batch) == 0 {
		d.touched = append(d.touched, u)
	}
	u.batch = append(u.batch, slot[start-vnetHeader:])
	u.octets += len(slot) - start
	return delivered
}

// isIP reports whether b starts like a whole IP header; the UE's kernel checks
// the rest.
func isIP(b []byte) bool {
	const lenIPv4, lenIPv6 = 20, 40
	if len(b) < lenIPv4 {
		return false
	}
	version := b[0] >> 4
	return version == 4 || version == 6 && len(b) >= lenIPv6
}

// flush writes each UE's batch to its device.
func (d *downlink) flush() {
	for _, u := range d.touched {
		u.flush()
	}
	d.touched = d.touched[:0]
}

// flush writes the batch.
func (u *ue) flush() {
	if len(u.batch) == 0 {
		return
	}
	u.packets.Add(uint64(len(u.batch)))
	u.total.Add(uint64(u.octets))
	if _, err := u.device.Write(u.batch, vnetHeader); err != nil {
		u.writeErrors.Add(1)
	}
	u.batch, u.octets = u.batch[:0], 0
}

// endMarker counts an End Marker: the UPF will send no more to this tunnel.
// There is no other tunnel whose packets would have to wait for it.
func (d *downlink) endMarker(teid uint32) verdict {
	u, ok := d.byTEID[teid]
	if !ok {
		return unknownTEID
	}
	u.endMarkers.Add(1)
	return endMarker
}

// errorIndication counts an Error Indication for the UE whose uplink it is
// about, and logs a UE's first: its UPF has no such session.
func (d *downlink) errorIndication(ies []byte, from netip.Addr) verdict {
	teid, peer, ok := parseErrorIndication(ies)
	if !ok {
		return malformed
	}
	u, ok := d.byPeer[fteid{teid, peer}]
	if !ok {
		return unknownTEID
	}
	if u.errorIndics.Add(1) == 1 {
		d.log.Warn("UPF has no session for a UE", "ue", u.Name, "uplink_teid", teid, "upf", peer, "from", from)
	}
	return errorIndication
}
