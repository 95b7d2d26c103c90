package docs

import (
	"go/scanner"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// phrases are turns that style.md replaces, and how often they are in the sources at most: in
// comments of Go and C, and in strings of Go (help, errors, logs). The counts are to go down only:
// lower them with each rewrite. Documents have none.
var phrases = []struct {
	text     *regexp.Regexp
	comments int
	strings  int
}{
	{phrase(`what (?:becomes|became|comes|came) of`), 82, 13},
	{phrase(`nobody`), 168, 11},
	{phrase(`somebody|anybody`), 62, 6},
	{phrase(`whoever|whosever`), 44, 2},
	{phrase(`who has`), 19, 0},
	{phrase(`so many`), 90, 5},
	{phrase(`(?:is|are|was|were|be|been) told`), 130, 18},
	{phrase(`(?:goes|go|went|gone) on`), 152, 36},
	{phrase(`(?:stands|stand|stood) (?:in|at|for)`), 126, 6},
	{phrase(`whatever`), 65, 8},
	{phrase(`as \S+(?: \S+)? has it`), 22, 1},
	{phrase(`but for`), 45, 0},
	{phrase(`anew`), 73, 14},
	{phrase(`each way`), 16, 5},
	{phrase(`take[ns]? apart`), 10, 4},
}

// phrase matches words as a whole, also across the end of a line of a comment.
func phrase(s string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(s, " ", `[\s/*]+`) + `)\b`)
}

// proseExempt are documents that are generated, quote the phrases, or are not rewritten yet.
var proseExempt = map[string]bool{
	"docs/rules.md": true, "docs/pfcp.md": true, "docs/nfapi-messages.md": true, // generated
	"docs/style.md":       true,                                                            // has the glossary
	"docs/performance.md": true, "docs/extend/rule-element.md": true, "CHANGELOG.md": true, // not rewritten yet
}

var inlineCode = regexp.MustCompile("`[^`]*`")

// TestWordsOfDocuments: no document says what style.md tells to say otherwise. Code is left out.
func TestWordsOfDocuments(t *testing.T) {
	sources(t, []string{".md"}, func(path, text string) {
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		if proseExempt[filepath.ToSlash(name)] || strings.Contains(name, "testdata") {
			return
		}
		blank := func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }
		prose := inlineCode.ReplaceAllStringFunc(fenced.ReplaceAllStringFunc(text, blank), blank)
		for _, p := range phrases {
			for _, at := range p.text.FindAllStringIndex(prose, -1) {
				t.Errorf("%s:%d: %q: see the glossary in docs/style.md", name, 1+strings.Count(prose[:at[0]], "\n"), prose[at[0]:at[1]])
			}
		}
	})
}

// TestWordsOfSources: comments and strings do not have more of the phrases than there were.
func TestWordsOfSources(t *testing.T) {
	var comments, texts strings.Builder
	sources(t, []string{".go", ".c", ".h"}, func(path, text string) {
		switch {
		case strings.HasSuffix(path, "_test.go"):
		case filepath.Ext(path) == ".go":
			goWords(text, &comments, &texts)
		default:
			for _, comment := range commentOfC.FindAllString(text, -1) {
				comments.WriteString(comment + "\n")
			}
		}
	})
	for _, p := range phrases {
		for _, part := range []struct {
			name, text string
			most       int
		}{{"comments", comments.String(), p.comments}, {"strings", texts.String(), p.strings}} {
			switch n := len(p.text.FindAllString(part.text, -1)); {
			case n > part.most:
				t.Errorf("%s: %d in %s, want at most %d: see the glossary in docs/style.md", p.text, n, part.name, part.most)
			case n < part.most:
				t.Logf("%s: %d in %s: lower the count of %d", p.text, n, part.name, part.most)
			}
		}
	}
}

var commentOfC = regexp.MustCompile(`(?s)//[^\n]*(?:\n\s*//[^\n]*)*|/\*.*?\*/`)

// goWords adds the comments and strings of a Go file. A group of line comments stays together.
func goWords(text string, comments, texts *strings.Builder) {
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", files.Base(), len(text)), []byte(text), nil, scanner.ScanComments)
	for {
		switch _, kind, literal := s.Scan(); kind {
		case token.EOF:
			return
		case token.COMMENT:
			comments.WriteString(literal + "\n")
		case token.STRING:
			texts.WriteString(literal + "\n\x00\n")
		default:
			comments.WriteString("\x00")
		}
	}
}
