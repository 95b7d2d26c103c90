package nfapi

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unsafe"
)

// TestErrors: what is wrong is refused with the place where, among it what writes
// beyond its arrays in OpenAirInterface.
func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		id   MessageID
		body string
		want string
		is   error
	}{
		{"slot without slot", MsgSlotIndication, "0001 00", "SlotIndication.slot at octet 2 of the body: 2 octets needed, 1 left", ErrShort},
		{"40 PDUs in nothing", MsgDLTTIRequest, "0200 0000 28 00", "DLTTIRequest.pdus at octet 6 of the body: 40 elements in 0 octets", ErrShort},
		{"PDU of size 3", MsgDLTTIRequest, "0200 0000 01 00 0003 0003", "pdu 0: DLTTIPDU at octet 6 of the body: size 3, 4 octets left", ErrShort},
		{"PDU that is too short for its type", MsgDLTTIRequest, "0200 0000 01 00 0003 0005 00 0000", "pdu 0: SSBPDU.PhysCellId at octet 10 of the body: 2 octets needed, 1 left", ErrShort},
		{"60 DCIs in one PDU", MsgULDCIRequest, "0200 0000 01 0000 001b 006a 0000 01 00 00 01 ffff80000000 01 06 02 00 002a 00 003c", "PDCCHPDU.dci_pdu", ErrShort},
		{"60 PRGs", MsgULTTIRequest, "0200 0000 01 01 00 00 00 0000 0013 002a 01 09 00 00 000d 003c 006a 01 0003", "pdu 0: beamforming.prgs at octet 26 of the body: 60 elements in 2 octets", ErrShort},
		{"3 codewords", MsgDLTTIRequest, "0200 0000 01 00 0001 0011 0000 4601 0000 006a 0000 01 00 03", "PDSCHPDU.NrOfCodewords at octet 23 of the body: 3, at most 2", ErrValue},
		{"5 TLVs in nothing", MsgTXDataRequest, "0200 0000 0001 00000011 0000 00000005", "pdu 0: TXDataPDU.TLVs at octet 16 of the body: 5 elements in 0 octets", ErrShort},
		{"TLV of 4 GB", MsgTXDataRequest, "0200 0000 0001 00000011 0000 00000001 0000 ffffffff", "TXDataTLV.payload at octet 22", ErrShort},
		{"200 HARQ values", MsgUCIIndication, "0200 0013 0001 0001 0000 02 beef0000 4601 00 b4 001f 0500 c8 00", "pdu 0: UCIFormat01.harq_list at octet 25 of the body: 200 octets needed, 0 left", ErrShort},
		{"UCI of unknown type without size", MsgUCIIndication, "0200 0013 0001 0009 0000", "pdu 0: UCI at octet 6", ErrShort},
		{"200 preambles", MsgRACHIndication, "0200 0013 01 002a 00 13 01 80 90 c8", "pdu 0: RACHOccasion.preamble_list", ErrShort},
		{"DCI of 200 bits", MsgULDCIRequest, "0200 0000 01 0000 002c 006a 0000 01 00 00 01 ffff80000000 01 06 02 00 002a 00 0001 4601 002a 4601 00 04 0000 0000 00 08 01 00c8", "DCI.PayloadSizeBits", ErrValue},
		{"TLV beyond the end", MsgConfigRequest, "01 1001 0004 0028", "pdu 0: TLV.value at octet 5 of the body: 4 octets needed, 2 left", ErrShort},
		{"half a TLV", MsgConfigRequest, "01 1001", "TLV.tag at octet 1 of the body: 4 octets needed, 2 left", ErrShort},
	} {
		m := NewMessage(tc.id)
		err := m.DecodeBody(OAI2025, octets(t, tc.body))
		if err == nil || !strings.Contains(err.Error(), tc.want) || !errors.Is(err, tc.is) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
}

// TestHeaderErrors: a datagram that is not as long as its header says is refused, and
// so is what no header fits into.
func TestHeaderErrors(t *testing.T) {
	for _, tc := range []struct {
		profile Profile
		plane   Plane
		in      string
		is      error
	}{
		{OAI2025, P7, "", ErrShort},
		{OAI2025, P7, "000100820000", ErrShort},
		{OAI2025, P7, "00010082000000170007000000000001e24003ff0013", ErrHeader},
		{OAI2024, P7, "0001008200150007000000000001e24003ff0013", ErrHeader},
		{Aerial, P7, "0100820005000000ff031300", ErrHeader},
		{OAI2025, P5, "0001010800000002000000", ErrHeader},
	} {
		if _, _, err := tc.profile.parse(tc.plane, octets(t, tc.in)); !errors.Is(err, tc.is) {
			t.Errorf("%v %s: got %v, want %v", tc.profile, tc.in, err, tc.is)
		}
	}
	if _, _, err := OAI2025.ParseP7(make([]byte, MaxMessage+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("got %v, want %v", err, ErrTooLong)
	}
}

// TestGenerations: the header says which generation it is, whatever the profile.
func TestGenerations(t *testing.T) {
	for _, v := range vectors(t) {
		for _, p := range Profiles() {
			if (p == Aerial) != (v.profile == Aerial) {
				continue
			}
			h, body, err := p.parse(v.plane, v.octets)
			want := Gen2025
			switch {
			case strings.HasSuffix(v.Name, "/fapi"):
				want = GenFAPI
			case v.profile == OAI2024:
				want = Gen2024
			}
			if err != nil || h.Generation != want || len(v.octets) != len(body)+lenHeader(v.plane, h.Generation) {
				t.Errorf("%s as %v: got generation %v, %v, want %v", v.Name, p, h.Generation, err, want)
			}
		}
	}
	for in, want := range map[string]int{"0001010800000001000000": 11, "00010108000000": 0, "0001000200000c290000": 3123} {
		if n, _ := OAI2025.FrameP5(octets(t, in)); n != want {
			t.Errorf("%s: got %d octets, want %d", in, n, want)
		}
	}
}

// TestMemoryIsBounded: no element takes more than 256 octets for each that it has at
// least on the wire, so a message takes no more than that for each of its own.
func TestMemoryIsBounded(t *testing.T) {
	for _, e := range []struct {
		name  string
		size  uintptr
		least uintptr
	}{
		{"DL_TTI PDU", unsafe.Sizeof(DLTTIPDU{}), 4},
		{"UL_TTI PDU", unsafe.Sizeof(ULTTIPDU{}), 4},
		{"UL_DCI PDU", unsafe.Sizeof(ULDCIPDU{}), 4},
		{"DCI", unsafe.Sizeof(DCI{}), 17},
		{"TX_DATA PDU", unsafe.Sizeof(TXDataPDU{}), 8},
		{"TX_DATA TLV", unsafe.Sizeof(TXDataTLV{}), 4},
		{"RX_DATA PDU", unsafe.Sizeof(RXDataPDU{}), 14},
		{"CRC", unsafe.Sizeof(CRC{}), 15},
		{"UCI", unsafe.Sizeof(UCI{}), 4},
		{"SRS report", unsafe.Sizeof(SRSReport{}), 18},
		{"RACH occasion", unsafe.Sizeof(RACHOccasion{}), 8},
		{"preamble", unsafe.Sizeof(Preamble{}), 7},
		{"TLV", unsafe.Sizeof(TLV{}), 4},
	} {
		if e.size > 256*e.least {
			t.Errorf("%s: %d octets for %d", e.name, e.size, e.least)
		}
	}
}

// TestEncodeErrors: a message that contradicts itself is not encoded.
func TestEncodeErrors(t *testing.T) {
	room := make([]byte, 1<<17)
	for _, tc := range []struct {
		name    string
		profile Profile
		m       Message
		want    string
	}{
		{"payload of another length", OAI2025, &RXDataIndication{PDUs: []RXDataPDU{{PDULength: 2, Payload: []byte{1}}}}, "RXDataPDU.payload"},
		{"length of 16 bits", OAI2024, &RXDataIndication{PDUs: []RXDataPDU{{PDULength: 70000, Payload: make([]byte, 70000)}}}, "70000, the field holds at most 65535"},
		{"too many PDUs", OAI2025, &DLTTIRequest{PDUs: make([]DLTTIPDU, 256)}, "DLTTIRequest.nPDUs"},
		{"indices of another number", OAI2025, &DLTTIRequest{PDUs: []DLTTIPDU{{Type: 3, SSB: SSBPDU{Beamforming: BeamformingTX{NumPRGs: 2}}}}}, "pdu 0: beamforming.prgs"},
		{"no room", OAI2025, &RXDataIndication{PDUs: []RXDataPDU{{PDULength: 1 << 17, Payload: make([]byte, 1<<17)}}}, "no room"},
	} {
		if _, err := tc.profile.EncodeP7(&Header{Generation: tc.profile.Generation()}, tc.m, room); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
	ssb := &DLTTIRequest{PDUs: []DLTTIPDU{{Type: 3, SSB: SSBPDU{PhysCellID: 42, Beamforming: BeamformingTX{PRGSize: 106, DigBFInterfaces: 1, NumPRGs: 1, Indices: []uint16{0, 3}}}}}}
	if _, err := OAI2025.EncodeP7(&Header{}, ssb, room); err != nil {
		t.Error(err)
	}
}

// TestNoJSON: what is no JSON of a message is said in words.
func TestNoJSON(t *testing.T) {
	for text, want := range map[string]string{
		"": "there is no message", " \n": "there is no message", "{\"header\": {": "the message ends after 12 octets", "null": "null is no message", "{} {}": "more than one value",
		"[]": "cannot unmarshal array",
	} {
		if _, err := OAI2025.FromJSON(P7, []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

// TestViewIsBounded: PRGs that have no octets are not written one by one.
func TestViewIsBounded(t *testing.T) {
	m := &ULTTIRequest{PDUs: make([]ULTTIPDU, 255)}
	for i := range m.PDUs {
		m.PDUs[i].PRACH.Beamforming.NumPRGs = 0xffff
	}
	room := make([]byte, 1<<16)
	n, err := OAI2025.EncodeP7(&Header{}, m, room)
	if err != nil {
		t.Fatal(err)
	}
	view, err := OAI2025.JSON(P7, room[:n])
	if err != nil || len(view) > 100*n {
		t.Fatalf("got %d octets for %d, %v", len(view), n, err)
	}
	if again, err := OAI2025.FromJSON(P7, view); err != nil || !bytes.Equal(again, room[:n]) {
		t.Errorf("not the same octets again: %v", err)
	}
}
