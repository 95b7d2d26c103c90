package rematch

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine is the longest line that is looked at, in octets.
const maxLine = 4096

// lines reads lines of bounded length.
type lines struct{ r *bufio.Reader }

func newLines(r io.Reader) *lines { return &lines{bufio.NewReaderSize(r, 1<<16)} }

// next returns the next line without its end, nil if it is longer than maxLine. It is
// valid until the next call. The error is io.EOF after the last line.
func (l *lines) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	tooLong := false
	for errors.Is(err, bufio.ErrBufferFull) {
		tooLong = true
		_, err = l.r.ReadSlice('\n')
	}
	switch {
	case errors.Is(err, io.EOF) && (len(line) > 0 || tooLong):
	case err != nil:
		return nil, err
	}
	line = bytes.TrimRight(line, "\r\n")
	if tooLong || len(line) > maxLine {
		return nil, nil
	}
	return line, nil
}

// number takes the decimal number at the beginning of b. ok is false if there is none,
// or one that is not below maxNS.
func number(b []byte) (n uint64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		if n = n*10 + uint64(b[i]-'0'); n >= maxNS {
			return 0, b, false
		}
	}
	return n, b[i:], i > 0
}

// validName reports whether a slice's name can be shown as it is: octets of ASCII that
// print, and not many.
func validName(name []byte) bool {
	if len(name) == 0 || len(name) > maxName {
		return false
	}
	for _, c := range name {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}
