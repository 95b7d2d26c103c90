package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

// BenchmarkSaveFlush is ns for each record saved and flushed, records of 500
// octets with random ids, in batches as an n4 worker makes them, beside bbolt
// without its fsync, which keeps the same promise.
func BenchmarkSaveFlush(b *testing.B) {
	record := make([]byte, 500)
	for _, records := range []uint64{100_000, 1_000_000} {
		for _, batch := range []int{1, 8, 64} {
			name := fmt.Sprintf("records=%d/batch=%d", records, batch)
			b.Run("journal/"+name, func(b *testing.B) { benchmarkJournal(b, record, records, batch) })
			b.Run("bbolt/"+name, func(b *testing.B) { benchmarkBbolt(b, record, records, batch) })
		}
	}
}

func benchmarkJournal(b *testing.B, record []byte, records uint64, batch int) {
	j := openJournal(b, b.TempDir(), SyncNone)
	for id := range records {
		j.Save(Session, id, record)
		if id%64 == 63 {
			flush(b, j)
		}
	}
	flush(b, j)
	r := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		j.Save(Session, r.Uint64N(records), record)
		if i%batch == batch-1 {
			flush(b, j)
		}
	}
}

func benchmarkBbolt(b *testing.B, record []byte, records uint64, batch int) {
	db, err := bbolt.Open(filepath.Join(b.TempDir(), "bolt"), 0o600,
		&bbolt.Options{NoSync: true, NoGrowSync: true, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	bucket := []byte("s")
	put := func(n int, id func() uint64) {
		err := db.Update(func(tx *bbolt.Tx) error {
			s, err := tx.CreateBucketIfNotExists(bucket)
			if err != nil {
				return err
			}
			for range n {
				key := binary.BigEndian.AppendUint64(nil, id())
				if err := s.Put(key, record); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	var next uint64
	for next < records {
		put(10_000, func() uint64 { next++; return next })
	}
	r := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += batch {
		put(batch, func() uint64 { return r.Uint64N(records) })
	}
}

// BenchmarkLoad is a restart: ns for each of 100 k records of 500 octets.
func BenchmarkLoad(b *testing.B) {
	const records = 100_000
	dir := b.TempDir()
	j := openJournal(b, dir, SyncNone)
	record := make([]byte, 500)
	for id := range uint64(records) {
		j.Save(Session, id, record)
		if id%64 == 63 {
			flush(b, j)
		}
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		j, err := OpenJournal(JournalConfig{Dir: dir, Log: quiet()})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		err = j.Load(b.Context(), func(byte, uint64, []byte) error { n++; return nil })
		if err != nil || n != records {
			b.Fatalf("%d records, %v", n, err)
		}
		if err := j.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
}
