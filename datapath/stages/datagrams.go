package stages

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"sync"

	"github.com/plumbline-upf/plumbline/internal/inet"
)

// datagrams knows what the first fragments of user packets have and the others have not:
// ports, or an SPI. So all fragments of a packet match the same filters. A fragment that
// comes before the first one has none, nor one of IPv6 whose Fragment header is followed by
// more extension headers.
//
// Source: RFC 791, 3.2; RFC 8200, 4.5 (fragments of one packet).
type datagrams struct {
	mu       sync.Mutex
	known    map[datagramKey]datagram
	sessions map[uint64][]datagramKey // by SEID, the oldest first
	expired  uint64                   // ns: when all were looked at last
}

// What a session can have of them, and all together: one session that has more loses its
// own oldest. A receiver waits for fragments as long (Linux, ipfrag_time).
const (
	maxDatagramsOfSession = 64
	maxDatagrams          = 1 << 16
	datagramTime          = 30_000_000_000
	datagramTick          = 1_000_000_000 // all are not looked at more often
)

type datagramKey struct {
	seid                uint64
	source, destination netip.Addr
	id                  uint32
	protocol            byte // of IPv4
}

type datagram struct {
	ns   uint64 // when the first fragment came
	word uint32 // ports in the order of the packet, or the SPI
}

// fragment says what of a packet u is; of a whole one both are false.
func (u user) fragment() (id uint32, first, later bool) {
	if !u.isIPv6() {
		f := binary.BigEndian.Uint16(u[6:]) & maskFragment
		return uint32(binary.BigEndian.Uint16(u[4:])), f == flagMF, f&maskOffset4 != 0
	}
	at := u.fragmentHeader()
	if at < 0 {
		return 0, false, false
	}
	f := binary.BigEndian.Uint16(u[at+2:])
	return binary.BigEndian.Uint32(u[at+4:]), f&(maskOffset6|1) == 1, f&maskOffset6 != 0
}

// fragmentHeader returns where the Fragment header of an IPv6 packet is; -1: nowhere.
func (u user) fragmentHeader() int {
	for next, at := u[6], inet.LenIPv6; len(u) >= at+8; {
		size := 8 * (int(u[at+1]) + 1)
		switch next {
		case extFragment:
			return at
		case extHopByHop, extRouting, extDestination, extMobility, extHIP, extShim6:
		default:
			return -1
		}
		next, at = u[at], at+size
	}
	return -1
}

// complete gives f what the first fragment of the packet had, if u is another one, and
// remembers it if u is the first.
func (d *datagrams) complete(f *fields, u user, uplink bool, seid uint64, now func() (ns uint64)) {
	id, first, later := u.fragment()
	if !first && !later {
		return
	}
	k := datagramKey{seid: seid, source: u.source(), destination: u.destination(), id: id}
	if !u.isIPv6() {
		k.protocol = f.protocol
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if later {
		if had, ok := d.known[k]; ok && now()-had.ns < datagramTime {
			f.setWord(had.word, uplink)
		}
		return
	}
	if word, ok := f.word(uplink); ok {
		d.add(k, datagram{now(), word})
	}
}

func (d *datagrams) add(k datagramKey, g datagram) {
	if d.known == nil {
		d.known, d.sessions = map[datagramKey]datagram{}, map[uint64][]datagramKey{}
	}
	if _, had := d.known[k]; !had {
		own := d.sessions[k.seid]
		if len(d.known) >= maxDatagrams && g.ns-d.expired >= datagramTick {
			d.expire(g.ns)
			own = d.sessions[k.seid]
		}
		full := len(d.known) >= maxDatagrams
		switch {
		case len(own) >= maxDatagramsOfSession || full && len(own) > 0:
			delete(d.known, own[0])
			own = append(own[:0], own[1:]...)
		case full:
			return
		}
		d.sessions[k.seid] = append(own, k)
	}
	d.known[k] = g
}

// expire forgets those that are too old.
func (d *datagrams) expire(nowNs uint64) {
	d.expired = nowNs
	for seid, own := range d.sessions {
		own = slices.DeleteFunc(own, func(k datagramKey) bool {
			if nowNs-d.known[k].ns < datagramTime {
				return false
			}
			delete(d.known, k)
			return true
		})
		if d.sessions[seid] = own; len(own) == 0 {
			delete(d.sessions, seid)
		}
	}
}

// Forget forgets what was learnt of the packets of a session that is gone.
func (s *Stages) Forget(seid uint64) {
	s.Names.Forget(seid)
	s.datagrams.forget(seid)
}

// forget forgets those of a session that is gone.
func (d *datagrams) forget(seid uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range d.sessions[seid] {
		delete(d.known, k)
	}
	delete(d.sessions, seid)
}

// word returns what only a first fragment has, in the order of the packet.
func (f *fields) word(uplink bool) (word uint32, ok bool) {
	switch {
	case f.hasPorts && uplink:
		return uint32(f.localPort)<<16 | uint32(f.remotePort), true
	case f.hasPorts:
		return uint32(f.remotePort)<<16 | uint32(f.localPort), true
	}
	return uint32(f.spi), f.spi >= 0
}

// setWord is the inverse of word, by the protocol.
func (f *fields) setWord(word uint32, uplink bool) {
	switch f.protocol {
	case inet.ProtoTCP, inet.ProtoUDP, inet.ProtoSCTP:
		f.hasPorts, f.remotePort, f.localPort = true, uint16(word>>16), uint16(word)
		if uplink {
			f.remotePort, f.localPort = f.localPort, f.remotePort
		}
	case protoESP, protoAH:
		f.spi = int64(word)
	}
}
