package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
)

// Compaction takes the place of segments that are not written any more with one
// that has only what they come to.
//
// Why it is right while others save and drop: a journal is a sequence of
// operations, and what it stands for is the last one of each name. The segments
// that are compacted are sealed: nothing is ever added to them, and every
// operation that comes later stands in a later segment. The snapshot says for
// each name what the sealed segments say of it, and it stands where they stood,
// before all later ones. So for each name the last operation of the whole
// sequence is the same as before, whatever is appended meanwhile. A name that
// was dropped is left out: there is nothing before the snapshot that the drop
// would have to undo.
//
// Why it may be killed at any point: the snapshot has its name only after it is
// whole and on disk, by one rename. Before, it is not read (and removed at the
// next start); after, the sealed segments are not read any more (and removed at
// the next start, if we did not come to it).
//
// It is due when the journals since the last snapshot are longer than that
// snapshot: then either half of all is garbage, or there is twice as much to
// keep; in both cases each octet saved is copied a bounded number of times.

// compactAtLeast keeps small journals from being compacted all the time.
const compactAtLeast = 16 << 20

// compactionDue is called with mu held.
func (j *Journal) compactionDue() bool {
	return !j.compacting && !j.closed && j.journalOctets() > max(j.snapshotOctets(), j.compactAtLeast, j.retryAt)
}

// startCompaction compacts, in the background, all that is sealed; called with
// mu held.
func (j *Journal) startCompaction() {
	j.compacting = true
	sealed := j.allSegments()
	j.background.Add(1)
	go func() {
		defer j.background.Done()
		snapshot, err := j.writeSnapshot(sealed)
		j.mu.Lock()
		defer j.mu.Unlock()
		j.compacting = false
		if err != nil {
			if !j.closed {
				j.log.Error("journal not compacted", "directory", j.dir, "error", err)
				j.retryAt = 2 * j.journalOctets()
			}
			return
		}
		j.retryAt = 0
		j.stats.Compactions++
		j.replaceSealed(snapshot)
	}()
}

// replaceSealed puts snapshot where the segments up to its number were; called
// with mu held.
func (j *Journal) replaceSealed(snapshot segment) {
	old := j.allSegments()
	j.snapshot, j.sealed = &snapshot, nil
	for _, s := range old {
		if s.number > snapshot.number {
			j.sealed = append(j.sealed, s)
		} else if err := os.Remove(s.path); err != nil {
			j.log.Warn("compacted segment not removed", "error", err)
		}
	}
}

// writeSnapshot writes what the segments come to.
func (j *Journal) writeSnapshot(segments []segment) (segment, error) {
	number := segments[len(segments)-1].number
	temporary := segmentPath(j.dir, number, newSuffix)
	f, err := createFile(temporary)
	if err != nil {
		return segment{}, err
	}
	octets, err := copyLive(j.abandoned, f, segments)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	s := segment{segmentPath(j.dir, number, snapshotSuffix), number, octets}
	if err == nil {
		err = os.Rename(temporary, s.path)
	}
	if err != nil {
		os.Remove(temporary) //nolint:errcheck // it is removed at the next start
		return segment{}, fmt.Errorf("snapshot: %w", err)
	}
	return s, syncDir(j.dir)
}

// copyLive appends what the segments come to, and returns how long f is then.
func copyLive(ctx context.Context, f *os.File, segments []segment) (int64, error) {
	w := bufio.NewWriterSize(f, readBuffer)
	octets := int64(len(fileHeader))
	var line []byte
	// Damage was told when the journal was opened.
	err := replay(ctx, segments, func(*Damage) {}, func(r record) error {
		line = appendRecord(line[:0], r.op, r.kind, r.id, r.payload)
		octets += int64(len(line))
		_, err := w.Write(line)
		return err
	})
	if err != nil {
		return 0, err
	}
	return octets, w.Flush()
}
