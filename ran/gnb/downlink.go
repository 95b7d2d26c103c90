package gnb

import (
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/mmsg"
)

// verdict is the result of a datagram from N3. Each has exactly one.
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
// A datagram's way: slot of the arena, maybe with others behind it > permitted peer >
// gtpu.Parse > UE by TEID > the UE's batch, still in its slot, joined to others of
// its flow > device. All of it is hostile: what is not understood ends as a count.
type downlink struct {
	conn *net.UDPConn
	in   *mmsg.Receiver
	mem  arena

	peers  []netip.Prefix
	byTEID map[uint32]*ue
	peerMu sync.Mutex // of byPeer
	byPeer map[fteid]*ue
	paths  *paths
	indic  *errorIndicator
	log    *slog.Logger

	touched []*ue // those with packets in this batch
	counts  [verdicts]atomic.Uint64
	errs    atomic.Uint64 // of the socket
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
			d.message(d.mem.slot(i)[:d.in.Size(i)], d.in.Segment(i), d.in.Source(i))
		}
		d.flush()
	}
}

// message handles datagrams of the same size that the kernel has merged; the last may be shorter.
func (d *downlink) message(b []byte, segment int, from netip.AddrPort) {
	for {
		n := min(segment, len(b))
		d.counts[d.judge(b[:n], from)].Add(1)
		if b = b[n:]; len(b) == 0 {
			return
		}
	}
}

func (d *downlink) judge(b []byte, from netip.AddrPort) verdict {
	if !d.permitted(from.Addr()) {
		return unknownPeer
	}
	h, err := gtpu.Parse(b)
	if err != nil {
		return malformed
	}
	end := gtpu.LenGPDU + h.Length()
	switch h.Type() {
	case gtpu.GPDU:
		return d.deliver(b[len(h):end], h, from)
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

// deliver puts a user packet into its UE's batch.
func (d *downlink) deliver(packet []byte, h gtpu.Header, from netip.AddrPort) verdict {
	u, ok := d.byTEID[h.TEID()]
	if !ok {
		d.indic.send(h.TEID(), from.Addr())
		return unknownTEID
	}
	if !isIP(packet) {
		return badTPDU
	}
	u.countQFI(h)
	if !u.added {
		d.touched = append(d.touched, u)
	}
	u.add(packet)
	return delivered
}

// countQFI counts a user packet that is not of the UE's QoS flow, or does not say of which.
func (u *ue) countQFI(h gtpu.Header) {
	switch qfi, ok := h.QFI(); {
	case u.QFI == 0:
	case !ok:
		u.noQFI.Add(1)
	case qfi != u.QFI:
		u.otherQFI.Add(1)
	}
}

// isIP reports whether b starts like a whole IP header; the UE's kernel checks
// the rest.
func isIP(b []byte) bool {
	if len(b) < inet.LenIPv4 {
		return false
	}
	version := b[0] >> 4
	return version == 4 || version == 6 && len(b) >= inet.LenIPv6
}

// flush writes each UE's batch to its device.
func (d *downlink) flush() {
	for _, u := range d.touched {
		u.flush()
	}
	d.touched = d.touched[:0]
}

// endMarker counts an End Marker: the UPF will send no more to this tunnel.
// No packets of another tunnel wait for it.
func (d *downlink) endMarker(teid uint32) verdict {
	u, ok := d.byTEID[teid]
	if !ok {
		return unknownTEID
	}
	u.endMarkers.Add(1)
	return endMarker
}

// errorIndication counts an Error Indication for the UE of the uplink tunnel, and logs the first
// one of a tunnel: its UPF has no such session.
func (d *downlink) errorIndication(ies []byte, from netip.Addr) verdict {
	teid, peer, ok := parseErrorIndication(ies)
	if !ok {
		return malformed
	}
	d.peerMu.Lock()
	u, ok := d.byPeer[fteid{teid, peer}]
	d.peerMu.Unlock()
	if !ok {
		return unknownTEID
	}
	if u.errorIndics.Add(1); !u.told.Swap(true) {
		d.log.Warn("UPF has no session for a UE", "ue", u.Name, "uplink_teid", teid, "upf", peer, "from", from)
	}
	return errorIndication
}
