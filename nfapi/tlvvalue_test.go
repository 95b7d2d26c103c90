package nfapi

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTLVValue: the PHYs of OpenAirInterface's PNF_CONFIG.request, read and written
// again.
func TestTLVValue(t *testing.T) {
	for _, v := range vectors(t) {
		if v.Name != "oai-2025/PNF_CONFIG.request" {
			continue
		}
		var m PNFConfigRequest
		_, body, err := OAI2025.ParseP5(v.octets)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.DecodeBody(OAI2025, body); err != nil {
			t.Fatal(err)
		}
		var got PNFPHYRF
		if err := OAI2025.DecodeTLV(&m.TLVs[0], &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(PNFPHYRF{PHYs: []PHYRFConfig{{PHYID: 1, PHYConfigIndex: 1}, {}}}, got); diff != "" {
			t.Error(diff)
		}
		back, err := OAI2025.EncodeTLV(TagPNFPHYRFConfig, &got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m.TLVs[0].Value, back.Value); diff != "" {
			t.Error(diff)
		}
		return
	}
	t.Fatal("no vector")
}

func TestTLVValueErrors(t *testing.T) {
	for name, tlv := range map[string]TLV{
		"count beyond the end": {Tag: TagPNFPHYRFConfig, Value: []byte{0, 2, 0, 1, 0, 1, 0, 0}},
		"octets left over":     {Tag: TagPNFPHYRFConfig, Value: []byte{0, 1, 0, 1, 0, 1, 0, 0, 9}},
		"empty":                {Tag: TagPNFPHYRFConfig},
	} {
		var e *Error
		if err := OAI2025.DecodeTLV(&tlv, &PNFPHYRF{}); !errors.As(err, &e) {
			t.Errorf("%s: got %v, want an Error", name, err)
		}
	}
}

func TestTLVUint(t *testing.T) {
	for _, p := range Profiles() {
		for _, width := range []int{1, 2, 4} {
			tlv := p.UintTLV(TagP7VNFPort, width, 0x5b)
			if got, ok := tlv.Uint(p); len(tlv.Value) != width || got != 0x5b || !ok {
				t.Errorf("%v, %d octets: %x is %d, %v", p, width, tlv.Value, got, ok)
			}
		}
	}
	odd := TLV{Value: make([]byte, 3)}
	if _, ok := odd.Uint(OAI2025); ok {
		t.Error("3 octets are a number")
	}
}
