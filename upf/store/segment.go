package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Files in the directory of a journal:
//
//	lock               held while a process has the journal open
//	NUMBER.journal     what was flushed, in order; the highest number is being written
//	NUMBER.snapshot    takes the place of all journals up to NUMBER
//	NUMBER.new         a snapshot that is not finished; worth nothing
const (
	lockName       = "lock"
	journalSuffix  = ".journal"
	snapshotSuffix = ".snapshot"
	newSuffix      = ".new"
)

// segment is a file that is not written any more.
type segment struct {
	path   string
	number uint64
	octets int64
}

func segmentPath(dir string, number uint64, suffix string) string {
	return filepath.Join(dir, fmt.Sprintf("%016x%s", number, suffix))
}

// lockDir takes the directory for this process, until the file is closed.
//
// Errors: [ErrLocked].
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrLocked
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}

// CheckLock says whether another process has the journal in dir. It makes nothing.
//
// Errors: [ErrLocked].
func CheckLock(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return lock(f)
}

// listSegments returns what makes up the journal in dir, in the order in which
// it has to be read, and the highest number. Files that a snapshot has taken the
// place of, and unfinished snapshots, are removed.
func listSegments(dir string) (snapshot *segment, journals []segment, highest uint64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, 0, err
	}
	var stale []string
	for _, e := range entries {
		s, suffix, err := parseSegment(dir, e)
		if err != nil {
			return nil, nil, 0, err
		}
		switch suffix {
		case newSuffix:
			stale = append(stale, s.path)
		case journalSuffix:
			journals = append(journals, s)
		case snapshotSuffix:
			if snapshot != nil { // names are in ascending order
				stale = append(stale, snapshot.path)
			}
			snapshot = &s
		default:
			continue
		}
		highest = max(highest, s.number)
	}
	journals = slices.DeleteFunc(journals, func(s segment) bool {
		old := snapshot != nil && s.number <= snapshot.number
		if old {
			stale = append(stale, s.path)
		}
		return old
	})
	for _, path := range stale {
		if err := os.Remove(path); err != nil {
			return nil, nil, 0, err
		}
	}
	return snapshot, journals, highest, nil
}

// parseSegment reads a file's name; the suffix is "" for a file that is none of
// ours.
func parseSegment(dir string, e fs.DirEntry) (segment, string, error) {
	suffix := filepath.Ext(e.Name())
	number, err := strconv.ParseUint(strings.TrimSuffix(e.Name(), suffix), 16, 64)
	if err != nil || !e.Type().IsRegular() {
		return segment{}, "", nil //nolint:nilerr // some other file
	}
	info, err := e.Info()
	if err != nil {
		return segment{}, "", err
	}
	return segment{filepath.Join(dir, e.Name()), number, info.Size()}, suffix, nil
}

// createFile makes a file that holds nothing but the header.
func createFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteString(fileHeader); err != nil {
		f.Close()
		return nil, errors.Join(err, os.Remove(path))
	}
	return f, nil
}

// syncDir makes the names in dir outlive the machine.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
