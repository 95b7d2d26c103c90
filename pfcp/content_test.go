package pfcp

import (
	"bytes"
	"errors"
	"testing"

	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
)

// TestContent takes each golden message apart, IE by IE, and puts it together
// again: the same octets, but for what a message is written without.
func TestContent(t *testing.T) {
	seen := 0
	for _, v := range pfcptest.Good(t) {
		_, body, _, err := Parse(v.Octets)
		if err != nil {
			t.Fatal(err)
		}
		seen += rebuild(t, v.Name, body)
	}
	if seen < 300 {
		t.Errorf("%d IEs, want some hundred", seen)
	}
}

func rebuild(t *testing.T, name string, b []byte) (n int) {
	t.Helper()
	for len(b) >= lenIE {
		ie, size := IEType(b[0])<<8|IEType(b[1]), int(b[2])<<8|int(b[3])
		one := b[:lenIE+size]
		b = b[lenIE+size:]
		v := NewContent(ie)
		switch {
		case IsGrouped(ie):
			if v != nil {
				t.Errorf("%s is a group and has a Go value", ie)
			}
			n += rebuild(t, name, one[lenIE:])
			continue
		case v == nil:
			continue
		}
		if err := DecodeContent(ie, v, one[lenIE:]); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		n++
		got, err := AppendContent(nil, ie, v)
		shorter := len(one) < len(got) && bytes.HasPrefix(got[lenIE:], one[lenIE:]) // of an older release
		if err != nil || !bytes.Equal(got, one) && !shorter && ie != IEFQCSID && ie != IEDLBufferingSuggestedPacketCount && ie != IEUPFunctionFeatures {
			t.Errorf("%s: %s: got %x, %v\nwant %x", name, ie, got, err, one)
		}
	}
	return n
}

func TestContentErrors(t *testing.T) {
	var pdr uint16
	if err := DecodeContent(IEPDRID, &pdr, []byte{1}); !errors.Is(err, ErrLength) {
		t.Errorf("got %v, want %v", err, ErrLength)
	}
	if err := DecodeContent(IECreatePDR, nil, nil); !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v, want %v", err, ErrUnknown)
	}
	if _, err := AppendContent(nil, IEType(999), nil); !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v, want %v", err, ErrUnknown)
	}
	if _, err := AppendContent(nil, IEApplicationID, new(append([]byte(nil), make([]byte, 1<<16)...))); !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v, want %v", err, ErrTooLong)
	}
}
