package nfapi

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// fuzzPlane: what is accepted is encoded to the same octets, by way of the
// structures and of the JSON view; decoding that again gives the same view; what is
// refused has a place.
func fuzzPlane(f *testing.F, plane Plane) {
	for _, v := range vectors(f) {
		if v.plane == plane && len(v.octets) < 2000 {
			f.Add(byte(v.profile), v.octets)
		}
	}
	room := make([]byte, MaxMessage)
	f.Fuzz(func(t *testing.T, profile byte, b []byte) {
		p := Profile(profile % byte(len(profileNames)))
		h, body, err := p.parse(plane, b)
		if err != nil {
			return
		}
		if plane == P7 && !h.Whole() {
			return
		}
		m := NewMessage(h.MessageID)
		if err := m.DecodeBody(p, body); err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Offset > len(body) || !strings.HasPrefix(e.Error(), "nfapi: ") {
				t.Errorf("%v has no place in %d octets", err, len(body))
			}
			return
		}
		n, err := p.encode(plane, &h, m, room)
		if err != nil || !bytes.Equal(room[:n], b) {
			t.Fatalf("%v: %v\n got %x\nwant %x", p, err, room[:n], b)
		}
		view, err := p.JSON(plane, b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := p.FromJSON(plane, view)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%v: %v\n got %x\nwant %x\n%s", p, err, again, b, view)
		}
		if n > 0 { // no octet less is enough
			if _, err := p.encode(plane, &h, m, room[:n-1]); !errors.Is(err, ErrRoom) {
				t.Errorf("into %d octets: got %v, want no room", n-1, err)
			}
		}
	})
}

func FuzzP7(f *testing.F) { fuzzPlane(f, P7) }
func FuzzP5(f *testing.F) { fuzzPlane(f, P5) }

// FuzzBody decodes any octets as a body of any message: what is accepted comes back,
// and memory is bounded by the message.
func FuzzBody(f *testing.F) {
	for _, v := range vectors(f) {
		if h, body, err := v.profile.parse(v.plane, v.octets); err == nil && len(body) < 2000 {
			f.Add(byte(v.profile), uint16(h.MessageID), body)
		}
	}
	room := make([]byte, MaxMessage)
	f.Fuzz(func(t *testing.T, profile byte, id uint16, body []byte) {
		p := Profile(profile % byte(len(profileNames)))
		m := NewMessage(MessageID(id & 0x1ff))
		if m.DecodeBody(p, body) != nil {
			return
		}
		n, err := m.EncodeBody(p, room)
		if err != nil || !bytes.Equal(room[:n], body) {
			t.Fatalf("%v %v: %v\n got %x\nwant %x", p, m.MessageID(), err, room[:n], body)
		}
		plane := P7
		if m.MessageID() < MsgDLTTIRequest || m.MessageID() >= MsgPNFParamRequest && m.MessageID() <= MsgStopResponse {
			plane = P5
		}
		h := Header{Generation: p.Generation(), Messages: 1}
		if n, err = p.encode(plane, &h, m, room); err != nil {
			t.Fatal(err)
		}
		view, err := p.JSON(plane, room[:n])
		if err != nil {
			t.Fatal(err)
		}
		again, err := p.FromJSON(plane, view)
		if err != nil || !bytes.Equal(again, room[:n]) {
			t.Fatalf("%v: %v\n got %x\nwant %x\n%s", p, err, again, room[:n], view)
		}
	})
}

// FuzzJSON: what FromJSON accepts, JSON gives back as the same octets.
func FuzzJSON(f *testing.F) {
	for _, v := range vectors(f) {
		if view, err := v.profile.JSON(v.plane, v.octets); err == nil && len(view) < 4000 {
			f.Add(byte(v.profile), v.plane == P5, view)
		}
	}
	f.Fuzz(func(t *testing.T, profile byte, p5 bool, text []byte) {
		p, plane := Profile(profile%byte(len(profileNames))), P7
		if p5 {
			plane = P5
		}
		b, err := p.FromJSON(plane, text)
		if err != nil {
			return
		}
		view, err := p.JSON(plane, b)
		if err != nil {
			return // a list without what another field says of it
		}
		again, err := p.FromJSON(plane, view)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%v\n got %x\nwant %x\n%s", err, again, b, view)
		}
	})
}
