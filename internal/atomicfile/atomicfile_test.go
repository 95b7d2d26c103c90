package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// holds says what is in a directory: the one file, if there is one, and its octets.
func holds(t *testing.T, directory string) (name, text string) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil || len(entries) > 1 {
		t.Fatalf("%d files, %v; want one at most", len(entries), err)
	}
	if len(entries) == 0 {
		return "", ""
	}
	b, err := os.ReadFile(filepath.Join(directory, entries[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	return entries[0].Name(), string(b)
}

func TestCreate(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "x")
	begin := func(text string) *File {
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		return f
	}
	begin("a longer one that nobody ended").Close()
	f := begin("one")
	if name, text := holds(t, directory); name == "x" || text != "one" {
		t.Errorf("while it is written there is %q: %q", name, text)
	}
	if err := f.Keep(); err != nil {
		t.Fatal(err)
	}
	if err := begin("two").Discard(); err != nil {
		t.Fatal(err)
	}
	if name, text := holds(t, directory); name != "x" || text != "one" {
		t.Errorf("got %q: %q, want x: one", name, text)
	}
}

func TestWrite(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "x")
	text := func(s string, err error) func(*os.File) error {
		return func(f *os.File) error {
			_, writeErr := f.WriteString(s)
			return errors.Join(writeErr, err)
		}
	}
	broken := errors.New("broken")
	if err := Write(path, text("one", nil)); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, text("two", broken)); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if name, text := holds(t, directory); name != "x" || text != "one" {
		t.Errorf("got %q: %q, want x: one", name, text)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if err := os.Mkdir(path+"d", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(path+"d", text("three", nil)); err == nil {
		t.Error("a directory was replaced")
	}
	if left, _ := filepath.Glob(filepath.Join(directory, "*"+suffix)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
