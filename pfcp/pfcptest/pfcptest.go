// Package pfcptest reads the golden PFCP datagrams in pfcp/testdata/golden, for the
// tests of every package that speaks PFCP.
//
// A vector is a file NAME.hex: comment lines with "#", then the octets of one
// datagram in hex, blanks and line ends as they come. Comment lines of the form
// "# key: value" say more:
//
//	source        which tool made the octets
//	cause         bad vectors: the Cause of the response; "discard" if the
//	              datagram is to be discarded silently, "version" if it is
//	              answered with Version Not Supported Response
//	offending-ie  bad vectors: the type in Offending IE, if there is one
package pfcptest

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Vector is one golden datagram.
type Vector struct {
	Name   string
	About  string // the comment lines without a key
	Source string
	Octets []byte

	// What a bad vector has to be answered with.
	Cause       uint8  // 0: no response, or one that has no Cause
	OffendingIE uint16 // 0: none
	Discard     bool   // no response at all
	Version     bool   // Version Not Supported Response
}

// Good returns the valid datagrams, in the order of their names.
func Good(t testing.TB) []Vector { return load(t, "pfcp/testdata/golden") }

// Bad returns the datagrams that have to be refused, in the order of their
// names.
func Bad(t testing.TB) []Vector { return load(t, "pfcp/testdata/golden/bad") }

// Get returns the valid datagram of the given name.
func Get(t testing.TB, name string) Vector {
	t.Helper()
	return read(t, filepath.Join(Root(t), "pfcp/testdata/golden", name+".hex"))
}

// Root returns the directory of go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	t.Fatal("no go.mod above the working directory")
	return ""
}

func load(t testing.TB, dir string) []Vector {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(Root(t), dir, "*.hex"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d vectors, %v", dir, len(files), err)
	}
	vectors := make([]Vector, 0, len(files))
	for _, file := range files {
		vectors = append(vectors, read(t, file))
	}
	return vectors
}

func read(t testing.TB, file string) Vector {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v := Vector{Name: strings.TrimSuffix(filepath.Base(file), ".hex")}
	var digits strings.Builder
	for line := range strings.Lines(string(text)) {
		comment, isComment := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !isComment {
			digits.WriteString(strings.Join(strings.Fields(line), ""))
			continue
		}
		if err := v.comment(strings.TrimSpace(comment)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	if v.Octets, err = hex.DecodeString(digits.String()); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

// comment takes in one comment line.
func (v *Vector) comment(line string) error {
	key, value, ok := strings.Cut(line, ": ")
	if !ok {
		key, value = "", line
	}
	switch key {
	case "source":
		v.Source = value
	case "cause":
		return v.cause(value)
	case "offending-ie":
		n, err := number(value, 16)
		v.OffendingIE = uint16(n)
		return err
	default:
		v.About = strings.TrimSpace(v.About + " " + line)
	}
	return nil
}

func (v *Vector) cause(value string) error {
	switch value {
	case "discard":
		v.Discard = true
		return nil
	case "version":
		v.Version = true
		return nil
	}
	n, err := number(value, 8)
	v.Cause = uint8(n)
	return err
}

// number reads the number in front of a name: "66 Mandatory IE missing".
func number(value string, bits int) (uint64, error) {
	digits, _, _ := strings.Cut(value, " ")
	n, err := strconv.ParseUint(digits, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", value, err)
	}
	return n, nil
}
