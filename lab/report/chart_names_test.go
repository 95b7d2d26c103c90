package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestShortNames(t *testing.T) {
	for _, tc := range []struct {
		name     string
		in, want []string
	}{
		{"short ones stay", []string{"xdp", "open5gs-tun", "bed"}, []string{"xdp", "open5gs-tun", "bed"}},
		{"one alone", []string{"core/open5gs-upf-embb-0"}, []string{"core/ope…-embb-0"}},
		{"pods of a set", []string{"core/open5gs-upf-0", "core/open5gs-upf-1"}, []string{"…0", "…1"}},
		{"beside a short one", []string{"bed", "core/open5gs-upf-embb", "core/open5gs-upf-urllc"}, []string{"bed", "…embb", "…urllc"}},
		{"with what a deployment adds", []string{"core/upf-embb-7d9f8b6c5-x2k4j", "core/upf-urllc-66c9f5d7b-qq8zt"}, []string{"…embb-7d…5-x2k4j", "…urllc-6…b-qq8zt"}},
		{"the same end", []string{"lab/upf-embb of the first machine", "lab/upf-urllc of the first machine"}, []string{"…embb…", "…urllc…"}},
		{"slices of a UPF", []string{"open5gs-upf-0 internet", "open5gs-upf-0 streaming"}, []string{"…internet", "…streaming"}},
		{"a part of another", []string{"a-very-long-upf-name", "a-very-long-upf-name-2"}, []string{"…name", "…name-2"}},
		{"only the middle differs", []string{strings.Repeat("a", 20) + "1" + strings.Repeat("z", 20), strings.Repeat("a", 20) + "2" + strings.Repeat("z", 20)}, []string{"aaaaaaaa…zzzzzzz", "aaaaaaa…zzzzzz~2"}},
		{"not only ASCII", []string{"ünïversity-überlang-ä", "ünïversity-überlang-ö"}, []string{"…ä", "…ö"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			short := shortNames(tc.in)
			var got []string
			for _, name := range tc.in {
				got = append(got, short[name])
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzShortNames: whatever the names are, each has one of its own that has room.
func FuzzShortNames(f *testing.F) {
	f.Add("core/open5gs-upf-embb-0", "core/open5gs-upf-urllc-0", "bed")
	f.Add("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "aaaaaaaa…aaaaaaa")
	f.Add("------------------------", "-----------------------", "----------------------")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		names := []string{a, b, c}
		for i := range 12 { // more than have one digit
			names = append(names, fmt.Sprintf("%s%c%s", a, 'a'+i, b))
		}
		for _, name := range names {
			if !utf8.ValidString(name) {
				t.Skip()
			}
		}
		short, whose := shortNames(names), map[string]string{}
		for name, text := range short {
			if other, ok := whose[text]; ok {
				t.Errorf("%q and %q are both %q", name, other, text)
			}
			if whose[text] = name; !fits(text) {
				t.Errorf("%q: got %q, which has no room", name, text)
			}
		}
	})
}
