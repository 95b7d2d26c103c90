package tun

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// protocol marks the UPF's routes, for operators. Source: linux/rtnetlink.h (above 186 free).
const protocol = 0xbb

// The shortest prefixes that a framed route may have: shorter ones would take the host's
// own traffic.
const minBits4, minBits6 = 8, 16

// routes routes the UE addresses and framed routes of sessions to the devices, unless a pool covers
// them. They are kernel routes, so a session whose route would cover the host's own addresses is
// rejected.
type routes struct {
	d     *Driver
	fixed []leading // pools, on the first device, and addresses of NATs

	mu       sync.Mutex
	devices  []*device // none: paused
	sessions map[uint64][]leading
	refs     map[leading]int
}

// leading is a route to one of the devices.
type leading struct {
	prefix  netip.Prefix
	network int // index
}

func newRoutes(d *Driver) *routes {
	r := &routes{d: d, sessions: map[uint64][]leading{}, refs: map[leading]int{}}
	for _, p := range d.cfg.Pools {
		r.fixed = append(r.fixed, leading{p.Masked(), 0})
	}
	for i := range d.cfg.N6.Networks {
		if nat := d.cfg.N6.Networks[i].NAT; nat != nil {
			for _, p := range nat.Addresses {
				r.fixed = append(r.fixed, leading{p.Masked(), i})
			}
		}
	}
	return r
}

// attach leads to the devices what is theirs.
func (r *routes) attach(devices []*device) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.devices = devices
	for _, l := range r.fixed {
		if err := r.add(l); err != nil {
			return err
		}
	}
	for l := range r.refs {
		if err := r.add(l); err != nil {
			return err
		}
	}
	return nil
}

// detach removes what would stay: a device that is persistent is not gone with us.
func (r *routes) detach() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.fixed {
		r.remove(l)
	}
	for l := range r.refs {
		r.remove(l)
	}
	r.devices = nil
}

// prepare adds the routes that a session needs. done removes those that it no longer
// needs, undo those that were added.
//
// Errors: [datapath.RuleError] for a route that cannot be, [datapath.ErrFull].
func (r *routes) prepare(seid uint64, s *api.Session) (undo, done func(), err error) {
	want, err := r.wanted(s)
	if err != nil {
		return nil, nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.sessions[seid]
	for i, l := range want {
		if err := r.acquire(l.leading); err != nil {
			r.releaseAll(plain(want[:i]))
			return nil, nil, l.refused(err)
		}
	}
	r.d.learn(s)
	all := plain(want)
	undo = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.releaseAll(all)
	}
	done = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.releaseAll(old)
		if delete(r.sessions, seid); len(all) > 0 {
			r.sessions[seid] = all
		}
	}
	return undo, done, nil
}

// asked is a route and the PDR that asks for it.
type asked struct {
	leading
	pdr uint32
}

func plain(all []asked) []leading {
	var out []leading
	for _, a := range all {
		out = append(out, a.leading)
	}
	return out
}

func (a *asked) refused(err error) error {
	if errors.Is(err, datapath.ErrFull) {
		return err
	}
	return &datapath.RuleError{Type: api.RuleType_PDR_RULE, ID: a.pdr, Err: err}
}

// wanted returns the routes of a session that no pool has.
func (r *routes) wanted(s *api.Session) ([]asked, error) {
	if s.GetPduType() == api.PDUType_ETHERNET {
		return nil, nil
	}
	var all []asked
	for _, rule := range s.GetRules() {
		network := max(r.d.cfg.N6.Network(rule.GetDetect().GetNetworkInstance())-1, 0)
		for _, k := range datapath.Keys(rule) {
			p := k.Prefix()
			l := asked{leading{p, network}, rule.GetPdrId()}
			if !p.IsValid() || r.pooled(l.leading) || slices.ContainsFunc(all, func(a asked) bool { return a.leading == l.leading }) {
				continue
			}
			if err := r.check(p); err != nil {
				return nil, l.refused(err)
			}
			all = append(all, l)
		}
	}
	return all, nil
}

// check reports a route that the host cannot have.
func (r *routes) check(p netip.Prefix) error {
	least := minBits4
	if p.Addr().Is6() {
		least = minBits6
	}
	if p.Bits() < least {
		return fmt.Errorf("route %v: want /%d or longer: %w", p, least, datapath.ErrUnsupported)
	}
	if of, err := r.d.host.overlaps(p); err != nil {
		return fmt.Errorf("route %v: %w, %v: %w", p, err, of, datapath.ErrUnsupported)
	}
	return nil
}

func (r *routes) pooled(l leading) bool {
	return slices.ContainsFunc(r.fixed, func(f leading) bool {
		return f.network == l.network && f.prefix.Bits() <= l.prefix.Bits() && f.prefix.Contains(l.prefix.Addr())
	})
}

// acquire adds a route if it is not there. The caller holds mu.
func (r *routes) acquire(l leading) error {
	if r.refs[l] == 0 {
		if len(r.refs) >= MaxRoutes {
			return fmt.Errorf("%d routes: %w", len(r.refs), datapath.ErrFull)
		}
		if err := r.add(l); err != nil {
			return err
		}
	}
	r.refs[l]++
	return nil
}

func (r *routes) releaseAll(all []leading) {
	for _, l := range all {
		if r.refs[l]--; r.refs[l] > 0 {
			continue
		}
		delete(r.refs, l)
		r.remove(l)
	}
}

// remove removes a route from the kernel's table.
func (r *routes) remove(l leading) {
	if len(r.devices) == 0 {
		return
	}
	if err := r.d.host.kernel.RouteDel(r.route(l)); err != nil && !errors.Is(err, unix.ESRCH) {
		r.d.log.Warn("a route that nobody needs stays", "route", l.prefix, "error", err)
	}
}

// add adds a route to the kernel's table, unless the datapath is paused. An existing route belongs
// to another process.
func (r *routes) add(l leading) error {
	if len(r.devices) == 0 {
		return nil
	}
	err := r.d.host.kernel.RouteAdd(r.route(l))
	switch {
	case errors.Is(err, unix.EEXIST):
		return fmt.Errorf("route %v is there already: %w", l.prefix, datapath.ErrClash)
	case err != nil:
		return fmt.Errorf("route %v by %s: %w", l.prefix, r.devices[l.network].Name, err)
	}
	return nil
}

func (r *routes) route(l leading) *netlink.Route {
	dev := r.devices[l.network]
	route := &netlink.Route{LinkIndex: dev.index(), Dst: ipNet(l.prefix), Protocol: protocol}
	switch {
	case !dev.TAP && l.prefix.Addr().Is4():
		route.Scope = netlink.SCOPE_LINK
	case dev.TAP && l.prefix.Addr().Is4():
		route.Gw, route.Flags = nextHop4.AsSlice(), int(netlink.FLAG_ONLINK)
	case dev.TAP:
		route.Gw = nextHop6.AsSlice()
	}
	return route
}

// covers reports whether packets to a are led to the device of a data network.
func (r *routes) covers(network int, a netip.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	bits := 32
	if a.Is6() {
		bits = 64
	}
	if p, err := a.Prefix(bits); err == nil && r.refs[leading{p, network}] > 0 {
		return true
	}
	return r.pooled(leading{netip.PrefixFrom(a, a.BitLen()), network})
}

// learn looks at the routes to the GTP-U peers that a session sends to.
func (d *Driver) learn(s *api.Session) {
	var all []netip.Addr
	for _, rule := range s.GetRules() {
		f := rule.GetForward()
		if a := peerOf(f.GetOuterHeaderCreation()); a.IsValid() {
			d.answers.learn(f, a)
			all = append(all, a)
		}
	}
	d.host.learn(all)
}

// peerOf returns a GTP-U peer; one that is not valid is none.
func peerOf(c *api.OuterHeaderCreation) netip.Addr {
	switch {
	case c == nil || c.GetEncapsulation() != api.Encapsulation_GTPU:
	case len(c.GetIpv6()) == 16:
		return netip.AddrFrom16([16]byte(c.GetIpv6()))
	case c.GetIpv4() != 0:
		v := c.GetIpv4()
		return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
	}
	return netip.Addr{}
}
