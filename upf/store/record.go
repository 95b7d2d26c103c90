package store

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A record of the journal; integers are big endian:
//
//	octet  0   CRC-32C of all that follows
//	       4   number of octets of the payload
//	       8   operation: 1 save, 0 drop (no payload)
//	       9   kind
//	      10   id
//	      18   payload
//
// A file is fileHeader and any number of records.
const (
	offLength  = 4
	offOp      = 8
	offKind    = 9
	offID      = 10
	headerSize = 18

	opDrop byte = 0
	opSave byte = 1
)

// fileHeader tells a journal from other files; its last octet is the version
// of the format.
const (
	fileMagic  = "plumbjn"
	fileHeader = fileMagic + "\x01"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Damage of a file that a [reader] wraps.
var (
	errTorn    = errors.New("ends inside a record")
	errCorrupt = errors.New("corrupt record")
	errHeader  = errors.New("not the beginning of a journal")
)

// name is what a record is known by.
type name struct {
	kind byte
	id   uint64
}

// record is one operation; payload belongs to the reader.
type record struct {
	name
	op      byte
	payload []byte
}

// appendRecord appends the record to b.
func appendRecord(b []byte, op, kind byte, id uint64, payload []byte) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(payload)))
	b = append(b, op, kind)
	b = binary.BigEndian.AppendUint64(b, id)
	b = append(b, payload...)
	binary.BigEndian.PutUint32(b[start:], crc32.Checksum(b[start+offLength:], castagnoli))
	return b
}

// possible says whether a record's header may say so.
func possible(op byte, length uint32) bool {
	return length <= MaxRecord && op <= opSave && (op != opDrop || length == 0)
}

// reader takes records out of a file. What it returned is whole and was written
// so; behind a damage it goes on from where it is told to.
type reader struct {
	src    io.ReaderAt
	size   int64
	r      *bufio.Reader
	offset int64 // of the octet behind the last good record
	buf    []byte
	header []byte
}

const readBuffer = 256 << 10

// newReader returns a reader of the first size octets of src.
func newReader(src io.ReaderAt, size int64) *reader {
	d := &reader{src: src, size: size, r: bufio.NewReaderSize(nil, readBuffer), header: make([]byte, len(fileHeader))}
	d.seek(0)
	return d
}

// seek makes the reader go on at an offset.
func (d *reader) seek(offset int64) {
	d.offset = offset
	d.r.Reset(io.NewSectionReader(d.src, offset, d.size-offset))
}

// begin checks the header of a file. A file of no octets is one that was just
// made.
//
// Errors: io.EOF, errHeader, errTorn, [ErrVersion].
func (d *reader) begin() error {
	header := d.header
	if n, err := io.ReadFull(d.r, header); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return io.EOF
		}
		return torn(err)
	}
	switch {
	case string(header) == fileHeader:
	case string(header[:len(fileMagic)]) == fileMagic:
		return fmt.Errorf("version %d, want %d: %w", header[len(fileMagic)], fileHeader[len(fileMagic)], ErrVersion)
	default:
		return fmt.Errorf("begins with %q: %w", header, errHeader)
	}
	d.offset = int64(len(header))
	return nil
}

// next returns the next record, valid until the next call.
//
// Errors: io.EOF at the end, errTorn, errCorrupt, and those of the file system.
func (d *reader) next() (record, error) {
	d.buf = grow(d.buf[:0], headerSize)
	if n, err := io.ReadFull(d.r, d.buf); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return record{}, io.EOF
		}
		return record{}, torn(err)
	}
	length := binary.BigEndian.Uint32(d.buf[offLength:])
	op := d.buf[offOp]
	if !possible(op, length) {
		return record{}, fmt.Errorf("operation %d of %d octets: %w", op, length, errCorrupt)
	}
	if d.offset+headerSize+int64(length) > d.size {
		return record{}, errTorn
	}
	d.buf = grow(d.buf, int(length))
	if _, err := io.ReadFull(d.r, d.buf[headerSize:]); err != nil {
		return record{}, torn(err)
	}
	got, want := crc32.Checksum(d.buf[offLength:], castagnoli), binary.BigEndian.Uint32(d.buf)
	if got != want {
		return record{}, fmt.Errorf("CRC %#08x, want %#08x: %w", got, want, errCorrupt)
	}
	d.offset += int64(len(d.buf))
	return record{
		name:    name{d.buf[offKind], binary.BigEndian.Uint64(d.buf[offID:])},
		op:      op,
		payload: d.buf[headerSize:],
	}, nil
}

// grow makes b longer by n octets of any value.
func grow(b []byte, n int) []byte {
	if free := cap(b) - len(b); free < n {
		b = append(b[:cap(b)], make([]byte, n-free)...)[:len(b)]
	}
	return b[:len(b)+n]
}

// torn is errTorn if the file has ended, else what the file system said.
func torn(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errTorn
	}
	return err
}

// isDamage says whether err is about what is in a file, not about reading it.
func isDamage(err error) bool {
	return errors.Is(err, errTorn) || errors.Is(err, errCorrupt) || errors.Is(err, errHeader)
}
