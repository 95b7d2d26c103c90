package system

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/lab/traffic"
	"github.com/plumbline-upf/plumbline/pfcp"
)

// N4 makes a campaign of PFCP requests from the CP function's place, with sessions of its
// own that have the rules, and sends frames of them when it is over: those that are said
// to stand must be forwarded, those that are said to be deleted must not. Addresses,
// template and CPUs of c are filled in; CP functions after the first have other ports.
//
// It has the CP function's address to itself: there must be no sessions of [System.Establish].
func (s *System) N4(ctx context.Context, c n4load.Campaign, r Rules) (*n4load.CampaignResult, error) {
	if s.dut == nil || s.n4 != nil {
		return nil, fmt.Errorf("%s has no N4 that is free: %w", s.config.Name, errors.ErrUnsupported)
	}
	template, err := s.template(r)
	if err != nil {
		return nil, err
	}
	t := s.topology.Config
	c.Remote, c.Local = netip.AddrPortFrom(t.N4UPF, pfcp.Port), append(c.Local[:0:0], t.N4SMF)
	c.Template, c.Within, c.Options.CPUs = template, s.topology.UPF.Do, s.config.CPUs.Senders
	if !s.config.Kind.External {
		c.CPUTime, c.CPUs = s.dut.CPUTime, len(s.config.CPUs.UPF)
	}
	c.Check = func(ctx context.Context, p *n4load.Population) ([]report.Figure, error) {
		return s.checkSessions(ctx, p, r)
	}
	c.Stay = !s.config.Kind.External
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return c.Do(ctx)
}

// checkRates are those at which a frame of each session is sent, in frames per second: a
// slower one where frames were lost, which may be for want of time.
var checkRates = []uint64{50_000, 10_000, 2_000}

const checkFrames = "128" // octets on N6

// checkSessions sends one frame of each session, in each direction.
func (s *System) checkSessions(ctx context.Context, p *n4load.Population, r Rules) (figures []report.Figure, err error) {
	defer func() {
		err = errors.Join(err, s.Shut())
		s.sessions, s.rules = nil, Rules{}
	}()
	s.rules = r
	standing := p.Standing()
	gone := notAgain(p.Ended(), p.Sessions())
	figures = append(figures, report.Figure{Name: "sessions checked: standing", Unit: "sessions", Value: float64(len(standing))},
		report.Figure{Name: "sessions checked: deleted", Unit: "sessions", Value: float64(len(gone))})
	if len(standing) > 0 {
		more, err := s.standing(ctx, standing)
		if figures = append(figures, more...); err != nil {
			return figures, err
		}
	}
	for _, d := range []generator.Direction{generator.Uplink, generator.Downlink} {
		if through, err := s.through(ctx, gone, d); err != nil {
			return figures, err
		} else if len(gone) > 0 {
			figures = append(figures,
				report.Figure{Name: "deleted, but forwarded " + d.String(), Unit: "sessions", Better: report.Lower, Value: float64(through)})
		}
	}
	return figures, nil
}

// notAgain leaves out sessions whose uplink TEID the UP function has given to another
// since.
func notAgain(gone, held []n4load.Session) []n4load.Session {
	taken := make(map[uint32]bool, len(held))
	for i := range held {
		taken[held[i].ULTEID] = true
	}
	list := gone[:0]
	for _, s := range gone {
		if !taken[s.ULTEID] {
			list = append(list, s)
		}
	}
	return list
}

// checkAtOnce is how many sessions are checked together if it must be known which of them
// failed: the meter tells that many frames apart.
const checkAtOnce = 60_000

// missing is how many sessions do not forward the frame that they get, in none of several
// tries, and how many others forward it other than they should. A try is of those that
// failed in the one before: frames of others may get lost for want of time.
func (s *System) missing(ctx context.Context, sessions []n4load.Session, d generator.Direction) (lost, wrong uint64, err error) {
	failed, atOnce := sessions, len(sessions)
	for _, rate := range checkRates {
		var still []n4load.Session
		for part := range slices.Chunk(failed, max(atOnce, 1)) {
			trial, silent, err := s.oneEach(ctx, part, d, rate)
			if err != nil || trial == nil {
				return 0, 0, err
			}
			still = append(still, silent...)
			if len(part) <= checkAtOnce || len(silent) == 0 { // otherwise all of it is checked again
				wrong += trial.Misdelivered
			}
		}
		failed, atOnce = still, min(len(still), checkAtOnce)
		if len(failed) == 0 {
			break
		}
	}
	return uint64(len(failed)), wrong, nil
}

// through is how many sessions forward a frame that should not, rightly or wrongly.
func (s *System) through(ctx context.Context, sessions []n4load.Session, d generator.Direction) (uint64, error) {
	trial, _, err := s.oneEach(ctx, sessions, d, checkRates[0])
	if err != nil || trial == nil {
		return 0, err
	}
	return trial.ReceivedFrames, nil
}

// oneEach sends one frame of each session, and says which of them did not arrive: all, if
// not all arrived of more than checkAtOnce. A nil trial: there are none.
func (s *System) oneEach(ctx context.Context, sessions []n4load.Session, d generator.Direction, rate uint64) (*report.Trial, []n4load.Session, error) {
	if len(sessions) == 0 {
		return nil, nil, nil
	}
	s.Adopt(sessions)
	profile, err := traffic.Simple(checkFrames, generator.Each, d)
	if err != nil {
		return nil, nil, err
	}
	if err := s.Open(profile, NewRun()); err != nil {
		return nil, nil, err
	}
	trials, err := s.Trial(ctx, checkLoad(len(sessions), rate))
	if len(trials) == 0 || err != nil && !errors.Is(err, ErrNothing) {
		return nil, nil, err
	}
	if sent := trials[0].OfferedFrames; sent != uint64(len(sessions)) {
		return nil, nil, fmt.Errorf("%s: %d frames were sent of %d sessions: %w", d, sent, len(sessions), ErrNothing)
	}
	if trials[0].ReceivedFrames >= uint64(len(sessions)) {
		return &trials[0], nil, nil
	}
	silent := sessions
	if len(sessions) <= checkAtOnce {
		silent, err = s.lanes[0].silent(sessions)
		if err != nil {
			return nil, nil, err
		}
	}
	return &trials[0], silent, nil
}

// silent are the sessions whose frame has not arrived, of those of which the last frames
// were, one of each.
func (l *lane) silent(sessions []n4load.Session) ([]n4load.Session, error) {
	next, err := l.generator.Next()
	if err != nil {
		return nil, err
	}
	arrived, err := l.at.Arrived(0)
	if err != nil {
		return nil, err
	}
	order := l.generator.Order()
	var silent []n4load.Session
	for n := next - uint64(len(sessions)); n < next; n++ {
		if has, _ := arrived.Has(n); !has {
			silent = append(silent, sessions[order[n%uint64(len(order))]])
		}
	}
	return silent, nil
}

// checkLoad is one frame of each of n sessions, and time enough.
func checkLoad(n int, rate uint64) Load {
	const warmUp, spare = 20, 10 * time.Second
	return Load{
		Rate: rate, Frames: uint64(n), Duration: time.Duration(float64(n)/float64(rate)*float64(time.Second)) + spare,
		WarmUp: warmUp * time.Millisecond,
	}
}
