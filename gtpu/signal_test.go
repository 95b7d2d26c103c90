package gtpu

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"
)

var (
	v4 = netip.MustParseAddr("10.3.0.1")
	v6 = netip.MustParseAddr("2001:db8:3::1")
)

// TestSignals: whole messages, made by hand from TS 29.281, 7.2 and 7.3. A
// second opinion on the same octets is scapy's, in scapy_test.go.
func TestSignals(t *testing.T) {
	for _, tc := range []struct {
		name string
		got  []byte
		want string
	}{
		{"echo request", AppendEchoRequest(nil, 7), "3201 0004 00000000 0007 00 00"},
		{"echo response", AppendEchoResponse(nil, 7), "3202 0006 00000000 0007 00 00 0e00"},
		{"end marker", AppendEndMarker(nil, 0x01020304, PDUTypeDownlink, 0), "30fe 0000 01020304"},
		{"end marker of a QoS flow", AppendEndMarker(nil, 0x01020304, PDUTypeUplink, 5), "34fe 0008 01020304 0000 00 85 01 10 05 00"},
		{
			"error indication", AppendErrorIndication(nil, Tunnel{0x99, v4}, 50001),
			"361a 0014 00000000 0000 00 40  01 c351 00  10 00000099  85 0004 0a030001",
		},
		{
			"error indication, IPv6", AppendErrorIndication(nil, Tunnel{0x99, v6}, 2152),
			"361a 0020 00000000 0000 00 40  01 0868 00  10 00000099  85 0010 20010db8000300000000000000000001",
		},
		{"supported extension headers", AppendSupportedExtensionHeaders(nil), "321f 000c 00000000 0000 00 00  8d 06 81 82 83 84 85 c0"},
		{"behind what is there", AppendEndMarker([]byte{1}, 2, 0, 0), "01 30fe 0000 00000002"},
		{"echo behind what is there", AppendEchoResponse([]byte{1}, 7), "01 3202 0006 00000000 0007 00 00 0e00"},
	} {
		if want := octets(t, tc.want); !bytes.Equal(tc.got, want) {
			t.Errorf("%s: got %x, want %x", tc.name, tc.got, want)
		}
	}
}

var errorIndications = []struct {
	name, in string
	want     Tunnel
	err      error
}{
	{"ours", "361a 0014 00000000 0000 00 40  01 c351 00  10 00000099  85 0004 0a030001", Tunnel{0x99, v4}, nil},
	{"IPv6", "321a 001c 00000000 0000 00 00  10 00000099  85 0010 20010db8000300000000000000000001", Tunnel{0x99, v6}, nil},
	{"without sequence number", "301a 000c 00000000 10 00000099 85 0004 0a030001", Tunnel{0x99, v4}, nil},
	{"recovery and a private extension, too", "321a 0019 00000000 0000 00 00 0e07 10 00000099 85 0004 0a030001 ff 0004 00010203", Tunnel{0x99, v4}, nil},
	{"recovery time stamp", "321a 0017 00000000 0000 00 00 10 00000099 85 0004 0a030001 e7 0004 01020304", Tunnel{0x99, v4}, nil},
	{"octets behind the message", "301a 000c 00000000 10 00000099 85 0004 0a030001 ffff", Tunnel{0x99, v4}, nil},
	{"no TEID", "321a 000b 00000000 0000 00 00 85 0004 0a030001", Tunnel{}, ErrIE},
	{"no address", "321a 0009 00000000 0000 00 00 10 00000099", Tunnel{}, ErrIE},
	{"address of 5 octets", "321a 0011 00000000 0000 00 00 10 00000099 85 0005 0a03000100", Tunnel{}, ErrIE},
	{"address cut", "321a 000e 00000000 0000 00 00 10 00000099 85 0004 0a03", Tunnel{}, ErrIE},
	{"TEID cut", "321a 0007 00000000 0000 00 00 10 0000", Tunnel{}, ErrIE},
	{"length cut", "321a 000b 00000000 0000 00 00 10 00000099 85 00", Tunnel{}, ErrIE},
	{"unknown TV", "321a 0005 00000000 0000 00 00 01", Tunnel{}, ErrIE},
	{"G-PDU", "30ff 000c 00000000 10 00000099 85 0004 0a030001", Tunnel{}, ErrIE},
	{"cut", "321a 0014 00000000 0000 00 00", Tunnel{}, ErrShort},
}

func TestParseErrorIndication(t *testing.T) {
	for _, tc := range errorIndications {
		got, err := ParseErrorIndication(octets(t, tc.in))
		if got != tc.want || !errors.Is(err, tc.err) {
			t.Errorf("%s: got %+v, %v; want %+v, %v", tc.name, got, err, tc.want, tc.err)
		}
	}
}

// FuzzParseErrorIndication: what parses says the same when it is written again.
func FuzzParseErrorIndication(f *testing.F) {
	for _, tc := range errorIndications {
		f.Add(octets(f, tc.in))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tunnel, err := ParseErrorIndication(b)
		if err != nil {
			return
		}
		again, err := ParseErrorIndication(AppendErrorIndication(nil, tunnel, 2152))
		if err != nil || again != tunnel {
			t.Errorf("%x: %+v, written and read again %+v, %v", b, tunnel, again, err)
		}
	})
}
