package upf

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/plumbline-upf/plumbline/upf/n4"
	"github.com/plumbline-upf/plumbline/upf/store"
)

// metaBoot is the number of the record that holds the machine's boot id. That
// of the Recovery Time Stamp, of the same kind, is 0.
const metaBoot = 1

// openStore opens what the configuration names, or nothing.
func (s *Service) openStore(ctx context.Context) error {
	c := &s.config.Store
	switch {
	case c.Path != "":
		journal, err := store.OpenJournal(store.JournalConfig{Dir: c.Path, Sync: store.Sync(c.Sync), Log: s.log})
		if err != nil {
			return fmt.Errorf("store.path: %s: %w", c.Path, err)
		}
		s.store = journal
	case c.Redis.Address != "":
		redis, err := store.OpenRedis(ctx, store.RedisConfig{
			Server: c.Redis.server(), Prefix: c.Redis.Prefix, Log: s.log,
		})
		if err != nil {
			return fmt.Errorf("store.redis.address: %s: %w", c.Redis.Address, err)
		}
		s.store = redis
	}
	return nil
}

// keptRecord is one record of the store.
type keptRecord struct {
	kind   byte
	id     uint64
	record []byte
}

// restore brings back what the process before this one held: sessions, into the
// datapath that may still forward their packets, then associations and PFDs. The
// datapath lets go of all that is not among them.
func (s *Service) restore(ctx context.Context) error {
	if s.store == nil {
		return s.explainSettle(s.driver.Settle(ctx))
	}
	start, lost := time.Now(), n4.Lost{}
	loaded, err := s.sessions.Load(ctx, func(ctx context.Context, each func(byte, uint64, []byte) error) error {
		others, err := s.load(ctx, each)
		// PFDs have to be there before sessions that name their applications.
		for _, r := range others {
			if r.kind == store.Usage { // of a datapath whose tables are there
				s.store.Drop(r.kind, r.id)
				continue
			}
			if err := s.endpoint.Restore(r.kind, r.id, r.record); err != nil {
				s.log.Error("store: record dropped", "kind", string(rune(r.kind)), "id", r.id, "error", err)
				s.store.Drop(r.kind, r.id)
				lost.Unknown = lost.Unknown || r.kind != store.PFD
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	for _, f := range loaded.Failed {
		s.log.Error("store: session not restored", "seid", SEID(f.SEID), "error", f.Err)
		if f.Owner == 0 {
			lost.Unknown = true
		} else {
			lost.Owners = append(lost.Owners, f.Owner)
		}
	}
	lost.Unknown = lost.Unknown || s.store.Lost().Records > 0
	if len(loaded.Absent) > 0 {
		s.log.Warn("sessions that the datapath does not take yet; it is tried again", "sessions", len(loaded.Absent),
			"error", loaded.Absent[0].Err)
	}
	if err := s.driver.Settle(ctx); err != nil {
		return s.explainSettle(err)
	}
	s.forgetKept()
	if err := s.endpoint.Recover(ctx, lost); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	s.store.Told()
	if n := loaded.Sessions; n > 0 {
		s.log.Info("sessions restored", "sessions", n, "took", time.Since(start).Round(time.Millisecond))
	}
	return nil
}

// load gives each session record to each, and returns the others. When the
// machine was started anew and sessions shall not outlive that, it forgets
// everything.
func (s *Service) load(ctx context.Context, each func(byte, uint64, []byte) error) (others []keptRecord, err error) {
	now, err := bootID()
	if err != nil {
		return nil, err
	}
	var boot []byte
	var held []keptRecord // sessions, while it is not known what becomes of them
	forget := s.config.Store.AfterReboot == RebootForget
	err = s.store.Load(ctx, func(kind byte, id uint64, record []byte) error {
		switch {
		case kind == store.Meta && id == metaBoot:
			boot = bytes.Clone(record)
		case kind == store.Usage && s.kept != nil:
			return s.kept.take(id, record)
		case kind != store.Session:
			others = append(others, keptRecord{kind, id, bytes.Clone(record)})
		case forget:
			held = append(held, keptRecord{kind, id, bytes.Clone(record)})
		default:
			return each(kind, id, record)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if forget && boot != nil && !bytes.Equal(boot, now) {
		s.log.Warn("the machine was started anew: sessions are forgotten", "sessions", len(held))
		for _, r := range append(held, others...) {
			s.store.Drop(r.kind, r.id)
		}
		held, others = nil, nil
		s.forgetKept()
	}
	for _, r := range held {
		if err := each(r.kind, r.id, r.record); err != nil {
			return nil, err
		}
	}
	s.store.Save(store.Meta, metaBoot, now)
	return others, s.store.Flush(ctx)
}

// bootID identifies this start of the machine.
func bootID() ([]byte, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, fmt.Errorf("boot id: %w", err)
	}
	return []byte(strings.TrimSpace(string(b))), nil
}
