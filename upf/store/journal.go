package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Sync says when a [Journal] is forced to disk. What is only in the kernel's
// page cache outlives the process, but not the sudden end of the machine.
type Sync string

// Values of [Sync].
const (
	SyncNone     Sync = "none"     // when the kernel sees fit
	SyncInterval Sync = "interval" // once a second, if there was something
	SyncAlways   Sync = "always"   // by each Flush
)

const (
	syncInterval  = time.Second
	segmentOctets = 64 << 20
	// spareOctets is the most memory that is kept for the next batch.
	spareOctets = 1 << 20
)

// JournalConfig says where a [Journal] is and how it is kept.
type JournalConfig struct {
	Dir  string       // made if it does not exist; for this process alone
	Sync Sync         // "": SyncNone
	Log  *slog.Logger // nil: [slog.Default]
}

// JournalStats is what a [Journal] did and what it takes.
type JournalStats struct {
	Octets      int64  // on disk
	Segments    int    // files
	Writes      uint64 // calls of write(2); fewer than Flushes where these were grouped
	Compactions uint64
	Damages     uint64 // places that could not be read, with ends that were not written whole
}

// Journal is the embedded [Store]: files that are only appended to.
//
// The callers' records are collected in memory; the first Flush writes all that
// there is by then in one write(2), and those that come meanwhile wait for it
// and then are one write together.
type Journal struct {
	dir  string
	sync Sync
	log  *slog.Logger
	lock *os.File

	stop       context.Context // ends the background, but compactions
	cancel     context.CancelFunc
	abandoned  context.Context // ends compactions
	abandon    context.CancelFunc
	background sync.WaitGroup

	mu       sync.Mutex
	wrote    sync.Cond // writing became false
	pending  []byte    // records that are in no file yet
	spare    []byte    // memory for the next pending
	settled  int       // octets of pending when it was last coalesced
	added    uint64    // records saved and dropped so far,
	flushed  uint64    // and those of them that are in a file
	writing  bool      // somebody writes without mu; file, size and dirty are theirs
	closed   bool
	snapshot *segment // nil: none
	sealed   []segment
	stats    JournalStats
	lost     Lost
	told     bool // of what is lost

	compacting     bool
	compactAtLeast int64 // octets of the journals below which nothing is compacted
	retryAt        int64 // the same, after it failed
	turnAt         int64 // size before which no new segment is begun

	file   *os.File // the segment that is being written,
	number uint64   // its number
	size   int64    // and how long it is
	dirty  bool     // written since it was last forced to disk
}

var _ Store = (*Journal)(nil)

// OpenJournal opens the journal in c.Dir and begins a new segment.
//
// Errors: [ErrLocked], and what the file system says.
func OpenJournal(c JournalConfig) (*Journal, error) {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	j := &Journal{dir: c.Dir, sync: c.Sync, log: c.Log, compactAtLeast: compactAtLeast}
	j.wrote.L = &j.mu
	j.stop, j.cancel = context.WithCancel(context.Background())
	j.abandoned, j.abandon = context.WithCancel(context.Background())
	if err := j.open(); err != nil {
		j.cancel()
		j.abandon()
		if j.lock != nil {
			j.lock.Close()
		}
		return nil, fmt.Errorf("journal: %w", err)
	}
	if c.Sync == SyncInterval {
		j.background.Add(1)
		go j.syncRegularly()
	}
	return j, nil
}

func (j *Journal) open() error {
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return err
	}
	var err error
	if j.lock, err = lockDir(j.dir); err != nil {
		return err
	}
	j.snapshot, j.sealed, j.number, err = listSegments(j.dir)
	if err != nil {
		return err
	}
	return j.begin()
}

// begin opens the next segment.
func (j *Journal) begin() error {
	f, err := createFile(segmentPath(j.dir, j.number+1, journalSuffix))
	if err != nil {
		return err
	}
	if j.sync == SyncAlways {
		if err := syncDir(j.dir); err != nil {
			return errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}
	j.turnAt = 0
	j.file, j.number, j.size = f, j.number+1, int64(len(fileHeader))
	return nil
}

// Load implements [Store]. What it cannot read is logged and counted; an end
// that was not written whole is cut off.
func (j *Journal) Load(ctx context.Context, each func(kind byte, id uint64, record []byte) error) error {
	j.mu.Lock()
	segments := j.allSegments()
	j.mu.Unlock()
	err := replay(ctx, segments, j.damaged, func(r record) error { return each(r.kind, r.id, r.payload) })
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// Lost implements [Store].
func (j *Journal) Lost() Lost {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lost
}

// Told implements [Store]: a snapshot takes the place of what is damaged. Close waits for it,
// or a process that ends soon would leave the damage, to be told again.
func (j *Journal) Told() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lost == (Lost{}) || j.closed {
		return
	}
	j.told = true
	if !j.compacting {
		j.startCompaction()
	}
}

// damaged reports d, and cuts it off if it is what was being written when the
// process ended: nobody was told that it is kept.
func (j *Journal) damaged(d *Damage) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stats.Damages++
	last := len(j.sealed) - 1
	if last < 0 || d.File != j.sealed[last].path || !d.torn() {
		j.log.Error("journal damaged, passed over", "file", d.File, "offset", d.Offset,
			"octets_lost", d.Octets, "records_lost_at_least", d.Records, "error", d.Err)
		j.lost.Records += uint64(d.Records)
		j.lost.Octets += uint64(d.Octets)
		return
	}
	j.log.Warn("end of the journal was not written whole, cut off", "file", d.File, "offset", d.Offset, "octets", d.Octets)
	if err := os.Truncate(d.File, d.Offset); err != nil {
		j.log.Warn("torn end of the journal not cut off", "error", err)
		return
	}
	j.sealed[last].octets = d.Offset
}

// Save implements [Store].
func (j *Journal) Save(kind byte, id uint64, record []byte) {
	if len(record) > MaxRecord {
		panic(fmt.Sprintf("store: record %c %#x of %d octets", kind, id, len(record)))
	}
	j.add(opSave, kind, id, record)
}

// Drop implements [Store].
func (j *Journal) Drop(kind byte, id uint64) { j.add(opDrop, kind, id, nil) }

func (j *Journal) add(op, kind byte, id uint64, payload []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	j.pending = appendRecord(j.pending, op, kind, id, payload)
	j.added++
}

// Flush implements [Store]. It does not wait for ctx once it writes.
func (j *Journal) Flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	target := j.added
	for j.flushed < target {
		if j.writing { // what it writes may be what we wait for
			j.wrote.Wait()
			continue
		}
		if j.closed {
			return ErrClosed
		}
		if err := j.write(); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	return nil
}

// write puts all of pending into the file; called with mu held, which is not
// held meanwhile.
func (j *Journal) write() error {
	batch, last := j.pending, j.added
	j.pending, j.spare = j.spare[:0], nil
	j.writing = true
	j.mu.Unlock()
	err := j.writeFile(batch)
	j.mu.Lock()
	j.writing = false
	j.wrote.Broadcast()
	if err != nil {
		j.putBack(batch)
		return err
	}
	j.flushed = last
	j.settled = 0
	j.stats.Writes++
	if cap(batch) <= spareOctets {
		j.spare = batch
	}
	j.turn()
	return nil
}

// writeFile is the only place that writes. What an earlier write left behind
// when it failed is overwritten.
func (j *Journal) writeFile(batch []byte) error {
	if _, err := j.file.WriteAt(batch, j.size); err != nil {
		return errors.Join(err, j.file.Truncate(j.size))
	}
	if j.sync == SyncAlways {
		if err := j.file.Sync(); err != nil {
			return errors.Join(err, j.file.Truncate(j.size))
		}
	}
	j.size += int64(len(batch))
	j.dirty = true
	return nil
}

// putBack makes batch pending again, before what came since. While nothing can
// be written that must not grow with every request, so of each name only the
// last operation is kept.
func (j *Journal) putBack(batch []byte) {
	j.pending = append(batch, j.pending...)
	if len(j.pending) > 2*j.settled+spareOctets {
		j.pending = coalesce(j.pending)
		j.settled = len(j.pending)
	}
}

// coalesce returns the last operation of each name in b.
func coalesce(b []byte) []byte {
	each := func(f func(record, uint64)) {
		var n uint64
		file := append([]byte(fileHeader), b...)
		damaged := func(d *Damage) { panic(fmt.Sprintf("store: our own records: %v", d.Err)) }
		err := scanRecords(context.Background(), bytes.NewReader(file), int64(len(file)), damaged, func(r record) error {
			n++
			f(r, n)
			return nil
		})
		if err != nil {
			panic(fmt.Sprintf("store: our own records: %v", err))
		}
	}
	last := map[name]uint64{}
	each(func(r record, n uint64) { last[r.name] = n })
	var out []byte
	each(func(r record, n uint64) {
		if last[r.name] == n {
			out = appendRecord(out, r.op, r.kind, r.id, r.payload)
		}
	})
	return out
}
