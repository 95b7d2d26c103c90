// Command genfields writes what is done with every field of a session and its rules,
// from the tags of the types of package session: how it is encoded in a record
// (record_generated.go), and how it goes to a datapath (../rules/fields_generated.go).
//
// record: a struct is a list of numbers, and behind them what has no fixed length. The
// tag of a field says where it stands:
//
//	record:"3"        the number 3: an integer, an address, an Optional, how long a list is
//	record:"4.1"      bit 1 of the number 4: a flag, or whether there is a text or a pointer's value
//	record:"2.1 6"    an Optional whose value is number 6 as it is
//	record:"7 8 15"   a struct without tags of its own, field by field; "-" leaves one out
//	record:"."        a struct with tags of its own, in the same list
//	record:"62.0:4 5" the same in a further list, which is there if one of its numbers is not 0
//	record:"-"        not in the record
//
// Values of more than 64 bits take several numbers in a row. A list with "shared" is
// made anew when it is read, since sessions share it; one with "limited" has at most
// maxRecordRules elements. What has no fixed length follows in this order: texts, lists
// of IDs, lists of texts, all else; and of each kind by its number.
//
// api: the field of the message to which it goes, and, where types differ in more than
// their width, what package rules makes it one with:
//
//	api:"Dscp"                             an integer, a flag, a text, an address, an Optional, a pointer
//	api:"Unwrap,api.Unwrap"                a function, or a type to convert to
//	api:"OuterHeaderCreation,*outerHeader" the method compile of a value that is used again
//
// A field without an api tag is none of a datapath's, or package rules converts it.
package main

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
)

// What is written. The record is not read: it may be out of date.
const (
	recordFile = "record_generated.go"
	rulesFile  = "../rules/fields_generated.go"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintf(os.Stderr, "genfields: %v\n", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	pkg, err := load(dir)
	if err != nil {
		return err
	}
	record, err := generateRecord(pkg)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, recordFile), record, 0o644); err != nil {
		return err
	}
	fields, err := generateFields(pkg)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, rulesFile), fields, 0o644)
}

// load returns the package without its generated file. What is missing without it is
// no error: only the types of fields are needed.
func load(dir string) (*types.Package, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if filepath.Base(name) == recordFile || strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	c := types.Config{Importer: importer.ForCompiler(set, "source", nil), Error: func(error) {}, IgnoreFuncBodies: true}
	pkg, _ := c.Check("session", set, files, nil)
	return pkg, nil
}
