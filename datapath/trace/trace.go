// Package trace is what traces of all datapaths have in common: which packets a
// [datapath.TraceFilter] selects, and for datapaths in user space the traces
// themselves.
//
//	packet ─► [Set.On]: one word ─► [Set.Choose]: filter, sample, rate ─► [Deliver] ─► channel of each trace
package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/plumbline-upf/plumbline/datapath"
)

// MaxSample is one in how many packets a trace may take.
const MaxSample = 1 << 30

// Check says what is wrong with a filter.
func Check(f *datapath.TraceFilter) error {
	if f.Sample < 1 || f.Sample > MaxSample || f.Rate < 1 || f.Rate > datapath.MaxTraceRate || f.Snap < 1 || f.Snap > datapath.MaxTraceSnap {
		return fmt.Errorf("one in %d, %d a second, %d octets: want at least 1, at most %d, %d and %d",
			f.Sample, f.Rate, f.Snap, MaxSample, datapath.MaxTraceRate, datapath.MaxTraceSnap)
	}
	return checkTargets(&f.TraceTargets)
}

func checkTargets(t *datapath.TraceTargets) error {
	if len(t.TEIDs) > datapath.MaxTraceKeys {
		return fmt.Errorf("%d TEIDs: at most %d", len(t.TEIDs), datapath.MaxTraceKeys)
	}
	n4, n6 := 0, 0
	for _, a := range t.UEs {
		switch a = a.Unmap(); {
		case a.Is4():
			n4++
		case a.Is6():
			n6++
		default:
			return errors.New("a UE address that is not valid")
		}
	}
	if n4 > datapath.MaxTraceKeys || n6 > datapath.MaxTraceKeys {
		return fmt.Errorf("%d IPv4 and %d IPv6 UE addresses: at most %d", n4, n6, datapath.MaxTraceKeys)
	}
	return nil
}

// About is by what a filter selects a packet.
type About struct {
	Reason datapath.Reason
	TEID   uint32
	Ends   [2]netip.Addr // source and destination of the user packet; not valid: it has none
}

// Wants reports whether f selects the packet.
func Wants(f *datapath.TraceFilter, a *About) bool {
	return f.All && a.Reason != datapath.PassHost || slices.Contains(f.Reasons, a.Reason) || WantsTarget(&f.TraceTargets, a)
}

// WantsTarget reports whether the packet is of one of the targets.
func WantsTarget(t *datapath.TraceTargets, a *About) bool {
	if a.TEID != 0 && slices.Contains(t.TEIDs, a.TEID) {
		return true
	}
	for _, ue := range t.UEs {
		if sameUE(ue, a.Ends[0]) || sameUE(ue, a.Ends[1]) {
			return true
		}
	}
	return false
}

// sameUE reports whether an address is of a UE: of IPv6 its first 64 bits count.
func sameUE(ue, a netip.Addr) bool {
	if ue = ue.Unmap(); ue.Is6() && a.Is6() {
		return Prefix6(ue) == Prefix6(a)
	}
	return ue == a
}

// Number4 is an IPv4 address as a number.
func Number4(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

// Prefix6 returns the first 64 bits of an IPv6 address.
func Prefix6(a netip.Addr) uint64 {
	b := a.As16()
	return binary.BigEndian.Uint64(b[:])
}

// KeyOf is the key of rules for what goes to a UE address.
func KeyOf(ue netip.Addr) datapath.Key {
	if ue.Is4() {
		return datapath.Key{IPv4: Number4(ue)}
	}
	return datapath.Key{IPv6: Prefix6(ue)}
}

// Ends returns source and destination of an IP packet, of which the header is there.
func Ends(b []byte) (ends [2]netip.Addr) {
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		return [2]netip.Addr{netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))}
	case len(b) >= 40 && b[0]>>4 == 6:
		return [2]netip.Addr{netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))}
	}
	return ends
}
