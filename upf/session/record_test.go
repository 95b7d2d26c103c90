package session

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fill gives every field of v a value that is not zero, so that one that a record
// forgets is missed.
func fill(r *rand.Rand, v reflect.Value) {
	if v.Type() == reflect.TypeFor[netip.Prefix]() {
		octets := [16]byte{0x20, 1, byte(1 + r.IntN(255)), 15: byte(1 + r.IntN(255))}
		p := netip.PrefixFrom(netip.AddrFrom16(octets), r.IntN(129))
		if r.IntN(2) == 0 {
			p = netip.PrefixFrom(netip.AddrFrom4([4]byte(octets[:4])), r.IntN(33))
		}
		v.Set(reflect.ValueOf(p))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1 + r.Uint64N(1<<v.Type().Bits()-1)>>r.IntN(v.Type().Bits()))
		if v.IsZero() {
			v.SetUint(1)
		}
	case reflect.Int64:
		v.SetInt(1 + r.Int64N(1<<62))
	case reflect.String:
		v.SetString(string(rune('a'+r.IntN(26))) + "name")
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(3), 4))
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	default:
		panic(v.Kind())
	}
}

// filled is a session with all that a session can have.
func filled(seed uint64) *Session {
	s := new(Session)
	fill(rand.New(rand.NewPCG(seed, 3)), reflect.ValueOf(s).Elem())
	s.SNSSAI.Value.SD &= NoSD
	return s
}

func record(s *Session) []byte {
	var w writer
	appendRecord(&w, s)
	return w.b
}

func fromRecord(seid uint64, b []byte) (*Session, error) {
	s := new(Session)
	return s, readRecord(s, seid, b, &reader{texts: new(texts)})
}

// TestRecord: a session is what its record says, every field of it, also in memory
// that another session had before.
func TestRecord(t *testing.T) {
	used, copied, r := filled(0), filled(1), &reader{texts: new(texts)}
	for seed := range uint64(60) {
		want := filled(seed)
		b := record(want)
		got, err := fromRecord(want.SEID, b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, equal); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
		if err := readRecord(used, want.SEID, b, r); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, used, equal); d != "" {
			t.Fatalf("in used memory (-want +got):\n%s", d)
		}
		copied.copy(got)
		fill(rand.New(rand.NewPCG(seed, 4)), reflect.ValueOf(got).Elem().FieldByName("PDRs").Index(0))
		if d := cmp.Diff(want, copied, equal); d != "" {
			t.Fatalf("copied, after the original has changed (-want +got):\n%s", d)
		}
	}
	empty := &Session{SEID: 1}
	if got, err := fromRecord(1, record(empty)); err != nil || cmp.Diff(empty, got, equal) != "" {
		t.Errorf("empty session: %+v, %v", got, err)
	}
}

// TestRecordRefused: what no version of this program wrote is refused.
func TestRecordRefused(t *testing.T) {
	b := record(filled(1))
	for n := range b {
		if _, err := fromRecord(1, b[:n]); !errors.Is(err, errRecord) {
			t.Errorf("%d of %d octets: %v, want %v", n, len(b), err, errRecord)
		}
	}
	for name, bad := range map[string][]byte{
		"an octet more":                         append(bytes.Clone(b), 0),
		"another version":                       append([]byte{recordVersion + 1}, b[1:]...),
		"other traits":                          append(append(bytes.Clone(b[:13]), b[13]^1), b[14:]...),
		"a mask too wide":                       append(bytes.Clone(b[:recordHeader]), 0xff, 0xff, 0xff, 0xff, 0x0f),
		"a number in more octets than it needs": append(bytes.Clone(b[:recordHeader]), 0x81, 0x00),
	} {
		if _, err := fromRecord(1, bad); !errors.Is(err, errRecord) {
			t.Errorf("%s: %v, want %v", name, err, errRecord)
		}
	}
}

// FuzzRecord: what is accepted is the record of what was read.
func FuzzRecord(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(record(filled(seed)))
	}
	m := benchManager(f, 8)
	r, req := new(Result), usual()
	setUE(req, 1)
	if err := m.Establish(f.Context(), req, r); err != nil {
		f.Fatal(err)
	}
	f.Add(record(r.Session))
	f.Add(record(&Session{}))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := fromRecord(1, b)
		if err != nil {
			return
		}
		if again := record(s); !bytes.Equal(b, again) {
			t.Errorf("the record\n%x\nreads as a session with the record\n%x", b, again)
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	m := benchManager(b, 8)
	r, req := new(Result), usual()
	setUE(req, 1)
	if err := m.Establish(b.Context(), req, r); err != nil {
		b.Fatal(err)
	}
	octets := record(r.Session)
	b.Run("encode", func(b *testing.B) {
		var w writer
		b.ReportAllocs()
		b.ReportMetric(float64(len(octets)), "octets")
		for b.Loop() {
			w.b = w.b[:0]
			appendRecord(&w, r.Session)
		}
	})
	b.Run("decode", func(b *testing.B) {
		var s Session
		in := &reader{texts: new(texts)}
		b.ReportAllocs()
		for b.Loop() {
			if err := readRecord(&s, 1, octets, in); err != nil {
				b.Fatal(err)
			}
		}
	})
}
