package pfcpsim

import (
	"fmt"
	"net/netip"
	"reflect"
	"strconv"

	"github.com/goccy/go-yaml"
)

// Traffic carries packets to and from the UP function that a scenario is about.
type Traffic interface {
	// Uplink sends a packet in a tunnel to the UP function.
	Uplink(p Packet) (Outcome, error)
	// Downlink sends a packet from the data network.
	Downlink(p Packet) (Outcome, error)
	// Sent returns what has left of its own accord since it was last asked.
	Sent() []Outcome
}

// Packet is a user packet, and the tunnel through which it comes.
type Packet struct {
	From, To           netip.Addr
	Protocol           uint8 // 0: UDP
	FromPort, ToPort   uint16
	Size               uint16 // octets of payload; 0: 64
	Count              int    // how many; 0: 1
	N3, Peer           netip.Addr
	TEID               uint32
	QFI                uint8 // 0: no PDU Session Container
	EndMarker          bool  // not a user packet: an End Marker
	RouterSolicitation bool  // an ICMPv6 Router Solicitation
}

// Outcome is what became of a packet, or what left by itself.
type Outcome struct {
	Drop      string     // why it was dropped; "": it was not
	Buffered  bool       // it waits in the UP function
	Peer      netip.Addr // it left in a tunnel to this peer; invalid: bare, on N6
	TEID      uint32
	QFI       uint8
	EndMarker bool
}

// String says it in a word or a few.
func (o Outcome) String() string {
	switch {
	case o.Buffered:
		return "buffered"
	case o.Drop != "":
		return "drop: " + o.Drop
	case !o.Peer.IsValid():
		return "n6"
	case o.EndMarker:
		return fmt.Sprintf("End Marker to %s, TEID %#x", o.Peer, o.TEID)
	}
	return fmt.Sprintf("tunnel to %s, TEID %#x, QFI %d", o.Peer, o.TEID, o.QFI)
}

// newPacket reads a step's packet.
func newPacket(with any) (Packet, error) {
	var p Packet
	fields, ok := with.(yaml.MapSlice)
	if !ok {
		return p, fmt.Errorf("%v where a packet is wanted: %w", with, ErrForm)
	}
	count := 1
	for i, item := range fields {
		if item.Key == "count" {
			var err error
			if count, err = strconv.Atoi(fmt.Sprint(item.Value)); err != nil {
				return p, fmt.Errorf("count %v: %w", item.Value, ErrForm)
			}
			fields = append(append(yaml.MapSlice{}, fields[:i]...), fields[i+1:]...)
			break
		}
	}
	if err := setFields(reflect.ValueOf(&p).Elem(), fields); err != nil {
		return p, err
	}
	p.Count = count
	if p.Size == 0 {
		p.Size = 64
	}
	return p, nil
}

// matchOutcome compares what became of a packet with what is expected: "n6",
// "drop", "buffer", or the tunnel that it left in.
func matchOutcome(o Outcome, expect any) error {
	fields, tunnel := expect.(yaml.MapSlice)
	ok := false
	switch {
	case tunnel:
		var want Outcome
		if err := setFields(reflect.ValueOf(&want).Elem(), fields); err != nil {
			return err
		}
		ok = want == o
	case expect == "drop":
		ok = o.Drop != ""
	case expect == "buffer":
		ok = o.Buffered
	case expect == "n6", expect == nil:
		ok = o == Outcome{}
	}
	if !ok {
		return fmt.Errorf("got %s, want %s: %w", o, inline(expect), ErrExpected)
	}
	return nil
}
