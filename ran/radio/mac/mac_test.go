package mac

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// read lists the sub-PDUs of a transport block.
func read(tb []byte, uplink bool) (list []string, err error) {
	r := NewReader(tb, uplink)
	for {
		s, ok, err := r.Next()
		if err != nil || !ok {
			return list, err
		}
		list = append(list, fmt.Sprintf("%d:%x", s.LCID, s.Payload))
	}
}

func TestReader(t *testing.T) {
	long := strings.Repeat("ab", 256)
	for _, test := range []struct {
		name   string
		tb     string
		uplink bool
		want   string
		err    error
	}{
		{"empty", "", true, "", nil},
		{"padding only", "3f 00 00 00", true, "", nil},
		{"SDU", "04 02 aabb", true, "4:aabb", nil},
		{"SDU with 16 bits of length", "44 0100" + long, false, "4:" + long, nil},
		{"16 bits for a short one", "44 0001 aa", false, "4:aa", nil},
		{"SDU, short BSR, padding", "04 01 aa 3d 29 3f 00", true, "4:aa 61:29", nil},
		{"long BSR", "3e 02 02 13", true, "62:0213", nil},
		{"two SDUs", "04 01 aa 05 01 bb", false, "4:aa 5:bb", nil},
		{"C-RNTI", "3a 4601 04 01 aa", true, "58:4601 4:aa", nil},
		{"CCCH of 48 bits", "34 010203040506 3f", true, "52:010203040506", nil},
		{"timing advance", "3d 1f 04 01 aa", false, "61:1f 4:aa", nil},
		{"DRX", "3c 3b 04 01 aa", false, "60: 59: 4:aa", nil},
		{"contention resolution", "3e 010203040506", false, "62:010203040506", nil},
		{"no length", "04", true, "", ErrTruncated},
		{"half a length", "44 01", true, "", ErrTruncated},
		{"SDU cut off", "04 01 aa 04 03 aabb", true, "4:aa", ErrTruncated},
		{"BSR cut off", "04 01 aa 3d", true, "4:aa", ErrTruncated},
		{"reserved LCID", "04 01 aa 2a 01 bb", true, "4:aa", ErrReserved},
	} {
		got, err := read(unhex(t, test.tb), test.uplink)
		if strings.Join(got, " ") != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: got %v, %v, want %s, %v", test.name, got, err, test.want, test.err)
		}
	}
}

func TestPutHeader(t *testing.T) {
	for n, want := range map[int]string{0: "0400", 1: "0401", 255: "04ff", 256: "440100", 65535: "44ffff"} {
		b := make([]byte, 3)
		if size := PutHeader(b, DRB1, n); hex.EncodeToString(b[:size]) != want || size != HeaderSize(n) {
			t.Errorf("%d octets: got %x, want %s", n, b[:size], want)
		}
	}
}

func TestPad(t *testing.T) {
	b := bytes.Repeat([]byte{0xee}, 4)
	Pad(b[:0])
	Pad(b[1:])
	if hex.EncodeToString(b) != "ee3f0000" {
		t.Errorf("got %x", b)
	}
}

func TestBSR(t *testing.T) {
	for _, test := range []struct {
		octets int
		put    func([]byte, uint8, int) int
		want   string
		read   int
	}{
		{0, PutShortBSR, "3d 20", 0},
		{1, PutShortBSR, "3d 21", 10},
		{10, PutShortBSR, "3d 21", 10},
		{11, PutShortBSR, "3d 22", 14},
		{150000, PutShortBSR, "3d 3e", 150000},
		{150001, PutShortBSR, "3d 3f", 300000},
		{1 << 30, PutShortBSR, "3d 3f", 300000},
		{0, PutLongBSR, "3e 01 00", 0},
		{1, PutLongBSR, "3e 02 02 01", 10},
		{81338368, PutLongBSR, "3e 02 02 fd", 81338368},
		{81338369, PutLongBSR, "3e 02 02 fe", 162676736},
	} {
		b := make([]byte, 4)
		b = b[:test.put(b, Group, test.octets)]
		if !bytes.Equal(b, unhex(t, test.want)) {
			t.Errorf("%d octets: got %x, want %s", test.octets, b, test.want)
		}
		r := NewReader(b, true)
		s, _, err := r.Next()
		got, ok := ParseBSR(s)
		if err != nil || !ok || got.Octets[Group] != test.read {
			t.Errorf("%x: got %+v, %v, want %d octets", b, got, err, test.read)
		}
	}
}

func TestParseBSR(t *testing.T) {
	for _, test := range []struct {
		sub  string
		want string // groups and their octets
	}{
		{"3d e1", "80 [0 0 0 0 0 0 0 10]"},
		{"3b 41", "4 [0 0 10 0 0 0 0 0]"},
		{"3e 03 81 01 02", "81 [10 0 0 0 0 0 0 11]"},
		{"3e 02 81 01", ""},                     // a size is missing
		{"3c 02 81 01", "1 [10 0 0 0 0 0 0 0]"}, // as a truncated report may
		{"3e 03 01 01 02", ""},                  // a size too many
		{"3e 02 01 ff", ""},                     // reserved
		{"3e 00", ""},
		{"3a 4601", ""}, // another control element
	} {
		r := NewReader(unhex(t, test.sub), true)
		s, _, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		got, ok := ParseBSR(s)
		if text := fmt.Sprintf("%x %v", got.Groups, got.Octets); ok != (test.want != "") || ok && text != test.want {
			t.Errorf("%s: got %s, %v, want %q", test.sub, text, ok, test.want)
		}
	}
}

// FuzzReader: what is read lies in the transport block, in order, and written again it
// is read the same.
func FuzzReader(f *testing.F) {
	f.Add(unhex(f, "04 01 aa 3d 29 3f 00"), true)
	f.Add(unhex(f, "3d 1f 44 0002 aabb 3f"), false)
	f.Add(unhex(f, "3e 03 81 01 02 04 01 00"), true)
	f.Add(unhex(f, "3b"), false)
	f.Fuzz(func(t *testing.T, tb []byte, uplink bool) {
		r := NewReader(tb, uplink)
		var again []byte
		var first []string
		for {
			s, ok, err := r.Next()
			if err != nil || !ok {
				break
			}
			if b, parsed := ParseBSR(s); parsed && uplink && b.Groups == 0 && s.LCID == LCIDShortBSR {
				t.Errorf("a short report of no group: %x", s.Payload)
			}
			first = append(first, fmt.Sprintf("%d:%x", s.LCID, s.Payload))
			if r.sizes[s.LCID] == variable {
				header := make([]byte, headerLong)
				again = append(again, header[:PutHeader(header, s.LCID, len(s.Payload))]...)
			} else {
				again = append(again, s.LCID)
			}
			again = append(again, s.Payload...)
		}
		second, err := read(again, uplink)
		if err != nil || strings.Join(first, " ") != strings.Join(second, " ") {
			t.Errorf("%x: read %v, written and read again %v, %v", tb, first, second, err)
		}
	})
}
