package afxdp

import (
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/rawip"
	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/internal/inet"
	"github.com/plumbline-upf/plumbline/internal/xsk"
)

// leave sends packets in their order: each is made a frame on the socket of its
// device, and all are handed to the kernel at the end. What cannot go that way (its
// neighbour is not known, it is too long, there is no frame for it) goes through the
// kernel, behind what was before it.
func (w *worker) leave(out []*vector.Packet) {
	for _, p := range out {
		if reason := w.one(p); reason != datapath.ReasonNone {
			w.engine.Refuse(reason)
		}
	}
	w.flushAll()
}

// one sends one packet, or says why not.
func (w *worker) one(p *vector.Packet) datapath.Reason {
	switch {
	case p.Outer != nil:
		return w.tunnel(p)
	case p.Frame:
		return w.frame(p)
	}
	return w.bare(p)
}

// tunnel sends a GTP-U message.
func (w *worker) tunnel(p *vector.Packet) datapath.Reason {
	var exit *exit
	if h := w.m.peer(&w.lastPeer, p.Outer); h != nil {
		exit = h.exit.Load()
	}
	outer, etherType := inet.LenIPv4+inet.LenUDP, uint16(inet.EtherIPv4)
	if p.Outer.Peer.Is6() {
		outer, etherType = inet.LenIPv6+inet.LenUDP, inet.EtherIPv6
	}
	switch {
	case exit == nil || exit.dev == nil:
		return w.slowly(p, datapath.PassUnresolved)
	case outer+p.End-p.Start > exit.mtu:
		return w.slowly(p, datapath.PassTooBig)
	}
	s := w.out[exit.dev.number]
	offset, ok := w.room(p, outer+inet.LenEthernet)
	if !ok {
		return datapath.DropTxFull
	}
	if !p.PutOuter() {
		return datapath.DropNextHop
	}
	w.put(s, p, offset, exit.mac, etherType)
	return datapath.ReasonNone
}

// bare sends a user packet to a data network.
func (w *worker) bare(p *vector.Packet) datapath.Reason {
	way := w.m.d.ways[p.Way]
	b := p.Octets()
	h, _, mtu := way.next(rawip.Destination(b), p.Flow)
	switch {
	case h == nil || h.mac.Load() == 0:
		return w.slowly(p, datapath.PassUnresolved)
	case len(b) > mtu:
		return w.slowly(p, datapath.PassTooBig)
	}
	etherType := uint16(inet.EtherIPv4)
	if b[0]>>4 == 6 {
		etherType = inet.EtherIPv6
	}
	offset, ok := w.room(p, inet.LenEthernet)
	if !ok {
		return datapath.DropTxFull
	}
	w.put(w.out[way.dev.number], p, offset, h.mac.Load(), etherType)
	return datapath.ReasonNone
}

// frame sends a frame of an Ethernet PDU session as it is.
func (w *worker) frame(p *vector.Packet) datapath.Reason {
	dev := w.m.d.ways[p.Way].dev
	if !dev.ethernet {
		return datapath.DropNextHop // its network is for IP
	}
	if p.End-p.Start > int(dev.mtu.Load())+inet.LenEthernet+inet.LenTag {
		return datapath.DropMTU
	}
	offset, ok := w.room(p, 0)
	if !ok {
		return datapath.DropTxFull
	}
	w.add(w.out[dev.number], p, offset)
	return datapath.ReasonNone
}

// slowly sends a packet through the kernel for a reason, behind those before it.
func (w *worker) slowly(p *vector.Packet, why datapath.Reason) datapath.Reason {
	w.engine.Refuse(why)
	w.flushAll()
	return w.m.slow.send(p)
}

// room moves a packet, if necessary, to an unused frame of the driver with this number of free
// octets before it. It returns the address of the frame; ok is false if there is none.
func (w *worker) room(p *vector.Packet, before int) (offset uint64, ok bool) {
	if offset, ok = xsk.OffsetIn(w.umem.Memory, p.Buf); ok && w.umem.OwnerOf(offset) == xsk.Held && p.Start >= before {
		return offset, true
	}
	offset, ok = w.umem.Take()
	if !ok && w.reclaim() == nil {
		offset, ok = w.umem.Take()
	}
	if !ok {
		return 0, false
	}
	w.made = append(w.made, offset)
	frame := w.umem.Bytes(offset)
	if vector.Headroom+p.End-p.Start > len(frame) {
		return 0, false
	}
	n := copy(frame[vector.Headroom:], p.Octets())
	p.Buf, p.Start, p.End = frame, vector.Headroom, vector.Headroom+n
	return offset, true
}

// put adds the Ethernet header and lets the packet leave on a socket.
func (w *worker) put(s *socket, p *vector.Packet, offset, to uint64, etherType uint16) {
	p.Start -= inet.LenEthernet
	putEthernet(p.Buf[p.Start:], to, s.device.mac.Load(), etherType)
	w.add(s, p, offset)
}

// add lets a frame leave on a socket with the next flush.
func (w *worker) add(s *socket, p *vector.Packet, offset uint64) {
	w.umem.Give(offset, xsk.Sent)
	if len(s.leaving) == 0 {
		w.leaving = append(w.leaving, s)
	}
	s.leaving = append(s.leaving, unix.XDPDesc{Addr: offset + uint64(p.Start), Len: uint32(p.End - p.Start)})
}

// flushAll hands all that is to leave to the kernel, one device after the other.
func (w *worker) flushAll() {
	for _, s := range w.leaving {
		w.flush(s)
	}
	w.leaving = w.leaving[:0]
}

// patience is the number of retries for a device that accepts nothing before packets are dropped.
const patience = 16

// flush hands all that is to leave on a socket to the kernel. In copy mode it has
// left when flush returns, unless the device takes no more: then it stays in the
// ring, in its order, and what finds no room there is dropped.
func (w *worker) flush(s *socket) {
	if w.live != nil && s.device.redirects.Load() && s.livesOn(len(s.leaving)) {
		w.flushLive(s)
	}
	for tries := 0; len(s.leaving) > 0; tries++ {
		n := s.TX.Put(s.leaving)
		s.leaving = s.leaving[:copy(s.leaving, s.leaving[n:])]
		w.push(s)
		if n == 0 && tries >= patience {
			for _, d := range s.leaving {
				w.engine.Refuse(datapath.DropTxFull)
				w.umem.Put(d.Addr)
			}
			s.leaving = s.leaving[:0]
		}
	}
}

// livesOn reports whether a burst of n frames is to leave as XDP frames: if it is worth that, or
// because those before it have a moment ago. The other end of a veth receives XDP frames and socket
// frames from different queues, or in parallel: a later burst must not overtake. A socket's frame
// has been received when it is returned.
func (s *socket) livesOn(n int) bool {
	if n < liveLeast && time.Since(s.lived) > liveStay {
		return false
	}
	return s.Completion.Written() == s.TX.Own
}

// flushLive sends as XDP frames what can be. If the kernel does not, it is not asked
// again for a while, and the rest is left.
func (w *worker) flushLive(s *socket) {
	for len(s.leaving) > 0 {
		n, ok, err := w.live.send(s.device, s.leaving[:min(len(s.leaving), burstMax)], w.umem.Frame)
		for _, d := range s.leaving[:n] {
			w.umem.Put(d.Addr)
		}
		if n > 0 {
			s.lived = time.Now()
		}
		s.leaving = s.leaving[:copy(s.leaving, s.leaving[n:])]
		if err != nil {
			w.m.d.log.Warn("frames are sent one by one for a while", "device", s.device.name, "while", refusedPeriods*targetsPeriod, "err", err)
			s.device.refused.Store(refusedPeriods)
			s.device.redirects.Store(false)
		}
		if err != nil || !ok {
			return
		}
	}
}

// push makes the kernel send the TX ring. In copy mode this call is the only trigger, and it sends
// a few frames per call.
func (w *worker) push(s *socket) {
	for tries := 0; tries < patience; {
		before := s.TX.Unread()
		if before == 0 || s.Zero && !s.TX.Asleep() {
			return
		}
		err := s.Wake()
		switch {
		case s.Zero && err == nil:
			return // the driver continues by itself
		case s.TX.Unread() == before:
			tries++
			_ = w.reclaim() // the kernel may be waiting for room in the completion ring
		}
	}
}

// slowVia is where the kernel sends a bare packet that goes through it.
func (w *way) slowVia(packet []byte, flow uint32) netip.Addr {
	_, via, _ := w.next(rawip.Destination(packet), flow)
	return via
}
