package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"plumbline/gnb"
	"plumbline/lab/n4load"
	"plumbline/pfcp"
)

// releaseTime is how long the UPF may take to delete the sessions at the end.
const releaseTime = 5 * time.Second

// smf is the CP function that plumb gnb --n4 is, beside the gNB.
type smf struct {
	client   *n4load.Client
	dialect  n4load.Dialect
	sessions []n4load.Session // of the configuration's UEs, by index
}

// establish sets up an association with the UPF whose N4 address is upf, and a
// session for each UE of config. It fills in the F-TEIDs that the UPF chose.
// local is the SMF's own address; not valid: that of the route to the UPF. dialect is what
// the UPF needs to be told.
func establish(ctx context.Context, upf, local netip.Addr, dialect n4load.Dialect, config *gnb.Config) (*smf, error) {
	if !local.IsValid() {
		var err error
		if local, err = sourceFor(upf); err != nil {
			return nil, err
		}
	}
	client, err := n4load.Dial(n4load.Config{
		Local: netip.AddrPortFrom(local, pfcp.Port), Remote: netip.AddrPortFrom(upf, pfcp.Port),
	})
	if errors.Is(err, syscall.EADDRINUSE) && local == upf {
		return nil, fmt.Errorf("%w: the UPF is on this host; give the SMF another address with --smf", err)
	}
	if err != nil {
		return nil, err
	}
	s := &smf{client: client, dialect: dialect, sessions: make([]n4load.Session, len(config.UEs))}
	if err := s.start(ctx, config); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *smf) start(ctx context.Context, config *gnb.Config) error {
	if _, err := s.client.Associate(ctx); err != nil {
		return err
	}
	for i := range config.UEs {
		ue := &config.UEs[i]
		s.sessions[i] = newSession(uint64(i+1), ue)
		template := &n4load.Template{GNB: config.N3.Address, QFI: pfcp.QFI(ue.QFI), Dialect: s.dialect}
		if _, err := s.client.Establish(ctx, template, s.sessions[i:i+1]); err != nil {
			return fmt.Errorf("ue %s: %w", ue.Name, err)
		}
		ue.UplinkTEID, ue.UPF = s.sessions[i].ULTEID, s.sessions[i].N3
	}
	return nil
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
	var established []n4load.Session
	for _, session := range s.sessions {
		if session.RemoteSEID != 0 {
			established = append(established, session)
		}
	}
	var err error
	if len(established) > 0 {
		if _, err = s.client.Delete(ctx, established); err == nil {
			err = s.client.Release(ctx)
		}
	}
	return errors.Join(err, s.client.Close())
}

// sourceFor returns the address from which this host sends to a.
func sourceFor(a netip.Addr) (netip.Addr, error) {
	conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, pfcp.Port)))
	if err != nil {
		return netip.Addr{}, fmt.Errorf("route to N4 of the UPF: %w", err)
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr(), nil
}
