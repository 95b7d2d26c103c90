package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/plumbline-upf/plumbline/internal/plainjson"
)

// width is how many octets of JSON a line may have before it is broken where it can be: so that the file is small, and a
// difference between two of them can be read.
const width = 500

// value is a JSON value in one line, and what is in it, in its order.
type value struct {
	text   []byte
	open   byte // '{' or '[', or 0
	keys   [][]byte
	values []value
}

// tidy removes the source locations of BMv2 JSON (source_info), which are most of it, name files of
// the compiler, and change with every line; and it reformats lines. Everything else is kept in the
// compiler's order.
func tidy(src []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	v, err := read(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the JSON value")
	}
	return append(v.lines(nil, 0), '\n'), nil
}

func read(d *json.Decoder) (value, error) {
	t, err := d.Token()
	if err != nil {
		return value{}, err
	}
	open, ok := t.(json.Delim)
	if !ok {
		text, err := scalar(t)
		return value{text: text}, err
	}
	v := value{text: []byte{byte(open)}, open: byte(open)}
	for d.More() {
		var key []byte
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return value{}, err
			}
			if key, err = scalar(name); err != nil {
				return value{}, err
			}
			key = append(key, ':')
		}
		in, err := read(d)
		if err != nil {
			return value{}, err
		}
		if string(key) == `"source_info":` {
			continue
		}
		if len(v.values) > 0 {
			v.text = append(v.text, ',')
		}
		v.text = append(append(v.text, key...), in.text...)
		v.keys, v.values = append(v.keys, key), append(v.values, in)
	}
	end, err := d.Token()
	if err != nil {
		return value{}, err
	}
	v.text = fmt.Append(v.text, end)
	return v, nil
}

// scalar is a token that is no bracket. Numbers stay as they are written.
func scalar(t json.Token) ([]byte, error) {
	var b bytes.Buffer
	err := plainjson.Lines(&b).Encode(t) // operators occur in names
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

// lines appends the value, a line for each of what is in it where one line would be too long.
func (v value) lines(b []byte, depth int) []byte {
	if len(v.text) <= width || v.open == 0 {
		return append(b, v.text...)
	}
	b = append(b, v.open)
	for i, in := range v.values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '\n'), bytes.Repeat([]byte{' '}, depth+1)...), v.keys[i]...)
		b = in.lines(b, depth+1)
	}
	return append(b, v.text[len(v.text)-1])
}
