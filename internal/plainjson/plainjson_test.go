package plainjson_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plumbline-upf/plumbline/internal/plainjson"
)

func TestPlain(t *testing.T) {
	v := map[string]string{"way": "N3 -> N6 & back"}
	var lines, indented strings.Builder
	if err := plainjson.Lines(&lines).Encode(v); err != nil || lines.String() != `{"way":"N3 -> N6 & back"}`+"\n" {
		t.Errorf("Lines: got %q, %v", lines.String(), err)
	}
	if err := plainjson.Write(&indented, v); err != nil || indented.String() != "{\n  \"way\": \"N3 -> N6 & back\"\n}\n" {
		t.Errorf("Write: got %q, %v", indented.String(), err)
	}
}

// TestOnePlace: no other package has an encoder of its own.
func TestOnePlace(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && strings.HasPrefix(e.Name(), ".") && path != "..":
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "../plainjson/"):
			return nil
		}
		b, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(b), "json.NewEncoder(") {
			t.Errorf("%s has an encoder of its own: want plainjson.Lines or plainjson.Write", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
