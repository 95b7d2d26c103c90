package store

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"
)

// TestJournalDamaged: whatever a file has become, the journal opens, says what
// is lost, and gives all that is not damaged, before it and behind it.
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
	const one = uint64(size)
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
		lost    Lost
	}{
		{"last one cut in a payload", 1, cut(at(3) - 1), []uint64{1, 2, 3, 4, 5}, int64(at(2)), 1, Lost{}},
		{"last one cut in a header", 1, cut(at(1) + 5), []uint64{1, 2, 3, 4}, int64(at(1)), 1, Lost{}},
		{"last one cut between records", 1, cut(at(2)), []uint64{1, 2, 3, 4, 5}, int64(at(2)), 0, Lost{}},
		{"last one cut in the file's header", 1, cut(3), []uint64{1, 2, 3}, 0, 1, Lost{}},
		{"last one empty", 1, cut(0), []uint64{1, 2, 3}, 0, 0, Lost{}},
		{"first one cut in a payload", 0, cut(at(3) - 1), []uint64{1, 2, 4, 5, 6}, int64(at(3) - 1), 1, Lost{1, one - 1}},
		{"payload of the last record", 1, flip(at(3) - 2), []uint64{1, 2, 3, 4, 5}, int64(at(3)), 1, Lost{1, one}},
		{"zeros behind the end", 1, func(b []byte) []byte { return append(b, make([]byte, 100)...) },
			[]uint64{1, 2, 3, 4, 5, 6}, int64(at(3) + 100), 1, Lost{5, 100}},
		{"payload in the middle", 0, flip(at(1) + headerSize), []uint64{1, 3, 4, 5, 6}, int64(at(3)), 1, Lost{1, one}},
		{"length in the middle", 0, flip(at(1) + offLength), []uint64{1, 3, 4, 5, 6}, int64(at(3)), 1, Lost{1, one}},
		{"a length beyond the end", 0, flip(at(0) + offLength + 2), []uint64{2, 3, 4, 5, 6}, int64(at(3)), 1, Lost{1, one}},
		{"operation in the middle", 0, flip(at(1) + offOp), []uint64{1, 3, 4, 5, 6}, int64(at(3)), 1, Lost{1, one}},
		{"two records that are apart", 0, func(b []byte) []byte { b[at(0)], b[at(2)] = b[at(0)]^1, b[at(2)]^1; return b },
			[]uint64{2, 4, 5, 6}, int64(at(3)), 2, Lost{2, 2 * one}},
		{"octets that are missing", 0, func(b []byte) []byte { return append(b[:at(0)+5], b[at(1)+3:]...) },
			[]uint64{3, 4, 5, 6}, int64(at(3) - size + 2), 1, Lost{1, one + 2}},
		{"id in the middle", 0, flip(at(2) + offID), []uint64{1, 2, 4, 5, 6}, int64(at(3)), 1, Lost{1, one}},
		{"not a journal", 0, func([]byte) []byte { return []byte("some other file") }, []uint64{4, 5, 6}, 15, 1, Lost{1, 15}},
		{"the file's header", 0, flip(0), []uint64{1, 2, 3, 4, 5, 6}, int64(at(3)), 1, Lost{1, uint64(len(fileHeader))}},
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
			if got := j.Lost(); got != tc.lost {
				t.Errorf("lost %+v, want %+v", got, tc.lost)
			}
			if info, err := os.Stat(files[tc.file]); err != nil || info.Size() != tc.octets {
				t.Errorf("%v octets, %v, want %d", info.Size(), err, tc.octets)
			}
		})
	}
}

// TestJournalTold: what was told is not lost again, although the journal is closed at once.
func TestJournalTold(t *testing.T) {
	dir := t.TempDir()
	const records = 50_000
	j := openJournal(t, dir, SyncNone)
	for id := uint64(1); id <= records; id++ {
		j.Save(Session, id, []byte("record"))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	file := segmentPath(dir, 1, journalSuffix)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[len(fileHeader)+headerSize] ^= 1
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	for start, want := range []uint64{1, 0} {
		j := openJournal(t, dir, SyncNone)
		if got := len(load(t, j)); got != records-1 || j.Lost().Records != want {
			t.Errorf("start %d: %d records, lost %+v, want %d and %d lost", start, got, j.Lost(), records-1, want)
		}
		j.Told()
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
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

// FuzzRecords: a file of any octets is read without harm, and what was read of it
// and what was passed over are together the very octets that it has.
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
		if len(file) == 0 {
			out = nil
		}
		err := scanRecords(t.Context(), bytes.NewReader(file), int64(len(file)), func(d *Damage) {
			if d.Offset == 0 {
				out = nil // the file's header
			}
			if d.Offset != int64(len(out)) || d.Octets <= 0 || d.Records < 1 || !isDamage(d.Err) {
				t.Fatalf("%d octets read, damage %+v", len(out), d)
			}
			out = append(out, file[d.Offset:d.Offset+d.Octets]...)
		}, func(r record) error {
			out = appendRecord(out, r.op, r.kind, r.id, r.payload)
			return nil
		})
		if errors.Is(err, ErrVersion) {
			return
		}
		if err != nil || !bytes.Equal(out, file) {
			t.Fatalf("%v: read %x\nof %x", err, out, file)
		}
	})
}

// FuzzOneDamaged: records that are intact are returned, whatever one other record
// is, and in whatever it is changed.
func FuzzOneDamaged(f *testing.F) {
	good := appendRecord(nil, opSave, Session, 9, []byte("record"))
	f.Add([]byte(nil), uint8(0), uint8(3))
	f.Add(make([]byte, 50), uint8(2), uint8(2))
	f.Add(good[:len(good)-1], uint8(1), uint8(1))
	f.Add(append(bytes.Clone(good[:4]), good...), uint8(1), uint8(2))
	f.Add(bytes.Replace(good, []byte{0, 0, 0, 6}, []byte{0, 0, 0, 6 + 3*24}, 1), uint8(1), uint8(4))
	f.Add(bytes.Replace(good, []byte{0, 0, 0, 6}, []byte{1, 0, 0, 0}, 1), uint8(1), uint8(4))
	f.Fuzz(func(t *testing.T, other []byte, before, behind uint8) {
		want := map[uint64]bool{}
		file := []byte(fileHeader)
		for i := range uint64(before) + uint64(behind) {
			if i == uint64(before) {
				file = append(file, other...)
			}
			file = appendRecord(file, opSave, Session, 1<<32|i, bytes.Repeat([]byte{byte(i)}, int(i%40)))
			want[1<<32|i] = true
		}
		if behind == 0 {
			file = append(file, other...)
		}
		err := scanRecords(t.Context(), bytes.NewReader(file), int64(len(file)), func(*Damage) {}, func(r record) error {
			delete(want, r.id)
			return nil
		})
		if err != nil || len(want) != 0 {
			t.Fatalf("%v, not returned: %v", err, want)
		}
	})
}

// TestSearchBounded: octets in which each could be the header of a long record are
// given up in time.
func TestSearchBounded(t *testing.T) {
	one := make([]byte, headerSize)
	one[offLength+1], one[offOp] = 0xff, opSave
	file := append([]byte(fileHeader), bytes.Repeat(one, 32<<20/headerSize)...)
	start := time.Now()
	var got []*Damage
	err := scanRecords(t.Context(), bytes.NewReader(file), int64(len(file)), func(d *Damage) { got = append(got, d) },
		func(record) error { return nil })
	if err != nil || len(got) != 1 || !got[0].ToEnd || !errors.Is(got[0].Err, errSearch) || time.Since(start) > time.Minute {
		t.Errorf("%v after %v: %+v", err, time.Since(start), got)
	}
}
