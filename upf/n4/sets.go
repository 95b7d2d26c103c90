package n4

import (
	"encoding/binary"
	"errors"
	"log/slog"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// deleteSet answers a Session Set Deletion Request: those sessions of the
// association are deleted that have one of the FQ-CSIDs.
// Source: TS 29.244 V18.6.0, 6.2.10 and 7.4.6; TS 23.527 V18, 4.6.
func (w *worker) deleteSet(r nodeRequest) {
	var m pfcp.SessionSetDeletionRequest
	if err := m.Decode(r.body); err != nil {
		w.refuse(r.src, r.head, err)
		return
	}
	a := w.spokenFor(r, m.NodeID)
	switch {
	case a == nil:
		return
	case len(m.FQCSIDs) == 0:
		w.refuse(r.src, r.head, errNoFQCSID)
		return
	}
	e, sets := w.e, fqCSIDs(m.FQCSIDs)
	var failed error
	w.after(r, func() {
		var n int
		n, failed = w.e.deleteSessions(a, session.Selector{CSIDs: sets})
		w.e.log.event(kindAssociation, slog.LevelInfo, "n4: session set deleted", "node", a.node, "from", a.addr, "sessions", n)
	}, func(b []byte) []byte {
		cause := pfcp.CauseRequestAccepted
		if failed != nil {
			cause = pfcp.CauseSystemFailure
		}
		return e.append(b, r.head, 0, &pfcp.SessionSetDeletionResponse{NodeID: e.nodeID, Cause: cause}, cause)
	})
}

// errNoFQCSID is why a request about no set is refused.
var errNoFQCSID = &pfcp.Error{
	Cause: pfcp.CauseConditionalIEMissing, OffendingIE: pfcp.IEFQCSID, Err: errors.New("no FQ-CSID"),
}

// deleteSessions deletes those sessions of an association that x means, and
// says how many. It goes on after an error, which it logs and returns.
func (e *Endpoint) deleteSessions(a *association, x session.Selector) (int, error) {
	x.Owner = a.owner
	n, err := e.sessions.DeleteSet(e.run, x)
	a.sessions.Add(-int64(n))
	if err != nil {
		e.log.Error("n4: sessions that were to be deleted remain", "node", a.node, "error", err)
	}
	return n, err
}

// fqCSIDs lists FQ-CSIDs one by one in the words of package session.
func fqCSIDs(list []pfcp.FQCSID) (sets []session.FQCSID) {
	for i := range list {
		sets = appendFQCSIDs(sets, &list[i])
	}
	return sets
}

// appendFQCSIDs appends one for each CSID.
func appendFQCSIDs(sets []session.FQCSID, f *pfcp.FQCSID) []session.FQCSID {
	one := session.FQCSID{NodeType: uint8(f.NodeType), IDType: 2}
	switch a := f.Node.Addr; {
	case a.Is4():
		v := a.As4()
		one.IDType = 0
		copy(one.Node[:], v[:])
	case a.Is6():
		one.IDType, one.Node = 1, a.As16()
	default:
		binary.BigEndian.PutUint32(one.Node[:], f.Node.Number)
	}
	for _, one.CSID = range f.CSIDs {
		sets = append(sets, one)
	}
	return sets
}

// modifySet answers a Session Set Modification Request: requests about the
// sessions that it describes go to another address from now on.
// Source: TS 29.244 V18.6.0, 7.4.7; TS 23.527 V18, 4.3.
func (w *worker) modifySet(r nodeRequest) {
	var m pfcp.SessionSetModificationRequest
	if err := m.Decode(r.body); err != nil {
		w.refuse(r.src, r.head, err)
		return
	}
	a := w.spokenFor(r, m.NodeID)
	if a == nil {
		return
	}
	moves, err := setMoves(a.owner, m.Changes)
	if err != nil {
		w.refuse(r.src, r.head, err)
		return
	}
	e := w.e
	w.after(r, func() {
		n := 0
		for i := range moves {
			n += e.sessions.MoveOwner(moves[i].sessions, moves[i].to)
		}
		e.log.event(kindAssociation, slog.LevelInfo, "n4: session sets report elsewhere", "node", a.node, "from", a.addr, "sessions", n)
	}, func(b []byte) []byte {
		return e.append(b, r.head, 0, &pfcp.SessionSetModificationResponse{
			NodeID: e.nodeID, Cause: pfcp.CauseRequestAccepted,
		}, pfcp.CauseRequestAccepted)
	})
}

// setMove is a change of one session set.
type setMove struct {
	sessions session.Selector
	to       session.Move
}

// errNoSet is why a change of no set is refused, errGroup why that of a group.
var (
	errNoSet = &pfcp.Error{Cause: pfcp.CauseConditionalIEMissing, OffendingIE: pfcp.IEFQCSID, Err: errors.New("no session set")}
	errGroup = &pfcp.Error{Cause: pfcp.CauseServiceNotSupported, OffendingIE: pfcp.IEGroupID, Err: errors.New("groups are not supported")}
)

// setMoves says what the changes are of one owner's sessions.
func setMoves(owner uint32, changes []pfcp.SessionChangeInfo) (moves []setMove, err error) {
	for i := range changes {
		c := &changes[i]
		var to session.Move
		to.IPv4, to.IPv6 = cpAddress(c.Alternative)
		switch {
		case len(c.GroupIDs) > 0:
			return nil, errGroup
		case len(c.FQCSIDs) == 0 && len(c.CPAddresses) == 0:
			return nil, errNoSet
		}
		if len(c.FQCSIDs) > 0 {
			moves = append(moves, setMove{session.Selector{Owner: owner, CSIDs: fqCSIDs(c.FQCSIDs)}, to})
		}
		for _, cp := range c.CPAddresses {
			x := session.Selector{Owner: owner}
			x.CP.IPv4, x.CP.IPv6 = cpAddress(cp)
			moves = append(moves, setMove{x, to})
		}
	}
	return moves, nil
}

// cpAddress is the address of a CP function in the words of package session.
func cpAddress(c pfcp.CPAddress) (v4 session.IPv4, v6 session.IPv6) {
	if c.IPv4.Is4() {
		v4 = c.IPv4.As4()
	}
	if c.IPv6.Is6() {
		v6 = c.IPv6.As16()
	}
	return v4, v6
}
