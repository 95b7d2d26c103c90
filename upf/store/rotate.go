package store

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// turn begins a new segment when the present one is long enough, and has what
// is sealed then compacted when that is due; called with mu held.
func (j *Journal) turn() {
	due := j.compactionDue()
	if j.size < segmentOctets && !due || j.size < j.turnAt {
		return
	}
	if err := j.seal(); err != nil {
		j.log.Error("no new segment of the journal: the present one is written on", "error", err)
		j.turnAt = j.size + segmentOctets/8
		return
	}
	if due {
		j.startCompaction()
	}
}

// seal ends the segment and begins the next; called with mu held, and while
// nobody writes.
func (j *Journal) seal() error {
	old, s := j.file, segment{j.file.Name(), j.number, j.size}
	if err := j.begin(); err != nil {
		return err
	}
	j.sealed = append(j.sealed, s)
	if j.sync != SyncInterval {
		return old.Close()
	}
	// Saving does not wait for the disk.
	j.dirty = false
	j.background.Add(1)
	go func() {
		defer j.background.Done()
		if err := errors.Join(old.Sync(), old.Close(), syncDir(j.dir)); err != nil {
			j.log.Error("segment not forced to disk", "error", err)
		}
	}()
	return nil
}

// syncRegularly forces to disk what was written since it last did.
func (j *Journal) syncRegularly() {
	defer j.background.Done()
	tick := time.NewTicker(syncInterval)
	defer tick.Stop()
	for {
		select {
		case <-j.stop.Done():
			return
		case <-tick.C:
		}
		if err := j.syncFile(); err != nil {
			j.log.Error("journal not forced to disk", "error", err)
		}
	}
}

// syncFile forces the present segment to disk without keeping writers from it.
func (j *Journal) syncFile() error {
	j.mu.Lock()
	for j.writing {
		j.wrote.Wait()
	}
	if !j.dirty {
		j.mu.Unlock()
		return nil
	}
	j.dirty = false
	f := j.file
	j.mu.Unlock()
	err := f.Sync()
	if errors.Is(err, os.ErrClosed) {
		return nil // sealed meanwhile
	}
	return err
}

// allSegments are those that are not written any more, in order; called with
// mu held.
func (j *Journal) allSegments() []segment {
	var all []segment
	if j.snapshot != nil {
		all = append(all, *j.snapshot)
	}
	return append(all, j.sealed...)
}

func (j *Journal) snapshotOctets() int64 {
	if j.snapshot == nil {
		return 0
	}
	return j.snapshot.octets
}

func (j *Journal) journalOctets() int64 {
	octets := j.size
	for _, s := range j.sealed {
		octets += s.octets
	}
	return octets
}

// Stats says what the journal did and what it takes.
func (j *Journal) Stats() JournalStats {
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.writing {
		j.wrote.Wait()
	}
	s := j.stats
	s.Octets = j.snapshotOctets() + j.journalOctets()
	s.Segments = len(j.allSegments()) + 1
	return s
}

// Close implements [Store]. A second call does nothing.
func (j *Journal) Close() error {
	flushErr := j.Flush(j.stop)
	j.mu.Lock()
	for j.writing {
		j.wrote.Wait()
	}
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	if !j.told {
		j.abandon()
	}
	j.mu.Unlock()
	j.cancel()
	j.background.Wait()
	j.abandon()
	var syncErr error
	if j.sync != SyncNone && j.dirty {
		syncErr = j.file.Sync()
	}
	if err := errors.Join(flushErr, syncErr, j.file.Close(), j.lock.Close()); err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}
