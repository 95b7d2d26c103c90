package pfcp

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
)

// vectors returns all golden datagrams, good and bad.
func vectors(t testing.TB) []pfcptest.Vector { return append(pfcptest.Good(t), pfcptest.Bad(t)...) }

// FuzzParse: the parts of what Parse accepts are the datagram, and the header
// is written as it was read, but for spare bits.
func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Octets)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, body, rest, err := Parse(b)
		if err != nil {
			if len(body)+len(rest) > 0 {
				t.Errorf("%v, yet a body of %d octets, rest of %d", err, len(body), len(rest))
			}
			return
		}
		out := append(append(h.append(nil), body...), rest...)
		if len(out) != len(b) || len(rest) > 0 && !h.FO {
			t.Fatalf("%d octets became %d, rest of %d", len(b), len(out), len(rest))
		}
		copy(out[offLength:], b[offLength:lenPrefix])
		again, _, _, err := Parse(out)
		if err != nil || again != h {
			t.Errorf("%+v became %+v, %v", h, again, err)
		}
	})
}

// fuzzDecode: what the decoder of m's type accepts is the same after encoding
// and decoding it again, and how much it holds is within the limits; what it
// refuses has a Cause.
func fuzzDecode(f *testing.F, kind MessageType) {
	for _, v := range vectors(f) {
		if h, body, _, err := Parse(v.Octets); err == nil && h.Type == kind {
			f.Add(body)
		}
	}
	for _, set := range []map[string]Message{samples, ourSamples} {
		for _, sample := range set {
			if sample.MessageType() == kind {
				f.Add(sample.AppendBody(nil))
			}
		}
	}
	m := NewMessage(kind)
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := m.Decode(body); err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Cause < CauseMandatoryIEMissing || !strings.HasPrefix(e.In, kind.String()) || !utf8.ValidString(e.Error()) {
				t.Errorf("%v has no Cause or place", err)
			}
			return
		}
		again(t, Header{Type: kind, S: kind.IsSession()}, m)
	})
}

func FuzzHeartbeatRequest(f *testing.F)         { fuzzDecode(f, MsgHeartbeatRequest) }
func FuzzHeartbeatResponse(f *testing.F)        { fuzzDecode(f, MsgHeartbeatResponse) }
func FuzzAssociationSetupRequest(f *testing.F)  { fuzzDecode(f, MsgAssociationSetupRequest) }
func FuzzAssociationSetupResponse(f *testing.F) { fuzzDecode(f, MsgAssociationSetupResponse) }
func FuzzAssociationUpdateRequest(f *testing.F) { fuzzDecode(f, MsgAssociationUpdateRequest) }
func FuzzAssociationUpdateResponse(f *testing.F) {
	fuzzDecode(f, MsgAssociationUpdateResponse)
}
func FuzzAssociationReleaseRequest(f *testing.F) { fuzzDecode(f, MsgAssociationReleaseRequest) }
func FuzzAssociationReleaseResponse(f *testing.F) {
	fuzzDecode(f, MsgAssociationReleaseResponse)
}
func FuzzSessionEstablishmentRequest(f *testing.F) { fuzzDecode(f, MsgSessionEstablishmentRequest) }
func FuzzSessionEstablishmentResponse(f *testing.F) {
	fuzzDecode(f, MsgSessionEstablishmentResponse)
}
func FuzzSessionModificationRequest(f *testing.F) { fuzzDecode(f, MsgSessionModificationRequest) }
func FuzzSessionModificationResponse(f *testing.F) {
	fuzzDecode(f, MsgSessionModificationResponse)
}
func FuzzSessionDeletionRequest(f *testing.F)  { fuzzDecode(f, MsgSessionDeletionRequest) }
func FuzzSessionDeletionResponse(f *testing.F) { fuzzDecode(f, MsgSessionDeletionResponse) }

func FuzzPFDManagementRequest(f *testing.F)  { fuzzDecode(f, MsgPFDManagementRequest) }
func FuzzPFDManagementResponse(f *testing.F) { fuzzDecode(f, MsgPFDManagementResponse) }
func FuzzNodeReportRequest(f *testing.F)     { fuzzDecode(f, MsgNodeReportRequest) }
func FuzzNodeReportResponse(f *testing.F)    { fuzzDecode(f, MsgNodeReportResponse) }
func FuzzSessionSetDeletionRequest(f *testing.F) {
	fuzzDecode(f, MsgSessionSetDeletionRequest)
}
func FuzzSessionSetDeletionResponse(f *testing.F) {
	fuzzDecode(f, MsgSessionSetDeletionResponse)
}
func FuzzSessionSetModificationRequest(f *testing.F) { fuzzDecode(f, MsgSessionSetModifyRequest) }
func FuzzSessionSetModificationResponse(f *testing.F) {
	fuzzDecode(f, MsgSessionSetModifyResponse)
}
func FuzzSessionReportRequest(f *testing.F)  { fuzzDecode(f, MsgSessionReportRequest) }
func FuzzSessionReportResponse(f *testing.F) { fuzzDecode(f, MsgSessionReportResponse) }

// FuzzName: the text of a name that NewName made is the text it was made from.
func FuzzName(f *testing.F) {
	for _, s := range []string{"", "internet", "internet.mnc001.mcc001.gprs", "a..b", ".", "\x08internet"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name := NewName(text)
		if got := name.String(); got != text && len(name) != len(text) {
			t.Errorf("NewName(%q) = %x, String %q", text, []byte(name), got)
		}
	})
}
