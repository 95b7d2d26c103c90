package slicemap

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/probe"
)

const example = `
slices:
  - name: embb
    sst: 1
    sd: "010203"
    dnn: internet
  - name: voice
    qfis: [5]
  - name: meters
    upf: upf3
    teids: [0x3000-0x3fff, 77]
    ues: [10.45.1.7/16, "2001:db8:60::/48"]
  - name: rest
    sst: 1
    ues: [10.0.0.0/8]
`

func parse(t testing.TB, text string) *Map {
	t.Helper()
	m, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSlice asks for the slices of sessions.
func TestSlice(t *testing.T) {
	m := parse(t, example)
	for _, tc := range []struct {
		m    *Map
		s    Session
		want probe.Slice
	}{
		{m, Session{HasSNSSAI: true, SST: 1, SD: 0x010203, DNN: "internet"}, probe.Slice{Name: "embb", SST: 1, SD: 0x010203, DNN: "internet"}},
		{m, Session{HasSNSSAI: true, SST: 1, SD: 0x010203, DNN: "ims", QFIs: 1 << 5}, probe.Slice{Name: "voice", SD: NoSD}},
		{m, Session{HasSNSSAI: true, SST: 1, SD: NoSD, DNN: "internet"}, probe.Slice{Name: "rest", SST: 1, SD: NoSD}},
		{m, Session{HasSNSSAI: true, SST: 2, SD: 0x010203, DNN: "internet"}, probe.Slice{Name: "2-010203/internet", SST: 2, SD: 0x010203, DNN: "internet"}},
		{m, Session{SD: 0x010203, DNN: "internet"}, probe.Slice{Name: "internet", SD: NoSD, DNN: "internet"}},
		{nil, Session{HasSNSSAI: true, SST: 1, SD: NoSD}, probe.Slice{Name: "1", SST: 1, SD: NoSD}},
		{nil, Session{HasSNSSAI: true, SST: 1, SD: 0xa, DNN: "x"}, probe.Slice{Name: "1-00000a/x", SST: 1, SD: 0xa, DNN: "x"}},
		{nil, Session{}, probe.Slice{SD: NoSD}},
	} {
		if got := tc.m.Slice("upf1", tc.s); got != tc.want {
			t.Errorf("%+v: got %+v, want %+v", tc.s, got, tc.want)
		}
	}
}

// TestHas asks for packets.
func TestHas(t *testing.T) {
	m := parse(t, example)
	for _, tc := range []struct {
		upf, ue string
		teid    uint32
		want    bool
	}{
		{upf: "upf3", teid: 0x3000, want: true}, {upf: "upf3", teid: 0x3fff, want: true}, {upf: "upf3", teid: 77, want: true},
		{upf: "upf3", teid: 0x4000}, {upf: "upf3", teid: 0x2fff}, {upf: "upf1", teid: 77},
		{upf: "upf3", ue: "10.45.9.9/32", want: true}, {upf: "upf1", ue: "10.45.9.9/32", want: true}, {upf: "upf1", ue: "10.0.0.0/7"},
		{upf: "upf1", ue: "11.45.9.9/32"}, {upf: "upf3", ue: "2001:db8:60:1::/64", want: true}, {upf: "upf1", ue: "2001:db8:60:1::/64"},
	} {
		k := probe.Key{TEID: tc.teid}
		if tc.ue != "" {
			k.UE = netip.MustParsePrefix(tc.ue)
		}
		if got := m.Has(tc.upf, k); got != tc.want {
			t.Errorf("%s %+v: got %v, want %v", tc.upf, k, got, tc.want)
		}
	}
	if (*Map)(nil).Has("", probe.Key{TEID: 1}) || (*Map)(nil).Slices() != nil || (*Map)(nil).Static() != nil {
		t.Error("no file says something")
	}
}

// TestStatic wants what the file says of packets, the first entry's last.
func TestStatic(t *testing.T) {
	m := parse(t, "slices: [{name: a, teids: [3-4], ues: [10.1.0.0/16]}, {name: b, upf: u, teids: [4], qfis: [5]}, {name: c, qfis: [5], dnn: x}]")
	var got []string
	for _, s := range m.Static() {
		got = append(got, fmt.Sprintf("%s %d %v %d %s", s.UPF, s.Key.TEID, s.Key.UE, s.Key.QFI, s.Slice.Name))
	}
	want := []string{"u 0 invalid Prefix 5 b", "u 4 invalid Prefix 0 b", " 0 10.1.0.0/16 0 a", " 3 invalid Prefix 0 a", " 4 invalid Prefix 0 a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var names []string
	for _, s := range parse(t, example).Slices() {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff([]string{"embb", "voice", "meters", "rest"}, names); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
}

// TestMistakes wants each refused, with what is wrong.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                            "0 slices",
		"slices: []":                                                  "0 slices",
		"slices: {name: x}":                                           "slice",
		"slices: [{name: x}]":                                         "nothing says",
		"slices: [{name: \"\", sst: 1}]":                              "name of 0 octets",
		"slices: [{name: \"-\", sst: 1}]":                             "not \"-\"",
		"slices: [{name: x, colour: 1}]":                              "colour",
		"slices: [{name: x, sst: 256}]":                               "256",
		"slices: [{name: x, sst: 1, sd: \"12345\"}]":                  "6 hexadecimal digits",
		"slices: [{name: x, sst: 1, sd: \"12345g\"}]":                 "6 hexadecimal digits",
		"slices: [{name: x, dnn: y, sd: \"123456\"}]":                 "with an sst",
		"slices: [{name: x, qfis: [64]}]":                             "slices[0].qfis[0]: 64: want 1 to 63",
		"slices: [{name: x, teids: [0]}]":                             "teids[0]: \"0\": want a number",
		"slices: [{name: x, teids: [5-4]}]":                           "teids[0]: \"5-4\": want",
		"slices: [{name: x, teids: [0x100000000]}]":                   "teids",
		"slices: [{name: x, teids: [1-65537]}]":                       "65537 TEIDs",
		"slices: [{name: x, ues: [10.0.0]}]":                          "\"10.0.0\": want a prefix",
		"slices: [{name: x, ues: [\"2001:db8::/65\"]}]":               "up to 64 bits",
		"slices: [{name: x, sst: 1}, {name: x, sst: 2}]":              "two slices \"x\"",
		"slices:\n- &a {name: x, sst: 1}\n- *a":                       "2:3: an anchor",
		"slices: [" + strings.Repeat("{name: x, sst: 1},", 257) + "]": "257 slices",
		"slices: [{name: " + strings.Repeat("x", 65) + ", sst: 1}]":   "65 octets",
		"slices: [{name: x, teids: !!seq [1]}]":                       "a tag",
		"slices: " + strings.Repeat("[", 1<<19):                       "nested too deep",
		strings.Repeat("#", yamltext.MaxOctets+1):                     "octets",
	} {
		_, err := Parse([]byte(text))
		if !errors.Is(err, ErrMap) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: got %v, want %q", text, err, want)
		}
	}
}

// TestLoad reads a file, and says which one cannot be read.
func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "map.yaml")
	if _, err := Load(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Load(path)
	if err != nil || len(m.Slices()) != 4 {
		t.Errorf("got %v, %v, want 4 slices", m.Slices(), err)
	}
	if err := os.WriteFile(path, []byte("x: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); !errors.Is(err, ErrMap) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want the path", err)
	}
}

// FuzzParse wants of every file that is taken: bounds kept, and each key that it says the
// slice of known by Has.
func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("slices: [{name: a, teids: [3-4], ues: [10.1.0.0/16]}, {name: b, upf: u, teids: [4]}]"))
	f.Add([]byte("slices: [{name: x, sst: 1, sd: \"ffffff\"}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrMap) {
				t.Fatalf("got %v, which is no ErrMap", err)
			}
			return
		}
		static := m.Static()
		if len(m.Slices()) > maxEntries || len(static) > maxTEIDs+maxUEs+maxEntries*maxQFI {
			t.Fatalf("%d slices, %d keys", len(m.Slices()), len(static))
		}
		for _, s := range static[:min(len(static), 100)] {
			if s.Key.QFI == 0 && !m.Has(s.UPF, s.Key) {
				t.Fatalf("%+v is in the file, and Has says no", s)
			}
			if !slices.Contains(m.Slices(), s.Slice) {
				t.Fatalf("%+v has a slice that is none of Slices", s)
			}
		}
	})
}
