package p4rt

import (
	"errors"
	"io"
	"sync/atomic"
	"time"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	rpc "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Bounds of what waits for one controller.
const (
	maxNotices = 64       // arbitration and errors
	maxPackets = 4096     // packets and digest lists
	maxWaiting = 16 << 20 // octets of those
	partTime   = time.Second
)

// client is a controller with a stream.
type client struct {
	notices chan *p4.StreamMessageResponse // arbitration: never dropped
	packets chan waitingMessage            // dropped when there is no room
	octets  atomic.Int64                   // of packets
	ended   chan struct{}                  // closed when the stream is to end
	why     error                          // of that; written before ended is closed

	live     bool // it has a place in the arbitration
	election electionID
}

type waitingMessage struct {
	m      *p4.StreamMessageResponse
	octets int
}

// room reports whether a message of this length may wait.
func (c *client) room(octets int) bool {
	return len(c.packets) < cap(c.packets) && c.octets.Load()+int64(octets) <= maxWaiting
}

// offer has a message wait, if there is room for it.
func (c *client) offer(m *p4.StreamMessageResponse, octets int) bool {
	if c.octets.Add(int64(octets)) > maxWaiting {
		c.octets.Add(-int64(octets))
		return false
	}
	select {
	case c.packets <- waitingMessage{m, octets}:
		return true
	default:
		c.octets.Add(-int64(octets))
		return false
	}
}

// StreamChannel is a controller's stream, until it ends.
func (s *Server) StreamChannel(stream p4.P4Runtime_StreamChannelServer) error {
	if s.streams.Add(1) > int64(s.config.MaxStreams) {
		s.streams.Add(-1)
		return status.Errorf(codes.ResourceExhausted, "there are %d streams: want no more", s.config.MaxStreams)
	}
	defer s.streams.Add(-1)
	c := &client{
		notices: make(chan *p4.StreamMessageResponse, maxNotices), packets: make(chan waitingMessage, maxPackets), ended: make(chan struct{}),
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.write(stream)
	}()
	received := make(chan error, 1)
	go func() { received <- s.receive(stream, c) }()
	var err error
	select {
	case err = <-received:
	case <-c.ended:
		err = c.why
	case <-s.closing:
		err = status.Error(codes.Unavailable, "the switch ends")
	}
	s.leave(c, err)
	select { // sent messages should arrive before the end of the stream
	case <-written:
	case <-time.After(partTime):
	}
	return err
}

// write sends what waits for a controller, notices first, until the stream ends.
func (c *client) write(stream p4.P4Runtime_StreamChannelServer) {
	for {
		select {
		case m := <-c.notices:
			if stream.Send(m) != nil {
				return
			}
			continue
		default:
		}
		select {
		case m := <-c.notices:
			if stream.Send(m) != nil {
				return
			}
		case w := <-c.packets:
			c.octets.Add(-int64(w.octets))
			if stream.Send(w.m) != nil {
				return
			}
		case <-c.ended:
			return
		case <-stream.Context().Done():
			return
		}
	}
}

// receive does what a controller says. The error is what its stream ends with.
func (s *Server) receive(stream p4.P4Runtime_StreamChannelServer, c *client) error {
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch x := m.GetUpdate().(type) {
		case *p4.StreamMessageRequest_Arbitration:
			if err := s.arbitrate(c, x.Arbitration); err != nil {
				return err
			}
		case *p4.StreamMessageRequest_Packet:
			if why := s.packetOut(c, x.Packet); why != nil {
				s.stats.packetOutsRefused.Add(1)
				c.complain(why, &p4.StreamError{Details: &p4.StreamError_PacketOut{PacketOut: &p4.PacketOutError{PacketOut: echo(x.Packet)}}})
			}
		case *p4.StreamMessageRequest_DigestAck:
			if why := s.digestAck(c, x.DigestAck); why != nil {
				c.complain(why, &p4.StreamError{Details: &p4.StreamError_DigestListAck{DigestListAck: &p4.DigestListAckError{DigestListAck: x.DigestAck}}})
			}
		case *p4.StreamMessageRequest_Other:
			why := unimplemented("stream message %s is not implemented", x.Other.GetTypeUrl())
			c.complain(why, &p4.StreamError{Details: &p4.StreamError_Other{Other: &p4.StreamOtherError{}}})
		default:
			return status.Error(codes.InvalidArgument, "a stream message has nothing in it")
		}
	}
}

// echo is what of a packet-out is sent back: its metadata, and a payload that is not long.
func echo(out *p4.PacketOut) *p4.PacketOut {
	const most = 256
	return &p4.PacketOut{Metadata: out.GetMetadata()[:min(len(out.GetMetadata()), most)], Payload: out.GetPayload()[:min(len(out.GetPayload()), most)]}
}

// complain tells a controller of an error, if there is room.
func (c *client) complain(why *failure, e *p4.StreamError) {
	e.CanonicalCode, e.Message = int32(why.code), why.text
	const about = 1024
	c.offer(&p4.StreamMessageResponse{Update: &p4.StreamMessageResponse_Error{Error: e}}, about)
}

func (s *Server) digestAck(c *client, ack *p4.DigestListAck) *failure {
	if s.primary.Load() != c {
		return fail(codes.PermissionDenied, "digest acknowledgement: only the primary controller gets digests")
	}
	p := s.live.Load()
	if p == nil {
		return fail(codes.FailedPrecondition, "digest acknowledgement: there is no pipeline")
	}
	d := p.digestID[ack.GetDigestId()]
	if d == nil {
		return invalid("there is no digest with id %#x", ack.GetDigestId())
	}
	d.acknowledge(ack.GetListId())
	return nil
}

// end ends a controller's stream. s.mu must be held; it is called once for each client.
func (c *client) end(err error) {
	select {
	case <-c.ended:
	default:
		c.why = err
		close(c.ended)
	}
}

// arbitrationStatus is the status about the primary that a controller gets. Source: P4Runtime Specification v1.4.1, 5.4.
func arbitrationStatus(primary, you bool) *rpc.Status {
	switch {
	case primary && you:
		return &rpc.Status{Code: int32(codes.OK)}
	case primary:
		return &rpc.Status{Code: int32(codes.AlreadyExists), Message: "another controller is the primary"}
	}
	return &rpc.Status{Code: int32(codes.NotFound), Message: "there is no primary controller"}
}
