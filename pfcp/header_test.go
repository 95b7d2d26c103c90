package pfcp

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func octetsOf(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, in   string
		want       Header
		body, rest string // hex
		err        error
	}{
		{"node message", "20 01 000c 000001 00 00600004eeac9fed",
			Header{Type: MsgHeartbeatRequest, Sequence: 1}, "00600004eeac9fed", "", nil},
		{"session message", "21 36 000c 1122334455667788 ffffff 00",
			Header{Type: MsgSessionDeletionRequest, S: true, SEID: 0x1122334455667788, Sequence: 0xffffff}, "", "", nil},
		{"message priority", "23 36 000c 0000000000000000 000002 a5",
			Header{Type: MsgSessionDeletionRequest, S: true, MP: true, Priority: 10, Sequence: 2}, "", "", nil},
		{"priority without MP", "21 36 000c 0000000000000000 000002 a5",
			Header{Type: MsgSessionDeletionRequest, S: true, Sequence: 2}, "", "", nil},
		{"spare bits", "38 01 0004 000001 ff", Header{Type: MsgHeartbeatRequest, Sequence: 1}, "", "", nil},
		{"bundle", "24 01 0004 000001 00 2001", Header{Type: MsgHeartbeatRequest, FO: true, Sequence: 1}, "", "2001", nil},
		{"unknown type", "20 c8 0004 000001 00", Header{Type: 200, Sequence: 1}, "", "", nil},
		{"version 2", "41 32 0004 000001 00 0000000000000000", Header{Type: 50, S: true, SEID: 0x100 << 32}, "", "", ErrVersion},
		{"too short", "20 01 0003 000001", Header{}, "", "", ErrShort},
		{"too short for a SEID", "21 32 0004 000001 00 00000000000000", Header{}, "", "", ErrShort},
		{"length beyond", "20 01 0005 000009 00", Header{Type: MsgHeartbeatRequest, Sequence: 9}, "", "", ErrLength},
		{"octets behind", "20 01 0004 000009 00 00", Header{Type: MsgHeartbeatRequest, Sequence: 9}, "", "", ErrLength},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, body, rest, err := Parse(octetsOf(t, tc.in))
			if !errors.Is(err, tc.err) || hex.EncodeToString(body) != tc.body || hex.EncodeToString(rest) != tc.rest {
				t.Errorf("got body %x, rest %x, %v; want %s, %s, %v", body, rest, err, tc.body, tc.rest, tc.err)
			}
			if diff := cmp.Diff(tc.want, h); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestAppend(t *testing.T) {
	prefix := []byte{0xaa}
	got, err := Append(prefix, Header{MP: true, Priority: 3, Sequence: 5, SEID: 1}, &SessionDeletionResponse{Cause: CauseRequestAccepted})
	if want := octetsOf(t, "aa 23 37 0011 0000000000000001 000005 30 0013 0001 01"); err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %x, %v; want %x", got, err, want)
	}
	got = AppendVersionNotSupported(prefix, 0x010203)
	if want := octetsOf(t, "aa 20 0b 0004 010203 00"); !cmp.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestAppendTooLong(t *testing.T) {
	prefix := []byte{0xaa}
	for name, tc := range map[string]struct {
		h Header
		m Message
	}{
		"sequence of 25 bits": {Header{Sequence: 1 << 24}, &HeartbeatRequest{}},
		"name of 64 Ki":       {Header{}, &AssociationReleaseRequest{NodeID: NodeID{FQDN: make(Name, 1<<16)}}},
		"name of 128 Ki":      {Header{}, &AssociationReleaseRequest{NodeID: NodeID{FQDN: make(Name, 1<<17)}}},
	} {
		if b, err := Append(prefix, tc.h, tc.m); !errors.Is(err, ErrTooLong) || len(b) != 1 {
			t.Errorf("%s: %d octets, %v; want 1, %v", name, len(b), err, ErrTooLong)
		}
	}
}

func TestMessageTypes(t *testing.T) {
	requests := map[MessageType]bool{
		MsgHeartbeatRequest: true, MsgAssociationReleaseRequest: true, MsgNodeReportRequest: true, MsgSessionSetModifyRequest: true,
		MsgSessionEstablishmentRequest: true, MsgSessionReportRequest: true,
		0: false, MsgHeartbeatResponse: false, MsgVersionNotSupportedResponse: false, MsgNodeReportResponse: false,
		MsgSessionSetModifyResponse: false, MsgSessionDeletionResponse: false,
	}
	for kind, want := range requests {
		if got := kind.IsRequest(); got != want {
			t.Errorf("%s: IsRequest = %v, want %v", kind, got, want)
		}
	}
	for kind, name := range messageNames {
		if got, want := kind.IsRequest(), strings.HasSuffix(name, "Request"); got != want {
			t.Errorf("%s: IsRequest = %v, want %v", name, got, want)
		}
	}
}

func TestTimeStamp(t *testing.T) {
	for _, want := range []time.Time{
		time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC),
		time.Date(2036, 2, 7, 6, 28, 16, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got := NewTimeStamp(want).Time(); !got.Equal(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if got := NewTimeStamp(time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)); got != 2208988800 {
		t.Errorf("1970 is %d, want 2208988800", got)
	}
}

// TestNodeIDFQDN: an FQDN that is none is refused, with Cause 68 for its length and 69 for
// what it says.
func TestNodeIDFQDN(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     error
	}{
		{"labels", "02 03736d66 076578616d706c65", nil},
		{"labels and the root", "02 03736d66 076578616d706c65 00", nil},
		{"text", "02 736d662e6578616d706c65", nil},
		{"a length that lies", "02 09736d66", ErrIncorrect},
		{"compression pointer", "02 03736d66 c00c", ErrIncorrect},
		{"NUL", "02 04736d6600", ErrIncorrect},
		{"newline", "02 04736d660a", ErrIncorrect},
		{"escape", "02 071b5b324a736d66", ErrIncorrect},
		{"the root alone", "02 00", ErrIncorrect},
		{"nothing", "02", ErrLength},
		{"256 octets", "02" + strings.Repeat("0361626f", 64), ErrLength},
	} {
		var v NodeID
		if err := readNodeID(&v, octetsOf(t, tc.in)); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
	e := &Error{Cause: CauseNoEstablishedPFCPAssociation, Err: errors.New("no association with this peer")}
	if got, want := e.Error(), "pfcp: no association with this peer"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}

func TestName(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"labels", "08 696e7465726e6574", "internet"},
		{"several labels", "01 61 02 6263", "a.bc"},
		{"plain text", "696e7465726e6574", "internet"},
		{"label beyond the end", "09 696e7465726e6574", "\tinternet"},
		{"a 0 octet behind the labels", "08 696e7465726e6574 00", "internet"},
		{"empty label", "01 61 00 01 62", "\x01a\x00\x01b"},
		{"a 0 octet alone", "00", "\x00"},
		{"nothing", "", ""},
	} {
		if got := Name(octetsOf(t, tc.in)).String(); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
	for text, want := range map[string]string{"a.bc": "\x01a\x02bc", "a..b": "a..b", "": "", strings.Repeat("x", 64): strings.Repeat("x", 64)} {
		if got := string(NewName(text)); got != want {
			t.Errorf("NewName(%q) = %q, want %q", text, got, want)
		}
	}
}
