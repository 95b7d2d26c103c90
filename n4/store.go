package n4

import (
	"context"
	"log/slog"
)

// Store keeps what has to outlive the process, as records. Its methods may be
// called from several goroutines at once.
type Store interface {
	// Save keeps a copy of the record in place of an earlier one of the same
	// kind and id.
	Save(kind byte, id uint64, record []byte)

	// Drop forgets a record.
	Drop(kind byte, id uint64)

	// Flush returns nil when all that was saved and dropped before the call
	// outlives this process. After an error it tries all of it again.
	Flush(ctx context.Context) error
}

// Kinds of records of this package.
const (
	KindAssociation = 'a' // id: the owner number of its sessions
	KindPFDs        = 'p' // id: a running number
	KindMeta        = 'm' // id 0: the Recovery Time Stamp
	KindLoss        = 'l' // id: the owner number of an association that has ended
)

// noStore is the store of who has none.
type noStore struct{}

func (noStore) Save(byte, uint64, []byte)   {}
func (noStore) Drop(byte, uint64)           {}
func (noStore) Flush(context.Context) error { return nil }

// flush makes what was saved outlive the process. What depends on it must not
// be sent after an error, which is counted and logged here.
func (e *Endpoint) flush(ctx context.Context) error {
	err := e.store.Flush(ctx)
	if err != nil && ctx.Err() == nil { // else the endpoint closes, and answers nothing any more
		e.counters.StoreErrors.Add(1)
		e.log.event(kindStore, slog.LevelError, "n4: the store does not hold what it was given, nothing is answered", "error", err)
	}
	return err
}
