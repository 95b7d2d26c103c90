package gtpu

import (
	"bytes"
	"testing"
)

var relays = []struct {
	name, in string
	qfi      byte
	want     string
}{
	{"nothing to carry", "30 ff 0002 00000001 4500", 0, "30ff 0002 00000002"},
	{"sequence number stays behind", "32 ff 0006 00000001 0007 00 85 4500", 0, "30ff 0002 00000002"},
	{"container", "34 ff 000a 00000001 0000 00 85 01 10 09 00 4500", 0, "34ff 000a 00000002 0000 00 85 01 10 09 00"},
	{"container, QFI marked", "34 ff 000a 00000001 0000 00 85 01 10 c9 00 4500", 5, "34ff 000a 00000002 0000 00 85 01 10 c5 00"},
	{"no container, QFI marked", "30 ff 0002 00000001 4500", 5, "34ff 000a 00000002 0000 00 85 01 10 05 00"},
	{"the first container is marked", "34 ff 000e 00000001 0000 00 85 01 10 09 85 01 10 08 00 4500", 5, "34ff 000e 00000002 0000 00 85 01 10 05 85 01 10 08 00"},
	{"a mark before others", "34 ff 000a 00000001 0000 00 c0 01 0001 00 4500", 5, "34ff 000e 00000002 0000 00 85 01 10 05 c0 01 0001 00"},
	{"type with bits 01 is discarded", "34 ff 000e 00000001 0000 00 40 01 0868 85 01 10 09 00 4500", 0, "34ff 000a 00000002 0000 00 85 01 10 09 00"},
	{"last one is discarded", "34 ff 000e 00000001 0000 00 85 01 10 09 40 01 0868 00 4500", 0, "34ff 000a 00000002 0000 00 85 01 10 09 00"},
	{"only one is discarded", "34 ff 000a 00000001 0000 00 40 01 0868 00 4500", 0, "30ff 0002 00000002"},
	{"unknown with bits 00 goes on", "34 ff 000a 00000001 0000 00 10 01 abcd 00 4500", 0, "34ff 000a 00000002 0000 00 10 01 abcd 00"},
}

func TestAppendRelayed(t *testing.T) {
	for _, tc := range relays {
		h, err := Parse(octets(t, tc.in))
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		marks := Marks{PDUType: PDUTypeUplink, QFI: tc.qfi}
		if got, want := marks.AppendRelayed(nil, h, 2, 2), octets(t, tc.want); !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %x\nwant %x", tc.name, got, want)
		}
	}
}

// FuzzAppendRelayed: what is relayed is a G-PDU of the other tunnel with the
// same QFI or the mark, of which another relay changes nothing more.
func FuzzAppendRelayed(f *testing.F) {
	for _, tc := range headers {
		f.Add(octets(f, tc.in), byte(5))
	}
	for _, tc := range relays {
		f.Add(octets(f, tc.in), tc.qfi)
	}
	f.Fuzz(func(t *testing.T, b []byte, qfi byte) {
		h, err := Parse(b)
		if err != nil || len(b) > 2000 {
			return
		}
		qfi &= 0x3f
		const size = 3
		marks := Marks{PDUType: PDUTypeDownlink, QFI: qfi}
		out := marks.AppendRelayed(nil, h, 2, size)
		message := append(bytes.Clone(out), make([]byte, size)...)
		again, err := parseAny(message)
		if err != nil {
			t.Fatalf("%x relayed as %x: %v", b, out, err)
		}
		if len(again) != len(out) || again.TEID() != 2 || again.Type() != GPDU || 8+again.Length() != len(message) {
			t.Errorf("%x relayed as %x", b, out)
		}
		want, carried := h.QFI()
		if qfi != 0 {
			want, carried = qfi, true
		}
		if got, ok := again.QFI(); got != want || ok != carried {
			t.Errorf("%x relayed as %x: QFI %d, %v; want %d, %v", b, out, got, ok, want, carried)
		}
		if twice := marks.AppendRelayed(nil, again, 2, size); !bytes.Equal(twice, out) {
			t.Errorf("%x relayed again as %x", out, twice)
		}
	})
}

// parseAny is Parse for a header to which a ninth extension header may have
// come: that of our mark.
func parseAny(b []byte) (Header, error) {
	h, err := Parse(b)
	if err == nil {
		return h, nil
	}
	if b[offNext] == ExtPDUSessionContainer && b[lenOptional] == 1 {
		without := append(bytes.Clone(b[:offNext]), b[lenOptional+3])
		without = append(without, b[lenOptional+4:]...)
		without[2], without[3] = byte((len(without)-8)>>8), byte(len(without)-8)
		if inner, err := Parse(without); err == nil {
			return Header(b[:len(inner)+4]), nil
		}
	}
	return h, err
}
