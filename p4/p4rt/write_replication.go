package p4rt

import (
	"math"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
)

// maxReplicas bounds how many copies a packet may become at once.
const maxReplicas = 4096

// replication does an update of a multicast group or a clone session.
func (b *batch) replication(kind p4.Update_Type, e *p4.PacketReplicationEngineEntry) *failure {
	switch x := e.GetType().(type) {
	case *p4.PacketReplicationEngineEntry_MulticastGroupEntry:
		return b.group(kind, x.MulticastGroupEntry)
	case *p4.PacketReplicationEngineEntry_CloneSessionEntry:
		return b.session(kind, x.CloneSessionEntry)
	}
	return invalid("packet replication: want a multicast group or a clone session")
}

// exists checks whether what an update is about may be, or has to be, there.
func exists(kind p4.Update_Type, there bool, what string, id uint32) *failure {
	switch {
	case kind == p4.Update_INSERT && there:
		return fail(codes.AlreadyExists, "%s %d exists", what, id)
	case kind != p4.Update_INSERT && !there:
		return fail(codes.NotFound, "%s %d: there is none", what, id)
	}
	return nil
}

func (b *batch) group(kind p4.Update_Type, g *p4.MulticastGroupEntry) *failure {
	id := g.GetMulticastGroupId()
	if id == 0 || id > math.MaxUint16 {
		return invalid("multicast group %d: want 1 to %d", id, math.MaxUint16)
	}
	old, there := b.p.groups[id]
	if why := exists(kind, there, "multicast group", id); why != nil {
		return why
	}
	var replicas []bmv2.Replica
	if kind != p4.Update_DELETE {
		var why *failure
		if replicas, why = readReplicas("multicast group", id, g.GetReplicas(), true); why != nil {
			return why
		}
	}
	if err := b.tx.SetMulticastGroup(uint16(id), replicas); err != nil {
		return refused(err)
	}
	p := b.p
	if b.keep {
		b.onError(func(tx Tx) {
			before, _ := readReplicas("multicast group", id, old.GetReplicas(), true)
			_ = tx.SetMulticastGroup(uint16(id), before)
			keepMessage(p.groups, id, old, there)
		})
	}
	keepMessage(p.groups, id, g, kind != p4.Update_DELETE)
	return nil
}

func (b *batch) session(kind p4.Update_Type, s *p4.CloneSessionEntry) *failure {
	id := s.GetSessionId()
	if id == 0 || id > math.MaxInt16 {
		return invalid("clone session %d: want 1 to %d", id, math.MaxInt16)
	}
	old, there := b.p.clones[id]
	if why := exists(kind, there, "clone session", id); why != nil {
		return why
	}
	var made *bmv2.CloneSession
	if kind != p4.Update_DELETE {
		var why *failure
		if made, why = readSession(s); why != nil {
			return why
		}
	}
	if err := b.tx.SetCloneSession(uint16(id), made); err != nil {
		return refused(err)
	}
	p := b.p
	if b.keep {
		b.onError(func(tx Tx) {
			var before *bmv2.CloneSession
			if there {
				before, _ = readSession(old)
			}
			_ = tx.SetCloneSession(uint16(id), before)
			keepMessage(p.clones, id, old, there)
		})
	}
	keepMessage(p.clones, id, s, kind != p4.Update_DELETE)
	return nil
}

func readSession(s *p4.CloneSessionEntry) (*bmv2.CloneSession, *failure) {
	switch {
	case s.GetPacketLengthBytes() < 0 || s.GetPacketLengthBytes() > bmv2.MaxFrame:
		return nil, invalid("clone session %d: packet length of %d octets: want 0 to %d", s.GetSessionId(), s.GetPacketLengthBytes(), bmv2.MaxFrame)
	case s.GetClassOfService() != 0:
		return nil, invalid("clone session %d: class of service %d: there is only 0", s.GetSessionId(), s.GetClassOfService())
	}
	replicas, why := readReplicas("clone session", s.GetSessionId(), s.GetReplicas(), false)
	if why != nil {
		return nil, why
	}
	return &bmv2.CloneSession{Replicas: replicas, PacketLength: int(s.GetPacketLengthBytes())}, nil
}

// readReplicas checks replicas; no two may be equal where they are to differ. Source: P4Runtime Specification v1.4.1, 9.5.1, 9.5.2.
func readReplicas(what string, id uint32, list []*p4.Replica, differ bool) ([]bmv2.Replica, *failure) {
	if len(list) > maxReplicas {
		return nil, fail(codes.ResourceExhausted, "%s %d: %d replicas: want at most %d", what, id, len(list), maxReplicas)
	}
	made := make([]bmv2.Replica, 0, len(list))
	seen := make(map[bmv2.Replica]bool, len(list))
	for _, r := range list {
		port := r.GetEgressPort() //nolint:staticcheck // older controllers say it so
		if b, ok := r.GetPortKind().(*p4.Replica_Port); ok {
			v, ok := number(b.Port, 32)
			if !ok {
				return nil, fail(codes.OutOfRange, "%s %d: port %x: want a number of at most 32 bits", what, id, clip(b.Port))
			}
			port = uint32(getUint(v))
		}
		if r.GetInstance() > math.MaxUint16 {
			return nil, invalid("%s %d: instance %d: want at most %d", what, id, r.GetInstance(), math.MaxUint16)
		}
		x := bmv2.Replica{Port: port, Instance: uint16(r.GetInstance())}
		if differ && seen[x] {
			return nil, invalid("%s %d: two replicas have port %d and instance %d", what, id, port, x.Instance)
		}
		seen[x] = true
		made = append(made, x)
	}
	return made, nil
}

// keepMessage keeps a copy of m, or removes it.
func keepMessage[M proto.Message](in map[uint32]M, id uint32, m M, there bool) {
	if !there {
		delete(in, id)
		return
	}
	in[id] = proto.CloneOf(m)
}
