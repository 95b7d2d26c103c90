package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	span       = regexp.MustCompile("`([^`\n]+)`")
	pathLike   = regexp.MustCompile(`^[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]*)*$`)
	placeName  = regexp.MustCompile(`(?:^|[/_])(?:NAME|X|x)(?:[./]|$)`) // of what the reader writes
	testLike   = regexp.MustCompile(`^(?:Test|Fuzz)[A-Z]\w*$`)
	makeTarget = regexp.MustCompile(`^(?:sudo )?make ([a-z0-9-]+)`)
	targetLine = regexp.MustCompile(`(?m)^([a-z0-9-]+):`)
	testFunc   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w*)\(`)
	extensions = []string{".go", ".c", ".h", ".p4", ".proto", ".md", ".yaml", ".yml", ".json", ".layout", ".txt", ".txtar", ".lua", ".sh", ".hex"}
)

// guides are the pages for those who change the code.
func guides(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("extend/*.md")
	if err != nil || len(pages) < 9 {
		t.Fatalf("pages of docs/extend: %v, %v", pages, err)
	}
	return append(pages, filepath.Join(root, "CONTRIBUTING.md"))
}

// spans calls f for each span of code of the guides, outside of fenced blocks.
func spans(t *testing.T, f func(page, span string)) {
	t.Helper()
	for _, page := range guides(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range span.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			f(page, m[1])
		}
	}
}

// isPath reports whether a span of code names a file or directory: it has a slash between
// names, or the extension of a file.
func isPath(s string) bool {
	if !pathLike.MatchString(s) || placeName.MatchString(s) {
		return false
	}
	if slices.Contains(extensions, filepath.Ext(s)) {
		return true
	}
	first, _, is := strings.Cut(s, "/")
	if !is {
		return false
	}
	at, err := os.Stat(filepath.Join(root, first))
	return err == nil && at.IsDir()
}

// exists reports whether a path, or a pattern of paths, is that of something: from the root of the
// repository on, or, of a name without a directory, anywhere.
func exists(t *testing.T, path string, names map[string]bool) bool {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > 0 || names[path] {
		return true
	}
	if strings.Contains(path, "*") && !strings.Contains(path, "/") {
		for name := range names {
			if ok, _ := filepath.Match(path, name); ok {
				return true
			}
		}
	}
	return false
}

// TestGuidesNameWhatIsThere: files, directories, tests and targets of make that CONTRIBUTING.md and
// docs/extend name exist.
func TestGuidesNameWhatIsThere(t *testing.T) {
	tests, names := map[string]bool{}, map[string]bool{}
	sources(t, []string{".go"}, func(path, text string) {
		for _, m := range testFunc.FindAllStringSubmatch(text, -1) {
			tests[m[1]] = true
		}
	})
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() && (entry.Name() == ".git" || entry.Name() == ".tools") {
			return filepath.SkipDir
		}
		names[filepath.Base(path)] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range targetLine.FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = true
	}
	paths, named := 0, 0
	spans(t, func(page, s string) {
		switch target := makeTarget.FindStringSubmatch(s); {
		case testLike.MatchString(s):
			named++
			if !tests[s] {
				t.Errorf("%s names %s: there is no such test", page, s)
			}
		case isPath(s):
			paths++
			if !exists(t, s, names) {
				t.Errorf("%s names %s: there is no such file", page, s)
			}
		case target != nil && !targets[target[1]]:
			t.Errorf("%s names %q: the Makefile has no such target", page, s)
		}
	})
	if paths < 200 || named < 50 {
		t.Errorf("%d paths and %d tests found, want those of all pages", paths, named)
	}
}
