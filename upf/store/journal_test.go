package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// contents is a store as a map, for comparison.
type contents map[name]string

func load(t testing.TB, s Store) contents {
	t.Helper()
	got := contents{}
	err := s.Load(t.Context(), func(kind byte, id uint64, record []byte) error {
		n := name{kind, id}
		if old, ok := got[n]; ok {
			t.Errorf("%c %d was loaded twice: %q and %q", kind, id, old, record)
		}
		got[n] = string(record)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func openJournal(t testing.TB, dir string, sync Sync) *Journal {
	t.Helper()
	j, err := OpenJournal(JournalConfig{Dir: dir, Sync: sync, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func flush(t testing.TB, s Store) {
	t.Helper()
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func equal(t testing.TB, got, want contents) {
	t.Helper()
	if d := cmp.Diff(want, got, cmp.AllowUnexported(name{})); d != "" {
		t.Errorf("contents (-want +got):\n%s", d)
	}
}

// TestJournalKeeps: what was saved and dropped is so after each of several
// restarts, under each policy.
func TestJournalKeeps(t *testing.T) {
	for _, sync := range []Sync{SyncNone, SyncInterval, SyncAlways} {
		t.Run(string(sync), func(t *testing.T) {
			dir, want := filepath.Join(t.TempDir(), "made"), contents{}
			r := rand.New(rand.NewPCG(1, 2))
			for range 5 {
				j := openJournal(t, dir, sync)
				equal(t, load(t, j), want)
				for range 500 {
					randomOperation(r, j, want)
					if r.IntN(20) == 0 {
						flush(t, j)
					}
				}
				if err := j.Close(); err != nil {
					t.Fatal(err)
				}
			}
			j := openJournal(t, dir, sync)
			equal(t, load(t, j), want)
		})
	}
}

func randomOperation(r *rand.Rand, s Store, want contents) {
	n := name{"sap"[r.IntN(3)], r.Uint64N(100)}
	if r.IntN(4) == 0 {
		s.Drop(n.kind, n.id)
		delete(want, n)
		return
	}
	record := make([]byte, r.IntN(300))
	for i := range record {
		record[i] = byte(r.Uint32())
	}
	s.Save(n.kind, n.id, record)
	want[n] = string(record)
	for i := range record { // the store must have its own copy
		record[i] = 0
	}
}

// TestJournalCompacts: under many goroutines that save and drop, the journal
// stays as small as what it keeps, and nothing is lost or comes back.
func TestJournalCompacts(t *testing.T) {
	dir := t.TempDir()
	j := openJournal(t, dir, SyncNone)
	j.compactAtLeast = 64 << 10
	const goroutines = 4
	wants := make([]contents, goroutines)
	var done sync.WaitGroup
	for g := range goroutines {
		wants[g] = contents{}
		done.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 7))
			for i := range 20_000 {
				n := name{Session, uint64(g)<<32 | r.Uint64N(50)}
				if r.IntN(5) == 0 {
					j.Drop(n.kind, n.id)
					delete(wants[g], n)
				} else {
					record := fmt.Sprintf("%d %s", i, strings.Repeat("x", r.IntN(100)))
					j.Save(n.kind, n.id, []byte(record))
					wants[g][n] = record
				}
				if i%8 == 0 {
					if err := j.Flush(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	done.Wait()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	stats := j.Stats()
	if stats.Compactions == 0 { // how many depends on how fast the machine is
		t.Errorf("%d compactions, want some: %+v", stats.Compactions, stats)
	}
	want := contents{}
	for _, w := range wants {
		for n, record := range w {
			want[n] = record
		}
	}
	j = openJournal(t, dir, SyncNone)
	equal(t, load(t, j), want)
	if s := j.Stats(); s.Damages != 0 {
		t.Errorf("damages: %+v", s)
	}
}

// TestJournalGroups: Flushes that come while another writes are one write.
func TestJournalGroups(t *testing.T) {
	j := openJournal(t, t.TempDir(), SyncNone)
	j.mu.Lock()
	j.writing = true // as if somebody wrote
	j.mu.Unlock()
	var done sync.WaitGroup
	const callers = 10
	for i := range callers {
		done.Go(func() {
			j.Save(Session, uint64(i), []byte("x"))
			if err := j.Flush(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	for waiting := false; !waiting; {
		j.mu.Lock()
		waiting = j.added == callers
		j.mu.Unlock()
	}
	j.mu.Lock()
	j.writing = false
	j.wrote.Broadcast()
	j.mu.Unlock()
	done.Wait()
	if s := j.Stats(); s.Writes != 1 {
		t.Errorf("%d writes, want 1", s.Writes)
	}
}

// TestJournalLocked: a second one in the same directory is refused.
func TestJournalLocked(t *testing.T) {
	dir := t.TempDir()
	j := openJournal(t, dir, SyncNone)
	if _, err := OpenJournal(JournalConfig{Dir: dir}); !errors.Is(err, ErrLocked) {
		t.Errorf("second: %v, want %v", err, ErrLocked)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Flush(t.Context()); err != nil {
		t.Errorf("nothing to flush: %v", err)
	}
	openJournal(t, dir, SyncNone)
}

// TestJournalWriteFails: what could not be written is written by a later Flush,
// and meanwhile many changes of few names take little memory.
func TestJournalWriteFails(t *testing.T) {
	dir := t.TempDir()
	j := openJournal(t, dir, SyncNone)
	j.Save(Session, 1, []byte("before"))
	flush(t, j)
	good := j.file
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	j.file = full
	record := bytes.Repeat([]byte("z"), 1000)
	for i := range 20_000 {
		j.Save(Session, uint64(2+i%10), binary.BigEndian.AppendUint32(record, uint32(i)))
		if i%100 == 0 {
			if err := j.Flush(t.Context()); err == nil {
				t.Fatal("a write to a full disk succeeded")
			}
		}
	}
	if n := len(j.pending); n > 4*spareOctets {
		t.Errorf("%d octets are pending", n)
	}
	j.file = good
	full.Close()
	flush(t, j)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	got := load(t, openJournal(t, dir, SyncNone))
	if len(got) != 11 || got[name{Session, 1}] != "before" {
		t.Errorf("%d records, first %q", len(got), got[name{Session, 1}])
	}
	for i := range 10 {
		want := string(binary.BigEndian.AppendUint32(record, uint32(20_000-10+i)))
		if got[name{Session, uint64(2 + i)}] != want {
			t.Errorf("record %d is not the last one saved", 2+i)
		}
	}
}
