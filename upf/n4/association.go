package n4

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// association is a PFCP association with a CP function.
type association struct {
	node  nodeKey
	addr  netip.Addr // where it was set up from
	owner uint32     // of its sessions; never used again
	since time.Time
	asked time.Time // since when it is waited for that its CP function is heard

	// others are the Alternative SMF IP Addresses: its CP function may speak
	// from there too. They change under the lock of peers.
	others []netip.Addr

	// lifetime is cancelled when the association ends; what goes on for it
	// goes on in it. It is set before the association is in the table.
	lifetime context.Context
	cancel   func()

	recovery atomic.Uint32 // the CP function's Recovery Time Stamp
	// lost is when sessions of this CP function were last lost to it unawares, as a
	// Recovery Time Stamp; zero: never since the endpoint's own. It is set before
	// the association is in the table.
	lost     pfcp.TimeStamp
	features atomic.Uint32 // CP Function Features
	paths    pathNews
	forms    reportForms
	set      atomic.Pointer[string] // SMF Set ID, as on the wire; nil: none
	told     told
	pathDown atomic.Bool // it does not answer heartbeats
	// proven: the CP function has answered a request of ours from its address, so it
	// is there. Who has not may be anybody, in anybody's name.
	proven   atomic.Bool
	parting  atomic.Bool  // it is to be released: no new sessions
	ending   atomic.Bool  // no more session procedures may begin
	sessions atomic.Int64 // how many it has

	// mu is held for reading while one of its sessions is established,
	// modified or deleted.
	mu sync.RWMutex
}

// smfSet is the SMF Set ID, as on the wire; empty: none.
func (a *association) smfSet() string {
	if s := a.set.Load(); s != nil {
		return *s
	}
	return ""
}

// inSetOf reports whether both are of one SMF Set. What peers say of that counts where the
// operator has named them all: anybody could claim to be of another's set.
func (e *Endpoint) inSetOf(a, b *association) bool {
	set := a.smfSet()
	return set != "" && set == b.smfSet() && e.named(a.addr) && e.named(b.addr)
}

func (a *association) setSMFSet(id string) { a.set.Store(&id) }

// newAssociation returns an association that is in no table yet.
func (e *Endpoint) newAssociation(node pfcp.NodeID, addr netip.Addr, since time.Time) *association {
	a := &association{node: newNodeKey(node), addr: addr, since: since, asked: since}
	a.forms.learn(e.config.leaveOut(addr))
	a.lifetime, a.cancel = context.WithCancel(e.run)
	return a
}

// succeed is called when a takes the place of old, whose sessions are deleted. A CP
// function that has not restarted still counts on them: it had given us up while we
// could not be reached, and we have what it set up. Only a newer Recovery Time Stamp
// makes it establish them again. Source: TS 23.527 V18, 4.2; seen with Open5GS.
//
// recovery is what a's address was sent until now.
func (a *association) succeed(old *association, now time.Time, recovery pfcp.TimeStamp) {
	a.lost = old.lost
	if !a.countsOn(old) {
		return
	}
	before := newest(recovery, old.lost)
	if a.lost = pfcp.NewTimeStamp(now); !newer(a.lost, before) {
		a.lost = before + 1
	}
}

// replaces is called when a is set up from where old was.
func (a *association) replaces(old *association) {
	if !old.proven.Load() {
		a.asked = old.asked
	}
}

// holds reports whether a's Node ID is not to be had from another address: its CP function
// is there, or has not had the time to show it. It has less right to a Node ID that is an
// address than who speaks from there.
func (e *Endpoint) holds(a *association, from netip.Addr, now time.Time) bool {
	switch {
	case a.pathDown.Load():
		return false
	case a.proven.Load():
		return true
	}
	return a.node.addr != from && now.Sub(a.asked) < time.Duration(e.config.N1)*e.config.T1
}

// countsOn reports whether the CP function that sets up a counts on sessions of old.
func (a *association) countsOn(old *association) bool {
	return old.sessions.Load() > 0 && old.recovery.Load() == a.recovery.Load()
}

// recoveryAt is the Recovery Time Stamp that CP functions at an address are sent: the
// endpoint's, or when sessions of theirs were last lost. Anybody can name an address as
// an alternative one of his: that counts where no association was set up from.
func (e *Endpoint) recoveryAt(addr netip.Addr) pfcp.TimeStamp {
	t := newest(e.recovery, e.losses.at(addr))
	if at := e.peers.at(addr); at != nil {
		for _, a := range at.list {
			if a.addr == addr || at.own == 0 {
				t = newest(t, a.lost)
			}
		}
	}
	return t
}

// nodeKey is a Node ID as a key.
type nodeKey struct {
	addr netip.Addr
	fqdn string // if addr is not valid, as on the wire
}

func newNodeKey(id pfcp.NodeID) nodeKey {
	if id.Addr.IsValid() {
		return nodeKey{addr: id.Addr.Unmap()}
	}
	return nodeKey{fqdn: string(id.FQDN)}
}

// String is the Node ID as text.
func (k nodeKey) String() string {
	if k.addr.IsValid() {
		return k.addr.String()
	}
	return pfcp.Name(k.fqdn).String()
}

// open locks the association for one session procedure. It reports false if
// the association is ending. The caller has to call done after true.
func (a *association) open() bool {
	a.mu.RLock()
	if a.ending.Load() {
		a.mu.RUnlock()
		return false
	}
	return true
}

func (a *association) done() { a.mu.RUnlock() }

// end lets no more session procedures begin. It reports false if somebody else
// ends the association.
func (a *association) end() bool { return a.ending.CompareAndSwap(false, true) }

// drain waits, after end, for the session procedures that are under way.
func (a *association) drain() {
	a.mu.Lock()   // those that come to lock it later see that it is ending
	a.mu.Unlock() //nolint:staticcheck // nothing is to be done in between
}
