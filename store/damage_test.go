package store

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

// TestJournalDamaged: whatever a file has become, the journal opens, says what
// is lost, and gives all that stands before the damage and in other files.
func TestJournalDamaged(t *testing.T) {
	// Two segments of three records: 1 to 3, 4 to 6.
	build := func(t *testing.T) (string, []string) {
		dir := t.TempDir()
		var files []string
		for first := uint64(1); first < 7; first += 3 {
			j := openJournal(t, dir, SyncNone)
			for id := first; id < first+3; id++ {
				j.Save(Session, id, []byte("record"))
			}
			files = append(files, j.file.Name())
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
		}
		return dir, files
	}
	const size = headerSize + len("record")
	at := func(record int) int { return len(fileHeader) + record*size }
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	flip := func(i int) func([]byte) []byte {
		return func(b []byte) []byte { b[i] ^= 0x40; return b }
	}
	for _, tc := range []struct {
		name    string
		file    int
		damage  func([]byte) []byte
		want    []uint64
		octets  int64 // of the file, after it was opened
		damages uint64
	}{
		{"last one cut in a payload", 1, cut(at(3) - 1), []uint64{1, 2, 3, 4, 5}, int64(at(2)), 1},
		{"last one cut in a header", 1, cut(at(1) + 5), []uint64{1, 2, 3, 4}, int64(at(1)), 1},
		{"last one cut between records", 1, cut(at(2)), []uint64{1, 2, 3, 4, 5}, int64(at(2)), 0},
		{"last one cut in the file's header", 1, cut(3), []uint64{1, 2, 3}, 0, 1},
		{"last one empty", 1, cut(0), []uint64{1, 2, 3}, 0, 0},
		{"payload of the last record", 1, flip(at(3) - 2), []uint64{1, 2, 3, 4, 5}, int64(at(2)), 1},
		{"zeros behind the end", 1, func(b []byte) []byte { return append(b, make([]byte, 100)...) },
			[]uint64{1, 2, 3, 4, 5, 6}, int64(at(3)), 1},
		{"payload in the middle", 0, flip(at(1) + headerSize), []uint64{1, 4, 5, 6}, int64(at(3)), 1},
		{"length in the middle", 0, flip(at(1) + offLength), []uint64{1, 4, 5, 6}, int64(at(3)), 1},
		{"id in the middle", 0, flip(at(2) + offID), []uint64{1, 2, 4, 5, 6}, int64(at(3)), 1},
		{"not a journal", 0, flip(0), []uint64{4, 5, 6}, int64(at(3)), 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, files := build(t)
			b, err := os.ReadFile(files[tc.file])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(files[tc.file], tc.damage(b), 0o600); err != nil {
				t.Fatal(err)
			}
			want := contents{}
			for _, id := range tc.want {
				want[name{Session, id}] = "record"
			}
			j := openJournal(t, dir, SyncNone)
			equal(t, load(t, j), want)
			if got := j.Stats().Damages; got != tc.damages {
				t.Errorf("%d damages, want %d", got, tc.damages)
			}
			if info, err := os.Stat(files[tc.file]); err != nil || info.Size() != tc.octets {
				t.Errorf("%v octets, %v, want %d", info.Size(), err, tc.octets)
			}
		})
	}
}

// TestJournalVersion: what a later version wrote is neither read nor touched.
func TestJournalVersion(t *testing.T) {
	dir := t.TempDir()
	path := segmentPath(dir, 1, journalSuffix)
	if err := os.WriteFile(path, []byte(fileMagic+"\x02abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	j := openJournal(t, dir, SyncNone)
	err := j.Load(t.Context(), func(byte, uint64, []byte) error { return nil })
	if !errors.Is(err, ErrVersion) {
		t.Errorf("Load: %v, want %v", err, ErrVersion)
	}
	if b, err := os.ReadFile(path); err != nil || len(b) != len(fileHeader)+3 {
		t.Errorf("%q, %v", b, err)
	}
}

// TestJournalSnapshotStale: what a snapshot has taken the place of, and a
// snapshot that was not finished, are not read, and gone.
func TestJournalSnapshotStale(t *testing.T) {
	dir := t.TempDir()
	file := func(number uint64, suffix, record string) {
		b := appendRecord([]byte(fileHeader), opSave, Session, number, []byte(record))
		if err := os.WriteFile(segmentPath(dir, number, suffix), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file(1, journalSuffix, "old")
	file(1, snapshotSuffix, "old")
	file(2, journalSuffix, "old")
	file(2, snapshotSuffix, "snapshot")
	file(3, journalSuffix, "new")
	file(3, newSuffix, "unfinished")
	j := openJournal(t, dir, SyncNone)
	equal(t, load(t, j), contents{{Session, 2}: "snapshot", {Session, 3}: "new"})
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 { // lock, 2.snapshot, 3.journal, 4.journal
		t.Errorf("%v, %v", entries, err)
	}
}

// FuzzRecords: a file of any octets is read without harm, and what was read of
// it, written again, is the very octets that were read.
func FuzzRecords(f *testing.F) {
	b := []byte(fileHeader)
	f.Add(b)
	b = appendRecord(b, opSave, Session, 7, []byte("record"))
	b = appendRecord(b, opDrop, PFD, 1<<63, nil)
	f.Add(b)
	f.Add(b[:len(b)-3])
	f.Add(append(b, make([]byte, 40)...))
	f.Fuzz(func(t *testing.T, file []byte) {
		out := []byte(fileHeader)
		stopped, err := scanRecords(t.Context(), bytes.NewReader(file), func(r record) error {
			out = appendRecord(out, r.op, r.kind, r.id, r.payload)
			return nil
		})
		if err != nil && !isDamage(err) && !errors.Is(err, ErrVersion) {
			t.Fatalf("%v", err)
		}
		if stopped > int64(len(file)) || err == nil && stopped != int64(len(file)) {
			t.Fatalf("stopped at %d of %d octets: %v", stopped, len(file), err)
		}
		if stopped > 0 && string(out) != string(file[:stopped]) {
			t.Fatalf("read %x\nwritten %x", file[:stopped], out)
		}
	})
}
