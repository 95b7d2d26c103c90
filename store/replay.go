package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Damage is what could not be read of a journal.
type Damage struct {
	File   string
	Offset int64 // of the first octet that was not used
	Octets int64 // that were not used
	Err    error
}

// Error says what is lost.
func (d *Damage) Error() string {
	return fmt.Sprintf("%s: %d octets from %d on: %v", d.File, d.Octets, d.Offset, d.Err)
}

// Unwrap returns the reason.
func (d *Damage) Unwrap() error { return d.Err }

// replay reads segments in their order and calls each for every record as it
// was last, so not for those that were dropped. It reads them twice: first to
// learn which operation was the last one of each name, then to do those; so it
// needs memory for the names, not for what they stand for.
//
// A segment is read up to the first damage; damage is told once for each.
func replay(ctx context.Context, segments []segment, damaged func(*Damage), each func(record) error) error {
	last := map[name]uint64{}
	var n uint64
	for _, s := range segments {
		d, err := scan(ctx, s, func(r record) error {
			n++
			last[r.name] = n
			return nil
		})
		if err != nil {
			return err
		}
		if d != nil {
			damaged(d)
		}
	}
	n = 0
	for _, s := range segments {
		_, err := scan(ctx, s, func(r record) error {
			n++
			if r.op != opSave || last[r.name] != n {
				return nil
			}
			return each(r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scan calls each for every operation in the segment, in order.
func scan(ctx context.Context, s segment, each func(record) error) (*Damage, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	offset, err := scanRecords(ctx, io.NewSectionReader(f, 0, s.octets), each)
	if err != nil && isDamage(err) {
		return &Damage{File: s.path, Offset: offset, Octets: s.octets - offset, Err: err}, nil
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", s.path, err)
	}
	return nil, err
}

// scanRecords reads a file's octets; it returns where it stopped, and why.
func scanRecords(ctx context.Context, r io.Reader, each func(record) error) (int64, error) {
	d, err := newReader(r)
	switch {
	case errors.Is(err, io.EOF):
		return 0, nil
	case err != nil:
		return 0, err
	}
	for {
		if err := ctx.Err(); err != nil {
			return d.offset, err
		}
		rec, err := d.next()
		switch {
		case errors.Is(err, io.EOF):
			return d.offset, nil
		case err != nil:
			return d.offset, err
		}
		if err := each(rec); err != nil {
			return d.offset, err
		}
	}
}
