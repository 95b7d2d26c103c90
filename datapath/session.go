package datapath

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/internal/endpoint"
)

// MinMBR and MaxMBR are the lowest and the highest rate in bit/s that a meter has
// to know. Over N4 rates come in kbit/s.
const MinMBR, MaxMBR = 1_000, 1_000_000_000_000

// Key is the key of a packet's first look-up: the F-TEID of its tunnel, or,
// if it came bare, its destination. Exactly one of the two is set, and of a
// destination exactly one field.
//
// A destination is looked for among UE addresses first and then among framed
// routes, of which the longest that contains it is taken.
type Key struct {
	TEID  uint32
	Local netip.Addr   // with TEID: the own address at which the tunnel ends
	IPv4  uint32       // UE address
	IPv6  uint64       // UE prefix, /64
	Route netip.Prefix // framed route that is neither of them
}

// Keys returns those of a rule: one for each address of an F-TEID, else one for each
// UE address and framed route.
func Keys(r *api.Rule) []Key { return AppendKeys(nil, r) }

// AppendKeys appends them to keys, which is empty, so that the caller provides the memory.
func AppendKeys(keys []Key, r *api.Rule) []Key {
	d := r.GetDetect()
	if d.GetFTeid() != nil {
		return appendTunnelKeys(keys, d.GetFTeid())
	}
	if a := d.GetUeAddress().GetIpv4(); a != 0 {
		keys = append(keys, Key{IPv4: a})
	}
	if p := d.GetUeAddress().GetIpv6Prefix(); p != 0 {
		keys = append(keys, Key{IPv6: p})
	}
	for _, f := range d.GetFramedRoutes() {
		if k := routeKey(Route(f)); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

func appendTunnelKeys(keys []Key, f *api.FTEID) []Key {
	if a := f.GetIpv4(); a != 0 {
		keys = append(keys, Key{TEID: f.GetTeid(), Local: netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, a)))})
	}
	if a, ok := netip.AddrFromSlice(f.GetIpv6()); ok && a.Is6() {
		keys = append(keys, Key{TEID: f.GetTeid(), Local: a})
	}
	return keys
}

// roomForKeys is how many keys rules have that are usual.
const roomForKeys = 4

// FTEID returns the number that stands for the F-TEID of k: [endpoint.Tag] of the address, and
// behind it the TEID. 0: it is none.
func (k Key) FTEID() uint64 {
	if !k.Local.IsValid() {
		return 0
	}
	return FTEIDNumber(k.TEID, k.Local)
}

// FTEIDNumber is [Key.FTEID] of a TEID at an address.
func FTEIDNumber(teid uint32, local netip.Addr) uint64 {
	return uint64(endpoint.Tag(local))<<32 | uint64(teid)
}

// routeKey returns the key of a framed route: one as long as a UE address or UE
// prefix is looked for as these are.
func routeKey(p netip.Prefix) Key {
	switch {
	case p.Addr().Is4() && p.Bits() == 32:
		b := p.Addr().As4()
		return Key{IPv4: binary.BigEndian.Uint32(b[:])}
	case p.Addr().Is6() && p.Bits() == 64:
		return Key{IPv6: ipv6Prefix(p.Addr())}
	}
	return Key{Route: p}
}

func ipv6Prefix(a netip.Addr) uint64 {
	b := a.As16()
	return binary.BigEndian.Uint64(b[:])
}

// Prefix returns the destinations that k stands for, of a bare packet; not valid: it is
// a TEID.
func (k Key) Prefix() netip.Prefix {
	switch {
	case k.IPv4 != 0:
		return netip.PrefixFrom(netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, k.IPv4))), 32)
	case k.IPv6 != 0:
		var b [16]byte
		binary.BigEndian.PutUint64(b[:], k.IPv6)
		return netip.PrefixFrom(netip.AddrFrom16(b), 64)
	}
	return k.Route
}

// Covers reports whether r is a candidate for packets that are found by key k of
// its session: k is one of its own, or lies inside a framed route of it. So the
// longest route says which session a packet belongs to, and Precedence which of
// the session's PDRs.
func Covers(r *api.Rule, k Key) bool {
	var room [roomForKeys]Key
	for _, own := range AppendKeys(room[:0], r) {
		if own == k {
			return true
		}
		if k.TEID == 0 && own.Route.IsValid() && own.Route.Bits() <= k.Prefix().Bits() && own.Route.Overlaps(k.Prefix()) {
			return true
		}
	}
	return false
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

// GBR returns the bit/s that q guarantees packets from source; 0: none.
func GBR(q *api.QER, source api.Interface) uint64 {
	if Uplink(source) {
		return q.GetUplinkGbrBps()
	}
	return q.GetDownlinkGbrBps()
}

// PacketRate returns how many packets q allows from source; nil: any number.
func PacketRate(q *api.QER, source api.Interface) *api.PacketRate {
	if Uplink(source) {
		return q.GetUplinkPacketRate()
	}
	return q.GetDownlinkPacketRate()
}
