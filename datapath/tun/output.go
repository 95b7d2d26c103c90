package tun

import (
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/nexthop"
	"github.com/plumbline-upf/plumbline/datapath/rawip"
	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/internal/mmsg"
	"github.com/plumbline-upf/plumbline/internal/vnet"
)

// output sends what leaves a vector: it is of one goroutine.
type output struct {
	worker  *vector.Worker // counts what cannot be sent
	host    *host
	waiting *nexthop.Waiting
	some    bool           // of the peers do not answer
	queue   *nexthop.Queue // of the last peer that was asked for
	peer    nexthop.Peer
	senders []sender
	writers []*vnet.Writer // by way; several ways may have the same
	frames  []bool         // by way: its device is for Ethernet frames, not for IP packets
	each    []*vnet.Writer // the same, each once
}

// sender sends from one of our addresses.
type sender struct {
	local netip.Addr
	*mmsg.Sender
	used bool // since the last flush
	// admitted are the datagrams in their order, while there are peers that do not
	// answer: those that the kernel does not take do not wait.
	admitted []admitted
}

type admitted struct {
	queue  *nexthop.Queue
	octets int
}

func (t *traffic) newOutput(worker int) *output {
	o := &output{worker: t.worker(), host: t.d.host, waiting: t.d.answers.waiting}
	for _, s := range t.sockets.all[worker] {
		out := mmsg.NewSender(newAtOnce(s.rawOut), vector.MaxVector)
		o.senders = append(o.senders, sender{local: s.address, Sender: out})
	}
	of := map[*device]*vnet.Writer{}
	for _, dev := range t.ways {
		w := of[dev]
		if w == nil {
			w = vnet.NewWriter(dev.Queues[worker%len(dev.Queues)], vector.MaxVector, dev.mac, dev.peer)
			of[dev] = w
			o.each = append(o.each, w)
		}
		o.writers = append(o.writers, w)
		o.frames = append(o.frames, dev.frames)
	}
	return o
}

// send sends packets in their order, those of a tunnel's peer, and those of a device.
func (o *output) send(out []*vector.Packet) {
	o.some, o.peer = o.waiting.Any(), nexthop.Peer{}
	for _, p := range out {
		switch {
		case p.Outer != nil:
			o.tunnel(p)
		case p.Frame != o.frames[p.Way]:
			o.worker.Refuse(datapath.DropNextHop)
		case p.Frame:
			o.writers[p.Way].AddFrame(p.Octets())
		default:
			o.writers[p.Way].Add(p.Octets(), p.Flow)
		}
	}
	for i := range o.senders {
		if s := &o.senders[i]; s.used {
			o.flush(s)
		}
	}
	for _, w := range o.each {
		if lost, err := w.Flush(); lost > 0 {
			o.refuse(lost, sendReason(err))
		}
	}
}

// tunnel adds a GTP-U message to those that leave from its local address.
func (o *output) tunnel(p *vector.Packet) {
	for i := range o.senders {
		s := &o.senders[i]
		if s.local != p.Outer.Local {
			continue
		}
		if o.some && !o.admit(s, p) {
			o.worker.Refuse(datapath.DropNextHop)
			return
		}
		if !s.used {
			s.used = true
			s.SegmentOctets = o.host.segment(s.local.Is6())
		}
		port := p.Port
		if port == 0 {
			port = gtpu.Port
		}
		s.AddMarked(netip.AddrPortFrom(p.Outer.Peer, port), p.DSCP<<2, p.Octets())
		return
	}
	o.worker.Refuse(datapath.DropNextHop)
}

// admit reports whether a GTP-U message may be handed to the kernel.
func (o *output) admit(s *sender, p *vector.Packet) bool {
	peer := nexthop.Peer{Local: p.Outer.Local, Addr: p.Outer.Peer}
	if peer != o.peer {
		o.peer, o.queue = peer, o.waiting.Of(peer)
	}
	octets := len(p.Octets()) + lenOuter
	if !o.queue.Admit(octets) {
		return false
	}
	s.admitted = append(s.admitted, admitted{o.queue, octets})
	return true
}

// lenOuter is at most what the kernel puts in front of a GTP-U message.
const lenOuter = 40 + 8

// flush sends the queue of a sender. Packets that the kernel rejects are lost; the rest is sent.
func (o *output) flush(s *sender) {
	done := 0 // datagrams
	for {
		sent, err := s.Flush()
		if err == nil {
			break
		}
		reason := datapath.DropNoRoute
		if !rawip.NoRoute(err) {
			reason = sendReason(err)
		}
		n := s.Skip()
		o.refuse(n, reason)
		done += sent
		for _, a := range s.admitted[min(done, len(s.admitted)):min(done+n, len(s.admitted))] {
			a.queue.Return(a.octets)
		}
		done += n
	}
	s.Reset()
	s.used, s.admitted = false, s.admitted[:0]
}

func (o *output) refuse(n int, reason datapath.Reason) {
	for range n {
		o.worker.Refuse(reason)
	}
}

// sendReason says what an error of the kernel means for a packet.
func sendReason(err error) datapath.Reason {
	switch {
	case errors.Is(err, unix.EMSGSIZE):
		return datapath.DropMTU
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM):
		return datapath.DropTxFull
	}
	return datapath.DropNextHop
}
