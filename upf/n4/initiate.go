package n4

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Back-off of association setups that fail: it doubles, and is spread so that
// UP functions that were started together do not ask together.
const backoffMin, backoffMax = time.Second, time.Minute

// keepAssociated sees to it that there is an association with the CP function
// at addr, whoever sets it up. Source: TS 29.244 V18.6.0, 6.2.6.3.
func (e *Endpoint) keepAssociated(addr netip.Addr) {
	for wait := backoffMin; !e.leaving.Load(); {
		if at := e.peers.at(addr); at != nil {
			select {
			case <-at.list[0].lifetime.Done():
			case <-e.run.Done():
				return
			}
			wait = backoffMin
		} else if err := e.initiate(addr); err != nil {
			e.log.event(kindAssociation, slog.LevelWarn, "n4: no association yet", "with", addr, "again_in", wait, "error", err)
		} else {
			continue
		}
		if !sleep(e.run, wait/2+rand.N(wait)) {
			return
		}
		wait = min(2*wait, backoffMax)
	}
}

// sleep waits, and reports false if ctx is done before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// initiate sets up an association with the CP function at addr.
func (e *Endpoint) initiate(addr netip.Addr) error {
	peer := netip.AddrPortFrom(addr, e.config.PeerPort)
	body, err := e.request(e.run, peer, 0, &pfcp.AssociationSetupRequest{
		NodeID: e.nodeID, RecoveryTimeStamp: e.recoveryAt(addr), UPFunctionFeatures: pfcp.Some(e.features()),
		UEIPAddressPools: e.config.Pools,
	}, pfcp.MsgAssociationSetupResponse)
	if err != nil {
		return err
	}
	var m pfcp.AssociationSetupResponse
	if err := m.Decode(body); err != nil {
		return err
	}
	if !m.Cause.Accepted() {
		return fmt.Errorf("Cause %v: %w", m.Cause, errNotAccepted)
	}
	return e.adopt(&m, addr)
}

// adopt puts an association into the table that a CP function has accepted. If
// there is one of its Node ID, the CP function has set it up itself meanwhile;
// it stays, unless it is of the CP function's earlier life.
func (e *Endpoint) adopt(m *pfcp.AssociationSetupResponse, addr netip.Addr) error {
	old := e.peers.node(m.NodeID)
	if old != nil {
		switch {
		case !e.peers.at(addr).speaksFor(old) && e.holds(old, addr, time.Now()):
			return errOtherPeer
		case old.addr == addr && old.recovery.Load() == uint32(m.RecoveryTimeStamp):
			return nil
		case !old.end():
			return errAssociated // it is ending
		}
		e.clear(old)
	}
	a := e.newAssociation(m.NodeID, addr, time.Now())
	a.proven.Store(true)
	a.introduce(m.RecoveryTimeStamp, m.CPFunctionFeatures, m.SMFSetID)
	a.others = addresses(m.Alternatives)
	if old != nil {
		a.succeed(old, time.Now(), e.recoveryAt(addr)) // it has our answer: heartbeats tell
	}
	if err := e.admit(a); err != nil {
		a.cancel()
		return err
	}
	e.associated(a)
	return e.flush(e.run)
}
