package n4

import (
	"slices"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// set is a set of sessions that a node has put them into: they are deleted together when a
// part of that node fails.
// Source: TS 23.007 V18, 27; TS 29.244 V18.6.0, 8.2.43.
type set struct {
	node pfcp.CSIDNode
	kind pfcp.CSIDNodeType
	id   uint16
}

// setsOfUnit is how many sets take as much room as a key.
const setsOfUnit = 4

// join puts the session into sets.
func (s *session) join(list []pfcp.FQCSID) {
	for i := range list {
		for _, id := range list[i].CSIDs {
			s.sets = append(s.sets, set{list[i].Node, list[i].NodeType, id})
		}
	}
}

// rejoin puts it into sets, in place of those of the same node types.
func (s *session) rejoin(list []pfcp.FQCSID) {
	s.sets = slices.DeleteFunc(s.sets, func(old set) bool {
		return slices.ContainsFunc(list, func(f pfcp.FQCSID) bool { return f.All || f.NodeType == old.kind })
	})
	s.join(list)
}

// isOf reports whether the session is of one of the sets. A node of Rel-14 does not say of
// what type it is.
func (s *session) isOf(list []pfcp.FQCSID) bool {
	return slices.ContainsFunc(s.sets, func(one set) bool {
		return slices.ContainsFunc(list, func(f pfcp.FQCSID) bool { return f.Node == one.node && slices.Contains(f.CSIDs, one.id) })
	})
}

// onSetDeletion ends the sessions of an association that belong to the sets, requested by either
// function.
func (l *learner) onSetDeletion(e *entry, response []byte) {
	if e.body == nil {
		return // counted when it was not held
	}
	if !l.decode(&l.deleteSets, &l.deletedSets, e.body, response) {
		l.undecoded++
		return
	}
	l.accept++
	for s := range l.between(e) {
		if s.isOf(l.deleteSets.FQCSIDs) {
			l.end(s)
		}
	}
}
