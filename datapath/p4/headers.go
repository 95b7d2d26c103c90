package p4

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/inet"
)

// What a peer puts in front of user packets (a PDU Session Container or none, a sequence
// number) is not in the rules, but usage counts user packets, and a target whole frames. So an
// entry says how many octets are in front, and packets with others go to the CPU: there they
// are looked at, and the entry is changed.

// headerSeen is what a G-PDU that went to the CPU has in front of the user packet.
type headerSeen struct {
	key    datapath.Key
	octets uint8
}

// headerPause is how often the headers of a key are changed at most: a peer that sends now
// these and now others has the others treated by the CPU.
const headerPause = time.Second

// seen looks at a frame that went to the CPU since its rules do not fit. It does not wait.
func (d *Driver) seen(frame []byte) {
	h, ok := lookAt(frame)
	if !ok {
		return
	}
	select {
	case d.headers <- h:
	default: // the next one will do
	}
}

// lookAt finds what stands in front of the user packet of a G-PDU; ok: it is one that the
// pipeline knows.
func lookAt(frame []byte) (h headerSeen, ok bool) {
	at := inet.LenEthernet
	if len(frame) < at+inet.LenIPv4 {
		return h, false
	}
	etherType := binary.BigEndian.Uint16(frame[12:])
	if etherType == inet.EtherCTag {
		at += inet.LenTag
		if len(frame) < at+inet.LenIPv4 {
			return h, false
		}
		etherType = binary.BigEndian.Uint16(frame[at-2:])
	}
	switch {
	case etherType == inet.EtherIPv4 && frame[at] == 0x45 && binary.BigEndian.Uint16(frame[at+6:])&maskFragment == 0 && frame[at+9] == inet.ProtoUDP:
		h.key.Local = netip.AddrFrom4([4]byte(frame[at+16 : at+20]))
		at += inet.LenIPv4
	case etherType == inet.EtherIPv6 && len(frame) >= at+inet.LenIPv6 && frame[at]>>4 == 6 && frame[at+6] == inet.ProtoUDP:
		h.key.Local = netip.AddrFrom16([16]byte(frame[at+24 : at+40]))
		at += inet.LenIPv6
	default:
		return h, false
	}
	const optional, container = 4, 4
	if len(frame) < at+inet.LenUDP+inet.LenGTPU+optional+container {
		return h, false
	}
	message := frame[at+inet.LenUDP:]
	if binary.BigEndian.Uint16(frame[at+2:]) != gtpu.Port || message[0]&0xf8 != 0x30 || message[1] != gtpu.GPDU {
		return h, false
	}
	h.key.TEID = binary.BigEndian.Uint32(message[4:])
	at += inet.LenUDP + inet.LenGTPU
	const flags, extension = 0x07, 0x04
	if message[0]&flags != 0 {
		at += optional
		if next := message[11]; message[0]&extension != 0 && next != 0 {
			if next != 0x85 || message[12] != 1 || message[15] != 0 {
				return h, false // not a container of one unit alone
			}
			at += container
		}
	}
	h.octets = uint8(at)
	return h, true
}

const maskFragment = 0x3fff // more fragments, or an offset

func (d *Driver) followHeaders() {
	for {
		select {
		case <-d.ctx.Done():
			return
		case h := <-d.headers:
			d.offload.front(h, time.Now())
		}
	}
}

// front notes what stands in front of packets of a key, and has the session looked at if the
// target expects something else.
func (o *offload) front(h headerSeen, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	ks := o.keys[h.key]
	if ks == nil || ks.header == h.octets || now.Sub(ks.seen) < headerPause {
		return
	}
	s := o.sessions[ks.owner]
	if s == nil || ks.expects == h.octets {
		return
	}
	ks.header, ks.seen = h.octets, now
	o.enqueue(s)
}

// peersInUse returns the numbers of the GTP-U peers to which rules in the target send.
func (o *offload) peersInUse() map[nexthop.Peer]uint32 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.peers.of)
}
