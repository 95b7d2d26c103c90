package gnb

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/netdev"
	"github.com/plumbline-upf/plumbline/internal/yamltext"
)

// maxCount bounds a range: each UE is a device and a goroutine.
const maxCount = 1000

// expand returns the UEs described by u, with defaults from n filled in. With n4 they need no
// F-TEID of the UPF.
func (u UE) expand(n N3, n4 bool) ([]UE, error) {
	if u.Count == 0 {
		u.Count = 1
	}
	if err := u.validate(n4); err != nil {
		return nil, err
	}
	if !u.UPF.IsValid() {
		u.UPF = n.UPF
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

// validate returns all that is wrong with u.
func (u UE) validate(n4 bool) error {
	var m yamltext.Checks
	m.Under("", u.validateDevice())
	m.Want(n4 || u.UplinkTEID != 0, "uplink_teid", "", "the UPF's, from 1 on, unless sessions are set up over N4")
	m.Want(u.DownlinkTEID != 0, "downlink_teid", "", "the gNB's, from 1 on")
	if u.Count > 0 && u.Count <= maxCount {
		last, allowed := math.MaxUint32-uint32(u.Count-1), fmt.Sprintf("one from which those of %d sessions fit into 32 bits", u.Count)
		m.Want(u.UplinkTEID <= last, "uplink_teid", u.UplinkTEID, allowed)
		m.Want(u.DownlinkTEID <= last, "downlink_teid", u.DownlinkTEID, allowed)
	}
	yamltext.Within(&m, "qfi", u.QFI, 0, maxQFI)
	m.Want(!u.UPF.IsValid() || isHost(u.UPF), "upf", u.UPF, aHost)
	return m.Err(ErrConfig)
}

// validateDevice is about what the UE's device needs: range, name, namespace, addresses,
// routes.
func (u UE) validateDevice() error {
	var m yamltext.Checks
	countable := u.Count >= 1 && u.Count <= maxCount
	m.Want(countable, "count", u.Count, fmt.Sprintf("1 to %d", maxCount))
	last := u.Name
	if countable && u.Count > 1 {
		last += strconv.Itoa(u.Count - 1)
	}
	if u.Name == "" {
		last = ""
	}
	CheckDevice(&m, last, u.Namespace, u.Routes)
	u.validateAddresses(&m, countable)
	return m.Err(ErrConfig)
}

// CheckDevice notes what is wrong with the name of a device to be made, its namespace and its
// routes, the keys name, namespace and routes.
func CheckDevice(m *yamltext.Checks, name, namespace string, routes []netip.Prefix) {
	m.Want(netdev.IsNewName(name), "name", name, netdev.NewName)
	checkNamespace(m, namespace)
	for i, p := range routes {
		ok := p.IsValid() && p == p.Masked() && !p.Addr().Is4In6() && !slices.Contains(routes[:i], p)
		m.Want(ok, fmt.Sprintf("routes[%d]", i), p, "a prefix without host bits, such as 10.6.0.0/24, each once")
	}
}

// CheckAddresses notes what is wrong with the addresses of a UE, the key addresses.
func CheckAddresses(m *yamltext.Checks, addresses []netip.Addr) {
	u := UE{Addresses: addresses, Count: 1}
	u.validateAddresses(m, true)
}

// checkNamespace is about a name in /run/netns or an absolute path: another path would be
// another file wherever the program is started.
func checkNamespace(m *yamltext.Checks, name string) {
	ok := filepath.IsAbs(name) || !strings.Contains(name, "/") && name != "." && name != ".."
	m.Want(ok && !strings.Contains(name, "\x00"), "namespace", name, "a name as in 'ip netns', or an absolute path")
}

func (u UE) validateAddresses(m *yamltext.Checks, countable bool) {
	var v4, v6 int
	for i, a := range u.Addresses {
		key := fmt.Sprintf("addresses[%d]", i)
		if !isUE(a) {
			m.Want(false, key, a, "the unicast address of a UE")
			continue
		}
		if a.Is4() {
			v4++
		} else {
			v6++
		}
		if !countable {
			continue
		}
		next, ok := advance(a, u.Count-1)
		m.Want(ok && isUE(next), key, a, fmt.Sprintf("one from which there are %d: they end at %v", u.Count, next))
	}
	if len(u.Addresses) == v4+v6 && (v4 > 1 || v6 > 1 || v4+v6 == 0) {
		m.Note("addresses", "%d IPv4 and %d IPv6: want one, or one of each", v4, v6)
	}
}

// isUE says whether a device can have a as its address.
func isUE(a netip.Addr) bool {
	if a.Is4() {
		return isHost(a) && !a.IsLoopback()
	}
	return a.IsValid() && !a.Is4In6() && a.Zone() == "" && !a.IsUnspecified() && !a.IsMulticast() && !a.IsLoopback()
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
