package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../../.."

// copyFile copies a file of the repository to a directory.
func copyFile(t *testing.T, dir, name string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, name), b)
}

func writeFile(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o755); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// committed is a copy of the P4 sources, their outputs and the record.
func committed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, pattern := range []string{"p4/*.p4", "p4/fronts.txt", "p4/compiled/*"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			copyFile(t, dir, strings.TrimPrefix(name, root+"/"))
		}
	}
	return filepath.Join(dir, "p4")
}

// TestCommitted: what is committed was made of the sources that are.
func TestCommitted(t *testing.T) {
	if err := check(filepath.Join(root, "p4")); err != nil {
		t.Error(err)
	}
}

// TestCheckFindsOctet: an octet that is another in any source or output is found, and the sentence has the program, both
// hashes and what to do.
func TestCheckFindsOctet(t *testing.T) {
	dir := committed(t)
	fronts, err := readFronts(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fronts {
		names, err := sources(dir, f.program)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range f.outputs() {
			names = append(names, filepath.Join("compiled", name))
		}
		for _, name := range names {
			t.Run(f.program+"/"+name, func(t *testing.T) {
				expected := hashOf(t, dir, f, name)
				file := filepath.Join(dir, name)
				was := readFile(t, file)
				is := bytes.Clone(was)
				is[len(is)-1] ^= 1
				writeFile(t, file, is)
				defer writeFile(t, file, was)
				wantError(t, check(dir), f.program+": ", "expected SHA-256 ", expected, "found ", hashOf(t, dir, f, name), "run make p4")
			})
		}
	}
	if err := check(dir); err != nil {
		t.Errorf("all is as it was: %v", err)
	}
}

// hashOf is the SHA-256 of an output, or of the sources that one is of.
func hashOf(t *testing.T, dir string, f front, name string) string {
	t.Helper()
	s, err := sumSources(dir, f.program)
	if strings.HasPrefix(name, "compiled/") {
		s, err = sum(dir, name)
	}
	if err != nil {
		t.Fatal(err)
	}
	hash, _, _ := strings.Cut(s, " ")
	return hash
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got %q, want %q in it", err, part)
		}
	}
}

// TestCheck has what else differs.
func TestCheck(t *testing.T) {
	edit := func(name, old, by string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			file := filepath.Join(dir, name)
			was := readFile(t, file)
			is := bytes.Replace(was, []byte(old), []byte(by), 1)
			if bytes.Equal(is, was) {
				t.Fatalf("%s: no %q", name, old)
			}
			writeFile(t, file, is)
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name   string
		change func(t *testing.T, dir string)
		want   []string
	}{
		{"options", edit("fronts.txt", "--std", "-DROUTES=1 --std"), []string{"upf_v1model: ", "-DROUTES=1", "run make p4"}},
		{"another program", edit("fronts.txt", "\nupf_v1model ", "\nupf_other p4c-other -o OUT.spec\nupf_v1model "), []string{"upf_other: ", "no outputs", "run make p4"}},
		{"a program less", edit("fronts.txt", "\nupf_v1model ", "\n#"), []string{"upf_v1model: ", "no line", "run make p4"}},
		{"no record", remove("compiled/record.txt"), []string{"upf_v1model: ", "run make p4"}},
		{"record cut off", edit("compiled/record.txt", "\nprogram upf_v1model\n", "\n"), []string{"record.txt:3: ", "of no program"}},
		{"record of another form", edit("compiled/record.txt", "\nsources ", "\nsource "), []string{"record.txt:6: ", "nothing that a record has"}},
		{"no output", remove("compiled/upf_v1model.json"), []string{"upf_v1model: ", "upf_v1model.json: no such file", "run make p4"}},
		{"no source", remove("sizes.p4"), []string{"upf_v1model: ", "sizes.p4: no such file"}},
		{"one more source", func(t *testing.T, dir string) {
			writeFile(t, filepath.Join(dir, "more.p4"), []byte("\n"))
			edit("sizes.p4", "#define SIZES_P4\n", "#define SIZES_P4\n\t# include \"more.p4\"\n")(t, dir)
		}, []string{"upf_v1model: ", " measure.p4 more.p4 parse.p4 ", "run make p4"}},
		{"source from elsewhere", edit("sizes.p4", "#define SIZES_P4\n", "#include \"../more.p4\"\n"), []string{"upf_v1model: ", `sizes.p4 includes "../more.p4"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := committed(t)
			tt.change(t, dir)
			wantError(t, check(dir), tt.want...)
		})
	}
}

func TestTidy(t *testing.T) {
	long := `"` + strings.Repeat("x", width) + `"`
	tests := []struct{ name, in, want string }{
		{"order, numbers and spaces", "{ \"b\" : [ 1.50, 99999999999999999999, null ],\n \"a\" : \"<<&\\u00e9\" }\n", `{"b":[1.50,99999999999999999999,null],"a":"<<&é"}` + "\n"},
		{"source_info", `[{"source_info":{"filename":"/a"},"x":1},{"x":[{"source_info":null}]},{"y":2,"source_info":3}]`, `[{"x":1},{"x":[{}]},{"y":2}]` + "\n"},
		{"long", `{"a":[` + long + `,{"b":2}],"c":[]}`, "{\n \"a\":[\n  " + long + ",\n  {\"b\":2}],\n \"c\":[]}\n"},
		{"more", `{} {}`, ""},
		{"no number", `{"b":[1,0x1]}`, ""},
		{"cut off", `{"a":[1`, ""},
		{"nothing", ``, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tidy([]byte(tt.in))
			if (err != nil) != (tt.want == "") {
				t.Fatalf("error %v", err)
			}
			if d := cmp.Diff(tt.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if again, err := tidy(got); tt.want != "" && (err != nil || !bytes.Equal(again, got)) {
				t.Errorf("tidied again: %q, %v", again, err)
			}
		})
	}
}

// compiler is a stand-in for p4c-bm2-ss: what it writes has absolute names, and what it was called with.
const compiler = `#!/bin/sh
if [ "$1" = --version ]; then
	printf '%s\nVersion 9.9 (none)\n' "$0" >&2
	exit
fi
echo "arch: \"$*\"" | sed "s|$2|OUT|; s|$4|OUT|" >"$2"
printf '{ "source_info" : {"filename" : "%s"}, "octets" : %d }' "$PWD" "$(wc -c <"$5")" >"$4"
`

// TestScript runs scripts/p4 in two copies of what it needs, twice each: the outputs are the same. Without a compiler, it
// exits 3 and says what it wants.
func TestScript(t *testing.T) {
	bin := t.TempDir()
	writeFile(t, filepath.Join(bin, "p4c-test"), []byte(compiler))
	run := func(dir, path string) (string, int) {
		c := exec.Command(filepath.Join(dir, "scripts", "p4"))
		c.Dir, c.Env = t.TempDir(), append(os.Environ(), "PATH="+path, "GOFLAGS=", "TMPDIR="+filepath.Join(dir, "a b&c"))
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), c.ProcessState.ExitCode()
	}
	var first map[string]string
	for range 2 {
		dir := t.TempDir()
		for _, name := range []string{"go.mod", "scripts/p4", "p4/internal/record/main.go", "p4/internal/record/record.go", "p4/internal/record/resources.go", "p4/internal/record/tidy.go", "internal/plainjson/plainjson.go"} {
			copyFile(t, dir, name)
		}
		writeFile(t, filepath.Join(dir, "p4/fronts.txt"), []byte("# comment\n\nupf_one p4c-test --p4runtime-files OUT.p4info.txtpb -o OUT.json\n"))
		writeFile(t, filepath.Join(dir, "p4/upf_one.p4"), []byte("\n"))
		writeFile(t, filepath.Join(dir, "p4/compiled/record.txt"), []byte("program upf_one\ncompiler Version 8.8\n\nprogram upf_two\ncompiler Version 7.7\n"))
		writeFile(t, filepath.Join(dir, "a b&c", "x"), nil)
		path := os.Getenv("PATH")
		for _, want := range []string{"want p4c-test on the PATH to compile p4/upf_one.p4", "made with: Version 8.8\n"} {
			if out, code := run(dir, path); code != 3 || !strings.Contains(out, want) {
				t.Fatalf("without a compiler: exit code %d, %q, want 3 and %q", code, out, want)
			}
		}
		for range 2 {
			if out, code := run(dir, bin+":"+path); code != 0 {
				t.Fatalf("exit code %d: %s", code, out)
			}
			got := map[string]string{}
			for _, name := range []string{"record.txt", "upf_one.json", "upf_one.p4info.txtpb"} {
				got[name] = string(readFile(t, filepath.Join(dir, "p4/compiled", name)))
			}
			if first == nil {
				first = got
			}
			if d := cmp.Diff(first, got); d != "" {
				t.Errorf("outputs of another time (-first +got):\n%s", d)
			}
		}
		if err := check(filepath.Join(dir, "p4")); err != nil {
			t.Error(err)
		}
	}
	if d := cmp.Diff(`{"octets":1}`+"\n", first["upf_one.json"]); d != "" {
		t.Errorf("JSON (-want +got):\n%s", d)
	}
	if d := cmp.Diff(`arch: "--p4runtime-files OUT -o OUT upf_one.p4"`+"\n", first["upf_one.p4info.txtpb"]); d != "" {
		t.Errorf("P4Info (-want +got):\n%s", d)
	}
	if want := "\ncompiler Version 9.9 (none)\n"; !strings.Contains(first["record.txt"], want) {
		t.Errorf("record %q, want %q in it", first["record.txt"], want)
	}
}
