// Package yamltext reads YAML that anybody may have written: of every text comes a value,
// or all that is wrong with it, each with its place. Memory is bounded by the length of the
// text.
//
//	text ─► tokens ─► syntax ─► value of Go, over its defaults ─► what its owner wants of it
//	          │          │        │ keys, types                      │ [Checks]
//	          └──────────┴────────┴───────── [ConfigError] ◄─────────┘
//
// A text that is no YAML has one mistake. All others are told at once.
//
// What is read are plain mappings, sequences and scalars, one document. Tags, over which
// the parser beneath panics, and deep nesting, for which it takes memory by the square of
// the depth, are refused before it sees them; so are anchors and aliases, with which a few
// lines grow without bound, unless [Reader.Anchors] asks for them.
package yamltext

import (
	"bytes"
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
	maxKeys     = 10_000  // of a block mapping: the parser's time grows with their square
	maxExpanded = 1 << 22 // tokens, if each alias stood for the whole text
)

// Reader reads one kind of file.
type Reader struct {
	Of      error // what errors about the text of a file wrap; may be nil
	Anchors bool  // anchors and aliases may be there, but no alias within what has an anchor
}

// Load reads a file into what v points to, as [Reader.Parse] does.
//
// Errors: [ConfigError], else what the file system says.
func (r Reader) Load(path string, v any, check func(*Checks)) error {
	text, err := ReadFile(path)
	if err != nil {
		return err
	}
	return r.Parse(path, text, v, check)
}

// Parse reads a text into what v points to; name stands for the file in errors. Keys that
// the text leaves out keep the value that v has. Then check says what is wrong with the
// values, also of a text with other mistakes, but not of one that is no YAML; it may be nil.
//
// The keys are the yaml tags of v's structs. A mapping at a field of type any becomes a
// [yaml.MapSlice]. See [Defaulter], [Shortened] and [Described] for types of one's own.
//
// Errors: [ConfigError].
func (r Reader) Parse(name string, text []byte, v any, check func(*Checks)) error {
	d := decoder{positions: map[string]position{}, anchors: map[string]ast.Node{}}
	if err := d.decode(text, r.Anchors, reflect.ValueOf(v).Elem()); err != nil {
		d.mistakes = append(d.mistakes, Mistake{position: err.position, Text: err.reason})
	} else if check != nil {
		var c Checks
		check(&c)
		d.add(c)
	}
	all := d.all()
	if len(all) == 0 {
		return nil
	}
	return &ConfigError{File: name, Mistakes: all, Of: r.Of, more: d.more}
}

// Load is [Reader.Load] of a plain reader.
func Load(path string, v any, check func(*Checks)) error { return Reader{}.Load(path, v, check) }

// Parse is [Reader.Parse] of a plain reader.
func Parse(name string, text []byte, v any, check func(*Checks)) error {
	return Reader{}.Parse(name, text, v, check)
}

// ReadFile returns the text of a file, of standard input if path is "-"; of one that is
// longer than a text may be, enough for it to be refused.
func ReadFile(path string) ([]byte, error) {
	f := os.Stdin
	if path != "-" {
		var err error
		if f, err = os.Open(path); err != nil {
			return nil, err
		}
		defer f.Close()
	}
	return io.ReadAll(io.LimitReader(f, MaxOctets+1))
}

// syntaxError is why a text is no YAML, or none that is read.
type syntaxError struct {
	position
	reason string
}

func (d *decoder) parse(text []byte, anchors bool) (body ast.Node, err *syntaxError) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // a byte order mark: YAML 1.2.2, 5.2
	if len(text) > MaxOctets {
		return nil, &syntaxError{reason: fmt.Sprintf("more than %d octets", MaxOctets)}
	}
	if err := d.check(lexer.Tokenize(string(text)), anchors); err != nil {
		return nil, err
	}
	// A key that is there twice is a mistake beside others, which the decoder finds.
	file, failure := parser.ParseBytes(text, 0, parser.AllowDuplicateMapKey())
	if failure != nil {
		return nil, located(failure)
	}
	return only(file)
}

// failed makes an error of a panic of the parser: none is known for what check passes,
// and a file is no reason to stop.
func failed(err **syntaxError) {
	if r := recover(); r != nil {
		*err = &syntaxError{reason: fmt.Sprintf("the YAML parser failed: %v", r)}
	}
}

// located returns the parser's error with its place, if it has one.
func located(err error) *syntaxError {
	var e yaml.Error
	if !errors.As(err, &e) {
		return &syntaxError{reason: err.Error()}
	}
	return at(e.GetToken(), e.GetMessage())
}

func at(t *token.Token, reason string) *syntaxError { return &syntaxError{positionOf(t), reason} }

func positionOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{}
	}
	return position{t.Position.Line, t.Position.Column}
}

// check refuses tokens, and too deep nesting of them. What the parser can take is noted, and
// read, so that other mistakes are reported beside it.
func (d *decoder) check(tokens token.Tokens, anchors bool) *syntaxError {
	var tag *syntaxError // the last one
	var levels []block   // the block levels around a token
	flow, aliases := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.TagType:
			if tag != nil {
				d.refuse(tag)
			}
			tag = at(t, "a tag: want plain mappings, sequences and scalars")
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			if !anchors {
				d.refuse(at(t, "an anchor or alias: want plain mappings, sequences and scalars"))
			}
			aliases++
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		}
		if flow <= 0 {
			for len(levels) > 0 && levels[len(levels)-1].column > t.Position.Column {
				levels = levels[:len(levels)-1]
			}
			if len(levels) == 0 || levels[len(levels)-1].column < t.Position.Column {
				levels = append(levels, block{column: t.Position.Column})
			}
			if l := &levels[len(levels)-1]; t.Next != nil && t.Next.Type == token.MappingValueType {
				if l.keys++; l.keys > maxKeys {
					return at(t, fmt.Sprintf("more than %d keys in one mapping", maxKeys))
				}
			}
		}
		if flow > maxFlow || len(levels) > maxColumns {
			return at(t, "nested too deep")
		}
	}
	if aliases*len(tokens) > maxExpanded {
		return &syntaxError{reason: fmt.Sprintf("%d anchors and aliases in %d tokens: too many", aliases, len(tokens))}
	}
	return tag
}

// block is a column at which a block begins, and the keys there.
type block struct{ column, keys int }

// only returns the body of the only document, nil if there is none. It refuses aliases
// within anchors.
func only(file *ast.File) (body ast.Node, err *syntaxError) {
	for _, d := range file.Docs {
		if d.Body == nil || d.Body.Type() == ast.NullType || d.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			return nil, at(first(d.Body), "a second YAML document: want one")
		}
		body = d.Body
		for _, anchor := range ast.Filter(ast.AnchorType, body) {
			if inner := ast.Filter(ast.AliasType, anchor); len(inner) > 0 {
				return nil, at(inner[0].GetToken(), "an alias within an anchor")
			}
		}
	}
	return body, nil
}

// first returns the token that a node begins with. Its own token is another one for a
// block mapping: the colon of its first entry.
func first(n ast.Node) *token.Token {
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
