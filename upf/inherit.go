package upf

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
	"github.com/plumbline-upf/plumbline/datapath/move"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/gtpu"
	"github.com/plumbline-upf/plumbline/upf/store"
)

// adopts says which datapaths take over the tables that a process has left pinned:
// they go on counting where it ended. Others inherit what was counted.
var adopts = map[string]bool{DatapathXDP: true, DatapathTC: true}

// pinned reports whether a process has left tables and attachments.
func (c *Config) pinned() bool {
	return c.XDP.Pin != "" && xdp.Pinned(c.XDP.Pin)
}

// inherits says whether the datapath is to start with what another one has counted.
func (s *Service) inherits(name string) bool {
	if s.config.pinned() {
		return !adopts[name]
	}
	return s.store != nil
}

// inherit lets m go on with what is left of the datapath before, which may be that of
// another kind: in pinned tables, or in the store.
func (s *Service) inherit(m *move.Mover) error {
	if s.config.pinned() {
		left, err := xdp.OpenLeft(s.config.XDP.Pin)
		if err != nil {
			return fmt.Errorf("xdp.pin: %s: %w", s.config.XDP.Pin, err)
		}
		s.log.Info("what another datapath has left pinned is taken over", "pin", s.config.XDP.Pin, "urrs", left.Len())
		m.Inherit(left)
		return nil
	}
	s.kept = &keptUsage{of: map[uint64]*api.SessionUsage{}}
	m.Inherit(s.kept)
	return nil
}

// keptUsage is what a datapath had counted at its end, as the store has it.
type keptUsage struct {
	mu sync.Mutex
	of map[uint64]*api.SessionUsage // by SEID
}

// take takes a record of the store.
func (k *keptUsage) take(seid uint64, record []byte) error {
	u := &api.SessionUsage{}
	if err := proto.Unmarshal(record, u); err != nil {
		return fmt.Errorf("usage of session %#x: %w", seid, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of[seid] = u
	return nil
}

// Pause implements [move.Source]: nothing counts any more.
func (k *keptUsage) Pause() error { return nil }

// Resume implements [move.Source].
func (k *keptUsage) Resume() error { return nil }

// Usage implements [move.Source].
func (k *keptUsage) Usage(seid uint64) (*api.SessionUsage, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if u := k.of[seid]; u != nil {
		return u, nil
	}
	return nil, fmt.Errorf("SEID %#x: %w", seid, datapath.ErrNoSession)
}

// Close implements [move.Source].
func (k *keptUsage) Close() error { return nil }

// forgetKept takes out of the store what has been carried over.
func (s *Service) forgetKept() {
	if s.kept == nil {
		return
	}
	for seid := range s.kept.of {
		s.store.Drop(store.Usage, seid)
	}
	s.kept = nil
}

// keepUsage saves what the datapath has counted until its last packet, for the next
// start: unless its tables stay.
func (s *Service) keepUsage() error {
	if s.mover == nil || s.store == nil || s.sessions == nil || s.config.N4.Release {
		return nil
	}
	if s.kept != nil {
		return nil // not carried over: the store has it still
	}
	d, _ := s.mover.Current()
	if adopts[d.Capabilities().GetName()] && s.config.XDP.Pin != "" {
		return nil
	}
	if err := d.Pause(); err != nil {
		return err
	}
	var errs []error
	for session := range s.sessions.All() {
		u, err := d.Usage(session.SEID)
		if errors.Is(err, datapath.ErrNoSession) {
			continue
		}
		var record []byte
		if err == nil {
			record, err = proto.Marshal(u)
		}
		if err == nil {
			s.store.Save(store.Usage, session.SEID, record)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// explainSettle says in terms of the configuration why the datapath cannot take
// packets.
func (s *Service) explainSettle(err error) error {
	if errors.Is(err, unix.EADDRINUSE) {
		return explainListen("n3.address", netip.AddrPortFrom(s.config.N3.Address, gtpu.Port), unix.EADDRINUSE)
	}
	return err
}
