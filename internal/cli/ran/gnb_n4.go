package rancmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// releaseTime is how long the UPF may take to delete the sessions at the end.
const releaseTime = 5 * time.Second

// smf is the CP function that plumb gnb --n4 is, beside the gNB.
type smf struct {
	client  *n4load.Client
	upf     netip.Addr
	dialect n4load.Dialect
	config  *gnb.Config
	log     *slog.Logger

	associated bool
	sessions   []n4load.Session // of the configuration's UEs, by index

	every     time.Duration // between heartbeats
	wake      chan struct{} // for one at once
	doubt     atomic.Bool   // whether the UPF still has the sessions
	releasing atomic.Bool   // the UPF asks for the release of the association
}

// establish sets up an association with the UPF whose N4 address is upf, and a
// session for each UE of config. It fills in the F-TEIDs that the UPF chose.
// local is the SMF's own address; not valid: that of the route to the UPF. dialect is what
// the UPF needs to be told.
func establish(ctx context.Context, upf, local netip.Addr, dialect n4load.Dialect, config *gnb.Config, log *slog.Logger) (*smf, error) {
	if !local.IsValid() {
		var err error
		if local, err = n4load.LocalFor(upf); err != nil {
			return nil, err
		}
	}
	s := &smf{upf: upf, dialect: dialect, config: config, log: log, every: heartbeatEvery, wake: make(chan struct{}, 1)}
	var err error
	s.client, err = n4load.Dial(n4load.Config{
		Local: netip.AddrPortFrom(local, pfcp.Port), Remote: netip.AddrPortFrom(upf, pfcp.Port), Told: s.told,
	})
	if errors.Is(err, syscall.EADDRINUSE) && local == upf {
		return nil, fmt.Errorf("%w: the UPF is on this host; give the SMF another address with --smf", err)
	}
	if err != nil {
		return nil, err
	}
	if err := s.setUp(ctx, nil); err != nil {
		return nil, errors.Join(err, s.close())
	}
	for i := range config.UEs {
		config.UEs[i].UplinkTEID, config.UEs[i].UPF = s.sessions[i].ULTEID, s.sessions[i].N3
	}
	return s, nil
}

// setUp sets up the association, unless there is one, and those sessions that there are not,
// and leads their uplinks there. With g nil, before there is a gNB, the first failure ends it;
// later one UE does without the others, and the first failure is returned.
func (s *smf) setUp(ctx context.Context, g uplinks) (first error) {
	if !s.associated {
		s.sessions = make([]n4load.Session, len(s.config.UEs)) // the client may still read those of before
		if _, err := s.client.Associate(ctx); err != nil {
			return err
		}
		s.associated = true
	}
	for i := range s.sessions {
		if s.sessions[i].RemoteSEID != 0 {
			continue
		}
		err := s.setUpSession(ctx, i)
		if err == nil && g != nil {
			err = g.SetUplink(i, s.sessions[i].ULTEID, s.sessions[i].N3)
		}
		if first == nil {
			first = err
		}
		if err != nil && (g == nil || !errors.Is(err, n4load.ErrRefused)) {
			break
		}
	}
	return first
}

func (s *smf) setUpSession(ctx context.Context, i int) error {
	ue := &s.config.UEs[i]
	if s.sessions[i].LocalSEID == 0 {
		s.sessions[i] = newSession(uint64(i+1), ue)
	}
	report, err := s.client.Establish(ctx, s.template(i), s.sessions[i:i+1])
	if err != nil {
		s.associated = s.associated && report.Refused[pfcp.CauseNoEstablishedPFCPAssociation] == 0
		return fmt.Errorf("ue %s: %w", ue.Name, err)
	}
	return nil
}

// template is the session of a UE.
func (s *smf) template(ue int) *n4load.Template {
	return &n4load.Template{GNB: s.config.N3.Address, QFI: pfcp.QFI(s.config.UEs[ue].QFI), Dialect: s.dialect}
}

func newSession(seid uint64, ue *gnb.UE) n4load.Session {
	session := n4load.Session{LocalSEID: seid, DLTEID: ue.DownlinkTEID}
	for _, a := range ue.Addresses {
		if a.Is4() {
			session.UE = a
		} else {
			session.UEPrefix = netip.PrefixFrom(a, 64)
		}
	}
	return session
}

// close deletes the sessions that there are and releases the association.
func (s *smf) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	established := s.established()
	var err error
	if len(established) > 0 {
		_, err = s.client.Delete(ctx, established)
	}
	if err == nil && s.associated { // with it goes a session whose answer did not come
		err = s.client.Release(ctx)
	}
	return errors.Join(err, s.client.Close())
}

// established are the sessions that the UPF has, as far as it has said.
func (s *smf) established() []n4load.Session {
	var list []n4load.Session
	for _, session := range s.sessions {
		if session.RemoteSEID != 0 {
			list = append(list, session)
		}
	}
	return list
}
