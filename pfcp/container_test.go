package pfcp

import (
	"encoding/binary"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
)

// tlv returns one IE.
func tlv(t IEType, content ...byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(t))
	b = binary.BigEndian.AppendUint16(b, uint16(len(content)))
	return append(b, content...)
}

// TestUnknownIEs puts unknown, unexpected and vendor-specific IEs in front of,
// between and behind those of a message, in groups too: nothing else changes.
func TestUnknownIEs(t *testing.T) {
	_, plain := decode(t, pfcptest.Get(t, "gopfcp-path-switch").Octets)
	inner := func(b []byte) []byte {
		_, body, _, _ := Parse(b)
		return body
	}(pfcptest.Get(t, "gopfcp-path-switch").Octets)
	content := inner[lenIE:] // of the one Update FAR
	for name, strange := range map[string][]byte{
		"unknown":               tlv(318, 1, 2, 3),
		"beyond the table":      tlv(32767),
		"reserved 0":            tlv(0, 0xff),
		"vendor-specific":       tlv(0x8001, 0x28, 0xaf, 1),
		"vendor-specific short": tlv(0xffff),
		"unexpected here":       tlv(IECause, 1),
		"known, skipped":        tlv(IETraceInformation, 1),
	} {
		t.Run(name, func(t *testing.T) {
			far := append(append(append([]byte{}, strange...), content...), strange...)
			body := append(append(append([]byte{}, strange...), tlv(IEUpdateFAR, far...)...), strange...)
			var got SessionModificationRequest
			if err := got.Decode(body); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain, Message(&got), equal); diff != "" {
				t.Errorf("-without +with\n%s", diff)
			}
		})
	}
}

// TestRepeatedIE: of an IE that may stand once the first counts, even if the
// second could not be read.
func TestRepeatedIE(t *testing.T) {
	body := append(tlv(IERecoveryTimeStamp, 0, 0, 0, 1), tlv(IERecoveryTimeStamp, 9)...)
	var m HeartbeatRequest
	if err := m.Decode(body); err != nil || m.RecoveryTimeStamp != 1 {
		t.Errorf("got %d, %v; want 1", m.RecoveryTimeStamp, err)
	}
}

// TestExtendedIE: octets that a later release has added are passed over.
func TestExtendedIE(t *testing.T) {
	var m HeartbeatRequest
	if err := m.Decode(tlv(IERecoveryTimeStamp, 0, 0, 0, 1, 0xff)); err != nil || m.RecoveryTimeStamp != 1 {
		t.Errorf("got %d, %v; want 1", m.RecoveryTimeStamp, err)
	}
}

// TestNoted: an IE that changes a rule but is not decoded is kept in mind.
func TestNoted(t *testing.T) {
	pdr := append(tlv(IEPDRID, 0, 1), tlv(IEPrecedence, 0, 0, 0, 1)...)
	pdr = append(pdr, tlv(IEPDI, append(tlv(IESourceInterface, 0), tlv(IEDNSQueryFilter, 1)...)...)...)
	pdr = append(pdr, tlv(IEMARID, 0, 1)...)
	var m SessionModificationRequest
	if err := m.Decode(append(tlv(IECreatePDR, pdr...), tlv(IECreateSRR)...)); err != nil {
		t.Fatal(err)
	}
	got := [...]IEType{m.Noted, m.CreatePDRs[0].Noted, m.CreatePDRs[0].PDI.Noted}
	if want := [...]IEType{IECreateSRR, IEMARID, IEDNSQueryFilter}; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestLimits repeats an IE until it is too many.
func TestLimits(t *testing.T) {
	for _, tc := range []struct {
		name  string
		ie    []byte
		limit int
	}{
		{"Remove PDR", tlv(IERemovePDR, tlv(IEPDRID, 0, 1)...), MaxRules},
		{"Query URR", tlv(IEQueryURR, tlv(IEURRID, 0, 0, 0, 1)...), MaxRules},
		{"Create BAR", tlv(IECreateBAR, tlv(IEBARID, 1)...), MaxRuleRefs},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var body []byte
			for range tc.limit {
				body = append(body, tc.ie...)
			}
			var m SessionModificationRequest
			if err := m.Decode(body); err != nil {
				t.Fatalf("%d: %v", tc.limit, err)
			}
			err := m.Decode(append(body, tc.ie...))
			var e *Error
			if !errors.As(err, &e) || e.Cause != CauseNoResourcesAvailable || !errors.Is(err, ErrTooMany) {
				t.Errorf("%d: %v, want %v", tc.limit+1, err, ErrTooMany)
			}
		})
	}
}

// TestMemory decodes the greatest datagrams, full of one IE each, and counts
// what the message holds afterwards: less than 32 octets for each on the wire.
func TestMemory(t *testing.T) {
	const most = 32 * maxLength
	pdi := func(content []byte) []byte {
		return tlv(IEPDI, append(tlv(IESourceInterface, 0), content...)...)
	}
	pdr := func(content []byte) []byte {
		b := append(tlv(IEPDRID, 0, 1), tlv(IEPrecedence, 0, 0, 0, 1)...)
		return append(append(b, tlv(IEFARID, 0, 0, 0, 1)...), content...)
	}
	filters := []byte{}
	for range MaxSDFFilters {
		filters = append(filters, tlv(IESDFFilter, 0, 0)...)
	}
	for name, one := range map[string][]byte{
		"Create PDR":                       tlv(IECreatePDR, pdr(pdi(nil))...),
		"Create PDR, SDF filters":          tlv(IECreatePDR, pdr(pdi(filters))...),
		"Create PDR, broken":               tlv(IECreatePDR),
		"Update PDR, SDF filters":          tlv(IEUpdatePDR, pdr(pdi(filters))...),
		"Update URR":                       tlv(IEUpdateURR, tlv(IEURRID, 0, 0, 0, 1)...),
		"Update BAR":                       tlv(IEUpdateBAR, tlv(IEBARID, 1)...),
		"Update Traffic Endpoint":          tlv(IEUpdateTrafficEndpoint, tlv(IETrafficEndpointID, 1)...),
		"Update FAR":                       tlv(IEUpdateFAR, tlv(IEFARID, 0, 0, 0, 1)...),
		"Create FAR without what it needs": tlv(IECreateFAR, tlv(IEApplyAction, 0)...),
	} {
		var m SessionModificationRequest
		var body []byte
		for len(body)+len(one) <= maxLength {
			body = append(body, one...)
		}
		for range 3 {
			_ = m.Decode(body) // too many: an error, but what was read is held
		}
		if held := sizeOf(reflect.ValueOf(m)); held > most {
			t.Errorf("%s: a message that was given %d octets holds %d", name, len(body), held)
		}
	}
}

// sizeOf returns the octets that v holds in slices, their spare room included.
func sizeOf(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			n += sizeOf(v.Field(i))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return 0 // a view of the datagram, or an ID list far smaller than it
		}
		n = v.Cap() * int(v.Type().Elem().Size())
		for i := range v.Len() {
			n += sizeOf(v.Index(i))
		}
	}
	return n
}
