package tun

import (
	"errors"
	"net/netip"
	"os"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/vector"
	"github.com/plumbline-upf/plumbline/internal/mmsg"
)

// Messages received from a socket per call: many if each is one datagram, few if the kernel merges
// datagrams.
const (
	maxMessages = 64
	minMessages = 8
)

// retryDelay keeps a socket or device that only returns errors from taking a whole CPU.
const retryDelay = time.Millisecond

// uplink treats what comes to one socket: G-PDUs and signalling.
//
// A message's way: slot of the arena > cut into the datagrams that it was made of, where
// they are > vector > output.
type uplink struct {
	in     *mmsg.Receiver
	to     netip.Addr
	memory *arena
	worker *vector.Worker
	out    *output
	send   func([]*vector.Packet) // out.send, bound once

	packets []vector.Packet
	vector  []*vector.Packet // of packets
}

func (t *traffic) newUplink(worker int, s *socket) (*uplink, error) {
	memory, err := newArena(maxMessages)
	if err != nil {
		return nil, err
	}
	u := &uplink{to: s.address, memory: memory, out: t.newOutput(worker), packets: make([]vector.Packet, vector.MaxVector)}
	u.worker, u.send = u.out.worker, u.out.send
	bufs := make([][]byte, maxMessages)
	for i := range bufs {
		bufs[i] = memory.slots[i][vector.Headroom:][:mmsg.MaxMessage]
	}
	u.in = mmsg.NewReceiver(s.raw, bufs)
	if err := u.in.AcceptSegments(); err != nil {
		t.d.log.Info("the kernel does not put datagrams together", "error", err)
	}
	for i := range u.packets {
		u.vector = append(u.vector, &u.packets[i])
	}
	return u, nil
}

// run treats what comes until the socket is stopped.
func (u *uplink) run() error {
	for {
		n, err := u.in.Next()
		switch {
		case err == nil:
			u.treat(n)
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		default: // of an earlier datagram that was rejected: not an error of this call
			time.Sleep(retryDelay)
		}
	}
}

// treat treats n messages.
func (u *uplink) treat(n int) {
	count, total := 0, 0
	for i := range n {
		from := u.in.Source(i)
		size, segment := u.in.Size(i), u.in.Segment(i)
		if size == 0 {
			u.worker.Refuse(datapath.DropDevice)
			continue
		}
		for at := 0; ; at += segment {
			if count == len(u.packets) {
				u.worker.Run(u.vector, u.send)
				count = 0
			}
			end := min(at+segment, size)
			u.packets[count] = u.packet(i, at, end)
			u.packets[count].From, u.packets[count].To = from, u.to
			count++
			total++
			if end == size {
				break
			}
		}
	}
	u.worker.Run(u.vector[:count], u.send)
	u.in.Most = min(max(vector.MaxVector*n/max(total, 1), minMessages), maxMessages)
}

// packet is the datagram from octet at to end of message i. What is in front of one that
// is not the first is another's, which may have yet to leave, so such a one has no
// headroom.
func (u *uplink) packet(i, at, end int) vector.Packet {
	slot := u.memory.slots[i]
	if at == 0 {
		return vector.Packet{Buf: slot, Start: vector.Headroom, End: vector.Headroom + end}
	}
	b := slot[vector.Headroom+at : vector.Headroom+end : vector.Headroom+end]
	return vector.Packet{Buf: b, End: len(b)}
}

func (u *uplink) free() { u.memory.free() }
