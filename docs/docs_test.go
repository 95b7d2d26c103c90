// Package docs holds what is written about Plumbline, and the tests that keep
// it and the sources in step.
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

const root = ".."

// maxLines is the longest that a file written by hand may be. A file is as long as its concept;
// one beyond this most likely has several.
const maxLines = 800

// sources calls f for each file below root with one of the extensions, but
// for generated ones and what is not part of the project.
func sources(t *testing.T, extensions []string, f func(path, text string)) {
	t.Helper()
	found := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); path != root && (name == ".git" || name == ".tools" || name == "bin" || name == "out") {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains(extensions, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !generated(string(text)) {
			found++
			f(path, string(text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Fatalf("no files %v below %s", extensions, root)
	}
}

// Source: golang.org/s/generatedcode.
var generatedLine = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func generated(text string) bool { return generatedLine.MatchString(text) }

func TestFilesAreShort(t *testing.T) {
	sources(t, []string{".go", ".c", ".h", ".proto", ".py", ".css", ".html"}, func(path, text string) {
		if n := strings.Count(text, "\n"); n > maxLines {
			t.Errorf("%s: got %d lines, want at most %d", path, n, maxLines)
		}
	})
}

// maxFunctionLines is the longest that a function of eBPF C may be, from its
// opening to its closing brace.
const maxFunctionLines = 50

func TestCFunctionsAreShort(t *testing.T) {
	sources(t, []string{".c", ".h"}, func(path, text string) {
		opened := 0
		for i, line := range strings.Split(text, "\n") {
			switch line {
			case "{":
				opened = i
			case "}":
				if n := i - opened - 1; opened > 0 && n > maxFunctionLines {
					t.Errorf("%s:%d: got a function of %d lines, want at most %d", path, opened+1, n, maxFunctionLines)
				}
				opened = 0
			}
		}
	})
}

var (
	citation = regexp.MustCompile(`\b(?:TS \d\d\.\d\d\d|RFC \d+)\b`)
	version  = regexp.MustCompile(`\b(TS \d\d\.\d\d\d) (V[0-9]+(?:\.[0-9]+\.[0-9]+)?)\b`)
	specRow  = regexp.MustCompile(`(?m)^\| (TS \d\d\.\d\d\d|RFC \d+) \| ([^|]*) \|`)
)

// specs reads docs/specs.md: document to version.
func specs(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("specs.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, row := range specRow.FindAllStringSubmatch(string(text), -1) {
		listed[row[1]] = strings.TrimSpace(row[2])
	}
	if len(listed) == 0 {
		t.Fatal("specs.md lists no document")
	}
	return listed
}

// TestCitedDocumentsAreListed: what a comment cites is in docs/specs.md, in the
// version that is cited.
func TestCitedDocumentsAreListed(t *testing.T) {
	listed := specs(t)
	sources(t, []string{".go", ".c", ".h", ".proto"}, func(path, text string) {
		if path == filepath.Join(root, "docs", "docs_test.go") {
			return
		}
		for _, document := range unique(citation.FindAllString(text, -1)) {
			if _, ok := listed[document]; !ok {
				t.Errorf("%s cites %s, which docs/specs.md does not list", path, document)
			}
		}
		for _, m := range version.FindAllStringSubmatch(text, -1) {
			if want, ok := listed[m[1]]; ok && want != m[2] && !strings.HasPrefix(want, m[2]+".") {
				t.Errorf("%s cites %s %s, docs/specs.md has %s", path, m[1], m[2], want)
			}
		}
	})
}

// TestListedDocumentsAreCited: docs/specs.md lists nothing that is not used.
func TestListedDocumentsAreCited(t *testing.T) {
	cited := map[string]bool{}
	sources(t, []string{".go", ".c", ".h", ".proto", ".py"}, func(_, text string) {
		for _, document := range citation.FindAllString(text, -1) {
			cited[document] = true
		}
	})
	for document := range specs(t) {
		if !cited[document] {
			t.Errorf("docs/specs.md lists %s, which no source cites", document)
		}
	}
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
)

// TestMarkdownLinksResolve: a link to a file, or to a heading in it, has one.
func TestMarkdownLinksResolve(t *testing.T) {
	sources(t, []string{".md"}, func(path, text string) {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			linked, err := os.Stat(target)
			if err != nil {
				t.Errorf("%s links to %s: %v", path, m[1], err)
				continue
			}
			if anchor != "" && !linked.IsDir() && !hasAnchor(t, target, anchor) {
				t.Errorf("%s links to %s: no such heading", path, m[1])
			}
		}
	})
}

func hasAnchor(t *testing.T, path, anchor string) bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		slug := strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		if slug == anchor {
			return true
		}
	}
	return false
}

// command is a line that a user types, perhaps behind a prompt; gloss is the explanation behind it
// in the same line: it stands behind two spaces.
var (
	command = regexp.MustCompile(`^(?:[$#] )?(?:sudo )?(?:[A-Z_]+=\S+ )*(?:\S*/)?(?:plumb|make) \S`)
	gloss   = regexp.MustCompile(`\S {2,}([^ #\\|].*)$`)
)

// TestGlossIsComment: a command line of a document can be pasted as it stands: the explanation
// of it is a comment of the shell.
func TestGlossIsComment(t *testing.T) {
	lines := 0
	sources(t, []string{".md"}, func(path, text string) {
		fenced, shell := false, false
		for i, line := range strings.Split(text, "\n") {
			if language, ok := strings.CutPrefix(line, "```"); ok {
				fenced = !fenced
				shell = fenced && slices.Contains([]string{"", "sh", "bash", "shell", "console"}, language)
				continue
			}
			if !shell || !command.MatchString(line) {
				continue
			}
			lines++
			if m := gloss.FindStringSubmatch(line); m != nil && !strings.Contains(line[:len(line)-len(m[1])], " #") {
				t.Errorf("%s:%d: %q is not behind #: a shell takes it for arguments", path, i+1, m[1])
			}
		}
	})
	if lines < 100 {
		t.Errorf("%d command lines found, want those of all how-tos", lines)
	}
}
