package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shellLine is a line of a fenced block, with its continuation lines joined.
type shellLine struct {
	number int
	text   string
}

var hereDocument = regexp.MustCompile(`<<-?\s*['"]?(\w+)['"]?`)

// shellLines returns the lines of a document that a user types: all lines of blocks marked as shell,
// and lines that begin with plumb or make in blocks without a language, which also hold output.
// Bodies of here-documents are left out.
func shellLines(text string) []shellLine {
	var found []shellLine
	fenced, language, end := false, "", ""
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		number, line := i+1, lines[i]
		if mark, ok := strings.CutPrefix(line, "```"); ok {
			fenced, language, end = !fenced, mark, ""
			continue
		}
		switch {
		case !fenced:
			continue
		case end != "":
			if strings.TrimSpace(line) == end {
				end = ""
			}
			continue
		case slices.Contains([]string{"sh", "bash", "shell"}, language):
		case !slices.Contains([]string{"", "console"}, language) || !command.MatchString(line):
			continue
		}
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + lines[i]
		}
		if m := hereDocument.FindStringSubmatch(line); m != nil {
			end = m[1]
		}
		found = append(found, shellLine{number, strings.TrimPrefix(line, "$ ")})
	}
	return found
}

// simpleCommands splits a line of shell into the words of its simple commands. A command
// substitution is a command by itself, and the word "1" where it stands.
func simpleCommands(line string) [][]string {
	var commands [][]string
	var words []string
	var word strings.Builder
	inWord, quote := false, byte(0)
	endWord := func() {
		if inWord {
			words = append(words, word.String())
		}
		word.Reset()
		inWord = false
	}
	endCommand := func() {
		endWord()
		if len(words) > 0 {
			commands = append(commands, words)
		}
		words = nil
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != '\'' && strings.HasPrefix(line[i:], "$("):
			n := closing(line[i+1:])
			commands = append(commands, simpleCommands(line[i+2:i+1+n])...)
			word.WriteByte('1')
			inWord = true
			i += 1 + n
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case c == quote && quote != 0:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == ' ' || c == '\t':
			endWord()
		case c == '#' && !inWord:
			endCommand()
			return commands
		case c == '>' || c == '<': // a redirection ends the arguments that are looked at
			endCommand()
			for i+1 < len(line) && !strings.ContainsRune("|;&", rune(line[i+1])) {
				i++
			}
		case strings.ContainsRune("|;&()", rune(c)):
			endCommand()
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	endCommand()
	return commands
}

// closing returns the index of the parenthesis that closes the one at the beginning of s.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s) - 1
}

// before are words that may stand in front of the name of a program.
var before = regexp.MustCompile(`^(?:sudo|nsenter|await|exec|do|then|!|until|while|if|--net=.*|\$\w+|\w+=.*)$`)

// arguments returns the words behind the name of a program, if a simple command calls it.
func arguments(words []string, program string) ([]string, bool) {
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == program || strings.HasSuffix(word, "/"+program):
			return words[i+1:], true
		case word == "start": // function of the tutorials, with a name behind it
			i++
		case !before.MatchString(word):
			return nil, false
		}
	}
	return nil, false
}

// placeholders are words of the documents in the place of a value, with one that has its form.
var placeholders = map[string]string{"SEID": "1", "ADDRESS": "10.0.0.1", "NAME": "throughput"}

// documented calls f for each call of a program in a document.
func documented(t *testing.T, program string, f func(path string, line int, args []string)) {
	t.Helper()
	sources(t, []string{".md"}, func(path, text string) {
		for _, line := range shellLines(text) {
			for _, words := range simpleCommands(line.text) {
				args, ok := arguments(words, program)
				if !ok {
					continue
				}
				args = slices.Clone(args)
				for i, arg := range args {
					if value, ok := placeholders[arg]; ok {
						args[i] = value
					}
				}
				f(path, line.number, args)
			}
		}
	})
}

// TestPlumbCommandsParse: the program accepts each call of it in a document: subcommands, flags
// and the form of their values. With --help it parses the whole command line and does nothing.
func TestPlumbCommandsParse(t *testing.T) {
	dir := t.TempDir()
	plumb := filepath.Join(dir, "plumb")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", plumb, "./cmd/plumb")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	// A call that must fail shows that the parser looks at what stands behind --help.
	if err := exec.CommandContext(t.Context(), plumb, "--help", "doctor", "--no-such-flag").Run(); err == nil {
		t.Fatal("plumb --help doctor --no-such-flag: accepted")
	}
	calls, checked := 0, map[string]bool{}
	documented(t, "plumb", func(path string, line int, args []string) {
		calls++
		key := strings.Join(args, "\x00")
		if checked[key] {
			return
		}
		checked[key] = true
		for _, arg := range args { // results, which --resume wants to exist
			if filepath.Ext(arg) == ".json" && filepath.IsLocal(arg) {
				if err := os.WriteFile(filepath.Join(dir, arg), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		call := exec.CommandContext(t.Context(), plumb, append([]string{"--help"}, args...)...)
		call.Dir = dir
		if out, err := call.CombinedOutput(); err != nil {
			t.Errorf("%s:%d: plumb %s: %s", path, line, strings.Join(args, " "), strings.TrimSpace(string(out)))
		}
	})
	if calls < 150 {
		t.Errorf("%d calls of plumb found, want those of all how-tos", calls)
	}
}

// TestMakeTargetsExist: the Makefile has each target that a document names in a block.
func TestMakeTargetsExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, m := range targetLine.FindAllStringSubmatch(string(makefile), -1) {
		targets[m[1]] = true
	}
	calls := 0
	documented(t, "make", func(path string, line int, args []string) {
		if len(args) > 1 && args[0] == "-C" && args[1] == "plumbline" {
			args = args[2:]
		} else if strings.Contains(path, "tutorial") { // another project's Makefile
			return
		}
		for _, arg := range args {
			if strings.Contains(arg, "=") {
				continue
			}
			calls++
			if !targets[arg] {
				t.Errorf("%s:%d: make %s: no such target", path, line, arg)
			}
		}
	})
	if calls < 10 {
		t.Errorf("%d targets found, want those of all documents", calls)
	}
}

func TestSimpleCommands(t *testing.T) {
	for _, test := range []struct {
		line string
		want string
	}{
		{`plumb doctor   # looks; changes nothing`, `plumb,doctor`},
		{`A=1 sudo plumb show 'a b' "c" | jq . && make x`, `A=1,sudo,plumb,show,a b,c|jq,.|make,x`},
		{`plumb show session "$(plumb sessions | awk '{ print $1 }')"`, `plumb,sessions|awk,{ print $1 }|plumb,show,session,1`},
		{`plumb pfcp show open5gs > mine.yaml; plumb doctor`, `plumb,pfcp,show,open5gs|plumb,doctor`},
	} {
		var got []string
		for _, words := range simpleCommands(test.line) {
			got = append(got, strings.Join(words, ","))
		}
		if got := strings.Join(got, "|"); got != test.want {
			t.Errorf("%s: got %s, want %s", test.line, got, test.want)
		}
	}
}
