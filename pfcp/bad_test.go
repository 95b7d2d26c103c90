package pfcp

import (
	"errors"
	"testing"

	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
)

// verdict is what becomes of a datagram: the first error in it.
type verdict struct {
	cause            Cause
	offending        IEType
	discard, version bool
}

func judge(t *testing.T, b []byte) verdict {
	t.Helper()
	for first := true; first || len(b) > 0; first = false {
		h, body, rest, err := Parse(b)
		switch {
		case errors.Is(err, ErrShort):
			return verdict{discard: true}
		case errors.Is(err, ErrVersion):
			return verdict{version: true}
		case errors.Is(err, ErrLength):
			return verdict{cause: CauseInvalidLength}
		case err != nil:
			t.Fatal(err)
		}
		m := NewMessage(h.Type)
		if m == nil {
			return verdict{discard: true}
		}
		if err := m.Decode(body); err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%v is no *Error", err)
			}
			return verdict{cause: e.Cause, offending: e.OffendingIE}
		}
		b = rest
	}
	return verdict{}
}

// TestBad gives each bad datagram to the decoder: it says the Cause and the
// Offending IE that the vector wants.
func TestBad(t *testing.T) {
	for _, v := range pfcptest.Bad(t) {
		t.Run(v.Name, func(t *testing.T) {
			want := verdict{Cause(v.Cause), IEType(v.OffendingIE), v.Discard, v.Version}
			if got := judge(t, v.Octets); got != want {
				t.Errorf("%s\n got %+v\nwant %+v", v.About, got, want)
			}
		})
	}
}

// TestErrorText says where an error is, what is wrong and why.
func TestErrorText(t *testing.T) {
	for _, v := range pfcptest.Bad(t) {
		if v.Name != "sdf-filter-length" {
			continue
		}
		_, body, _, _ := Parse(v.Octets)
		err := new(SessionEstablishmentRequest).Decode(body)
		want := "pfcp: Session Establishment Request, Create PDR, PDI: SDF Filter: 65535 octets where 6 are left: invalid length"
		if err == nil || err.Error() != want || !errors.Is(err, ErrLength) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}
