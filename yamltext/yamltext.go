// Package yamltext reads YAML that anybody may have written: of every text comes a value
// or an error, in memory that its length bounds.
//
// What is read are plain mappings, sequences and scalars, one document. Tags, over which
// the decoder beneath panics, and deep nesting, for which it takes memory by the square of
// the depth, are refused before it sees them; so are anchors and aliases, with which a few
// lines grow without bound, but for [DecodeOrdered].
package yamltext

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// What a text may have.
const (
	MaxOctets   = 1 << 20
	maxFlow     = 64      // levels of {} and []
	maxColumns  = 128     // columns that block levels begin at, two each at most
	maxExpanded = 1 << 22 // tokens, if each alias stood for the whole text
)

// Error says what is wrong with a text, and where.
type Error struct {
	Line, Column int // from 1 on; 0: not known
	Reason       string
	err          error // of the decoder; may be nil
}

// Error returns "line 3, column 5: reason".
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// Unwrap returns the decoder's error.
func (e *Error) Unwrap() error { return e.err }

// ReadFile returns the text of a file; of one that is longer than a text may be, enough
// for it to be refused.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxOctets+1))
}

// Decode decodes a text into what v points to. Keys that v has no field for are errors, and
// so is a number with a fraction where v has an integer; an empty text changes nothing.
// Errors: [*Error], and those of v's own UnmarshalText.
func Decode(text []byte, v any) error { return decode(text, v, false) }

// DecodeOrdered is Decode for a v with parts of any form, whose mappings become a
// [yaml.MapSlice]. Anchors and aliases may be there, but no alias within what has an
// anchor.
func DecodeOrdered(text []byte, v any) error {
	return decode(text, v, true, yaml.UseOrderedMap())
}

// Parse returns the syntax of a text, nil of an empty one. Errors: [*Error].
func Parse(text []byte) (ast.Node, error) { return parse(text, false) }

func decode(text []byte, v any, anchors bool, options ...yaml.DecodeOption) (err error) {
	defer failed(&err)
	body, err := parse(text, anchors)
	if body == nil || err != nil {
		return err
	}
	if err := whole(body, reflect.TypeOf(v)); err != nil {
		return err
	}
	return located(yaml.UnmarshalWithOptions(text, v, append(options, yaml.Strict())...))
}

func parse(text []byte, anchors bool) (body ast.Node, err error) {
	defer failed(&err)
	if len(text) > MaxOctets {
		return nil, &Error{Reason: fmt.Sprintf("more than %d octets", MaxOctets)}
	}
	if err := check(lexer.Tokenize(string(text)), anchors); err != nil {
		return nil, err
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, located(err)
	}
	return only(file)
}

// failed makes an error of a panic of the decoder: none is known for what check passes,
// and a file is no reason to stop.
func failed(err *error) {
	if r := recover(); r != nil {
		*err = &Error{Reason: fmt.Sprintf("the YAML decoder failed: %v", r)}
	}
}

// located returns an error with its place, if it has one.
func located(err error) error {
	var e yaml.Error
	if !errors.As(err, &e) {
		return err
	}
	return at(e.GetToken(), e.GetMessage(), err)
}

func at(t *token.Token, reason string, err error) *Error {
	e := &Error{Reason: reason, err: err}
	if t != nil && t.Position != nil {
		e.Line, e.Column = t.Position.Line, t.Position.Column
	}
	return e
}

// check refuses tokens, and too deep nesting of them.
func check(tokens token.Tokens, anchors bool) error {
	var columns []int // at which the block levels around a token begin
	flow, aliases := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.TagType:
			return at(t, "a tag: want plain mappings, sequences and scalars", nil)
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			if !anchors {
				return at(t, "an anchor or alias: want plain mappings, sequences and scalars", nil)
			}
			aliases++
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		}
		if flow <= 0 {
			for len(columns) > 0 && columns[len(columns)-1] >= t.Position.Column {
				columns = columns[:len(columns)-1]
			}
			columns = append(columns, t.Position.Column)
		}
		if flow > maxFlow || len(columns) > maxColumns {
			return at(t, "nested too deep", nil)
		}
	}
	if aliases*len(tokens) > maxExpanded {
		return &Error{Reason: fmt.Sprintf("%d anchors and aliases in %d tokens: too many", aliases, len(tokens))}
	}
	return nil
}

// only returns the body of the only document, nil if there is none. It refuses aliases
// within anchors.
func only(file *ast.File) (body ast.Node, err error) {
	for _, d := range file.Docs {
		if d.Body == nil || d.Body.Type() == ast.NullType || d.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			return nil, at(First(d.Body), "a second YAML document: want one", nil)
		}
		body = d.Body
		for _, anchor := range ast.Filter(ast.AnchorType, body) {
			if inner := ast.Filter(ast.AliasType, anchor); len(inner) > 0 {
				return nil, at(inner[0].GetToken(), "an alias within an anchor", nil)
			}
		}
	}
	return body, nil
}

// First returns the token that a node begins with. Its own token is another one for a
// block mapping: the colon of its first entry.
func First(n ast.Node) *token.Token {
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return m.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		return m.Key.GetToken()
	}
	return n.GetToken()
}
