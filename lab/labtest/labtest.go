// Package labtest has what tests around a UPF in a test bed share: an SMF that is
// associated with it, sessions, and a gNB.
package labtest

import (
	"context"
	"log/slog"
	"net/netip"
	"testing"

	"github.com/plumbline-upf/plumbline/lab/n4load"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// Associate returns an SMF on N4 of the bed, associated with the UPF, until the test ends.
func Associate(t testing.TB, top *topology.Topology) *n4load.Client {
	t.Helper()
	var smf *n4load.Client
	err := top.UPF.Do(func() (err error) {
		smf, err = n4load.Dial(n4load.Config{
			Local:  netip.AddrPortFrom(top.Config.N4SMF, pfcp.Port),
			Remote: netip.AddrPortFrom(top.Config.N4UPF, pfcp.Port),
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { smf.Close() })
	if _, err := smf.Associate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return smf
}

// Establish establishes the session of a UE, whose UPF and uplink TEID it sets: the UPF
// chooses the F-TEID. A UE with a second address has a prefix of IPv6.
func Establish(t testing.TB, smf *n4load.Client, template *n4load.Template, seid uint64, ue *gnb.UE) n4load.Session {
	t.Helper()
	s := n4load.Session{LocalSEID: seid, DLTEID: ue.DownlinkTEID, UE: ue.Addresses[0]}
	if len(ue.Addresses) > 1 {
		s.UEPrefix = netip.PrefixFrom(ue.Addresses[1], 64)
	}
	sessions := []n4load.Session{s}
	if _, err := smf.Establish(t.Context(), template, sessions); err != nil {
		t.Fatal(err)
	}
	ue.UplinkTEID, ue.UPF = sessions[0].ULTEID, sessions[0].N3
	return sessions[0]
}

// RunGNB runs a gNB until the test ends, and prints what it counted if the test failed.
func RunGNB(t testing.TB, c gnb.Config) *gnb.GNB {
	t.Helper()
	g, err := gnb.New(c, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- g.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if t.Failed() {
			_ = g.Stats().Print(t.Output())
		}
	})
	return g
}
