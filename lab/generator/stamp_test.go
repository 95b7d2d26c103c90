package generator

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// One stamp, octet for octet as bpf/lab/stamp.h draws it.
const goldenStamp = "504c4d42 04030201 0807060504030201 1817161514131211 2827262524232221" +
	"34333231 41424344 0a400001 5251 3f 00"

func golden(t testing.TB) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(goldenStamp, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDecodeStamp(t *testing.T) {
	want := Stamp{
		Run: 0x01020304, Sequence: 0x0102030405060708, IntendedNs: 0x1112131415161718, SentNs: 0x2122232425262728,
		Session: 0x31323334, TEID: 0x41424344, UE: FoldUE(netip.MustParseAddr("10.64.0.1")), Stream: 0x5152, QFI: 63,
	}
	got, err := DecodeStamp(golden(t))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if b := want.Append(nil); !bytes.Equal(b, golden(t)) {
		t.Errorf("got %x, want %x", b, golden(t))
	}
	for n := range StampOctets {
		if _, err := DecodeStamp(golden(t)[:n]); !errors.Is(err, ErrShort) {
			t.Errorf("%d octets: got %v, want %v", n, err, ErrShort)
		}
	}
	if _, err := DecodeStamp(make([]byte, StampOctets)); !errors.Is(err, ErrMagic) {
		t.Errorf("zeros: got %v, want %v", err, ErrMagic)
	}
}

func TestFoldUE(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want uint32
	}{
		{"10.64.0.1", 0x0a400001},
		{"fd64:0:1:2::1", 0xfd640000 ^ 0x00010002 ^ 1},
		{"::", 0},
	} {
		if got := FoldUE(netip.MustParseAddr(tc.in)); got != tc.want {
			t.Errorf("%s: got %#08x, want %#08x", tc.in, got, tc.want)
		}
	}
}

// FuzzDecodeStamp: what decodes is long enough, has the magic, and encodes to
// the octets it came from.
func FuzzDecodeStamp(f *testing.F) {
	f.Add(golden(f))
	f.Add(golden(f)[:20])
	f.Add(append(golden(f), 1, 2, 3))
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := DecodeStamp(in)
		if err != nil {
			if !errors.Is(err, ErrShort) && !errors.Is(err, ErrMagic) {
				t.Errorf("error %v is none that is documented", err)
			}
			return
		}
		if got, want := s.Append(nil), in[:StampOctets]; !bytes.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
	})
}

// TestShortStamp: octet for octet as bpf/lab/stamp.h draws it; check is QFI 63, DSCP 46 and
// the upper 14 bits of the products of UE and TEID, as they stand in headers, and 0x9e3779b1.
func TestShortStamp(t *testing.T) {
	stamp := Stamp{
		Run: 0x01020304, Stream: 0x52, Sequence: 0x0807060504030201, IntendedNs: 0x1112131415161718,
		QFI: 63, DSCP: 46, UE: 0x01000000, TEID: 0x02000000, // 1 and 2, read as the program does
	}
	const hash1, hash2 = 0x9e3779b1 >> 18, (2 * 0x9e3779b1 & 0xffffffff) >> 18
	check := uint64(63 | 46<<6 | hash1<<12 | hash2<<26)
	want := ShortStamp{Head: ShortHead(stamp.Run) | 0x52, Sequence: 0x04030201, IntendedNs: 0x1415161718, Check: check}
	if diff := cmp.Diff(want, stamp.Short()); diff != "" || want.Head>>31 != 1 {
		t.Errorf("head %#08x (-want +got):\n%s", want.Head, diff)
	}
	octets := []byte{
		byte(want.Head), byte(want.Head >> 8), byte(want.Head >> 16), byte(want.Head >> 24), 1, 2, 3, 4,
		0x18, 0x17, 0x16, 0x15, 0x14, byte(check), byte(check >> 8), byte(check >> 16), byte(check >> 24), byte(check >> 32),
	}
	if got := want.Append(nil); !bytes.Equal(got, octets) {
		t.Errorf("got %x, want %x", got, octets)
	}
	if ShortHead(1) == ShortHead(2) {
		t.Error("two runs have the same head")
	}
}

// FuzzDecodeShortStamp: what decodes encodes to the octets it came from.
func FuzzDecodeShortStamp(f *testing.F) {
	f.Add(Stamp{Run: 5, Sequence: 1 << 31, IntendedNs: 1 << 39, TEID: 77, QFI: 63}.Short().Append(nil))
	f.Add(golden(f))
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := decodeShortStamp(in)
		if err != nil {
			if !errors.Is(err, ErrShort) && !errors.Is(err, ErrMagic) {
				t.Errorf("error %v is none that is documented", err)
			}
			return
		}
		if got := s.Append(nil); !bytes.Equal(got, in[:ShortStampOctets]) {
			t.Errorf("got %x, want %x", got, in)
		}
	})
}

// decodeShortStamp reads the short stamp at the start of payload.
//
// Errors: [ErrShort], [ErrMagic].
func decodeShortStamp(payload []byte) (ShortStamp, error) {
	if len(payload) < ShortStampOctets {
		return ShortStamp{}, fmt.Errorf("generator: %d octets: %w", len(payload), ErrShort)
	}
	le := binary.LittleEndian
	s := ShortStamp{Head: le.Uint32(payload), Sequence: le.Uint32(payload[4:])}
	if s.Head&shortHeadBit == 0 {
		return ShortStamp{}, fmt.Errorf("generator: head %#08x: %w", s.Head, ErrMagic)
	}
	s.IntendedNs = le.Uint64(payload[8:]) & (1<<shortTimeBits - 1)
	s.Check = le.Uint64(payload[10:]) >> (64 - shortTimeBits)
	return s, nil
}
