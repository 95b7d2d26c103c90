package store

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// Behind a damage the next record has to be found without knowing where it
// begins: the octets that would have said so may be those that are damaged. It is
// where a header is that can be one, and the CRC is that of what the header says
// is the record.

const (
	searchWindow = 1 << 20
	// searchOctets is how much of one file is checksummed and read to find records,
	// some seconds' worth: octets in which many a header can be one that says that
	// its record is long would take for ever.
	searchOctets = 4 << 30
)

// errSearch is why the rest of a file is given up.
var errSearch = errors.New("no record found within bounds")

// search looks for records in a file.
type search struct {
	src   io.ReaderAt
	size  int64
	left  int64 // octets that may still be looked at
	start int64 // of the window in the file
	full  []byte
	buf   []byte // what of full is read
}

func newSearch(src io.ReaderAt, size int64) *search {
	return &search{src: src, size: size, left: searchOctets, full: make([]byte, min(size, searchWindow))}
}

// next returns where the first whole record begins at or behind an offset; the
// end of the file if there is none.
//
// Errors: errSearch, and those of the file system and of ctx.
func (s *search) next(ctx context.Context, at int64) (int64, error) {
	for n := 0; at+headerSize <= s.size; at++ {
		if n++; n%searchWindow == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		whole, err := s.whole(at)
		if err != nil || whole {
			return at, err
		}
	}
	return s.size, nil
}

// count says how many records there were from one offset to another, as far as
// their headers say so; at least one.
func (s *search) count(from, to int64) (n int) {
	for from < to {
		end, err := s.end(from)
		if err != nil || end == 0 || end > to {
			return max(n, 1)
		}
		from, n = end, n+1
	}
	return n
}

// end is where a record ends by the header at an offset; 0: that is none.
func (s *search) end(at int64) (int64, error) {
	if at+headerSize > s.size {
		return 0, nil
	}
	h, err := s.octets(at, headerSize)
	if err != nil {
		return 0, err
	}
	length, op := binary.BigEndian.Uint32(h[offLength:]), h[offOp]
	end := at + headerSize + int64(length)
	if !possible(op, length) || end > s.size {
		return 0, nil
	}
	return end, nil
}

// whole reports whether there is a whole record at an offset.
func (s *search) whole(at int64) (bool, error) {
	end, err := s.end(at)
	if err != nil || end == 0 {
		return false, err
	}
	if s.left -= end - at; s.left < 0 {
		return false, errSearch
	}
	b, err := s.octets(at, offLength)
	if err != nil {
		return false, err
	}
	want, got := binary.BigEndian.Uint32(b), uint32(0)
	for at += offLength; at < end; at += int64(len(b)) {
		if b, err = s.octets(at, int(min(end-at, int64(len(s.full))))); err != nil {
			return false, err
		}
		got = crc32.Update(got, castagnoli, b)
	}
	return got == want, nil
}

// octets returns n octets of the file, no more than the window has, until the
// next call.
func (s *search) octets(at int64, n int) ([]byte, error) {
	if i := at - s.start; i >= 0 && i+int64(n) <= int64(len(s.buf)) {
		return s.buf[i : i+int64(n)], nil
	}
	want := min(int64(len(s.full)), s.size-at)
	if s.left -= want; s.left < 0 {
		return nil, errSearch
	}
	s.start, s.buf = at, s.full[:want]
	if k, err := s.src.ReadAt(s.buf, at); k < n {
		s.buf = nil
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	return s.buf[:n], nil
}
