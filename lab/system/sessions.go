package system

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/plumbline-upf/plumbline/lab/dut"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/report"
	"github.com/plumbline-upf/plumbline/pfcp"
)

const (
	// QFI is that of all sessions: not 0, so that it can go wrong.
	QFI = 9

	churnWindow = 1024 // requests in flight while sessions come and go as time wills, at most
)

// Establish brings the sessions to n, over PFCP from the CP function's address, and
// notes what that took. Those that there are stay if they have the same rules, and
// are deleted otherwise, as are those beyond n. What is open is closed. A UPF that is
// parked is an error.
func (s *System) Establish(ctx context.Context, n int, r Rules) error {
	err := errors.Join(r.validate(n), s.room(n))
	if err == nil {
		err = s.Shut()
	}
	if err != nil {
		return err
	}
	if s.bed != nil && s.dut == nil {
		t, err := s.template(r)
		if err == nil {
			s.sessions, s.rules = t.Sessions(0, n), r
		}
		return err
	}
	if s.parked {
		return fmt.Errorf("establish %d sessions: %s is parked and answers nothing: wait for its turn", n, s.config.Name)
	}
	if err := errors.Join(s.associate(ctx), s.endChurn(ctx)); err != nil {
		return err
	}
	keep := min(n, len(s.sessions))
	if missing := slices.IndexFunc(s.sessions, func(one n4load.Session) bool { return one.RemoteSEID == 0 }); missing >= 0 {
		keep = min(keep, missing) // an establishment failed half-way
	}
	if r != s.rules || r.Slices > 1 && n != len(s.sessions) {
		keep = 0
	}
	if err := s.delete(ctx, keep); err != nil {
		return err
	}
	s.rules = r
	if n == len(s.sessions) {
		return nil
	}
	got, err := s.fill(ctx, n)
	if err == nil {
		err = s.account(got)
	}
	if err != nil {
		return err
	}
	return s.rest(ctx)
}

// room refuses more sessions than there are UE addresses: session 0 has the one after the
// pool's own.
func (s *System) room(n int) error {
	for _, pool := range s.topology.Config.UEPools {
		if !pool.Addr().Is4() {
			continue
		}
		if most := 1<<(32-pool.Bits()) - 1; n > most {
			return fmt.Errorf("%d sessions: pool %v has addresses for %d", n, pool, most)
		}
		break
	}
	return nil
}

// delete deletes all sessions but the first ones.
func (s *System) delete(ctx context.Context, keep int) error {
	if keep == len(s.sessions) {
		return nil
	}
	t, err := s.template(s.rules)
	if err != nil {
		return err
	}
	_, err = n4load.NewPopulationOf(&t, s.sessions[keep:], s.window(), s.n4).Drain(ctx, nil)
	if err != nil {
		return err
	}
	s.sessions = s.sessions[:keep:keep]
	return nil
}

// fill makes and establishes sessions until there are n.
func (s *System) fill(ctx context.Context, n int) (*n4load.Report, error) {
	t, err := s.template(s.rules)
	if err != nil {
		return nil, err
	}
	held := len(s.sessions)
	s.sessions = append(s.sessions, t.Sessions(held, n-held)...)
	return s.bySlice(ctx, t, held)
}

// bySlice establishes the sessions from one on, slice after slice.
func (s *System) bySlice(ctx context.Context, t n4load.Template, from int) (*n4load.Report, error) {
	var sum *n4load.Report
	for i := range max(s.rules.Slices, 1) {
		first, end := s.rules.Slice(i, len(s.sessions))
		if first = max(first, from); first >= end {
			continue
		}
		t.QFI = pfcp.QFI(s.rules.qfi(i))
		got, err := n4load.NewPopulationOf(&t, s.sessions[first:end:end], s.window(), s.n4).Fill(ctx, end-first, nil)
		if err != nil {
			return nil, err
		}
		if sum == nil {
			sum = got
			continue
		}
		took := sum.Duration + got.Duration // one after the other
		sum.Add(got)
		sum.Duration = took
	}
	return sum, nil
}

// account adds what the establishment of sessions took to what is known of it.
func (s *System) account(got *n4load.Report) error {
	memory, err := s.dut.Memory()
	if err != nil {
		return err
	}
	i := &s.install
	i.Sessions += got.Accepted
	i.DurationNS += got.Duration.Nanoseconds()
	i.SessionsPerSec = float64(i.Sessions) * 1e9 / float64(max(i.DurationNS, 1))
	i.RequestsRepeated += got.Repeated
	i.LatencyNS = latency(got.Latency)
	i.DUTMemoryOctets, i.MapMemoryOctets = memory.ResidentOctets, memory.MapOctets
	held := report.PathMemory{
		Sessions: len(s.sessions), ResidentOctets: i.DUTMemoryOctets, MapOctets: i.MapMemoryOctets, InstallPerSec: i.SessionsPerSec,
	}
	if slices.ContainsFunc(s.about.Memory, func(m report.PathMemory) bool { return m.Sessions == held.Sessions }) {
		return nil // with other rules
	}
	s.about.Memory = append(s.about.Memory, held)
	return nil
}

// Adopt takes sessions that somebody else has established, for the frames.
func (s *System) Adopt(sessions []n4load.Session) { s.sessions = sessions }

// Sessions returns those that frames belong to. They must not be changed.
func (s *System) Sessions() []n4load.Session { return s.sessions }

// Installed returns what the establishment of all sessions so far took.
func (s *System) Installed() report.Install { return s.install }

// window is how many requests are in flight while sessions are established and deleted.
func (s *System) window() int {
	if most := s.config.Kind.Dialect.Window; most > 0 {
		return most
	}
	return n4load.DefaultWindow
}

// template is what all sessions have in common.
func (s *System) template(r Rules) (n4load.Template, error) {
	t := s.topology
	place := dut.At(t)
	template, err := s.config.Kind.Template(&place)
	if err != nil {
		return template, err
	}
	template.QFI, template.URR, template.PDRs = QFI, r.URR, 2*max(r.PDRs, 1)
	template.MBR = pfcp.BitRates{UplinkKbps: r.MBRKbps, DownlinkKbps: r.MBRKbps}
	if r.IPv6 {
		pool := slices.IndexFunc(t.Config.UEPools, func(p netip.Prefix) bool { return p.Addr().Is6() && p.Bits() <= 64 })
		if pool < 0 {
			return template, fmt.Errorf("UEs with IPv6: no pool of /64 prefixes among %v", t.Config.UEPools)
		}
		template.UEPrefix = netip.PrefixFrom(t.Config.UEPools[pool].Addr(), 64)
	}
	return template, template.Validate()
}

// associate sets up the association, unless it stands.
func (s *System) associate(ctx context.Context) error {
	if s.n4 != nil {
		return nil
	}
	memory, err := s.dut.Memory()
	if err != nil {
		return err
	}
	s.install.DUTMemoryBeforeOctets = memory.ResidentOctets
	c := s.topology.Config
	err = s.topology.UPF.Do(func() error {
		s.n4, err = n4load.DialGroup(n4load.Options{CPUs: s.config.CPUs.UPF}, n4load.Config{
			Local: netip.AddrPortFrom(c.N4SMF, pfcp.Port), Remote: netip.AddrPortFrom(c.N4UPF, 0), Window: churnWindow,
		})
		return err
	})
	if err != nil {
		return err
	}
	if _, err = s.n4.Clients()[0].Associate(ctx); err != nil {
		err = errors.Join(fmt.Errorf("%w; the end of the UPF's log:\n%s", err, s.dut.Log()), s.n4.Close())
		s.n4 = nil
		return err
	}
	return nil
}

const releaseTime = 10 * time.Second // for an external UPF, with all its sessions

// release has an external UPF delete all sessions. Any other ends by itself.
func (s *System) release() error {
	if s.config.External == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	return s.n4.Clients()[0].Release(ctx)
}

// towards is what the generator of direction d must know of the sessions.
func towards(d report.Direction, sessions []n4load.Session, r Rules) []generator.Session {
	list := make([]generator.Session, len(sessions))
	for i := range max(r.Slices, 1) {
		for at, end := r.Slice(i, len(list)); at < end; at++ {
			list[at].QFI = r.qfi(i)
		}
	}
	for i, s := range sessions {
		list[i].TEID, list[i].UE = s.ULTEID, s.UE
		if d == report.Downlink {
			list[i].TEID = s.DLTEID
		}
		if s.UEPrefix.IsValid() {
			list[i].UE6 = s.UEPrefix.Addr().Next() // an interface identifier of 1
		}
	}
	return list
}
