package gtpu

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

var marked = Marks{QFI: 9, RQI: true, HasPagingPolicy: true, PagingPolicy: 5, HasServiceClass: true, ServiceClass: 0x81}

// TestMarks: made by hand from TS 38.415, 5.5.2.1, and TS 29.281, 5.2.2.3. Two
// octets of T-PDU are behind each header.
func TestMarks(t *testing.T) {
	const bare, none = "", "30 ff 0002 00000001 4500"
	container := func(content string) string { return "34 ff LEN 00000001 0000 00 85 " + content + " 00 4500" }
	made := func(content string) string { return "34ff LEN 00000002 0000 00 85 " + content + " 00" }
	rqi := Marks{QFI: 9, RQI: true}
	paged := Marks{HasPagingPolicy: true, PagingPolicy: 7}
	class := Marks{HasServiceClass: true, ServiceClass: 3}
	for _, tc := range []struct {
		name, in string
		marks    Marks
		want     string
	}{
		{"nothing", bare, Marks{}, "30ff 0002 00000002"},
		{"QFI", bare, Marks{QFI: 9}, made("01 00 09")},
		{"QFI, uplink", bare, Marks{PDUType: PDUTypeUplink, QFI: 9}, made("01 10 09")},
		{"RQI", bare, rqi, made("01 00 49")},
		{"RQI is of downlink containers", bare, Marks{PDUType: PDUTypeUplink, QFI: 9, RQI: true}, made("01 10 09")},
		{"RQI without QFI", bare, Marks{RQI: true}, "30ff 0002 00000002"},
		{"paging policy", bare, Marks{QFI: 9, HasPagingPolicy: true, PagingPolicy: 5}, made("02 00 89 a0 000000")},
		{"paging policy 0", bare, Marks{QFI: 9, HasPagingPolicy: true}, made("02 00 89 00 000000")},
		{"service class alone", bare, class, "34ff LEN 00000002 0000 00 20 01 03 00 00"},
		{"all", bare, marked, "34ff LEN 00000002 0000 00 85 02 00 c9 a0 000000 20 01 81 00 00"},

		{"relayed, nothing to mark in", none, Marks{RQI: true, HasPagingPolicy: true}, "30ff 0002 00000002"},
		{"relayed, RQI", container("01 00 09"), Marks{RQI: true}, made("01 00 49")},
		{"relayed, RQI of an uplink container", container("01 10 09"), Marks{RQI: true}, made("01 10 09")},
		{"relayed, RQI and QFI", container("01 00 09"), Marks{RQI: true, QFI: 7}, made("01 00 47")},
		{"relayed, paging policy grows", container("01 00 09"), paged, made("02 00 89 e0 000000")},
		{"relayed, another paging policy", container("02 00 89 3f 000000"), paged, made("02 00 89 ff 000000")},
		{"relayed, PPP without PPI", container("01 00 89"), paged, made("02 00 89 e0 000000")},
		{"relayed, paging policy into the padding", container("02 04 09 010203 00"), paged, made("02 04 89 e0 010203")},
		{"relayed, no padding left", container("02 02 09 01020304"), paged, made("03 02 89 e0 01020304 0000 00")},
		{"relayed, a time stamp moves", container("04 08 09 0102030405060708 00000000"), paged, made("04 08 89 e0 0102030405060708 000000")},
		{"relayed, service class", container("01 00 09"), class, "34ff LEN 00000002 0000 00 85 01 00 09 20 01 03 00 00"},
		{"relayed, another service class", "34 ff LEN 00000001 0000 00 20 01 77 00 85 01 00 09 00 4500", class,
			"34ff LEN 00000002 0000 00 85 01 00 09 20 01 03 00 00"},
		{"relayed, all where there was nothing", none, marked, "34ff LEN 00000002 0000 00 85 02 00 c9 a0 000000 20 01 81 00 00"},
	} {
		var got []byte
		if tc.in == bare {
			got = tc.marks.AppendGPDU(nil, 2, 2)
		} else {
			h, err := Parse(withLength(t, tc.in, 0))
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			got = tc.marks.AppendRelayed(nil, h, 2, 2)
		}
		if want := withLength(t, tc.want, 2); !bytes.Equal(got, want) {
			t.Errorf("%s:\n got %x\nwant %x", tc.name, got, want)
		}
	}
}

// withLength reads hex in which LEN stands for the right Length, behind which
// come so many octets of T-PDU that are not there.
func withLength(t *testing.T, s string, size int) []byte {
	t.Helper()
	b := octets(t, strings.ReplaceAll(s, "LEN", "0000"))
	binary.BigEndian.PutUint16(b[offLength:], uint16(len(b)-lenFixed+size))
	return b
}
