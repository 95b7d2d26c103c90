package xdp

import (
	"sync/atomic"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/stages"
)

// session is what the tables hold of a PFCP session. There may be millions, so
// it is small: what the tables themselves say is not said here.
type session struct {
	held []held
	slow []slowRule // all PDRs in their order, if the slow path does any of them
}

// held is a slot of one of the tables and what it is held for.
type held struct {
	id    uint32 // PDR ID, QER ID or URR ID, or the number of a shared meter
	where uint32 // kind << kindShift | slot
}

// kind says of which table a slot is, and what the id beside it is of.
type kind uint32

const (
	ruleByTEID kind = iota // the PDR of an F-TEID
	ruleByUE               // the PDR of a UE address
	urr
	pdrCounter // of a PDR of a list
	// The meters: MBR, GBR and Packet Rate, each uplink and downlink, of the
	// session and of all sessions that name its number.
	meters

	meterKinds   = 4 // of each limit
	sharedMeters = 2
	kindShift    = 28
)

func (k kind) isMeter() bool { return k >= meters }

// isShared reports whether k is of meters that sessions share.
func (k kind) isShared() bool { return k >= meters && (k-meters)&sharedMeters != 0 }

func hold(k kind, id, slot uint32) held { return held{id, uint32(k)<<kindShift | slot} }

func (h held) kind() kind   { return kind(h.where >> kindShift) }
func (h held) slot() uint32 { return h.where & (1<<kindShift - 1) }
func (h held) isRule() bool { return h.kind() <= ruleByUE }

// slowRule is a PDR of a session of which the slow path does at least one.
type slowRule struct {
	pdrID uint32
	rule  *stages.Rule // nil: the fast path does it
	keys  []tableKey   // under which the slow path finds it
	hop   uint32       // that it keeps; 0: none
	slice uint16
}

// has reports whether s holds the slot for anything.
func (s *session) has(h held) bool {
	for _, o := range s.held {
		if o.where == h.where {
			return true
		}
	}
	return false
}

// find returns the slot that s holds of this kind for this id.
func (s *session) find(k kind, id uint32) (uint32, bool) {
	for _, h := range s.held {
		if h.kind() == k && h.id == id {
			return h.slot(), true
		}
	}
	return 0, false
}

// usage returns what was counted for each PDR and each URR, in their order.
func (s *session) usage(d *Driver, seid uint64) *api.SessionUsage {
	u := &api.SessionUsage{}
	for _, r := range s.slow {
		u.Rules = append(u.Rules, r.usage())
	}
	for _, h := range s.held {
		switch h.kind() {
		case ruleByTEID, ruleByUE:
			pdrUsage(u, h.id).count(&d.table(h.kind()).slots[h.slot()])
		case urr:
			u.Urrs = append(u.Urrs, d.urrUsage(seid, h))
		}
	}
	return u
}

// urrUsage returns what a URR has counted, in old tables too as long as there are
// any beside ours.
func (d *Driver) urrUsage(seid uint64, h held) *api.URRUsage {
	u := d.urrs.urr(h.slot())
	if old := d.beside.find(seid, h.id); old != nil {
		sum := stages.Volume{ID: h.id}
		addVolume(&sum, old)
		addVolume(&sum, u.Volume)
		u.Volume, u.Owner = &sum, &stages.Owner{} // limits are not reached in the sum
	}
	return u.Count()
}

// ruleUsage is [api.Usage] while it is added up.
type ruleUsage api.Usage

// pdrUsage returns the usage of the PDR in u, where it is made if it is not there.
func pdrUsage(u *api.SessionUsage, pdrID uint32) *ruleUsage {
	for _, r := range u.Rules {
		if r.PdrId == pdrID {
			return (*ruleUsage)(r)
		}
	}
	r := &api.Usage{PdrId: pdrID}
	u.Rules = append(u.Rules, r)
	return (*ruleUsage)(r)
}

func (u *ruleUsage) count(r *upfRule) {
	u.Packets += atomic.LoadUint64(&r.Packets)
	u.Octets += atomic.LoadUint64(&r.Octets)
	u.DroppedPackets += atomic.LoadUint64(&r.Dropped)
}

func (r *slowRule) usage() *api.Usage {
	u := &api.Usage{PdrId: r.pdrID}
	if r.rule != nil {
		u.Packets = atomic.LoadUint64(&r.rule.Counters.Packets)
		u.Octets = atomic.LoadUint64(&r.rule.Counters.Octets)
		u.DroppedPackets = atomic.LoadUint64(&r.rule.Counters.Dropped)
	}
	return u
}
