package n4

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
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

// storeRetry is how often a store that has failed is tried again.
const storeRetry = 250 * time.Millisecond

// errStore is why nothing is accepted that the store would have to keep.
var errStore = &pfcp.Error{Cause: pfcp.CauseSystemFailure, Err: errors.New("the store does not keep what it is given")}

// flush makes what was saved outlive the process. What depends on it must not
// be said after an error, which is counted and logged here; from then on until the
// store keeps everything again, no request is begun that it would have to keep.
func (e *Endpoint) flush(ctx context.Context) error {
	err := e.store.Flush(ctx)
	if err != nil && ctx.Err() == nil { // else the endpoint closes, and answers nothing any more
		e.counters.StoreErrors.Add(1)
		e.log.event(kindStore, slog.LevelError,
			"n4: the store does not keep what it is given, requests that it would have to keep are refused", "error", err)
		if !e.storeDown.Swap(true) {
			e.background.Go(e.awaitStore)
		}
	}
	return err
}

// awaitStore returns when the store keeps everything again.
func (e *Endpoint) awaitStore() {
	down := time.Now()
	for {
		select {
		case <-e.run.Done():
			return
		case <-time.After(storeRetry):
		}
		if e.store.Flush(e.run) != nil {
			e.counters.StoreErrors.Add(1)
			continue
		}
		e.storeDown.Store(false)
		e.log.Info("n4: the store keeps what it is given again", "after", time.Since(down).Round(time.Millisecond))
		return
	}
}

// keeps reports whether the store has to keep what a node request asks for. What is
// taken away may be in the store again after a kill -9, but its CP function has given
// it up whatever it is answered.
func keeps(t pfcp.MessageType) bool {
	switch t {
	case pfcp.MsgAssociationSetupRequest, pfcp.MsgAssociationUpdateRequest, pfcp.MsgPFDManagementRequest,
		pfcp.MsgSessionSetModifyRequest:
		return true
	}
	return false
}

// withdraw is called when the store has failed under a batch: what was accepted of
// it, and would have to be kept, is refused instead. Sessions that were established
// are deleted; what else was done stays. Repetitions are left without an answer:
// what they were answered before may be kept or not.
func (w *worker) withdraw() {
	list := w.answers
	w.answers = w.answers[:0]
	w.at = nil
	for _, a := range list {
		h, body, _, err := pfcp.Parse(w.buf[a.start:a.end])
		switch {
		case err != nil:
			continue
		case a.origin == originNone, !a.request.IsSession() && !keeps(a.request),
			a.request == pfcp.MsgSessionDeletionRequest, responseCause(body) != pfcp.CauseRequestAccepted:
			w.answers = append(w.answers, a)
			continue
		case a.origin == originCache:
			w.e.counters.drop(DropStore)
			continue
		case a.request == pfcp.MsgSessionEstablishmentRequest:
			w.undo(body)
		}
		h.Type = a.request
		a.start = len(w.buf)
		w.refuse(a.to, h, errStore)
		a.end = len(w.buf)
		w.e.cache.replace(a.key, w.buf[a.start:], w.now)
		w.answers = append(w.answers, a)
	}
}

// undo deletes the session of an establishment that was accepted.
func (w *worker) undo(response []byte) {
	m := &w.establishmentResponse
	if err := m.Decode(response); err != nil {
		return // it is ours
	}
	seid := m.UPFSEID.Value.SEID
	owner, _, ok := w.e.sessions.Lookup(seid)
	if !ok || w.e.sessions.Delete(w.e.run, seid, owner, &w.result) != nil {
		return
	}
	if a := w.e.peers.owner(owner); a != nil && !w.result.Again {
		a.sessions.Add(-1)
	}
}

// responseCause is the Cause of a response of ours; 0: none.
func responseCause(body []byte) pfcp.Cause {
	for len(body) >= 4 {
		t, n := binary.BigEndian.Uint16(body), int(binary.BigEndian.Uint16(body[2:]))
		if len(body) < 4+n {
			break
		}
		if pfcp.IEType(t) == pfcp.IECause && n > 0 {
			return pfcp.Cause(body[4])
		}
		body = body[4+n:]
	}
	return 0
}
