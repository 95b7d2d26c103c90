// Package store keeps what must outlive the process: sessions, associations,
// PFDs and the Recovery Time Stamp, each as an octet string that only its owner
// can read.
//
//	Save, Drop ─► memory ─► Flush ─► Journal: one write(2) to the page cache, which kill -9 leaves alone
//	                              └► Redis: one pipeline, acknowledged
//	Load ◄─ what was flushed, each record once, in its last state
//
// A record is named by its kind and a number. Who saves under one name does so
// from one goroutine at a time; different names need no order between them.
package store

import (
	"context"
	"errors"
)

// Kinds of records.
const (
	Session     byte = 's' // the number is the SEID of the UP function
	Association byte = 'a' // the number is the association's owner number
	PFD         byte = 'p' // a running number
	Usage       byte = 'u' // what a datapath had counted that ended; the number is the SEID
	Meta        byte = 'm' // number 0: the Recovery Time Stamp; 1: the machine's boot id
	Loss        byte = 'l' // a Recovery Time Stamp that an address was sent; a running number
)

// kinds are all of them.
var kinds = []byte{Session, Association, PFD, Usage, Meta, Loss}

// MaxRecord is the most octets that a record may have.
const MaxRecord = 16 << 20

// Store is a set of records. All methods may be called from several goroutines
// at once.
type Store interface {
	// Save sets the record of kind and id. It keeps no reference to record. It
	// panics if record is longer than [MaxRecord], which is a programming error.
	Save(kind byte, id uint64, record []byte)

	// Drop removes the record of kind and id, if there is one.
	Drop(kind byte, id uint64)

	// Flush returns nil when all that was saved and dropped before the call
	// outlives this process. After an error that is not certain of anything since
	// the last Flush that returned nil; it is tried again by the next Flush.
	Flush(ctx context.Context) error

	// Load calls each for every record, in no order, as it was flushed last. It is
	// called once, before the first Save. The record belongs to each only until it
	// returns. An error of each ends Load, which returns it.
	Load(ctx context.Context, each func(kind byte, id uint64, record []byte) error) error

	// Lost says what Load could not give: it is damaged. What a machine or a process
	// that ended was about to write is not among it.
	Lost() Lost

	// Told is called when those whom that concerns are told of it, so that it is not
	// told again after the next start: what is damaged is taken away.
	Told()

	// Close flushes and gives back what the store holds.
	Close() error
}

// Lost is how much of a [Store] could not be read.
type Lost struct {
	Records uint64 // at least
	Octets  uint64
}

// Errors that a [Store] wraps.
var (
	ErrLocked = errors.New("another process has it open")
	ErrClosed = errors.New("the store is closed")
	// ErrVersion: a later version of the program wrote it. It is left as it is.
	ErrVersion = errors.New("format of another version")
)
