package gnb

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
)

// maxCount bounds a range: each UE is a device and a goroutine.
const maxCount = 1000

// expand returns the UEs that u stands for, defaults from n filled in.
func (u UE) expand(n N3) ([]UE, error) {
	if u.Count == 0 {
		u.Count = 1
	}
	if !u.UPF.IsValid() {
		u.UPF = n.UPF
	}
	if err := u.validate(); err != nil {
		return nil, err
	}
	if u.Routes == nil {
		u.Routes = u.defaultRoutes()
	}
	if u.Count == 1 {
		return []UE{u}, nil
	}
	ues := make([]UE, u.Count)
	for i := range ues {
		ues[i] = u.at(i)
	}
	return ues, nil
}

func (u UE) validate() error {
	if err := u.validateDevice(); err != nil {
		return err
	}
	switch {
	case u.DownlinkTEID == 0:
		return fmt.Errorf("%w: ue %q: no downlink_teid", ErrConfig, u.Name)
	case max(u.UplinkTEID, u.DownlinkTEID) > math.MaxUint32-uint32(u.Count-1):
		return fmt.Errorf("%w: ue %q: TEIDs of %d sessions do not fit into 32 bits", ErrConfig, u.Name, u.Count)
	case u.QFI > maxQFI:
		return fmt.Errorf("%w: ue %q: qfi %d is above %d", ErrConfig, u.Name, u.QFI, maxQFI)
	case u.UPF.IsValid() && !u.UPF.Is4():
		return fmt.Errorf("%w: ue %q: upf %q is not an IPv4 address", ErrConfig, u.Name, u.UPF)
	}
	return nil
}

// validateDevice is about what the UE's device needs: range, name, addresses.
func (u UE) validateDevice() error {
	last := u.Name
	if u.Count > 1 {
		last += strconv.Itoa(u.Count - 1)
	}
	switch {
	case u.Count < 0 || u.Count > maxCount:
		return fmt.Errorf("%w: ue %q: count %d is not within 1 to %d", ErrConfig, u.Name, u.Count, maxCount)
	case u.Name == "" || len(last) > maxName || strings.ContainsAny(last, "/ \t\n%") || u.Name[0] == '.':
		return fmt.Errorf("%w: ue name %q is not that of a device (1 to %d octets, no '/', '%%' or space)",
			ErrConfig, last, maxName)
	}
	return u.validateAddresses()
}

// complete returns an error if u does not know its UPF's F-TEID.
func (u UE) complete() error {
	switch {
	case u.UplinkTEID == 0:
		return fmt.Errorf("%w: ue %q: no uplink_teid", ErrConfig, u.Name)
	case !u.UPF.IsValid():
		return fmt.Errorf("%w: ue %q: no upf", ErrConfig, u.Name)
	}
	return nil
}

func (u UE) validateAddresses() error {
	var v4, v6 int
	for _, a := range u.Addresses {
		switch {
		case !a.IsValid() || a.Is4In6() || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast():
			return fmt.Errorf("%w: ue %q: address %q cannot be a UE's", ErrConfig, u.Name, a)
		case a.Is4():
			v4++
		default:
			v6++
		}
		if next, ok := advance(a, u.Count-1); !ok {
			return fmt.Errorf("%w: ue %q: %d addresses from %v end at %v", ErrConfig, u.Name, u.Count, a, next)
		}
	}
	if v4 > 1 || v6 > 1 || v4+v6 == 0 {
		return fmt.Errorf("%w: ue %q: %d IPv4 and %d IPv6 addresses; want one, or one of each",
			ErrConfig, u.Name, v4, v6)
	}
	return nil
}

// defaultRoutes is everything that u has an address for, if its namespace is
// its own; else nothing, so that no route of the caller's is hidden.
func (u UE) defaultRoutes() []netip.Prefix {
	routes := []netip.Prefix{}
	if u.Namespace == "" {
		return routes
	}
	for _, a := range u.Addresses {
		if a.Is4() {
			routes = append(routes, netip.PrefixFrom(netip.IPv4Unspecified(), 0))
		} else {
			routes = append(routes, netip.PrefixFrom(netip.IPv6Unspecified(), 0))
		}
	}
	return routes
}

// at returns the ith UE of a valid range.
func (u UE) at(i int) UE {
	one := u
	one.Count = 1
	one.Name += strconv.Itoa(i)
	if u.UplinkTEID != 0 {
		one.UplinkTEID += uint32(i)
	}
	one.DownlinkTEID += uint32(i)
	one.Addresses = make([]netip.Addr, len(u.Addresses))
	for j, a := range u.Addresses {
		one.Addresses[j], _ = advance(a, i)
	}
	return one
}

// advance returns the nth address after a: for IPv6 the same interface
// identifier in the nth /64 prefix after a's. ok is false if there is none.
func advance(a netip.Addr, n int) (_ netip.Addr, ok bool) {
	if a.Is4() {
		b := a.As4()
		first := binary.BigEndian.Uint32(b[:])
		binary.BigEndian.PutUint32(b[:], first+uint32(n))
		return netip.AddrFrom4(b), first+uint32(n) >= first
	}
	b := a.As16()
	first := binary.BigEndian.Uint64(b[:])
	binary.BigEndian.PutUint64(b[:], first+uint64(n))
	return netip.AddrFrom16(b), first+uint64(n) >= first
}
