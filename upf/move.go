package upf

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/move"
	"github.com/plumbline-upf/plumbline/upf/bus"
	"github.com/plumbline-upf/plumbline/upf/privilege"
	"github.com/plumbline-upf/plumbline/upf/rules"
)

// Moved is what a move to another datapath has done.
type Moved struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Sessions int    `json:"sessions"`
	// Gap is how long no datapath took packets.
	Gap time.Duration `json:"gap_ns"`
	// Took is in all, with the wait for programs that the datapath of before still loads.
	Took time.Duration `json:"took_ns"`
	// Buffered is how many packets wait for UEs to be paged, BufferedDropped how many of
	// them the next datapath had no room for.
	Buffered        int `json:"buffered"`
	BufferedDropped int `json:"buffered_dropped"`
	// NATMappings is how many went over, NATMappingsLost how many could not.
	NATMappings     int `json:"nat_mappings"`
	NATMappingsLost int `json:"nat_mappings_lost"`
	// Configured is what the next start takes.
	Configured string `json:"configured"`
}

// ErrRefused is wrapped by what a UPF refuses to do as things are; nothing has
// changed.
var ErrRefused = errors.New("refused")

// Move lets another datapath forward, as if the configuration named it: sessions,
// F-TEIDs, UE addresses and usage go on. who asked for it stands in the log.
//
// Errors: [ErrRefused] if sessions ask for what the datapath cannot do, or another
// move is under way, [ConfigError], [errors.ErrUnsupported], and those of [Start]
// that are about a datapath. After any of them the one of before forwards.
func (s *Service) Move(ctx context.Context, to, who string) (*Moved, error) {
	if s.mover == nil || s.sessions == nil {
		return nil, fmt.Errorf("this process cannot change its datapath while it runs: start it with another one: %w", errors.ErrUnsupported)
	}
	if !s.moving.TryLock() {
		return nil, fmt.Errorf("%w: %w", ErrRefused, move.ErrBusy)
	}
	defer s.moving.Unlock()
	from := s.about.Load().Name
	if target := s.config.P4.Target; target != "" && (from == DatapathP4 || to == DatapathP4) {
		return nil, fmt.Errorf("%w: p4.target %s forwards between ports that are no devices of this machine: no other datapath can take its place",
			ErrRefused, target)
	}
	c, err := s.configFor(to)
	if err != nil {
		return nil, err
	}
	if c.Datapath == from {
		return nil, fmt.Errorf("%w: datapath %s forwards already", ErrRefused, from)
	}
	s.log.Info("moving", "from", from, "to", c.Datapath, "by", who)
	m, err := s.exchange(ctx, c, from, func(why string) string {
		if c.Datapath != DatapathAuto {
			why = "asked for"
		}
		return fmt.Sprintf("moved from %s by %s: %s", from, who, why)
	})
	if err != nil {
		s.log.Warn("not moved", "from", from, "to", c.Datapath, "error", err)
		return nil, err
	}
	s.log.Info("moved", m.attrs()...)
	return m, nil
}

// attrs are those of a log line.
func (m *Moved) attrs() []any {
	return []any{
		"from", m.From, "to", m.To, "sessions", m.Sessions, "gap", m.Gap, "took", m.Took, "buffered", m.Buffered,
		"buffered_dropped", m.BufferedDropped, "nat_mappings", m.NATMappings, "nat_mappings_lost", m.NATMappingsLost,
	}
}

// exchange lets the datapath of c forward in the place of from. about says why, given
// what the datapath was chosen for. The caller holds s.moving.
func (s *Service) exchange(ctx context.Context, c *Config, from string, about func(why string) string) (*Moved, error) {
	start, devices := time.Now(), s.devices.now()
	var err error
	var r move.Result
	var why string
	rights := privilege.With(func() error {
		r, err = s.mover.Move(ctx, func() (d datapath.Movable, err error) {
			d, why, err = s.openPaused(c, from)
			return d, err
		}, s.fill)
		return nil
	})
	if rights != nil {
		s.log.Error("capabilities to start a datapath", "error", rights)
	}
	if err != nil {
		if errors.Is(err, move.ErrRefused) || errors.Is(err, move.ErrBusy) {
			err = fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return nil, err
	}
	s.devices.opened(devices)
	s.describe(about(why))
	to := s.about.Load().Name
	s.preparing.Go(func() { _ = privilege.With(func() error { prepare(s.forwarder(), s.log); return nil }) })
	s.agentsChanged()
	r.Took = time.Since(start)
	return &Moved{
		From: from, To: to, Sessions: r.Sessions, Gap: r.Gap, Took: r.Took.Round(time.Microsecond),
		Buffered: r.Learnt.Packets, BufferedDropped: r.Learnt.Dropped,
		NATMappings: r.Learnt.Mappings, NATMappingsLost: r.Learnt.LostMappings, Configured: s.config.Datapath,
	}, nil
}

// configFor is the configuration with another datapath.
func (s *Service) configFor(to string) (*Config, error) {
	names := datapathNames()
	if s.config.Datapath != DatapathModel {
		names = slices.DeleteFunc(names, func(n string) bool { return n == DatapathModel })
	}
	if !slices.Contains(names, to) {
		return nil, fmt.Errorf("%w: datapath %q: want one of %q", ErrRequest, to, names)
	}
	c := *s.config
	c.Datapath = to
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return &c, c.CheckLive()
}

// openPaused opens the datapath of c beside the one that forwards, and returns why it
// is that one.
func (s *Service) openPaused(c *Config, from string) (datapath.Movable, string, error) {
	d, why, err := openChosen(opening{Config: c, log: s.log, paused: true, quiet: &s.quiet})
	if err != nil {
		return nil, "", err
	}
	name := d.Capabilities().GetName()
	m, ok := d.(datapath.Movable)
	switch {
	case !ok:
		err = fmt.Errorf("datapath %s takes no sessions over: %w", name, errors.ErrUnsupported)
	case name == from && c.Datapath == DatapathAuto:
		err = fmt.Errorf("%w: datapath %s forwards already (%s)", ErrRefused, from, why)
	default:
		return m, why, nil
	}
	return nil, "", errors.Join(err, d.Close())
}

// fill gives a datapath every session.
func (s *Service) fill(ctx context.Context, to datapath.Driver) error {
	return s.sessions.Copy(ctx, rules.Compiler{Bus: bus.InProcess{Driver: to}})
}

// move answers a request to change the datapath. It is the only one that changes
// anything: for root, and for the user of the UPF.
func (a *localAPI) move(r *http.Request) (any, error) {
	who, ok := callerOf(r)
	if !ok || who.Uid != 0 && int(who.Uid) != os.Geteuid() {
		return nil, fmt.Errorf("%w: only root and the user of the UPF may change its datapath", ErrForbidden)
	}
	if !a.config.API.Move {
		return nil, fmt.Errorf("%w: api.move is false in the configuration of this UPF", ErrForbidden)
	}
	query := r.URL.Query()
	if len(query) != 1 || len(query["to"]) != 1 {
		return nil, fmt.Errorf("%w: want ?to=DATAPATH", ErrRequest)
	}
	moved, err := a.Move(r.Context(), query.Get("to"), "uid "+strconv.Itoa(int(who.Uid))+", pid "+strconv.Itoa(int(who.Pid)))
	if err != nil {
		return nil, err
	}
	return moved, nil
}
