package datapath

import "plumbline/api"

// MaxMBR is the highest rate in bit/s that a meter has to know.
const MaxMBR = 1_000_000_000_000

// Key is what a packet's first look-up goes by: the TEID of its tunnel, or,
// if it came bare, its destination. Exactly one field is not 0.
type Key struct {
	TEID uint32
	IPv4 uint32 // UE address
	IPv6 uint64 // UE prefix, /64
}

// Keys returns those of a rule: one for an F-TEID, else one for each UE address.
func Keys(r *api.Rule) []Key {
	d := r.GetDetect()
	if d.GetFTeid() != nil {
		return []Key{{TEID: d.GetFTeid().GetTeid()}}
	}
	var keys []Key
	if a := d.GetUeAddress().GetIpv4(); a != 0 {
		keys = append(keys, Key{IPv4: a})
	}
	if p := d.GetUeAddress().GetIpv6Prefix(); p != 0 {
		keys = append(keys, Key{IPv6: p})
	}
	return keys
}

// FindQER returns the QER of s with this id, or nil.
func FindQER(s *api.Session, id uint32) *api.QER { return find(s.GetQers(), id) }

// FindURR returns the URR of s with this id, or nil.
func FindURR(s *api.Session, id uint32) *api.URR { return find(s.GetUrrs(), id) }

// FindBAR returns the BAR of s with this id, or nil.
func FindBAR(s *api.Session, id uint32) *api.BAR { return find(s.GetBars(), id) }

func find[T interface {
	comparable
	GetId() uint32
}](rules []T, id uint32) T {
	for _, r := range rules {
		if r.GetId() == id {
			return r
		}
	}
	var none T
	return none
}

// Uplink reports whether packets from source are uplink: meters, gates and
// counters go by it.
func Uplink(source api.Interface) bool { return source == api.Interface_ACCESS }

// MBR returns the bit/s that q allows packets from source; 0: any.
func MBR(q *api.QER, source api.Interface) uint64 {
	if Uplink(source) {
		return q.GetUplinkMbrBps()
	}
	return q.GetDownlinkMbrBps()
}

// GateClosed reports whether q stops packets from source.
func GateClosed(q *api.QER, source api.Interface) bool {
	if Uplink(source) {
		return q.GetUplinkGateClosed()
	}
	return q.GetDownlinkGateClosed()
}
