package generator

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// One stamp, octet for octet as bpf/lab_stamp.h draws it.
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

// FuzzDecodeStamp: what decodes is long enough, has the magic, and but for the
// reserved octet encodes to the octets it came from.
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
		want := bytes.Clone(in[:StampOctets])
		want[StampOctets-1] = 0
		if got := s.Append(nil); !bytes.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
	})
}
