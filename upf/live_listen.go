package upf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/n4"
	"github.com/plumbline-upf/plumbline/upf/store"
)

// place is something of the machine that one process has at a time.
type place struct {
	key  string
	kind string         // places of one kind can be the same
	at   netip.AddrPort // or
	path string
	try  func() error // takes the place as a start does, and lets go of it
}

// same says whether one process cannot have p while another one has q.
func (p *place) same(q *place) bool {
	a, b := p.at, q.at
	return p.kind == q.kind && p.path == q.path && a.Port() == b.Port() &&
		(a.Addr() == b.Addr() || a.Addr().IsUnspecified() || b.Addr().IsUnspecified())
}

// CheckListen takes what a start would have for itself, its ports, its socket and its store,
// and lets go of each at once. What a UPF has that answers at the same api.socket, and has the
// same N4 or N3 address, is no mistake: held names it, for that one has to end first.
//
// Errors: those of [Start], one line each, joined.
func (c *Config) CheckListen(ctx context.Context) (held []string, err error) {
	var before []place
	if running := c.running(ctx); running != nil {
		before = running.places(ctx)
	}
	var errs []error
	for _, p := range c.places(ctx) {
		err := p.try()
		has := false
		for i := range before {
			has = has || p.same(&before[i])
		}
		switch {
		case has && (errors.Is(err, ErrInUse) || errors.Is(err, store.ErrLocked)):
			held = append(held, p.key)
		case errors.Is(err, ErrNoAddress) && p.kind == "udp": // CheckLive says so
		default:
			errs = append(errs, err)
		}
	}
	return held, errors.Join(errs...)
}

// running is the configuration of the UPF that c would take the place of; nil: none runs.
func (c *Config) running(ctx context.Context) *Config {
	if c.API.Socket == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	is, err := NewClient(c.API.Socket).Config(ctx)
	if err != nil || is.Role() != c.Role() || is.N4.Address != c.N4.Address || is.N3.Address != c.N3.Address {
		return nil
	}
	return is
}

// places lists all of them.
func (c *Config) places(ctx context.Context) []place {
	var all []place
	udp := func(key string, a netip.Addr, port uint16, try func(netip.AddrPort) error) {
		if at := netip.AddrPortFrom(a, port); a.IsValid() {
			all = append(all, place{key: key, kind: "udp", at: at, try: func() error {
				if err := try(at); err != nil {
					return explainListen(key, at, err)
				}
				return nil
			}})
		}
	}
	if c.Role() != RoleDatapath {
		udp("n4.address", c.N4.Address, pfcp.Port, n4.TryListen)
	}
	if c.Role() != RoleN4 && c.Datapath != DatapathModel {
		bind := func(at netip.AddrPort) error { return tryUDP(ctx, at) }
		udp("n3.address", c.N3.Address, gtpu.Port, bind)
		udp("n3.address6", c.N3.Address6, gtpu.Port, bind)
		for i := range c.GTPU {
			udp(fmt.Sprintf("gtpu[%d].address", i), c.GTPU[i].Address, gtpu.Port, bind)
			udp(fmt.Sprintf("gtpu[%d].address6", i), c.GTPU[i].Address6, gtpu.Port, bind)
		}
	}
	if a := c.Metrics.Address; a.IsValid() {
		all = append(all, place{key: "metrics.address", kind: "tcp", at: a, try: func() error {
			l, err := listenMetrics(ctx, a)
			if err != nil {
				return err
			}
			return l.Close()
		}})
	}
	if path := c.API.Socket; path != "" {
		all = append(all, place{key: "api.socket", kind: "unix", path: path, try: func() error { return tryUnix(path) }})
	}
	if path := c.Store.Path; path != "" && c.Role() != RoleDatapath {
		all = append(all, place{key: "store.path", kind: "store", path: path, try: func() error {
			if err := store.CheckLock(path); err != nil {
				return fmt.Errorf("store.path: %s: %w", path, err)
			}
			return nil
		}})
	}
	return all
}

// tryUDP binds a socket that shares its port with none.
func tryUDP(ctx context.Context, at netip.AddrPort) error {
	l, err := new(net.ListenConfig).ListenPacket(ctx, "udp", at.String())
	if err != nil {
		return err
	}
	return l.Close()
}

// tryUnix is [listenUnix] up to where path would be replaced.
func tryUnix(path string) error {
	dir := filepath.Dir(path)
	made := missing(dir)
	l, fresh, err := bindUnix(path)
	if err == nil {
		err = errors.Join(l.Close(), os.Remove(fresh))
	}
	if len(made) == 1 {
		_ = os.Remove(dir) // made for this: it is empty, or another's now
	}
	return err
}
