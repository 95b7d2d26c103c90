package p4rt

import (
	"fmt"

	info "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// packetHeader is the header in front of a frame from or to a controller: fields one behind the other, the first one in
// the highest bits, and zero bits up to a whole octet. Source: P4Runtime Specification v1.4.1, 6.4.6.
type packetHeader struct {
	fields []packetField
	octets int
}

type packetField struct {
	id    uint32
	name  string
	width int
}

// maxPacketHeader bounds a header.
const maxPacketHeader = 512

func newPacketHeader(m *info.ControllerPacketMetadata) (*packetHeader, error) {
	h := &packetHeader{}
	bits := 0
	seen := map[uint32]bool{}
	for _, f := range m.GetMetadata() {
		width := int(f.GetBitwidth())
		switch {
		case f.GetId() == 0 || seen[f.GetId()]:
			return nil, fmt.Errorf("field %s: id %d is 0 or there twice", f.GetName(), f.GetId())
		case width <= 0:
			return nil, fmt.Errorf("field %s: width %d, as of a translated value: %w", f.GetName(), width, bmv2.ErrUnsupported)
		case width > 8*maxPacketHeader-bits:
			return nil, fmt.Errorf("field %s: the header has more than %d octets", f.GetName(), maxPacketHeader)
		}
		seen[f.GetId()] = true
		bits += width
		h.fields = append(h.fields, packetField{f.GetId(), f.GetName(), width})
	}
	h.octets = (bits + 7) / 8
	return h, nil
}

// take makes metadata of a header.
func (h *packetHeader) take(b []byte) []*p4.PacketMetadata {
	list := make([]*p4.PacketMetadata, len(h.fields))
	at := 0
	for i, f := range h.fields {
		v := make([]byte, (f.width+7)/8)
		copyBits(v, 8*len(v)-f.width, b, at, f.width)
		list[i] = &p4.PacketMetadata{MetadataId: f.id, Value: shortest(v)}
		at += f.width
	}
	return list
}

// put writes metadata to a header of zeros.
func (h *packetHeader) put(b []byte, list []*p4.PacketMetadata) *failure {
	if len(list) != len(h.fields) {
		return invalid("%d metadata fields: want %d", len(list), len(h.fields))
	}
	at := 0
	for _, f := range h.fields {
		m := find(list, f.id)
		if m == nil {
			return invalid("no metadata field %s, whose id is %d", f.name, f.id)
		}
		v, ok := number(m.GetValue(), f.width)
		if !ok {
			return invalid("metadata field %s: value %x: want a number of at most %d bits", f.name, clip(m.GetValue()), f.width)
		}
		n := min(8*len(v), f.width)
		copyBits(b, at+f.width-n, v, 8*len(v)-n, n)
		at += f.width
	}
	return nil
}

func find(list []*p4.PacketMetadata, id uint32) *p4.PacketMetadata {
	for _, m := range list {
		if m.GetMetadataId() == id {
			return m
		}
	}
	return nil
}

// copyBits copies bits, counted from the highest of the first octet on, to bits that are zero.
func copyBits(to []byte, at int, from []byte, first, n int) {
	if at&7 == 0 && first&7 == 0 && n&7 == 0 {
		copy(to[at/8:], from[first/8:][:n/8])
		return
	}
	for i := range n {
		bit := from[(first+i)/8] >> (7 - (first+i)&7) & 1
		to[(at+i)/8] |= bit << (7 - (at+i)&7)
	}
}

// PacketIn takes a frame that the program has sent to the controller: the header "packet_in", then the payload. It goes to
// the primary; without one, or with one that does not keep up, it is dropped and counted. It may be called by any
// goroutine, does not wait, and does not keep the frame, which may be in two parts.
func (s *Server) PacketIn(from State, head, payload []byte) {
	p, c := s.live.Load(), s.primary.Load()
	if p == nil || p.state != from || c == nil {
		s.stats.packetInsDropped.Add(1)
		return
	}
	n := 0
	if p.packetIn != nil {
		n = p.packetIn.octets
	}
	size := len(head) + len(payload)
	if size < n {
		s.stats.packetInsMalformed.Add(1)
		return
	}
	if !c.room(size) { // before it is copied
		s.stats.packetInsDropped.Add(1)
		return
	}
	frame := make([]byte, 0, size)
	frame = append(append(frame, head...), payload...)
	in := &p4.PacketIn{Payload: frame[n:]}
	if n > 0 {
		in.Metadata = p.packetIn.take(frame[:n])
	}
	if !c.offer(&p4.StreamMessageResponse{Update: &p4.StreamMessageResponse_Packet{Packet: in}}, size) {
		s.stats.packetInsDropped.Add(1)
		return
	}
	s.stats.packetIns.Add(1)
}

// packetOut hands a controller's packet to the switch.
func (s *Server) packetOut(c *client, out *p4.PacketOut) *failure {
	p := s.live.Load()
	switch {
	case s.primary.Load() != c:
		return fail(codes.PermissionDenied, "packet-out: only the primary controller may send packets")
	case p == nil:
		return fail(codes.FailedPrecondition, "packet-out: there is no pipeline")
	}
	n := 0
	if p.packetOut != nil {
		n = p.packetOut.octets
	}
	if n+len(out.GetPayload()) > bmv2.MaxFrame {
		return invalid("packet-out: payload of %d octets: want at most %d", len(out.GetPayload()), bmv2.MaxFrame-n)
	}
	frame := make([]byte, n+len(out.GetPayload()))
	if p.packetOut != nil {
		if why := p.packetOut.put(frame[:n], out.GetMetadata()); why != nil {
			why.text = "packet-out: " + why.text
			return why
		}
	} else if len(out.GetMetadata()) > 0 {
		return invalid("packet-out: metadata: the program has no header %q", namePacketOut)
	}
	copy(frame[n:], out.GetPayload())
	if err := s.target.PacketOut(frame); err != nil {
		return fail(codes.ResourceExhausted, "packet-out: %v", err)
	}
	s.stats.packetOuts.Add(1)
	return nil
}
