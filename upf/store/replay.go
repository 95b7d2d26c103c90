package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// Damage is one place of a journal that could not be read.
type Damage struct {
	File    string
	Offset  int64 // of the first octet that was not used
	Octets  int64 // that were not used
	Records int   // that there were, at least
	ToEnd   bool  // nothing could be read behind it
	Err     error
}

// Error says what is lost.
func (d *Damage) Error() string {
	return fmt.Sprintf("%s: %d octets from %d on: %v", d.File, d.Octets, d.Offset, d.Err)
}

// Unwrap returns the reason.
func (d *Damage) Unwrap() error { return d.Err }

// torn reports whether it is an end of a file that was not written whole.
func (d *Damage) torn() bool { return d.ToEnd && errors.Is(d.Err, errTorn) }

// replay reads segments in their order and calls each for every record as it
// was last, so not for those that were dropped. It reads them twice: first to
// learn which operation was the last one of each name, then to do those; so it
// needs memory for the names, not for what they stand for.
//
// What is damaged is passed over, and told once.
func replay(ctx context.Context, segments []segment, damaged func(*Damage), each func(record) error) error {
	last := map[name]uint64{}
	var n uint64
	for _, s := range segments {
		err := scan(ctx, s, damaged, func(r record) error {
			n++
			last[r.name] = n
			return nil
		})
		if err != nil {
			return err
		}
	}
	n = 0
	for _, s := range segments {
		err := scan(ctx, s, func(*Damage) {}, func(r record) error {
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
func scan(ctx context.Context, s segment, damaged func(*Damage), each func(record) error) error {
	f, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := min(s.octets, info.Size()) // a torn end was cut off between the two times
	err = scanRecords(ctx, f, size, func(d *Damage) {
		d.File = s.path
		damaged(d)
	}, each)
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	return nil
}

// scanRecords calls each for every record in the first size octets of a file,
// and damaged for each place that is not one. Behind such a place it goes on with
// the first whole record.
func scanRecords(ctx context.Context, src io.ReaderAt, size int64, damaged func(*Damage), each func(record) error) error {
	d := newReader(src, size)
	err := d.begin()
	if errors.Is(err, io.EOF) {
		return nil
	}
	var s *search
	for {
		var rec record
		if err == nil {
			rec, err = d.next()
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil:
			err = each(rec)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return err
			}
		case !isDamage(err):
			return err
		default:
			if s == nil {
				s = newSearch(src, size)
			}
			var found *Damage
			if found, err = passOver(ctx, d, s, err); err != nil {
				return err
			}
			damaged(found)
		}
	}
}

// passOver has the reader go on behind the damage that it has met.
func passOver(ctx context.Context, d *reader, s *search, why error) (*Damage, error) {
	from := d.offset
	to, err := s.next(ctx, from+1)
	if errors.Is(err, errSearch) {
		to, err, why = d.size, nil, errors.Join(why, err)
	}
	if err != nil {
		return nil, err
	}
	d.seek(to)
	return &Damage{Offset: from, Octets: to - from, Records: s.count(from, to), ToEnd: to == d.size, Err: why}, nil
}
