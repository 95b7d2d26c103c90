package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// compiledTofino is a directory as p4c-barefoot and bfas leave it.
func compiledTofino(t *testing.T, resources string) string {
	dir := filepath.Join(t.TempDir(), "upf_one.resources.txt")
	if err := os.MkdirAll(filepath.Join(dir, "pipe", "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"tofino.bin": "x", "context.json": "{}", "logs/resources.json": resources} {
		writeFile(t, filepath.Join(dir, "pipe", name), []byte(text))
	}
	return dir
}

const twoStages = `{"resources": {"mau": {"nStages": 12, "mau_stages": [
 {"stage_number": 0, "logical_tables": {"ids": [{}, {}]}, "rams": {"srams": [{"usages": [{"used_by": "I.b"}]}, {"usages": [{"used_by": "I.a$st0"}]}]},
  "tcams": {"tcams": []}, "hash_bits": {"bits": [{}, {}, {}]}},
 {"stage_number": 1, "logical_tables": {"ids": [{}]}, "rams": {"srams": [{"usages": [{"used_by": "I.a$st1"}]}]},
  "tcams": {"tcams": [{"usages": [{"used_by": "I.a"}]}]}, "vliw": {"instructions": [{}]}}]}}}`

func TestResources(t *testing.T) {
	got, err := output(compiledTofino(t, twoStages))
	if err != nil {
		t.Fatal(err)
	}
	want := units + `

stage  tables SRAM TCAM map_RAM meter_ALUs gateways hash_bits instructions
0           2    2    0       0          0        0         3            0
1           1    1    1       0          0        0         0            1
all         3    3    1       0          0        0         3            1

of                                SRAM  TCAM  in stages
I.a                                  2     1  0 1
I.b                                  1     0  0
`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestResourcesRefused: what was not assembled, or does not fit, is not recorded.
func TestResourcesRefused(t *testing.T) {
	tests := []struct {
		name   string
		json   string
		remove string
		want   string
	}{
		{"not assembled", twoStages, "tofino.bin", "not assembled"},
		{"no context", twoStages, "context.json", "not assembled"},
		{"no log", twoStages, "logs/resources.json", "resources.json"},
		{"no stages", `{}`, "", "0 stages"},
		{"too many stages", strings.Replace(twoStages, `"nStages": 12`, `"nStages": 1`, 1), "", "2 stages of 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := compiledTofino(t, tt.json)
			if tt.remove != "" {
				if err := os.Remove(filepath.Join(dir, "pipe", tt.remove)); err != nil {
					t.Fatal(err)
				}
			}
			_, err := output(dir)
			wantError(t, err, tt.want)
		})
	}
}
