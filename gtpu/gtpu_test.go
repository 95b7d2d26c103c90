package gtpu

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

func octets(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var headers = []struct {
	name, in string
	n        int // octets up to the T-PDU
	qfi      byte
	err      error
}{
	{"fixed part only", "30 ff 0002 00000001 4500", 8, 0, nil},
	{"S set, E not: next type ignored", "32 ff 0006 00000001 0007 00 85 4500", 12, 0, nil},
	{"PN set", "31 ff 0006 00000001 0000 07 00 4500", 12, 0, nil},
	{"E set, no extension", "34 ff 0006 00000001 0000 00 00 4500", 12, 0, nil},
	{"PDU session container", "34 ff 000a 00000001 0000 00 85 01 10 09 00 4500", 16, 9, nil},
	{"PDU session container of 8 octets", "34 ff 000e 00000001 0000 00 85 02 18 09 01 02030400 4500", 20, 9, nil},
	{"two extension headers", "36 ff 000e 00000001 0007 00 c0 01 0001 85 01 10 05 00 4500", 20, 5, nil},
	{"container first", "34 ff 000e 00000001 0000 00 85 01 10 05 20 01 0001 00 4500", 20, 5, nil},
	{"unknown, comprehension not required", "34 ff 000a 00000001 0000 00 10 01 0000 00 4500", 16, 0, nil},
	{"unknown, comprehension required", "34 ff 000a 00000001 0000 00 86 01 0000 00 4500", 0, 0, ErrUnknown},
	{"cut before the extension", "34 ff 0004 00000001 0000 00 85", 0, 0, ErrShort},
	{"extension beyond Length", "34 ff 0006 00000001 0000 00 85 0110 0900", 0, 0, ErrShort},
	{"length beyond the packet", "30 ff ffff 00000001", 0, 0, ErrShort},
	{"extension of length 0", "34 ff 0008 00000001 0000 00 85 00000000", 0, 0, ErrExtension},
	{"nine extension headers", "34 ff 0028 00000001 0000 00 20" + strings.Repeat(" 01 0000 20", 9), 0, 0, ErrExtension},
	{"GTP'", "20 ff 0000 00000001", 0, 0, ErrVersion},
	{"GTPv2", "48 ff 0000 00000001", 0, 0, ErrVersion},
	{"7 octets", "30 ff 0000 000000", 0, 0, ErrShort},
	{"optional word cut", "32 ff 0002 00000001 0000", 0, 0, ErrShort},
}

// TestParseRelayed: what each node has to comprehend is an error, what only the end of the
// tunnel has to is told of, and all else is as for [Parse].
func TestParseRelayed(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		n        int
		foreign  bool
		err      error
	}{
		{"no extension header", "30 ff 0002 00000001 4500", 8, false, nil},
		{"PDU session container", "34 ff 000a 00000001 0000 00 85 01 10 09 00 4500", 16, false, nil},
		{"unknown, comprehension not required", "34 ff 000a 00000001 0000 00 10 01 0000 00 4500", 16, false, nil},
		{"PDCP PDU number", "34 ff 000a 00000001 0000 00 c0 01 0001 00 4500", 16, false, nil},
		{"0x80", "34 ff 000a 00000001 0000 00 80 01 0000 00 4500", 16, true, nil},
		{"0x86", "34 ff 000a 00000001 0000 00 86 01 0000 00 4500", 16, true, nil},
		{"0xbf behind a container", "34 ff 000e 00000001 0000 00 85 01 10 09 bf 01 0000 00 4500", 20, true, nil},
		{"0xc1", "34 ff 000a 00000001 0000 00 c1 01 0000 00 4500", 0, false, ErrUnknown},
		{"0xff behind 0x8a", "34 ff 000e 00000001 0000 00 8a 01 0000 ff 01 0000 00 4500", 0, false, ErrUnknown},
		{"0x8a of length 0", "34 ff 000a 00000001 0000 00 8a 00 0000 00 4500", 0, false, ErrExtension},
		{"0x8a cut", "34 ff 0004 00000001 0000 00 8a", 0, false, ErrShort},
	} {
		h, err := ParseRelayed(octets(t, tc.in))
		if !errors.Is(err, tc.err) || len(h) != tc.n {
			t.Errorf("%s: %d octets, %v; want %d, %v", tc.name, len(h), err, tc.n, tc.err)
		} else if err == nil && h.Foreign() != tc.foreign {
			t.Errorf("%s: foreign %v, want %v", tc.name, h.Foreign(), tc.foreign)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tc := range headers {
		t.Run(tc.name, func(t *testing.T) {
			h, err := Parse(octets(t, tc.in))
			if !errors.Is(err, tc.err) || len(h) != tc.n {
				t.Fatalf("Parse(%s) = %d octets, %v; want %d, %v", tc.in, len(h), err, tc.n, tc.err)
			}
			if err != nil {
				return
			}
			if qfi, _ := h.QFI(); qfi != tc.qfi || h.TEID() != 1 {
				t.Errorf("QFI %d, TEID %d; want %d, 1", qfi, h.TEID(), tc.qfi)
			}
		})
	}
}

func TestAppend(t *testing.T) {
	for _, tc := range []struct {
		name string
		got  []byte
		want string
	}{
		{"no QFI", AppendGPDU(nil, 0x01020304, PDUTypeDownlink, 0, 20), "30ff 0014 01020304"},
		{"downlink", AppendGPDU(nil, 1, PDUTypeDownlink, 9, 20), "34ff 001c 00000001 0000 00 85 01 00 09 00"},
		{"uplink", AppendGPDU(nil, 1, PDUTypeUplink, 63, 20), "34ff 001c 00000001 0000 00 85 01 10 3f 00"},
	} {
		if want := octets(t, tc.want); !bytes.Equal(tc.got, want) {
			t.Errorf("%s: got %x, want %x", tc.name, tc.got, want)
		}
	}
}

// FuzzParse: a header that parses lies inside its message, and its accessors
// do not panic.
func FuzzParse(f *testing.F) {
	for _, h := range headers {
		f.Add(octets(f, h.in))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := Parse(b)
		if err != nil {
			return
		}
		if len(h) < lenFixed || len(h) > lenFixed+h.Length() || lenFixed+h.Length() > len(b) {
			t.Errorf("header of %d octets, message of %d, in %d", len(h), lenFixed+h.Length(), len(b))
		}
		h.QFI()
		h.Sequence()
	})
}

// TestAppendGPDUInPlace: what stands behind the header, as a T-PDU does that it is
// written in front of, stays as it is.
func TestAppendGPDUInPlace(t *testing.T) {
	for qfi, header := range map[byte]int{0: LenGPDU, 9: LenGPDUWithQFI} {
		b := bytes.Repeat([]byte{0xaa}, 40)
		if got := len(AppendGPDU(b[:0], 7, PDUTypeUplink, qfi, 40-header)); got != header {
			t.Errorf("QFI %d: header of %d octets, want %d", qfi, got, header)
		}
		if want := bytes.Repeat([]byte{0xaa}, 40-header); !bytes.Equal(b[header:], want) {
			t.Errorf("QFI %d: behind the header got %x, want it untouched", qfi, b[header:])
		}
	}
}
